"""Word alignment learned only from sentence pairs: IBM model 1.

Each target token is explained by one source token or by none; P(target | source) is learned by
expectation maximisation (Brown et al. 1993, "The Mathematics of Statistical Machine Translation").
Links of which the models of both directions are sure are rarely wrong.

It is independent of any network, so it can tell which attention heads align words, and around which
words of two sentences a pair of tags may be put.
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

MAX_LINKS = 5_000_000  # possible links; each takes some 200 bytes
ITERATIONS = 8
SURE = 0.5  # a link is sure if its share in explaining the target token is above this
_NULL = -1  # the source of target tokens without a counterpart
_BITS = 31  # a combination of source token and target token is one number


class SureLink(NamedTuple):
    """Token number `target` of the target of a pair translates number `source` of its source."""

    pair: int
    source: int
    target: int


class _Links(NamedTuple):
    """Every possible link of all pairs, one column per attribute."""

    word: Ints  # number of the target token among those of all pairs
    kind: Ints  # number of the combination of source token and target token
    kinds: Ints  # each combination, in order
    origin: Ints  # number of the source token of each kind (not of each link)


@dataclass(frozen=True)
class WordTable:
    """P(target token | source token) of the combinations that training has seen."""

    kinds: Ints
    probability: Floats

    def sure(self, source: Tokens, target: Tokens) -> set[tuple[int, int]]:
        """Return the positions (source, target) of a pair's sure links."""
        tokens = np.array([_NULL, *source], np.int64)
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
    """Learn both directions, from as many of the first pairs as memory allows."""
    count = _count_affordable(sources, targets)
    sources, targets = sources[:count], targets[:count]
    return Lexicon(
        _train(_possible_links(sources, targets)), _train(_possible_links(targets, sources))
    )


def sure_links(sources: Sequence[Tokens], targets: Sequence[Tokens]) -> list[SureLink]:
    """Return the links that the models of both directions are sure of, in order.

    Only as many of the first pairs as memory allows are used.
    """
    lexicon = train_lexicon(sources, targets)
    count = _count_affordable(sources, targets)
    return [
        SureLink(pair, *link)
        for pair, (source, target) in enumerate(zip(sources[:count], targets[:count], strict=True))
        for link in lexicon.sure_links(source, target)
    ]


def _count_affordable(sources: Sequence[Tokens], targets: Sequence[Tokens]) -> int:
    """Return how many of the first pairs have no more than MAX_LINKS possible links together."""
    sizes = [
        len(target) * (len(source) + 1) for source, target in zip(sources, targets, strict=True)
    ]
    return max(1, sum(total <= MAX_LINKS for total in itertools.accumulate(sizes)))


def _kind(source: Ints, target: Ints) -> Ints:
    """Return one number for each combination of a source token, or NULL, and a target token."""
    return ((source + 1) << _BITS) | target


def _possible_links(sources: Sequence[Tokens], targets: Sequence[Tokens]) -> _Links:
    """Return every possible link: each target token with each source token or none."""
    words: list[Ints] = []
    combinations: list[Ints] = []
    count = 0
    for source, target in zip(sources, targets, strict=True):
        tokens = np.array([_NULL, *source], np.int64)
        written = np.array(target, np.int64)
        combinations.append(_kind(tokens[None, :], written[:, None]).reshape(-1))
        words.append(np.repeat(np.arange(count, count + len(target)), len(tokens)))
        count += len(target)
    kinds, kind = np.unique(np.concatenate(combinations), return_inverse=True)
    _, origin = np.unique(kinds >> _BITS, return_inverse=True)
    return _Links(np.concatenate(words), kind.reshape(-1), kinds, origin)


def _train(links: _Links) -> WordTable:
    """Train the model of one direction."""
    probability = np.ones(len(links.origin))  # of each kind: P(target token | source token)
    for _ in range(ITERATIONS):
        of_link = probability[links.kind]
        shares = of_link / np.bincount(links.word, of_link)[links.word]
        counts = np.bincount(links.kind, shares)
        probability = counts / np.bincount(links.origin, counts)[links.origin]
    return WordTable(links.kinds, probability)
