"""Keeping training, dev and test apart, and finding what was there before, by 64-bit hashes.

A sentence is known by the hash of its comparison key (case, punctuation and spacing do not count),
a pair by the hash of its exact text. Only hashes are kept in memory: 8 bytes a pair. Two different
pairs among 20 million get the same hash with a probability of 1 in 100,000.

``--split`` puts pairs in the order of the hash of their source sentence. The first are the test
set, the next the dev set, all others training::

    smallest hash ─► │ test │ dev │ training …

So the place of a pair depends on its own words and on nothing else: not on its line, its file or
the number of processes. When lines are added, each moves only itself in, and pairs at a border
may move one set to the right; never does a pair that was trained on become held out. Adding x % of
lines replaces about x % of a held-out set. All pairs with the same source sentence move together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from translucid.data.shuffle import derive, scramble
from translucid.errors import InputError
from translucid.text.normalization import comparison_key

Hashes: TypeAlias = NDArray[np.uint64]
HASH = np.dtype("<u8")


def sentence_hashes(texts: Iterable[str]) -> Hashes:
    """Return the hashes under which sentences are compared with held-out ones."""
    return _hashes(comparison_key(text).encode() for text in texts)


def pair_hashes(sources: Iterable[str], targets: Iterable[str]) -> Hashes:
    """Return the hashes of the exact text of pairs, of ("a", "bc") another than of ("ab", "c")."""
    encoded = ((s.encode(), t.encode()) for s, t in zip(sources, targets, strict=True))
    return _hashes(b"%d %b%b" % (len(source), source, target) for source, target in encoded)


def _hashes(data: Iterable[bytes]) -> Hashes:
    return np.frombuffer(b"".join(blake2b(d, digest_size=8).digest() for d in data), HASH)


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
