"""Loading batches ahead: while the network computes one step, a thread prepares the next ones.

`batches` decides what comes in which order; the thread has no influence on it.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

from translucid.data.augmentation import Sampling, sample_rows
from translucid.data.batches import Batches, Cursor, MicroBatch, select_rank
from translucid.data.collate import Batch, collate, load_rows
from translucid.errors import InputError


class LoadedStep(NamedTuple):
    """What one process computes in one optimiser step, and the position after the step.

    There is one batch for each of its micro-batches; with subword sampling, sometimes more.
    """

    batches: tuple[Batch, ...]
    after: Cursor


@dataclass(frozen=True)
class Loader:
    """Load batches in a thread, up to `ahead` steps before they are needed.

    `pin` puts them into pinned memory, from which a GPU copies asynchronously.
    """

    batches: Batches
    sampling: Sampling | None
    ahead: int
    pin: bool

    def __post_init__(self) -> None:
        if self.ahead < 1:
            raise InputError(f"ahead = {self.ahead}: must be at least 1")

    def steps(
        self, cursor: Cursor, *, per_step: int, rank: int, world: int
    ) -> Prefetcher[LoadedStep]:
        """Return the steps of process `rank` of `world`, endlessly, from a cursor on.

        Use it in a ``with`` statement, which ends the thread.
        """
        return Prefetcher(self._steps(cursor, per_step, rank, world), self.ahead)

    def epoch(self, number: int) -> Prefetcher[Batch]:
        """Return the batches of one epoch, for validation."""
        return Prefetcher(self._epoch(number), self.ahead)

    def _steps(self, cursor: Cursor, per_step: int, rank: int, world: int) -> Iterator[LoadedStep]:
        for step in self.batches.steps(cursor, per_step):
            mine = select_rank(step.batches, rank=rank, world=world)
            yield LoadedStep(tuple(b for batch in mine for b in self._load(batch)), step.after)

    def _epoch(self, number: int) -> Iterator[Batch]:
        epoch = self.batches.epoch(number)
        for index in range(len(epoch)):
            yield from self._load(epoch.batch(index))

    def _load(self, batch: MicroBatch) -> Iterator[Batch]:
        """Yield the tensors of a micro-batch, in one part or, with sampling, in several."""
        examples = self.batches.examples
        if self.sampling is None:
            pieces = iter([(batch, *load_rows(batch, examples))])
        else:
            pieces = sample_rows(batch, self.batches, self.sampling)
        for piece in pieces:
            tensors = collate(*piece, examples)
            yield tensors.pin() if self.pin else tensors


T = TypeVar("T")


class Prefetcher(Iterator[T], Generic[T]):
    """Yield the items of an iterator in order, computed by a thread up to `ahead` items ahead.

    An exception in the thread is raised here, instead of the item that failed. The thread ends with
    the ``with`` statement, with `close`, when this object is garbage, and at exit.
    """

    def __init__(self, items: Iterator[T], ahead: int) -> None:
        # The thread refers to the channel but not to this object, which can therefore be collected.
        channel = _Channel[T](ahead)
        thread = threading.Thread(target=channel.fill, args=(items,), name="prefetch", daemon=True)
        thread.start()
        self._channel = channel
        self._close = weakref.finalize(self, _end, channel, thread)

    def __next__(self) -> T:
        return self._channel.get()

    def close(self) -> None:
        """End the thread and wait for it; items computed ahead are dropped."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _end(channel: _Channel[T], thread: threading.Thread) -> None:
    channel.close()
    if thread is not threading.current_thread():  # if the thread itself collects the garbage
        thread.join()


class _Channel(Generic[T]):
    """A bounded queue between two threads, and how the sequence ended."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._ended = False
        self._error: BaseException | None = None

    def fill(self, items: Iterator[T]) -> None:
        """Put items in until they end or the channel is closed; runs in the thread."""
        error = None
        try:
            for item in items:
                if not self._put(item):
                    break
        except BaseException as caught:  # raised by the other thread
            error = caught
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()

    def _put(self, item: T) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._items) < self._capacity)
            if not self._closed:
                self._items.append(item)
                self._changed.notify_all()
            return not self._closed

    def get(self) -> T:
        """Return the next item, waiting for it; StopIteration after the last or after `close`."""
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._ended or self._closed)
            if self._items:
                item = self._items.popleft()
                self._changed.notify_all()
                return item
            error, self._error = self._error, None
        if error is not None:
            raise error
        raise StopIteration

    def close(self) -> None:
        """Stop the sequence and drop the waiting items."""
        with self._changed:
            self._closed = True
            self._items.clear()
            self._changed.notify_all()
