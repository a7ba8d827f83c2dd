"""Stage 2: decide for every cleaned pair whether it is training, dev, test, or left out.

This needs to see all pairs at once, so it looks at hashes only: while it runs, 9 bytes a pair.
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
from translucid.data.prepare.report import MAX_EXAMPLES, Finding, Findings, PairExample
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
from translucid.data.shuffle import derive, scramble
from translucid.errors import InputError

_HASHES_AT_A_TIME = 1 << 20


class Fate(IntEnum):
    """What becomes of a cleaned pair.

    numpy is given the value, never the member: it would look for attributes of a member by calling
    Python code, and drop whatever that raises, a Ctrl-C too.
    """

    TRAIN = 0
    DUPLICATE = 1
    HELD_OUT = 2
    DEV = 3
    TEST = 4


def have_fate(fates: NDArray[np.uint8], fate: Fate) -> NDArray[np.bool_]:
    """Return which of the pairs have this fate."""
    which: NDArray[np.bool_] = fates == fate.value
    return which


_REASONS = {Fate.DUPLICATE: Reason.DUPLICATE, Fate.HELD_OUT: Reason.HELD_OUT}


@dataclass(frozen=True)
class Selection:
    """The fate of every pair, by its position in all chunks together."""

    chunks: Sequence[ChunkSummary]
    fates: NDArray[np.uint8]

    @cached_property
    def starts(self) -> list[int]:
        """The position of the first pair of each chunk."""
        sizes = (chunk.pairs for chunk in self.chunks)
        return list(itertools.accumulate(sizes, initial=0))[:-1]

    def of_chunk(self, number: int) -> NDArray[np.uint8]:
        """Return the fates of one chunk's pairs."""
        start = self.starts[number]
        return self.fates[start : start + self.chunks[number].pairs]

    def count(self, fate: Fate) -> int:
        """Return the number of pairs with this fate."""
        return int(np.count_nonzero(have_fate(self.fates, fate)))


@dataclass(frozen=True)
class SplitRequest:
    """How many pairs to hold out from the corpora themselves, and by which order of hashes."""

    dev: int
    test: int
    seed: int


def select(
    chunks: Sequence[ChunkSummary],
    given: HeldOutKeys,
    split: SplitRequest,
    *,
    drop_duplicates: bool,
) -> Selection:
    """Mark duplicates, then what shares a sentence with given sets, then make the split."""
    selection = Selection(chunks, np.zeros(sum(chunk.pairs for chunk in chunks), np.uint8))
    if drop_duplicates:
        selection.fates[repeated(_all_pair_hashes(chunks), at_a_time=_HASHES_AT_A_TIME)] = (
            Fate.DUPLICATE.value
        )
    _hold_apart(selection, given)
    if split.dev or split.test:
        chosen = choose(
            lambda: _training_keys(selection), dev=split.dev, test=split.test, seed=split.seed
        )
        selection.fates[chosen.dev.positions] = Fate.DEV.value
        selection.fates[chosen.test.positions] = Fate.TEST.value
        sources = np.concatenate([chosen.dev.sources, chosen.test.sources])
        targets = np.concatenate([chosen.dev.targets, chosen.test.targets])
        _hold_apart(selection, HeldOutKeys(sources, targets))
    return selection


def _all_pair_hashes(chunks: Sequence[ChunkSummary]) -> NDArray[np.uint64]:
    hashes = np.empty(sum(chunk.pairs for chunk in chunks), HASH)
    end = 0
    for chunk in chunks:
        hashes[end : end + chunk.pairs] = load_pair_hashes(chunk.path)
        end += chunk.pairs
    return hashes


def _hold_apart(selection: Selection, held: HeldOutKeys) -> None:
    """Take out of training what shares a sentence with held-out pairs."""
    for start, chunk in zip(selection.starts, selection.chunks, strict=True):
        fates = selection.fates[start : start + chunk.pairs]
        shared = held.share_a_sentence(*load_sentence_hashes(chunk.path))
        fates[shared & have_fate(fates, Fate.TRAIN)] = Fate.HELD_OUT.value


