"""Stored traces, under ids that nobody can guess, within limits of memory and time.

The id of a trace gives access to it, so it is as random as a key.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from translucid.errors import InputError
from translucid.interpret.explain import TraceTooLargeError
from translucid.interpret.network import AttentionHead, single_network
from translucid.interpret.trace import FrozenTensors, Trace
from translucid.interpret.trace_json import network_tensor, summary_tensor
from translucid.serving.config import ServingConfig
from translucid.serving.problems import Fault, Problem, invalid_fields
from translucid.serving.served_models import ServedModel

_ID = re.compile(r"[A-Za-z0-9_-]{22}")  # 128 bits, as `token_urlsafe` writes them
# As objects, steps and search tree take this many times the memory of their JSON (measured: 2.4).
_OBJECTS = 3
_MAX_SHOWN_ID = 40  # characters of a wrong id that a message repeats


@dataclass(frozen=True)
class StoredTrace:
    """A trace, and what it was made with: a model, by name and hash, so that it is not kept alive.

    `body` is its JSON without the tensors; `without` are the disabled heads.
    """

    id: str
    trace: Trace
    model: str
    model_hash: str
    without: tuple[AttentionHead, ...]
    body: bytes


def new_id() -> str:
    """Return an id that was never used and cannot be guessed."""
    return secrets.token_urlsafe(16)


def measure_bytes(stored: StoredTrace) -> int:
    """Return the memory of a trace: its tensors, its JSON, and the objects behind the JSON."""
    return stored.trace.bytes + (1 + _OBJECTS) * len(stored.body)


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True)
class _Kept(Generic[Value]):
    """A value, its bytes, and when it was last used."""

    value: Value
    size: int
    used: float


class BoundedStore(Generic[Key, Value]):
    """A least-recently-used cache with limits on bytes, count and seconds since the last use.

    Values never change; any thread may use it. `clock` returns seconds; tests bring their own.
    """

    def __init__(
        self,
        *,
        max_bytes: int,
        max_count: int,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_bytes, self._max_count, self._seconds = max_bytes, max_count, seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, _Kept[Value]] = OrderedDict()  # the least used comes first
        self._bytes = 0

    def __len__(self) -> int:
        with self._lock:
            self._drop_old()
            return len(self._kept)

    @property
    def bytes(self) -> int:
        """Bytes of all values together."""
        with self._lock:
            self._drop_old()
            return self._bytes

    def put(self, key: Key, value: Value, size: int) -> None:
        """Store a value of `size` bytes; others are dropped, and it is kept even if too large."""
        with self._lock:
            self._drop(key)
            self._drop_old()
            while self._kept and (
                self._bytes + size > self._max_bytes or len(self._kept) >= self._max_count
            ):
                self._drop(next(iter(self._kept)))
            self._kept[key] = _Kept(value, size, self._clock())
            self._bytes += size

    def get(self, key: Key) -> Value | None:
        """Return a value, which counts as a use, or None if it is not stored."""
        with self._lock:
            self._drop_old()
            kept = self._kept.get(key)
            if kept is None:
                return None
            self._kept[key] = _Kept(kept.value, kept.size, self._clock())
            self._kept.move_to_end(key)
            return kept.value

    def expire(self) -> None:
        """Drop values that were not used for too long."""
        with self._lock:
            self._drop_old()

    def _drop(self, key: Key) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._bytes -= kept.size

    def _drop_old(self) -> None:
        oldest = self._clock() - self._seconds
        while self._kept:
            key, kept = next(iter(self._kept.items()))
            if kept.used >= oldest:
                return
            self._drop(key)


class TraceStore(BoundedStore[str, StoredTrace]):
    """Traces by id."""

    def __init__(
        self, settings: ServingConfig, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(
            max_bytes=settings.trace_store_bytes,
            max_count=settings.trace_store_count,
            seconds=settings.trace_seconds,
            clock=clock,
        )

    def add(self, stored: StoredTrace) -> None:
        """Keep a trace under its id."""
        self.put(stored.id, stored, measure_bytes(stored))

    def find(self, key: str) -> StoredTrace:
        """Return a trace by its id, which counts as a use; raise a Problem if it was dropped."""
        stored = self.get(key) if _ID.fullmatch(key) else None
        if stored is None:
            shown = key if len(key) <= _MAX_SHOWN_ID else f"{key[:_MAX_SHOWN_ID]}…"
            raise Problem(
                "unknown-trace",
                f"no trace {shown!r} is kept: an id has 22 letters, digits, - and _, and a trace "
                f"is kept for {self._seconds:,.0f} seconds after its last use, or until newer ones "
                "need its room. Make it again with POST /v1/trace",
            )
        return stored


@contextmanager
def report_too_large() -> Iterator[None]:
    """Convert TraceTooLargeError into a Problem that names this server's limit."""
    try:
        yield
    except TraceTooLargeError as error:
        raise Problem("trace-too-large", _describe_too_large(error)) from error


