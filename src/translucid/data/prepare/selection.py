"""Stage 2: decide for every cleaned pair whether it is training, dev, test, or left out.

This needs to see all pairs at once, so it uses 64-bit hashes: while it runs, 9 bytes per pair. A
sentence is identified by the hash of its comparison key (case, punctuation and spacing do not
count), a pair by the hash of its exact text. Two different pairs among 20 million get the same hash
with a probability of 1 in 100,000.

``--split`` sorts pairs by the hash of their source sentence. The first are the test set, the next
the dev set, all others training::

    smallest hash ─► │ test │ dev │ training …

So the set of a pair depends only on its own words, not on its line, its file or the number of
processes. When lines are added, pairs at a border may move one set to the right; a pair that was
trained on never becomes held out. Adding x % of lines replaces about x % of a held-out set. All
pairs with the same source sentence move together.

Dev and test sets that were given as files keep all their lines.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from translucid.data.cleaning import Cleaner, Reason, Sides, refuse_empty
from translucid.data.prepare.report import MAX_EXAMPLES, PairExample, PairTallies, PairTally
from translucid.data.prepare.workspace import (
    HASH,
    Chunk,
    ChunkSummary,
    Hashes,
    Workspace,
    load_chunk,
    load_pair_hashes,
    load_sentence_hashes,
    sentence_hashes,
)
from translucid.data.readers import Corpus, ReadReport, read_pairs
from translucid.data.readers.built_in import read_lesson
from translucid.data.shuffle import derive_seed, scramble
from translucid.errors import InputError

_HASHES_AT_A_TIME = 1 << 20


class PairStatus(IntEnum):
    """What a cleaned pair is used for, or why it is not used.

    Pass numpy the value, never the member: it looks for attributes of a member by calling Python
    code, and drops whatever that raises, even a Ctrl-C.
    """

    TRAIN = 0
    DUPLICATE = 1
    HELD_OUT = 2
    DEV = 3
    TEST = 4


def has_status(statuses: NDArray[np.uint8], status: PairStatus) -> NDArray[np.bool_]:
    """Return which pairs have this status."""
    which: NDArray[np.bool_] = statuses == status.value
    return which


_REASONS = {PairStatus.DUPLICATE: Reason.DUPLICATE, PairStatus.HELD_OUT: Reason.HELD_OUT}


@dataclass(frozen=True)
class Selection:
    """The status of every pair, by its position in all chunks together."""

    chunks: Sequence[ChunkSummary]
    statuses: NDArray[np.uint8]

    @cached_property
    def starts(self) -> list[int]:
        """The position of the first pair of each chunk."""
        sizes = (chunk.pairs for chunk in self.chunks)
        return list(itertools.accumulate(sizes, initial=0))[:-1]

    def chunk_statuses(self, number: int) -> NDArray[np.uint8]:
        """Return the statuses of one chunk's pairs."""
        start = self.starts[number]
        return self.statuses[start : start + self.chunks[number].pairs]

    def count(self, status: PairStatus) -> int:
        """Return the number of pairs with this status."""
        return int(np.count_nonzero(has_status(self.statuses, status)))


@dataclass(frozen=True)
class SplitRequest:
    """How many pairs to hold out from the corpora, and the seed that chooses them."""

    dev: int
    test: int
    seed: int


def select(
    chunks: Sequence[ChunkSummary],
    given: HeldOutHashes,
    split: SplitRequest,
    *,
    drop_duplicates: bool,
) -> Selection:
    """Mark duplicates, then what shares a sentence with given sets, then make the split."""
    selection = Selection(chunks, np.zeros(sum(chunk.pairs for chunk in chunks), np.uint8))
    if drop_duplicates:
        selection.statuses[find_repeats(_all_pair_hashes(chunks), at_a_time=_HASHES_AT_A_TIME)] = (
            PairStatus.DUPLICATE.value
        )
    _exclude_held_out(selection, given)
    if split.dev or split.test:
        chosen = choose_held_out(
            lambda: _training_hashes(selection), dev=split.dev, test=split.test, seed=split.seed
        )
        selection.statuses[chosen.dev.positions] = PairStatus.DEV.value
        selection.statuses[chosen.test.positions] = PairStatus.TEST.value
        sources = np.concatenate([chosen.dev.sources, chosen.test.sources])
        targets = np.concatenate([chosen.dev.targets, chosen.test.targets])
        _exclude_held_out(selection, HeldOutHashes(sources, targets))
    return selection


def _all_pair_hashes(chunks: Sequence[ChunkSummary]) -> NDArray[np.uint64]:
    hashes = np.empty(sum(chunk.pairs for chunk in chunks), HASH)
    end = 0
    for chunk in chunks:
        hashes[end : end + chunk.pairs] = load_pair_hashes(chunk.path)
        end += chunk.pairs
    return hashes


