"""The sequence of micro-batches: a pure function of (data, max_tokens, seed, epoch).

A micro-batch holds at most `max_tokens` tokens on either side, padding, tag, BOS and EOS counted.
Similar lengths stand together (see `packing`), and the micro-batches of an epoch come in random
order. Those of all epochs form one sequence, whatever the number of processes: an optimiser step
takes the next k of them, and rank r of w computes those whose place in the step is r modulo w. A
step at the end of an epoch takes what it lacks from the next one, so that every step has exactly k.

::

    micro-batch    0.0  0.1  0.2  0.3  0.4 │ 1.0  1.1  1.2 …     (epoch.batch; epoch 0 has 5)
    step, k = 4   └──────── 0 ───────┘└───────── 1 ────────┘
    rank, w = 2     0    1    0    1    0     1    0    1
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from translucid.data.examples import (
    Examples,
    blocks,
    copies,
    longest,
    refuse_unusable,
    too_long,
)
from translucid.data.packing import Coding, cut
from translucid.data.shuffle import derive, scramble
from translucid.errors import InputError

_COPIES, _EXAMPLES, _BATCHES = range(3)  # what a number is drawn for: draws must be independent


@dataclass(frozen=True)
class Cursor:
    """A place in the sequence of micro-batches: the next one is `batch` of `epoch`."""

    epoch: int
    batch: int

    def __post_init__(self) -> None:
        if self.epoch < 0 or self.batch < 0:
            raise InputError(f"{self}: neither number can be negative")


START = Cursor(epoch=0, batch=0)


@dataclass(frozen=True, eq=False)
class MicroBatch:
    """Examples that are computed together, by direction and pair, and their place.

    Row r is pair ``pairs[r]`` in direction ``directions[r]``.
    """

    epoch: int
    index: int
    pairs: NDArray[np.int64]
    directions: NDArray[np.int64]


class Step(NamedTuple):
    """The micro-batches of one optimiser step, over all ranks, and the place after them."""

    batches: tuple[MicroBatch, ...]
    after: Cursor


@dataclass(frozen=True)
class Epoch:
    """The micro-batches of one epoch.

    `order` holds the numbers of all examples, sorted by length. Batch b takes those from
    ``starts[b]`` to ``starts[b + 1]``; `sequence` says in which order the batches come. Example
    ``d * copies + c`` is copy c in direction d; `pair_of` gives the pair of a copy, and is None
    where each pair has one copy.
    """

    number: int
    order: NDArray[np.uint32]
    starts: NDArray[np.int64]
    sequence: NDArray[np.int64]
    copies: int
    pair_of: NDArray[np.uint32] | None
    real_tokens: int
    padded_tokens: int

    def __len__(self) -> int:
        return len(self.sequence)

    def batch(self, index: int) -> MicroBatch:
        """Return the micro-batch at a place of this epoch."""
        which = self.sequence[index]
        examples = self.order[self.starts[which] : self.starts[which + 1]].astype(np.int64)
        examples.sort()  # by direction, and within one so that files are read forwards
        directions, chosen = np.divmod(examples, self.copies)
        pairs = chosen if self.pair_of is None else self.pair_of[chosen].astype(np.int64)
        return MicroBatch(self.number, index, pairs, directions)

    @property
    def padding_share(self) -> float:
        """The share of padding among all tokens of the epoch, source and target together."""
        return 1 - self.real_tokens / self.padded_tokens if self.padded_tokens else 0.0


@dataclass(frozen=True)
class Batches:
    """The endless sequence of micro-batches that training walks through.

    No example is left out: one that exceeds the budget alone is refused at construction, by an
    InputError that names its line and the budget it needs.
    """

    examples: Examples
    max_tokens: int
    seed: int

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise InputError(f"max_tokens = {self.max_tokens}: must be at least 1")
        if not 0 <= self.seed < 1 << 63:
            raise InputError(f"seed = {self.seed}: must be from 0 to 2^63 - 1")
        refuse_unusable(self.examples)
        if self._longest > self.max_tokens:
            raise InputError(too_long(self.examples, self.max_tokens, self._longest))

    @cached_property
    def _longest(self) -> int:
        return longest(self.examples)

    def epoch(self, number: int) -> Epoch:
        """Plan one epoch: time O(n log n), 12 bytes an example while at work and 4 afterwards."""
        pair_of = copies(self.examples, epoch=number, key=derive(self.seed, _COPIES))
        count = len(self.examples.split) if pair_of is None else len(pair_of)
        key = derive(self.seed, number, _EXAMPLES)
        coding = Coding.of(count * len(self.examples.directions), self._longest, key)
        keys = _sort_keys(self.examples, coding, count, pair_of)
        keys.sort()
        cells = coding.cells(keys)
        batches = cut(cells, self.max_tokens)
        return Epoch(
            number=number,
            order=coding.examples(keys),
            starts=np.concatenate([np.zeros(1, np.int64), np.cumsum(batches.rows)]),
            sequence=_shuffled(len(batches.rows), derive(self.seed, number, _BATCHES)),
            copies=count,
            pair_of=pair_of,
            real_tokens=int(cells.size @ (cells.source + cells.target)),
            padded_tokens=int(batches.rows @ (batches.source + batches.target)),
        )

    def steps(self, cursor: Cursor, per_step: int) -> Iterator[Step]:
        """Yield optimiser steps of `per_step` micro-batches each, without end, from a cursor on."""
        if per_step < 1:
            raise InputError(f"per_step = {per_step}: must be at least 1")
        taken: list[MicroBatch] = []
        for batch, after in self._sequence(cursor):
            taken.append(batch)
            if len(taken) == per_step:
                yield Step(tuple(taken), after)
                taken.clear()

    def _sequence(self, cursor: Cursor) -> Iterator[tuple[MicroBatch, Cursor]]:
        """Yield every micro-batch from a cursor on, with the place after it."""
        first = cursor.batch
        for number in itertools.count(cursor.epoch):
            epoch = self.epoch(number)
            if first >= max(1, len(epoch)):
                raise InputError(
                    f"there is no batch {first} in epoch {number}, which has {len(epoch):,}: the "
                    "cursor was saved with other data or another max_tokens"
                )
            last = len(epoch) - 1
            for index in range(first, len(epoch)):
                after = Cursor(number, index + 1) if index < last else Cursor(number + 1, 0)
                yield epoch.batch(index), after
            first = 0
            del epoch  # the next one is planned in the memory of this one


def share_of_rank(batches: Sequence[MicroBatch], *, rank: int, world: int) -> Sequence[MicroBatch]:
    """Return the micro-batches of a step that process `rank` of `world` computes."""
    if not 0 <= rank < world:
        raise InputError(f"rank = {rank}: must be from 0 to {world - 1} with {world} processes")
    if len(batches) < world:
        raise InputError(
            f"a step of {len(batches)} micro-batches leaves some of {world} processes without "
            f"work: it must have at least {world}"
        )
    return batches[rank::world]


def _sort_keys(
    examples: Examples, coding: Coding, count: int, pair_of: NDArray[np.uint32] | None
) -> NDArray[np.uint64]:
    """Return the sort key of every example: all copies in the first direction, then the next."""
    keys = np.empty(count * len(examples.directions), np.uint64)
    for direction in range(len(examples.directions)):
        for chosen in blocks(examples.split, count):
            pairs = chosen if pair_of is None else pair_of[chosen].astype(np.int64)
            numbers = direction * count + chosen
            keys[numbers[0] : numbers[-1] + 1] = coding.keys(
                *examples.lengths(direction, pairs), numbers
            )
    return keys


def _shuffled(count: int, key: int) -> NDArray[np.int64]:
    """Return the numbers below `count` in a random order that `key` decides."""
    return np.argsort(scramble(np.arange(count, dtype=np.uint64), 64, key))
