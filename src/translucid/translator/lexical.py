"""Which words translate which, learned from pairs of sentences alone: IBM model 1.

Each target token is said to come from one source token or from none; P(target | source) is learned
by expectation maximisation (Brown et al. 1993, "The Mathematics of Statistical Machine
Translation"). Links that models of both directions are sure of are rarely wrong.

It knows nothing of any network, and so can tell which heads of one align words.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Tokens: TypeAlias = Sequence[int]
Ints: TypeAlias = NDArray[np.int64]

MOST_CELLS = 5_000_000  # possible links; each takes some 200 bytes
ITERATIONS = 8
SURE = 0.5  # a link is sure with more than this share of what explains its target token
_NOTHING = -1  # the token from which those come that have no counterpart


class SureLink(NamedTuple):
    """Token number `target` of the target of a pair translates number `source` of its source."""

    pair: int
    source: int
    target: int


class _Cells(NamedTuple):
    """Every possible link of all pairs, a column each."""

    pair: Ints
    source: Ints  # place in the source, -1: nothing
    target: Ints  # place in the target
    word: Ints  # number of the target token in all pairs
    kind: Ints  # number of the combination of source token and target token
    origin: Ints  # number of the source token of each kind (not of each link)


def sure_links(sources: Sequence[Tokens], targets: Sequence[Tokens]) -> list[SureLink]:
    """Return the links that the models of both directions are sure of, in order.

    Of many long sentences only the first are looked at, as memory grows with their cells.
    """
    sizes = [
        len(target) * (len(source) + 1) for source, target in zip(sources, targets, strict=True)
    ]
    count = max(1, sum(total <= MOST_CELLS for total in itertools.accumulate(sizes)))
    sources, targets = sources[:count], targets[:count]
    forward = _sure(_cells(sources, targets))
    backward = {(pair, source, target) for pair, target, source in _sure(_cells(targets, sources))}
    return [SureLink(*link) for link in forward if link in backward]


def _cells(sources: Sequence[Tokens], targets: Sequence[Tokens]) -> _Cells:
    """Return every link that is possible: each target token with each source token or nothing."""
    columns: list[list[Ints]] = [[], [], [], [], [], []]
    words = 0
    for pair, (source, target) in enumerate(zip(sources, targets, strict=True)):
        height, width = len(target), len(source) + 1
        places = np.tile(np.arange(-1, len(source)), height)
        rows = np.repeat(np.arange(height), width)
        tokens = np.tile(np.array([_NOTHING, *source]), height)
        written = np.repeat(np.array(target, dtype=np.int64), width)
        made = (np.full(height * width, pair), places, rows, rows + words, tokens, written)
        for column, values in zip(columns, made, strict=True):
            column.append(values)
        words += height
    pairs, places, rows, word, tokens, written = map(np.concatenate, columns)
    kinds, kind = np.unique(np.stack([tokens, written], axis=1), axis=0, return_inverse=True)
    _, origin = np.unique(kinds[:, 0], return_inverse=True)
    return _Cells(pairs, places, rows, word, kind.reshape(-1), origin)


def _sure(cells: _Cells) -> list[tuple[int, int, int]]:
    """Train the model; return (pair, source, target) of its sure links, in order."""
    probability = np.ones(len(cells.origin))  # of each kind: P(target token | source token)
    for _ in range(ITERATIONS):
        counts = np.bincount(cells.kind, _shares(cells, probability))
        probability = counts / np.bincount(cells.origin, counts)[cells.origin]
    sure = (_shares(cells, probability) > SURE) & (cells.source >= 0)
    found = (cells.pair[sure], cells.source[sure], cells.target[sure])
    return list(zip(*(column.tolist() for column in found), strict=True))


def _shares(cells: _Cells, probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each possible link its share of what explains its target token."""
    of_link = probability[cells.kind]
    return of_link / np.bincount(cells.word, of_link)[cells.word]