def _describe_too_large(error: TraceTooLargeError) -> str:
    """Say how large a trace would be, what is allowed and what would fit."""
    light = ""
    if error.level == "full" and error.light <= error.limit:
        light = f'take level "light" (about {_megabytes(error.light)}), or '
    limit = (
        f"the limit is {_megabytes(error.limit)} (max_trace_bytes)"
        if error.bytes > error.limit
        else "a full trace is made of shorter texts only"
    )
    return (
        f"a {error.level} trace of these {error.source_tokens} source tokens would take about "
        f"{_megabytes(error.bytes)}; {limit}: {light}send a shorter text"
    )


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else f"{count / 1e3:,.1f} kB"


_INDICES = re.compile(r"[0-9]{1,9}(,[0-9]{1,9})*")
_MAX_SHOWN = 60  # characters of a wrong name or index that a message repeats


@dataclass(frozen=True)
class TensorBytes:
    """Numbers in C order, float32, little-endian; −∞ is −∞. Those of a trace are not copied."""

    shape: tuple[int, ...]
    data: memoryview


def encode_tensor(
    stored: StoredTrace,
    name: str,
    at: str | None,
    find_model: Callable[[StoredTrace], ServedModel],
) -> TensorBytes:
    """Return a tensor by name; `at` picks leading indices: `1,0` of (H, L, M) is a row of M.

    What the trace does not hold may need the model that made it.
    """
    trace = stored.trace
    tensors = trace.tensors
    if name not in tensors:
        try:
            computed = summary_tensor(trace, name)
            if computed is None:
                model = single_network(find_model(stored).translator)
                computed = network_tensor(model, trace, name)
            if computed is None:
                trace.tensor(name[:_MAX_SHOWN])
        except InputError as error:
            raise Problem("unknown-tensor", str(error)) from error
        assert computed is not None  # `Trace.tensor` knows no other name
        tensors = FrozenTensors({name: computed})
    shape = tensors.shapes[name]
    indices = parse_indices(at, shape)
    return TensorBytes(shape[len(indices) :], tensors.data(name, indices))


def parse_indices(at: str | None, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Parse leading indices such as `1,0`, each within its dimension."""
    if at is None:
        return ()
    if not _INDICES.fullmatch(at):
        problem = (
            f"is {at[:_MAX_SHOWN]!r}: give whole numbers with commas between them, such as 3 or 1,0"
        )
        raise invalid_fields([Fault("at", problem)])
    found = tuple(map(int, at.split(",")))
    allowed = ", ".join(f"0 to {size - 1}" for size in shape)
    if len(found) > len(shape):
        problem = f"has {len(found)} indices, and the tensor has {len(shape)} dimensions: {allowed}"
        raise invalid_fields([Fault("at", problem)])
    wrong = [place for place, index in enumerate(found) if index >= shape[place]]
    if wrong:
        place = wrong[0]
        allowed = f"0 to {shape[place] - 1}" if shape[place] else "nothing: the tensor is empty"
        raise invalid_fields(
            [Fault("at", f"{found[place]} at place {place}: allowed is {allowed}")]
        )
    return found