def _training_keys(selection: Selection) -> Iterator[Keys]:
    for start, chunk in zip(selection.starts, selection.chunks, strict=True):
        where = np.flatnonzero(have_fate(selection.fates[start : start + chunk.pairs], Fate.TRAIN))
        sources, targets = load_sentence_hashes(chunk.path)
        yield Keys(start + where, sources[where], targets[where])


def removed(selection: Selection) -> Findings:
    """Count what the selection leaves out; texts are read only for the examples."""
    findings = Findings()
    for fate, reason in _REASONS.items():
        finding = Finding(pairs=selection.count(fate))
        findings.by_name[reason] = finding
        for number, summary in enumerate(selection.chunks):
            where = np.flatnonzero(have_fate(selection.of_chunk(number), fate))
            room = MAX_EXAMPLES - len(finding.examples)
            if room and len(where):
                chunk = load_chunk(summary.path)
                finding.examples.extend(_pair_example(chunk, int(i)) for i in where[:room])
    return findings


def _pair_example(chunk: Chunk, index: int) -> PairExample:
    sides = chunk.sources[index], chunk.targets[index]
    return PairExample.of(chunk.corpus, int(chunk.lines[index]), sides, None)


def rows_of(selection: Selection, fate: Fate) -> list[Row]:
    """Return the pairs with a fate, for the few that a split holds out."""
    rows: list[Row] = []
    for number, summary in enumerate(selection.chunks):
        where = np.flatnonzero(have_fate(selection.of_chunk(number), fate)).tolist()
        if where:
            chunk = load_chunk(summary.path)
            rows.extend(
                Row(chunk.sources[i], chunk.targets[i], chunk.corpus, int(chunk.lines[i]))
                for i in where
            )
    return rows


_SAMPLE_KEY = 1  # an order of pairs that is independent of the one a split uses


@dataclass(frozen=True)
class SampledPairs:
    """The training pairs of a selection, or a share of them chosen by hash.

    It knows where they are on the disk, and so can be sent to another process.
    """

    chunks: tuple[Path, ...]
    starts: tuple[int, ...]
    selection: Path
    share: float

    @classmethod
    def of(cls, selection: Selection, work: Workspace, share: float) -> SampledPairs:
        """Return a share of the training pairs; of 1 or more, all."""
        chunks = tuple(chunk.path for chunk in selection.chunks)
        return cls(chunks, tuple(selection.starts), work.selection, share)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        fates = np.load(self.selection, mmap_mode="r")
        limit = np.uint64(min(int(self.share * 2.0**64), (1 << 64) - 1))
        for path, start in zip(self.chunks, self.starts, strict=True):
            hashes = scramble(load_pair_hashes(path), 64, _SAMPLE_KEY)
            chosen = have_fate(fates[start : start + len(hashes)], Fate.TRAIN) & (hashes <= limit)
            chunk = load_chunk(path)
            for index in np.flatnonzero(chosen).tolist():
                yield chunk.sources[index], chunk.targets[index]


SetName = Literal["dev", "test"]


class Row(NamedTuple):
    """A cleaned pair with the number of its corpus and its line there."""

    source: str
    target: str
    corpus: int
    line: int


@dataclass(frozen=True)
class HeldOut:
    """A held-out set in the order of its files, and what was found in it."""

    rows: list[Row]
    findings: Findings
    read_reports: list[dict[str, Any]]


def read_held_out(
    name: SetName, corpora: Sequence[Corpus], first_number: int, cleaner: Cleaner
) -> HeldOut:
    """Read and repair a given set. Nothing is removed; an empty side is only counted.

    `first_number` is the number of its first corpus among all corpora of the data.
    """
    rows: list[Row] = []
    findings = Findings()
    reports = [ReadReport() for _ in corpora]
    for number, (corpus, report) in enumerate(zip(corpora, reports, strict=True), first_number):
        lesson = corpus.format == "lesson"
        pairs = read_lesson(corpus, report, name) if lesson else read_pairs(corpus, report)
        for source, target, line in pairs:
            report.pairs += lesson  # other corpora count for themselves
            sides = Sides(source, target)
            cleaned = cleaner.repair(sides)
            for repair in cleaned.repairs:
                findings.add(repair, PairExample.of(number, line, sides, cleaned.sides))
            if refuse_empty(cleaned.sides) is Reason.EMPTY:
                findings.add(Reason.EMPTY, PairExample.of(number, line, sides, None))
            rows.append(Row(*cleaned.sides, number, line))
    return HeldOut(rows, findings, [report.to_json() for report in reports])


