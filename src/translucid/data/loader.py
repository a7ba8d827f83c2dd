"""Loading batches: rows of tokens become padded tensors, in a thread, ahead of the network.

`batches` decides what comes in which order; the thread has no influence on it. Right padding, shift
right and labels are made only here::

    source_BS          ┌ tag, where the data has tags
        12  7  431  55  3  0  0        [tag] tokens EOS, then PAD
        98  3   0    0  0  0  0
         5  9   60  61 62 63  3

    target_BT                          labels_BT
         2  17   8  0                      17   8   3   0      the label at a position is the token
         2  40   0  0                      40   3   0   0      that comes next: the target, shifted
         2  21  22 23                      21  22  23   3      right by BOS, predicts the labels

Every row has at least one token that is not padding (EOS on the source side, BOS on the target
side), and padding is only at its end: attention relies on both, so both are checked.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from translucid.data.augmentation import Sampling, sample_rows
from translucid.data.batches import Batches, Cursor, Examples, MicroBatch, select_rank
from translucid.data.shards import Rows
from translucid.errors import InputError
from translucid.text.tokenizer import BOS, EOS, PAD


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
        self, cursor: Cursor, *, per_step: int, rank: int, world_size: int
    ) -> Prefetcher[LoadedStep]:
        """Return the steps of process `rank` of `world_size`, endlessly, starting at a cursor.

        Use it in a ``with`` statement, which ends the thread.
        """
        return Prefetcher(self._steps(cursor, per_step, rank, world_size), self.ahead)

    def epoch(self, number: int) -> Prefetcher[Batch]:
        """Return the batches of one epoch, for validation."""
        return Prefetcher(self._epoch(number), self.ahead)

    def _steps(
        self, cursor: Cursor, per_step: int, rank: int, world_size: int
    ) -> Iterator[LoadedStep]:
        for step in self.batches.steps(cursor, per_step):
            mine = select_rank(step.batches, rank=rank, world_size=world_size)
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
_END: Any = object()  # what comes after the last item


class Prefetcher(Iterator[T], Generic[T]):
    """Yield the items of an iterator in order, computed by a thread up to `ahead` items ahead.

    An exception in the thread is raised here, instead of the item that failed. The thread ends with
    the ``with`` statement, with `close`, when this object is garbage, and at exit.
    """

    def __init__(self, items: Iterator[T], ahead: int) -> None:
        # The thread refers to the items but not to this object, which can therefore be collected.
        self._pool = ThreadPoolExecutor(1, "prefetch")
        self._items = items
        self._pending = deque(self._submit() for _ in range(ahead + 1))
        self._end = weakref.finalize(self, _end, self._pool)

    def _submit(self) -> Future[T]:
        return self._pool.submit(next, self._items, _END)

    def __next__(self) -> T:
        item = self._pending.popleft().result() if self._pending else _END
        if item is _END:
            self._pending.clear()
            raise StopIteration
        self._pending.append(self._submit())
        return item

    def close(self) -> None:
        """End the thread and wait for it; items computed ahead are dropped."""
        self._pending.clear()
        self._items = iter(())
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _end(pool: ThreadPoolExecutor) -> None:
    in_thread = threading.current_thread().name.startswith("prefetch")  # which collects garbage
    pool.shutdown(wait=not in_thread, cancel_futures=True)


@dataclass(frozen=True, eq=False)
class Batch:
    """What the network reads and what it must predict: B rows, S source and T target positions.

    `tokens` counts the labels that are not padding; a summed loss is divided by it. Row r is pair
    ``examples[r]`` in direction ``directions[r]``, so that it can be traced to its line.
    """

    source_BS: Tensor
    target_BT: Tensor
    labels_BT: Tensor
    tokens: int
    examples: NDArray[np.int64]
    directions: NDArray[np.int64]

    def to(self, device: torch.device | str) -> Batch:
        """Return the batch with its tensors on a device; from pinned memory without waiting."""
        return self._each(lambda tensor: tensor.to(device, non_blocking=True))

    def pin(self) -> Batch:
        """Return the batch in pinned memory if there is a GPU, otherwise as it is."""
        return self._each(Tensor.pin_memory) if torch.cuda.is_available() else self

    def _each(self, move: Callable[[Tensor], Tensor]) -> Batch:
        return replace(
            self,
            source_BS=move(self.source_BS),
            target_BT=move(self.target_BT),
            labels_BT=move(self.labels_BT),
        )


def load_rows(batch: MicroBatch, examples: Examples) -> tuple[Rows, Rows]:
    """Return the stored source and target tokens of a micro-batch."""
    sources, targets = [], []
    for number, (source, target) in enumerate(examples.directions):
        pairs = batch.pairs[batch.directions == number]  # which are sorted by direction
        split = examples.portion(number).split
        sources.append(split.rows(source, pairs))
        targets.append(split.rows(target, pairs))
    return Rows.concatenate(sources), Rows.concatenate(targets)


def collate(batch: MicroBatch, sources: Rows, targets: Rows, examples: Examples) -> Batch:
    """Return the tensors of a micro-batch from the tokens of its rows."""
    for rows, size in zip((sources, targets), examples.sizes, strict=True):
        _check(rows, size, batch, examples)
    tags = [examples.tags[direction] for direction in batch.directions.tolist()]
    starts = None if None in tags else np.array(tags)
    begins = np.full(len(tags), BOS)
    return Batch(
        source_BS=_pad(sources, begin=starts, end=EOS),
        target_BT=_pad(targets, begin=begins, end=None),
        labels_BT=_pad(targets, begin=None, end=EOS),
        tokens=int(targets.lengths.sum()) + len(tags),
        examples=batch.pairs,
        directions=batch.directions,
    )


def _pad(rows: Rows, *, begin: NDArray[np.int64] | None, end: int | None) -> Tensor:
    """Return rows as a matrix, with a token before or after each, filled up with PAD."""
    first = 0 if begin is None else 1
    width = int(rows.lengths.max()) + first + (end is not None)
    block = np.full((len(rows.lengths), width), PAD, np.int64)
    places, ends = np.arange(width), (rows.lengths + first)[:, None]
    block[(places >= first) & (places < ends)] = rows.tokens
    if begin is not None:
        block[:, 0] = begin
    if end is not None:
        np.put_along_axis(block, ends, end, axis=1)
    return torch.from_numpy(block)


def _check(rows: Rows, size: int, batch: MicroBatch, examples: Examples) -> None:
    """Refuse a batch without rows, and tokens that are padding or outside the vocabulary."""
    if len(rows.lengths) == 0 or len(rows.lengths) != len(batch.pairs):
        raise InputError(
            f"a batch of {len(batch.pairs)} examples cannot be made of {len(rows.lengths)} rows; "
            "there must be as many rows as examples, and at least one"
        )
    wrong = np.flatnonzero((rows.tokens <= PAD) | (rows.tokens >= size))
    if wrong.size:
        row = int(np.searchsorted(np.cumsum(rows.lengths), wrong[0], side="right"))
        portion = examples.portion(int(batch.directions[row]))
        raise InputError(
            f"token {rows.tokens[wrong[0]]} cannot be in a sentence, where tokens go from "
            f"{PAD + 1} to {size - 1} ({portion.describe_origin(int(batch.pairs[row]))}): the "
            "shards are damaged or belong to another tokenizer. Run `translucid prepare` again."
        )
