"""The traces that a server keeps for a while, by ids that nobody can guess.

Whoever has the id of a trace may read it: it is as good as a key, and made like one.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from translucid.interpret.network import AttentionHead
from translucid.interpret.trace import Trace
from translucid.serving.bounded_store import BoundedStore
from translucid.serving.problems import Problem
from translucid.serving.served_models import Served
from translucid.serving.settings import ServingConfig

_ID = re.compile(r"[A-Za-z0-9_-]{22}")  # 128 bits, as `token_urlsafe` writes them
# As objects, steps and search tree take so many times the room of their JSON (measured: 2.4).
_OBJECTS = 3
_SHOWN = 40  # characters of a wrong id that a message repeats


@dataclass(frozen=True)
class StoredTrace:
    """A trace, and what it was made with.

    `body` is the JSON that tells all but the tensors; `without` are the heads that were off.
    """

    id: str
    trace: Trace
    served: Served
    without: tuple[AttentionHead, ...]
    body: bytes


def new_id() -> str:
    """Return an id that was never used and cannot be guessed."""
    return secrets.token_urlsafe(16)


def room(stored: StoredTrace) -> int:
    """Return the bytes that a trace takes: tensors, the JSON, and what that was made of."""
    return stored.trace.bytes + (1 + _OBJECTS) * len(stored.body)


class TraceStore:
    """Traces by id; the least used give way to new ones (see `bounded_store`)."""

    def __init__(
        self, settings: ServingConfig, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = settings.trace_seconds
        self._store: BoundedStore[str, StoredTrace] = BoundedStore(
            max_bytes=settings.trace_store_bytes,
            max_count=settings.trace_store_count,
            seconds=settings.trace_seconds,
            clock=clock,
        )

    def __len__(self) -> int:
        return len(self._store)

    @property
    def bytes(self) -> int:
        """What all traces take together."""
        return self._store.bytes

    def add(self, stored: StoredTrace) -> None:
        """Keep a trace under its id."""
        self._store.put(stored.id, stored, room(stored))

    def expire(self) -> None:
        """Let go of traces that nobody has looked at for the time."""
        self._store.expire()

    def find(self, key: str) -> StoredTrace:
        """Return a trace by its id, which counts as a use of it; a Problem where it is gone."""
        stored = self._store.get(key) if _ID.fullmatch(key) else None
        if stored is None:
            shown = key if len(key) <= _SHOWN else f"{key[:_SHOWN]}…"
            raise Problem(
                "unknown-trace",
                f"no trace {shown!r} is kept: an id has 22 letters, digits, - and _, and a trace "
                f"is kept for {self._seconds:,.0f} seconds after its last use, or until newer ones "
                "need its room. Make it again with POST /v1/trace",
            )
        return stored