def keys_of(rows: Iterable[Row]) -> HeldOutKeys:
    """Return the sentences of held-out pairs; an empty side is no sentence."""
    rows = list(rows)
    return HeldOutKeys(
        sentence_hashes(row.source for row in rows if row.source),
        sentence_hashes(row.target for row in rows if row.target),
    )


def repeated(hashes: Hashes, *, at_a_time: int) -> NDArray[np.bool_]:
    """Mark every hash that also stands further up.

    Sorts one range of hashes after another, about `at_a_time` of them at once, so that beside the
    hashes and the marks memory does not grow with their number.
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


class HeldOutKeys:
    """The sentences that training may not see, as two sorted arrays of hashes."""

    def __init__(self, sources: Hashes, targets: Hashes) -> None:
        self._sources, self._targets = np.unique(sources), np.unique(targets)

    def share_a_sentence(self, sources: Hashes, targets: Hashes) -> NDArray[np.bool_]:
        """Mark the pairs of which the source or the target sentence is held out."""
        return _contains(self._sources, sources) | _contains(self._targets, targets)


def _contains(known: Hashes, hashes: Hashes) -> NDArray[np.bool_]:
    if not len(known):
        return np.zeros(len(hashes), np.bool_)
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    found: NDArray[np.bool_] = known[places] == hashes
    return found


class Keys(NamedTuple):
    """Some pairs by position in the corpus, with the hashes of their two sentences."""

    positions: NDArray[np.int64]
    sources: Hashes
    targets: Hashes

    def take(self, which: NDArray[np.intp]) -> Keys:
        """Return the pairs at the given places."""
        return Keys(self.positions[which], self.sources[which], self.targets[which])


class Chosen(NamedTuple):
    """The pairs that a split holds out, each set in the order of the corpus."""

    dev: Keys
    test: Keys


def choose(blocks: Callable[[], Iterator[Keys]], *, dev: int, test: int, seed: int) -> Chosen:
    """Choose dev and test pairs from all those that `blocks` gives, block by block.

    A dev pair shares no sentence with the test set; one that does is passed over. Memory depends
    on the number of chosen pairs only.
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
        first = _first(blocks(), size, seed)
        chosen = _walk(first, dev, test)
        if chosen is not None:
            return chosen
        if len(first.positions) == available:
            raise InputError(
                f"--split {dev},{test}: too few pairs share no sentence with the {test:,} of the "
                "test set. Ask for smaller sets."
            )
        size *= 2


def _first(blocks: Iterator[Keys], size: int, seed: int) -> Keys:
    """Return the `size` pairs with the smallest hashes of the source sentence, in that order."""
    empty = np.empty(0, HASH)
    best = Keys(np.empty(0, np.int64), empty, empty)
    for block in blocks:
        both = Keys(*(np.concatenate(arrays) for arrays in zip(best, block, strict=True)))
        order = np.lexsort((both.positions, both.targets, scramble(both.sources, 64, derive(seed))))
        best = both.take(order[:size])
    return best


def _walk(first: Keys, dev: int, test: int) -> Chosen | None:
    """Divide pairs, sorted by hash, into the two sets; None where they are not enough."""
    in_test = np.arange(len(first.positions)) < test
    held = HeldOutKeys(first.sources[in_test], first.targets[in_test])
    free = np.flatnonzero(~in_test & ~held.share_a_sentence(first.sources, first.targets))
    if in_test.sum() < test or len(free) < dev:
        return None
    sets = [first.take(places) for places in (free[:dev], np.flatnonzero(in_test))]
    return Chosen(*(chosen.take(np.argsort(chosen.positions)) for chosen in sets))
