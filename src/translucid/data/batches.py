"""The sequence of micro-batches: a pure function of (data, max_tokens, seed, epoch).

An epoch contains each pair as often as its corpus's weight says, in every direction. A
micro-batch has at most `max_tokens` tokens on either side, including padding, tag, BOS and EOS.
Sentences of similar length are batched together (see `shuffle`), and the micro-batches of an epoch
come in random order. Those of all epochs form one sequence, whatever the number of processes: an
optimiser step takes the next k of them, and rank r of w computes those whose position in the step
is r modulo w. A step at the end of an epoch takes the missing ones from the next epoch, so that
every step has exactly k.

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

from translucid.data.manifest import CorpusEntry
from translucid.data.shards import PreparedData, Split
from translucid.data.shuffle import SortKeyCoding, cut_into_batches, derive_seed, scramble
from translucid.errors import DataError, InputError
from translucid.text.tokenizer import tag_id

_COPIES, _EXAMPLES, _BATCHES = range(3)  # what a random number is for, as draws must be independent


@dataclass(frozen=True)
class Cursor:
    """A position in the sequence of micro-batches: the next one is `batch` of `epoch`."""

    epoch: int
    batch: int

    def __post_init__(self) -> None:
        if self.epoch < 0 or self.batch < 0:
            raise InputError(f"{self}: neither number can be negative")


START = Cursor(epoch=0, batch=0)


@dataclass(frozen=True, eq=False)
class MicroBatch:
    """Examples that are computed together, and their position.

    Row r is pair ``pairs[r]`` in direction ``directions[r]``.
    """

    epoch: int
    index: int
    pairs: NDArray[np.int64]
    directions: NDArray[np.int64]


class Step(NamedTuple):
    """The micro-batches of one optimiser step, over all ranks, and the position after them."""

    batches: tuple[MicroBatch, ...]
    after: Cursor


@dataclass(frozen=True)
class Epoch:
    """The micro-batches of one epoch.

    `order` has the numbers of all examples, sorted by length. Batch b takes those from
    ``starts[b]`` to ``starts[b + 1]``; `sequence` is the order of the batches. Example
    ``d * copies + c`` is copy c in direction d; `pair_of` is the pair of each copy, or None if each
    pair has one copy.
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
        """Return the micro-batch at a position of this epoch."""
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
    """The endless sequence of micro-batches for training.

    No example is left out: if one exceeds the budget by itself, construction raises an InputError
    that names its line and the budget it needs.
    """

    examples: Examples
    max_tokens: int
    seed: int

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise InputError(f"max_tokens = {self.max_tokens}: must be at least 1")
        if not 0 <= self.seed < 1 << 63:
            raise InputError(f"seed = {self.seed}: must be from 0 to 2^63 - 1")
        check_examples(self.examples)
        if self._longest > self.max_tokens:
            raise InputError(describe_too_long(self.examples, self.max_tokens, self._longest))

    @cached_property
    def _longest(self) -> int:
        return longest_example(self.examples)

    def epoch(self, number: int) -> Epoch:
        """Plan one epoch: time O(n log n), memory 12 bytes per example, 4 afterwards."""
        pair_of = repeat_by_weight(self.examples, epoch=number, key=derive_seed(self.seed, _COPIES))
        count = len(self.examples.split) if pair_of is None else len(pair_of)
        key = derive_seed(self.seed, number, _EXAMPLES)
        coding = SortKeyCoding.for_examples(
            count * len(self.examples.directions), self._longest, key
        )
        keys = _sort_keys(self.examples, coding, count, pair_of)
        keys.sort()
        groups = coding.groups(keys)
        batches = cut_into_batches(groups, self.max_tokens)
        return Epoch(
            number=number,
            order=coding.examples(keys),
            starts=np.concatenate([np.zeros(1, np.int64), np.cumsum(batches.rows)]),
            sequence=_shuffle(len(batches.rows), derive_seed(self.seed, number, _BATCHES)),
            copies=count,
            pair_of=pair_of,
            real_tokens=int(groups.size @ (groups.source + groups.target)),
            padded_tokens=int(batches.rows @ (batches.source + batches.target)),
        )

    def steps(self, cursor: Cursor, per_step: int) -> Iterator[Step]:
        """Yield optimiser steps of `per_step` micro-batches, endlessly, starting at a cursor."""
        if per_step < 1:
            raise InputError(f"per_step = {per_step}: must be at least 1")
        taken: list[MicroBatch] = []
        for batch, after in self._sequence(cursor):
            taken.append(batch)
            if len(taken) == per_step:
                yield Step(tuple(taken), after)
                taken.clear()

    def _sequence(self, cursor: Cursor) -> Iterator[tuple[MicroBatch, Cursor]]:
        """Yield every micro-batch, starting at a cursor, with the position after it."""
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


