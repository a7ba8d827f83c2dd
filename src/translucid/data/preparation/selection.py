"""Stage 2: decide for every cleaned pair whether it is training, dev, test, or left out.

This needs to see all pairs at once, so it looks at hashes only: while it runs, 9 bytes a pair.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from translucid.data.cleaning import Reason
from translucid.data.preparation.chunks import (
    Chunk,
    ChunkSummary,
    load_chunk,
    load_pair_hashes,
    load_sentence_hashes,
)
from translucid.data.preparation.held_out import Row
from translucid.data.report import MAX_EXAMPLES, Finding, Findings, PairExample
from translucid.data.splits import HASH, HeldOutKeys, Keys, choose, repeated

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
                finding.examples.extend(_example(chunk, int(i)) for i in where[:room])
    return findings


def _example(chunk: Chunk, index: int) -> PairExample:
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