def _exclude_held_out(selection: Selection, held: HeldOutHashes) -> None:
    """Remove from training what shares a sentence with held-out pairs."""
    for start, chunk in zip(selection.starts, selection.chunks, strict=True):
        statuses = selection.statuses[start : start + chunk.pairs]
        shared = held.find_shared(*load_sentence_hashes(chunk.path))
        statuses[shared & has_status(statuses, PairStatus.TRAIN)] = PairStatus.HELD_OUT.value


def _training_hashes(selection: Selection) -> Iterator[HashedPairs]:
    for start, chunk in zip(selection.starts, selection.chunks, strict=True):
        where = np.flatnonzero(
            has_status(selection.statuses[start : start + chunk.pairs], PairStatus.TRAIN)
        )
        sources, targets = load_sentence_hashes(chunk.path)
        yield HashedPairs(start + where, sources[where], targets[where])


def count_removed(selection: Selection) -> PairTallies:
    """Count what the selection leaves out; texts are read only for examples."""
    tallies = PairTallies()
    for status, reason in _REASONS.items():
        tally = PairTally(pairs=selection.count(status))
        tallies.by_name[reason] = tally
        for number, summary in enumerate(selection.chunks):
            where = np.flatnonzero(has_status(selection.chunk_statuses(number), status))
            room = MAX_EXAMPLES - len(tally.examples)
            if room and len(where):
                chunk = load_chunk(summary.path)
                tally.examples.extend(_pair_example(chunk, int(i)) for i in where[:room])
    return tallies


def _pair_example(chunk: Chunk, index: int) -> PairExample:
    sides = chunk.sources[index], chunk.targets[index]
    return PairExample.from_pair(chunk.corpus, int(chunk.lines[index]), sides, None)


def load_pairs(selection: Selection, status: PairStatus) -> list[CleanedPair]:
    """Return the pairs with a status; use it only for the few that are held out."""
    rows: list[CleanedPair] = []
    for number, summary in enumerate(selection.chunks):
        where = np.flatnonzero(has_status(selection.chunk_statuses(number), status)).tolist()
        if where:
            chunk = load_chunk(summary.path)
            rows.extend(
                CleanedPair(chunk.sources[i], chunk.targets[i], chunk.corpus, int(chunk.lines[i]))
                for i in where
            )
    return rows


_SAMPLE_KEY = 1  # an order of pairs that is independent of the one a split uses


@dataclass(frozen=True)
class SampledPairs:
    """The training pairs of a selection, or a share of them chosen by hash.

    It only has the paths of their files, so it can be sent to another process.
    """

    chunks: tuple[Path, ...]
    starts: tuple[int, ...]
    selection: Path
    share: float

    @classmethod
    def from_selection(cls, selection: Selection, work: Workspace, share: float) -> SampledPairs:
        """Return a share of the training pairs; 1 or more means all."""
        chunks = tuple(chunk.path for chunk in selection.chunks)
        return cls(chunks, tuple(selection.starts), work.selection, share)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        statuses = np.load(self.selection, mmap_mode="r")
        limit = np.uint64(min(int(self.share * 2.0**64), (1 << 64) - 1))
        for path, start in zip(self.chunks, self.starts, strict=True):
            hashes = scramble(load_pair_hashes(path), 64, _SAMPLE_KEY)
            chosen = has_status(statuses[start : start + len(hashes)], PairStatus.TRAIN) & (
                hashes <= limit
            )
            chunk = load_chunk(path)
            for index in np.flatnonzero(chosen).tolist():
                yield chunk.sources[index], chunk.targets[index]


SetName = Literal["dev", "test"]


class CleanedPair(NamedTuple):
    """A cleaned pair with the number of its corpus and its line there."""

    source: str
    target: str
    corpus: int
    line: int


@dataclass(frozen=True)
class HeldOutSet:
    """A held-out set in the order of its files, and what was repaired in it."""

    rows: list[CleanedPair]
    tallies: PairTallies
    read_reports: list[dict[str, Any]]


def read_held_out(
    name: SetName, corpora: Sequence[Corpus], first_number: int, cleaner: Cleaner
) -> HeldOutSet:
    """Read and repair a given set. Nothing is removed; empty sides are counted.

    `first_number` is the number of its first corpus among all corpora of the data.
    """
    rows: list[CleanedPair] = []
    tallies = PairTallies()
    reports = [ReadReport() for _ in corpora]
    for number, (corpus, report) in enumerate(zip(corpora, reports, strict=True), first_number):
        lesson = corpus.format == "lesson"
        pairs = read_lesson(corpus, report, name) if lesson else read_pairs(corpus, report)
        for source, target, line in pairs:
            report.pairs += lesson  # other corpora count for themselves
            sides = Sides(source, target)
            cleaned = cleaner.repair(sides)
            for repair in cleaned.repairs:
                tallies.add(repair, PairExample.from_pair(number, line, sides, cleaned.sides))
            if refuse_empty(cleaned.sides) is Reason.EMPTY:
                tallies.add(Reason.EMPTY, PairExample.from_pair(number, line, sides, None))
            rows.append(CleanedPair(*cleaned.sides, number, line))
    return HeldOutSet(rows, tallies, [report.to_json() for report in reports])