def select_rank(
    batches: Sequence[MicroBatch], *, rank: int, world_size: int
) -> Sequence[MicroBatch]:
    """Return the micro-batches of a step that process `rank` of `world_size` computes."""
    if not 0 <= rank < world_size:
        raise InputError(
            f"rank = {rank}: must be from 0 to {world_size - 1} with {world_size} processes"
        )
    if len(batches) < world_size:
        raise InputError(
            f"a step of {len(batches)} micro-batches leaves some of {world_size} processes without "
            f"work: it must have at least {world_size}"
        )
    return batches[rank::world_size]


def _sort_keys(
    examples: Examples, coding: SortKeyCoding, count: int, pair_of: NDArray[np.uint32] | None
) -> NDArray[np.uint64]:
    """Return the sort key of every example: all copies in the first direction, then the next."""
    keys = np.empty(count * len(examples.directions), np.uint64)
    for direction in range(len(examples.directions)):
        for chosen in iterate_blocks(examples.split, count):
            pairs = chosen if pair_of is None else pair_of[chosen].astype(np.int64)
            numbers = direction * count + chosen
            keys[numbers[0] : numbers[-1] + 1] = coding.keys(
                *examples.lengths(direction, pairs), numbers
            )
    return keys


def _shuffle(count: int, key: int) -> NDArray[np.int64]:
    """Return the numbers below `count` in a random order, chosen by `key`."""
    return np.argsort(scramble(np.arange(count, dtype=np.uint64), 64, key))


MOST_EXAMPLES = 1 << 32  # in an epoch; their numbers are uint32

_PAIRS_AT_A_TIME = 1 << 18
_BINARY_PLACES = 32  # weights are fixed-point numbers, so that sums over epochs are exact
_ONE = 1 << _BINARY_PLACES
_NAMED_IN_A_MESSAGE = 5


