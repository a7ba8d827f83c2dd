"""The sequence of micro-batches: a pure function of (data, max_tokens, seed, epoch).

An epoch contains each pair as often as the weights of its corpus and its data folder say, in every
direction of that folder; the pairs of all folders are mixed as if they were those of one. A
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

    Row r is pair ``pairs[r]``, of the folder to which direction ``directions[r]`` belongs.
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
class Copies:
    """The examples of an epoch by number: ``first[d] + c`` is copy c of a pair in direction d.

    ``pairs[d]`` is the pair of each copy, or None if each pair has one; `first` ends with the
    number of all examples.
    """

    first: NDArray[np.int64]
    pairs: tuple[NDArray[np.uint32] | None, ...]

    def locate(self, examples: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the pair and the direction of each of some examples."""
        directions = np.searchsorted(self.first, examples, side="right") - 1
        found = examples - self.first[directions]
        for direction, pairs in enumerate(self.pairs):
            if pairs is not None:
                here = directions == direction
                found[here] = pairs[found[here]]
        return found, directions


@dataclass(frozen=True)
class Epoch:
    """The micro-batches of one epoch.

    `order` has the numbers of all examples, sorted by length. Batch b takes those from
    ``starts[b]`` to ``starts[b + 1]``; `sequence` is the order of the batches.
    """

    number: int
    order: NDArray[np.uint32]
    starts: NDArray[np.int64]
    sequence: NDArray[np.int64]
    copies: Copies
    real_tokens: int
    padded_tokens: int

    def __len__(self) -> int:
        return len(self.sequence)

    def batch(self, index: int) -> MicroBatch:
        """Return the micro-batch at a position of this epoch."""
        which = self.sequence[index]
        examples = self.order[self.starts[which] : self.starts[which + 1]].astype(np.int64)
        examples.sort()  # by direction, and within one so that files are read forwards
        return MicroBatch(self.number, index, *self.copies.locate(examples))

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
        examples = self.examples
        copies = _count_copies(examples, epoch=number, key=derive_seed(self.seed, _COPIES))
        key = derive_seed(self.seed, number, _EXAMPLES)
        coding = SortKeyCoding.for_examples(int(copies.first[-1]), self._longest, key)
        keys = _sort_keys(examples, coding, copies)
        keys.sort()
        groups = coding.groups(keys)
        batches = cut_into_batches(groups, self.max_tokens)
        return Epoch(
            number=number,
            order=coding.examples(keys),
            starts=np.concatenate([np.zeros(1, np.int64), np.cumsum(batches.rows)]),
            sequence=_shuffle(len(batches.rows), derive_seed(self.seed, number, _BATCHES)),
            copies=copies,
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


def _count_copies(examples: Examples, *, epoch: int, key: int) -> Copies:
    """Return the copies of all pairs in an epoch, direction by direction."""
    each = [repeat_by_weight(portion, epoch=epoch, key=key) for portion in examples.portions]
    pairs = tuple(each[portion] for portion in examples.portion_of)
    counts = [
        len(examples.portion(direction).split) if chosen is None else len(chosen)
        for direction, chosen in enumerate(pairs)
    ]
    return Copies(np.cumsum([0, *counts]), pairs)


def _sort_keys(examples: Examples, coding: SortKeyCoding, copies: Copies) -> NDArray[np.uint64]:
    """Return the sort key of every example: all copies in the first direction, then the next."""
    keys = np.empty(int(copies.first[-1]), np.uint64)
    for direction, pair_of in enumerate(copies.pairs):
        begin, end = copies.first[direction : direction + 2].tolist()
        for chosen in iterate_blocks(examples.portion(direction).split, end - begin):
            pairs = chosen if pair_of is None else pair_of[chosen].astype(np.int64)
            numbers = begin + chosen
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
class Portion:
    """The pairs of one data folder.

    `weights` says by corpus number how often a pair comes per epoch; None: once.
    """

    split: Split
    corpora: tuple[CorpusEntry, ...]
    weights: tuple[float, ...] | None

    def describe_origin(self, pair: int) -> str:
        """Return the file and line that a pair came from, for people."""
        corpus = int(_corpora(self, np.array([pair]))[0])
        return f"{', '.join(self.corpora[corpus].paths)}, line {self.split.origin(pair).line}"


@dataclass(frozen=True)
class Examples:
    """The examples of one or more data folders; an example is a sentence pair in one direction.

    `directions` are those of the first folder, then those of the next; ``portion_of[d]`` is the
    folder, by number, that direction d belongs to. `tags` are the tokens that sources begin with,
    one per direction, or None without tags. Source and target tokens are below `sizes`.
    """

    portions: tuple[Portion, ...]
    directions: tuple[tuple[str, str], ...]
    portion_of: tuple[int, ...]
    tags: tuple[int | None, ...]
    sizes: tuple[int, int]

    def portion(self, direction: int) -> Portion:
        """Return the pairs that come in a direction."""
        return self.portions[self.portion_of[direction]]

    def lengths(
        self, direction: int, pairs: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return source and target lengths, including the tag and EOS, and BOS or EOS."""
        source, target = self.directions[direction]
        added = 1 if self.tags[direction] is None else 2
        split = self.portion(direction).split
        return split.lengths(source, pairs) + added, split.lengths(target, pairs) + 1


def load_examples(data: PreparedData, split: str) -> Examples:
    """Return the examples of a split.

    Those of ``train`` are from all folders, by weight; other splits are those of the first folder.
    """
    parts = data.parts if split == "train" else ((data, 1.0),)
    portions, portion_of = [], []
    directions: list[tuple[str, str]] = []
    tags: list[int | None] = []
    for number, (folder, weight) in enumerate(parts):
        manifest = folder.manifest
        weights = tuple(weight * corpus.weight for corpus in manifest.corpora)
        is_weighted = split == "train" and any(w != 1 for w in weights)
        portions.append(
            Portion(folder.split(split), manifest.corpora, weights if is_weighted else None)
        )
        for source, target in manifest.directions:
            directions.append((source, target))
            portion_of.append(number)
            tags.append(tag_id(manifest.languages[target]) if manifest.tagged else None)
    sizes = data.manifest.tokenizer.sizes
    return Examples(tuple(portions), tuple(directions), tuple(portion_of), tuple(tags), sizes)


def iterate_blocks(split: Split, count: int) -> Iterator[NDArray[np.int64]]:
    """Yield the numbers below `count` in blocks, and release the pages read in between."""
    for begin in range(0, count, _PAIRS_AT_A_TIME):
        yield np.arange(begin, min(begin + _PAIRS_AT_A_TIME, count))
        split.release()


def repeat_by_weight(portion: Portion, *, epoch: int, key: int) -> NDArray[np.uint32] | None:
    """Return the pair of every copy in an epoch, or None if each pair has one copy.

    A pair of weight w has floor(w) or floor(w) + 1 copies. Each pair has its own phase, chosen by
    `key` and its number, so that after any number of epochs the number of its copies differs by
    less than one from epochs × w::

        weight 0.4, phase 0.3    0.3 → 0.7 → 1.1 → 1.5 → 1.9 → 2.3    a copy each time the sum
        copies in epoch               0     1     0     0     1       passes an integer
    """
    if portion.weights is None:
        return None
    weights = [round(weight * _ONE) for weight in portion.weights]
    step = np.array(weights, np.uint64)
    before = np.array([weight * epoch % _ONE for weight in weights], np.uint64)
    found = [np.empty(0, np.uint32)]
    for pairs in iterate_blocks(portion.split, len(portion.split)):
        corpora = _corpora(portion, pairs)
        phases = scramble(pairs.astype(np.uint64), 64, key) >> np.uint64(64 - _BINARY_PLACES)
        start = phases + before[corpora]
        passed = (start + step[corpora]) // _ONE - start // _ONE
        found.append(np.repeat(pairs, passed.astype(np.int64)).astype(np.uint32))
    return np.concatenate(found)


def _corpora(portion: Portion, pairs: NDArray[np.int64]) -> NDArray[np.uint32]:
    corpora = portion.split.corpora(pairs)
    if corpora.max() >= len(portion.corpora):
        raise DataError(
            portion.split.folder / "origin",
            f"corpus number {corpora.max()}, but the manifest lists {len(portion.corpora)} "
            "corpora, counted from 0",
            remedy="The folder is damaged. Run `translucid prepare` again.",
        )
    return corpora


def longest_example(examples: Examples) -> int:
    """Return the maximum length, source or target, of all examples."""
    return max((int(lengths.max()) for _, _, lengths in _longer_sides(examples)), default=0)


def check_examples(examples: Examples) -> None:
    """Raise InputError if an epoch would have no example, or too many to number."""
    expected = 0.0
    for number, portion in enumerate(examples.portions):
        if not len(portion.split):
            raise InputError(
                f"{portion.split.folder} has no sentence pairs, so there is nothing to batch"
            )
        expected += _weigh_pairs(portion) * examples.portion_of.count(number)
    if not 1 <= expected <= MOST_EXAMPLES:
        each = " and ".join(
            f"{portion.split.folder}: {len(portion.split):,} pairs with the weights "
            f"{portion.weights}"
            for portion in examples.portions
        )
        raise InputError(
            f"{each} make {expected:,.3f} examples per epoch; there must be from 1 to "
            f"{MOST_EXAMPLES:,}. Change the weights (FILE@WEIGHT of `translucid prepare`, "
            "DATA@WEIGHT of `translucid train`)."
        )


def _weigh_pairs(portion: Portion) -> float:
    """Return the sum of the weights of all pairs: the copies in an epoch, on average."""
    pairs = len(portion.split)
    if portion.weights is None:
        return float(pairs)
    weights = np.array(portion.weights)
    blocks = iterate_blocks(portion.split, pairs)
    return float(sum(weights[_corpora(portion, some)].sum() for some in blocks))


def describe_too_long(examples: Examples, max_tokens: int, needed: int) -> str:
    """Say how many pairs exceed a batch by themselves, and the lines of the first ones."""
    found = sorted(
        {
            (portion, pair)
            for portion, pairs, lengths in _longer_sides(examples)
            for pair in pairs[lengths > max_tokens].tolist()
        }
    )
    places = [
        f"  {examples.portions[portion].describe_origin(pair)}"
        for portion, pair in found[:_NAMED_IN_A_MESSAGE]
    ]
    if len(found) > len(places):
        places.append(f"  and {len(found) - len(places):,} more")
    folders = " and ".join(str(portion.split.folder) for portion in examples.portions)
    return (
        f"micro-batches of {max_tokens:,} tokens are too small for {len(found):,} of "
        f"{sum(len(portion.split) for portion in examples.portions):,} pairs of {folders}; the "
        f"longest needs {needed:,}. "
        f"Raise micro_batch_tokens (and batch_tokens, if it is less) to {needed:,}, or prepare the "
        "data again with a lower limit of length (--max-tokens). The pairs:\n" + "\n".join(places)
    )


def _longer_sides(
    examples: Examples,
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield, in blocks, the pairs of a portion that are used and the longer side of each."""
    for direction, number in enumerate(examples.portion_of):
        portion = examples.portions[number]
        weights = None if portion.weights is None else np.array(portion.weights)
        for pairs in iterate_blocks(portion.split, len(portion.split)):
            used = pairs if weights is None else pairs[weights[_corpora(portion, pairs)] > 0]
            if used.size:
                yield number, used, np.maximum(*examples.lengths(direction, used))