def hash_held_out(rows: Iterable[CleanedPair]) -> HeldOutHashes:
    """Return the hashes of held-out sentences; an empty side is not a sentence."""
    rows = list(rows)
    return HeldOutHashes(
        sentence_hashes(row.source for row in rows if row.source),
        sentence_hashes(row.target for row in rows if row.target),
    )


def find_repeats(hashes: Hashes, *, at_a_time: int) -> NDArray[np.bool_]:
    """Mark every hash that also occurs earlier.

    Sorts one range of hashes after another, about `at_a_time` of them at once, so that memory
    does not grow with their number, apart from the hashes and the marks.
    """
    marks = np.zeros(len(hashes), np.bool_)
    bits = max(0, (len(hashes) // at_a_time).bit_length())
    for part in range(1 << bits):
        low, high = part << (64 - bits), ((part + 1) << (64 - bits)) - 1
        where = np.flatnonzero((hashes >= np.uint64(low)) & (hashes <= np.uint64(high)))
        order = np.argsort(hashes[where], kind="stable")
        in_order = hashes[where][order]
        marks[where[order[1:][in_order[1:] == in_order[:-1]]]] = True
    return marks


class HeldOutHashes:
    """The sentences that training must not see, as two sorted arrays of hashes."""

    def __init__(self, sources: Hashes, targets: Hashes) -> None:
        self._sources, self._targets = np.unique(sources), np.unique(targets)

    def find_shared(self, sources: Hashes, targets: Hashes) -> NDArray[np.bool_]:
        """Mark the pairs whose source or target sentence is held out."""
        return _contains(self._sources, sources) | _contains(self._targets, targets)


def _contains(known: Hashes, hashes: Hashes) -> NDArray[np.bool_]:
    if not len(known):
        return np.zeros(len(hashes), np.bool_)
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    found: NDArray[np.bool_] = known[places] == hashes
    return found


class HashedPairs(NamedTuple):
    """Some pairs by position in the corpus, with the hashes of their two sentences."""

    positions: NDArray[np.int64]
    sources: Hashes
    targets: Hashes

    def take(self, which: NDArray[np.intp]) -> HashedPairs:
        """Return the pairs with these indices."""
        return HashedPairs(self.positions[which], self.sources[which], self.targets[which])


class HeldOutChoice(NamedTuple):
    """The pairs that a split holds out, each set in the order of the corpus."""

    dev: HashedPairs
    test: HashedPairs


def choose_held_out(
    blocks: Callable[[], Iterator[HashedPairs]], *, dev: int, test: int, seed: int
) -> HeldOutChoice:
    """Choose dev and test pairs from all that `blocks` yields.

    Pairs that share a sentence with the test set are skipped for the dev set. Memory depends only
    on the number of chosen pairs.
    """
    available = sum(len(block.positions) for block in blocks())
    if dev + test > available // 2:
        raise InputError(
            f"--split {dev},{test} would hold out {dev + test:,} of the {available:,} pairs that "
            f"cleaning left; at most half of them, {available // 2:,}, can be held out. "
            "Ask for fewer, or give more data."
        )
    size = 2 * (dev + test)
    while True:
        first = _smallest_hashes(blocks(), size, seed)
        chosen = _divide(first, dev, test)
        if chosen is not None:
            return chosen
        if len(first.positions) == available:
            raise InputError(
                f"--split {dev},{test}: too few pairs share no sentence with the {test:,} of the "
                "test set. Ask for smaller sets."
            )
        size *= 2


def _smallest_hashes(blocks: Iterator[HashedPairs], size: int, seed: int) -> HashedPairs:
    """Return the `size` pairs with the smallest hashes of the source sentence, in that order."""
    empty = np.empty(0, HASH)
    best = HashedPairs(np.empty(0, np.int64), empty, empty)
    for block in blocks:
        both = HashedPairs(*(np.concatenate(arrays) for arrays in zip(best, block, strict=True)))
        order = np.lexsort(
            (both.positions, both.targets, scramble(both.sources, 64, derive_seed(seed)))
        )
        best = both.take(order[:size])
    return best


def _divide(first: HashedPairs, dev: int, test: int) -> HeldOutChoice | None:
    """Divide pairs, sorted by hash, into the two sets; None if they are not enough."""
    in_test = np.arange(len(first.positions)) < test
    held = HeldOutHashes(first.sources[in_test], first.targets[in_test])
    free = np.flatnonzero(~in_test & ~held.find_shared(first.sources, first.targets))
    if in_test.sum() < test or len(free) < dev:
        return None
    sets = [first.take(places) for places in (free[:dev], np.flatnonzero(in_test))]
    return HeldOutChoice(*(chosen.take(np.argsort(chosen.positions)) for chosen in sets))