@dataclass(frozen=True)
class Examples:
    """The examples of a split; an example is a sentence pair in one direction.

    `tags` are the tokens that sources begin with, one per direction, or None without tags. Source
    and target tokens are below `sizes`. `weights` says by corpus number how often a pair comes per
    epoch; None: once.
    """

    split: Split
    directions: tuple[tuple[str, str], ...]
    tags: tuple[int | None, ...]
    sizes: tuple[int, int]
    corpora: tuple[CorpusEntry, ...]
    weights: tuple[float, ...] | None

    def lengths(
        self, direction: int, pairs: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return source and target lengths, including the tag and EOS, and BOS or EOS."""
        source, target = self.directions[direction]
        added = 1 if self.tags[direction] is None else 2
        return (
            self.split.lengths(source, pairs) + added,
            self.split.lengths(target, pairs) + 1,
        )

    def describe_origin(self, pair: int) -> str:
        """Return the file and line that a pair came from, for people."""
        corpus = int(_corpora(self, np.array([pair]))[0])
        return f"{', '.join(self.corpora[corpus].paths)}, line {self.split.origin(pair).line}"


def load_examples(data: PreparedData, split: str) -> Examples:
    """Return the examples of a split; weights count only in ``train``."""
    manifest = data.manifest
    weights = tuple(corpus.weight for corpus in manifest.corpora)
    return Examples(
        split=data.split(split),
        directions=manifest.directions,
        tags=tuple(
            tag_id(manifest.languages[target]) if manifest.tagged else None
            for _, target in manifest.directions
        ),
        sizes=manifest.tokenizer.sizes,
        corpora=manifest.corpora,
        weights=weights if split == "train" and any(w != 1 for w in weights) else None,
    )


def iterate_blocks(split: Split, count: int) -> Iterator[NDArray[np.int64]]:
    """Yield the numbers below `count` in blocks, and release the pages read in between."""
    for begin in range(0, count, _PAIRS_AT_A_TIME):
        yield np.arange(begin, min(begin + _PAIRS_AT_A_TIME, count))
        split.release()


def repeat_by_weight(examples: Examples, *, epoch: int, key: int) -> NDArray[np.uint32] | None:
    """Return the pair of every copy in an epoch, or None if each pair has one copy.

    A pair of weight w has floor(w) or floor(w) + 1 copies. Each pair has its own phase, chosen by
    `key` and its number, so that after any number of epochs the number of its copies differs by
    less than one from epochs × w::

        weight 0.4, phase 0.3    0.3 → 0.7 → 1.1 → 1.5 → 1.9 → 2.3    a copy each time the sum
        copies in epoch               0     1     0     0     1       passes an integer
    """
    if examples.weights is None:
        return None
    weights = [round(weight * _ONE) for weight in examples.weights]
    step = np.array(weights, np.uint64)
    before = np.array([weight * epoch % _ONE for weight in weights], np.uint64)
    found = [np.empty(0, np.uint32)]
    for pairs in iterate_blocks(examples.split, len(examples.split)):
        corpora = _corpora(examples, pairs)
        phases = scramble(pairs.astype(np.uint64), 64, key) >> np.uint64(64 - _BINARY_PLACES)
        start = phases + before[corpora]
        passed = (start + step[corpora]) // _ONE - start // _ONE
        found.append(np.repeat(pairs, passed.astype(np.int64)).astype(np.uint32))
    return np.concatenate(found)


def _corpora(examples: Examples, pairs: NDArray[np.int64]) -> NDArray[np.uint32]:
    corpora = examples.split.corpora(pairs)
    if corpora.max() >= len(examples.corpora):
        raise DataError(
            examples.split.folder / "origin",
            f"corpus number {corpora.max()}, but the manifest lists {len(examples.corpora)} "
            "corpora, counted from 0",
            remedy="The folder is damaged. Run `translucid prepare` again.",
        )
    return corpora


def longest_example(examples: Examples) -> int:
    """Return the maximum length, source or target, of all examples."""
    return max((int(lengths.max()) for _, lengths in _longer_sides(examples)), default=0)


def check_examples(examples: Examples) -> None:
    """Raise InputError if an epoch would have no example, or too many to number."""
    folder, pairs = examples.split.folder, len(examples.split)
    if pairs == 0:
        raise InputError(f"{folder} has no sentence pairs, so there is nothing to batch")
    expected = float(pairs * len(examples.directions))
    if examples.weights is not None:
        weights = np.array(examples.weights)
        sums = (
            weights[_corpora(examples, some)].sum()
            for some in iterate_blocks(examples.split, pairs)
        )
        expected = float(sum(sums)) * len(examples.directions)
    if not 1 <= expected <= MOST_EXAMPLES:
        raise InputError(
            f"{folder}: {pairs:,} pairs with the weights {examples.weights} make {expected:,.3f} "
            f"examples per epoch; there must be from 1 to {MOST_EXAMPLES:,}. Change the weights "
            "(FILE@WEIGHT of `translucid prepare`)."
        )


def describe_too_long(examples: Examples, max_tokens: int, needed: int) -> str:
    """Say how many pairs exceed a batch by themselves, and the lines of the first ones."""
    found = [pairs[lengths > max_tokens] for pairs, lengths in _longer_sides(examples)]
    pairs = np.unique(np.concatenate(found))
    places = [f"  {examples.describe_origin(int(pair))}" for pair in pairs[:_NAMED_IN_A_MESSAGE]]
    if len(pairs) > len(places):
        places.append(f"  and {len(pairs) - len(places):,} more")
    return (
        f"micro-batches of {max_tokens:,} tokens are too small for {len(pairs):,} of "
        f"{len(examples.split):,} pairs of {examples.split.folder}; the longest needs {needed:,}. "
        f"Raise micro_batch_tokens (and batch_tokens, if it is less) to {needed:,}, or prepare the "
        "data again with a lower limit of length (--max-tokens). The pairs:\n" + "\n".join(places)
    )


def _longer_sides(examples: Examples) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield, in blocks, the pairs that are used and the longer side of each."""
    weights = None if examples.weights is None else np.array(examples.weights)
    for pairs in iterate_blocks(examples.split, len(examples.split)):
        used = pairs if weights is None else pairs[weights[_corpora(examples, pairs)] > 0]
        if used.size:
            for direction in range(len(examples.directions)):
                yield used, np.maximum(*examples.lengths(direction, used))
