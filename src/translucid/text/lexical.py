"""Which words translate which, learned from pairs of sentences alone: IBM model 1.

Each target token is said to come from one source token or from none; P(target | source) is learned
by expectation maximisation (Brown et al. 1993, "The Mathematics of Statistical Machine
Translation"). Links that models of both directions are sure of are rarely wrong.

It knows nothing of any network, and so can tell which heads of one align words; and where a pair of
tags may stand around the same words of two sentences.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Tokens: TypeAlias = Sequence[int]
Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

MOST_CELLS = 5_000_000  # possible links; each takes some 200 bytes
ITERATIONS = 8
SURE = 0.5  # a link is sure with more than this share of what explains its target token
_NOTHING = -1  # the token from which those come that have no counterpart
_BITS = 31  # a combination of source token and target token is one number


class SureLink(NamedTuple):
    """Token number `target` of the target of a pair translates number `source` of its source."""

    pair: int
    source: int
    target: int


class _Cells(NamedTuple):
    """Every possible link of all pairs, a column each."""

    word: Ints  # number of the target token in all pairs
    kind: Ints  # number of the combination of source token and target token
    kinds: Ints  # each combination, in order
    origin: Ints  # number of the source token of each kind (not of each link)


@dataclass(frozen=True)
class WordTable:
    """P(target token | source token) of the combinations that training has seen."""

    kinds: Ints
    probability: Floats

    def sure(self, source: Tokens, target: Tokens) -> set[tuple[int, int]]:
        """Return the places (source, target) of a pair's sure links."""
        tokens = np.array([_NOTHING, *source], np.int64)
        wanted = _kind(tokens[None, :], np.array(target, np.int64)[:, None])
        places = np.searchsorted(self.kinds, wanted).clip(max=len(self.kinds) - 1)
        found = np.where(self.kinds[places] == wanted, self.probability[places], 0.0)
        total = found.sum(axis=1, keepdims=True)
        shares = np.divide(found, total, out=np.zeros_like(found), where=total > 0)
        rows, columns = np.nonzero(shares[:, 1:] > SURE)
        return set(zip(columns.tolist(), rows.tolist(), strict=True))


@dataclass(frozen=True)
class Lexicon:
    """Both directions of IBM model 1."""

    forward: WordTable
    backward: WordTable

    def sure_links(self, source: Tokens, target: Tokens) -> list[tuple[int, int]]:
        """Return the links (source, target) that both directions are sure of, by target."""
        if not source or not target:
            return []
        back = {(s, t) for t, s in self.backward.sure(target, source)}
        both = self.forward.sure(source, target) & back
        return sorted(both, key=lambda link: (link[1], link[0]))


def train_lexicon(sources: Sequence[Tokens], targets: Sequence[Tokens]) -> Lexicon:
    """Learn both directions; of many long sentences only the first are looked at, for memory."""
    count = _affordable(sources, targets)
    sources, targets = sources[:count], targets[:count]
    return Lexicon(_table(_cells(sources, targets)), _table(_cells(targets, sources)))


def sure_links(sources: Sequence[Tokens], targets: Sequence[Tokens]) -> list[SureLink]:
    """Return the links that the models of both directions are sure of, in order.

    Of many long sentences only the first are looked at, as memory grows with their cells.
    """
    lexicon = train_lexicon(sources, targets)
    count = _affordable(sources, targets)
    return [
        SureLink(pair, *link)
        for pair, (source, target) in enumerate(zip(sources[:count], targets[:count], strict=True))
        for link in lexicon.sure_links(source, target)
    ]


def _affordable(sources: Sequence[Tokens], targets: Sequence[Tokens]) -> int:
    """Return how many pairs, from the first on, have no more than MOST_CELLS possible links."""
    sizes = [
        len(target) * (len(source) + 1) for source, target in zip(sources, targets, strict=True)
    ]
    return max(1, sum(total <= MOST_CELLS for total in itertools.accumulate(sizes)))


def _kind(source: Ints, target: Ints) -> Ints:
    """Return one number for each combination of a source token, or nothing, and a target token."""
    return ((source + 1) << _BITS) | target


def _cells(sources: Sequence[Tokens], targets: Sequence[Tokens]) -> _Cells:
    """Return every link that is possible: each target token with each source token or nothing."""
    words: list[Ints] = []
    combinations: list[Ints] = []
    count = 0
    for source, target in zip(sources, targets, strict=True):
        tokens = np.array([_NOTHING, *source], np.int64)
        written = np.array(target, np.int64)
        combinations.append(_kind(tokens[None, :], written[:, None]).reshape(-1))
        words.append(np.repeat(np.arange(count, count + len(target)), len(tokens)))
        count += len(target)
    kinds, kind = np.unique(np.concatenate(combinations), return_inverse=True)
    _, origin = np.unique(kinds >> _BITS, return_inverse=True)
    return _Cells(np.concatenate(words), kind.reshape(-1), kinds, origin)


def _table(cells: _Cells) -> WordTable:
    """Train the model of one direction."""
    probability = np.ones(len(cells.origin))  # of each kind: P(target token | source token)
    for _ in range(ITERATIONS):
        of_link = probability[cells.kind]
        shares = of_link / np.bincount(cells.word, of_link)[cells.word]
        counts = np.bincount(cells.kind, shares)
        probability = counts / np.bincount(cells.origin, counts)[cells.origin]
    return WordTable(cells.kinds, probability)
