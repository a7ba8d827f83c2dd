"""A store that never holds too much for too long: the least used goes first.

Values never change. Any thread may use it.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True)
class _Kept(Generic[Value]):
    """A value, what it takes, and when it was last used."""

    value: Value
    size: int
    used: float


class BoundedStore(Generic[Key, Value]):
    """Values by key, within so many bytes and so many values, each for a time after its last use.

    `clock` tells seconds; tests bring their own.
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
        """What all values take together."""
        with self._lock:
            self._drop_old()
            return self._bytes

    def put(self, key: Key, value: Value, size: int) -> None:
        """Keep a value of so many bytes; others give way, and it is kept even if it is alone."""
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
        """Return a value, which counts as a use of it, or None where it is not kept."""
        with self._lock:
            self._drop_old()
            kept = self._kept.get(key)
            if kept is None:
                return None
            self._kept[key] = _Kept(kept.value, kept.size, self._clock())
            self._kept.move_to_end(key)
            return kept.value

    def expire(self) -> None:
        """Let go of what was not used for the time."""
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
