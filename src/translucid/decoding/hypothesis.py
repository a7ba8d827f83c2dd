"""Hypotheses: translations that a search has found, and how they rank.

The length penalty makes translations of different lengths comparable (section 6.1)::

    score = log P / lp(n), plus the coverage penalty if any

    paper   lp(n) = ((5 + n) / 6)^α           n counts the end symbol; α = 0: no penalty
    plain   lp(n) = n^α                       α = 1: the mean log P of a token

Both forms grow with n, so a long translation is divided by more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from translucid.decoding.config import SearchConfig

Tokens: TypeAlias = tuple[int, ...]

Ending: TypeAlias = Literal["end", "limit", "loop"]
"""Why a hypothesis ends: the network chose the end symbol; the limit of length forced it although
another token was more probable; or the hypothesis went in circles and has no end symbol."""


@dataclass(frozen=True)
class Hypothesis:
    """One translation: its tokens without the end symbol, and the log-probability of each.

    `log_probs` ends with that of the end symbol, which a loop does not have; it is None where the
    engine was asked for `total`, log P of the whole, alone. `score` is what the search ranked it
    by: `log_prob` after the penalties.
    """

    tokens: Tokens
    log_probs: tuple[float, ...] | None
    ending: Ending
    score: float
    total: float = 0.0

    @property
    def log_prob(self) -> float:
        """Log P of the whole."""
        return self.total if self.log_probs is None else math.fsum(self.log_probs)

    @property
    def length(self) -> int:
        """The number of tokens, with the end symbol if it has one."""
        return len(self.tokens) + self.finished

    @property
    def finished(self) -> bool:
        """Whether it has its end symbol: only a loop has none."""
        return self.ending != "loop"


class FinishedHypotheses:
    """The hypotheses of one source that have ended.

    Loops rank below all others; then the higher score comes first, then the earlier hypothesis.
    The same translation is kept once.
    """

    def __init__(self) -> None:
        self._ended: dict[Tokens, tuple[Hypothesis, int]] = {}
        self._looped: dict[Tokens, tuple[Hypothesis, int]] = {}

    def add(self, hypothesis: Hypothesis, node: int) -> None:
        """Keep a hypothesis, and the number of its last node in the search tree."""
        hypotheses = self._ended if hypothesis.finished else self._looped
        hypotheses.setdefault(hypothesis.tokens, (hypothesis, node))

    def score_to_beat(self, count: int) -> float:
        """Return the `count`-th best score with an end symbol, −∞ if there are fewer."""
        if len(self._ended) < count:
            return -math.inf
        return sorted((h.score for h, _ in self._ended.values()), reverse=True)[count - 1]

    def best(self, count: int) -> list[Hypothesis]:
        """Return the `count` best hypotheses, or all if there are fewer."""
        return [hypothesis for hypothesis, _ in self._ranked()[:count]]

    def best_nodes(self, count: int) -> tuple[int, ...]:
        """Return where in the search tree the best hypotheses end."""
        return tuple(node for _, node in self._ranked()[:count])

    def _ranked(self) -> list[tuple[Hypothesis, int]]:
        parts = (self._ended, self._looped)
        return [e for part in parts for e in sorted(part.values(), key=lambda e: -e[0].score)]


def length_penalty(length: int, settings: SearchConfig) -> float:
    """Return the divisor of log P for `length` tokens, the end symbol counted.

    >>> length_penalty(7, SearchConfig(length_penalty=1.0))
    2.0
    """
    if settings.length_form == "paper":
        return float(((5 + length) / 6) ** settings.length_penalty)
    return float(length**settings.length_penalty)


def normalize_score(log_prob: float, length: int, settings: SearchConfig) -> float:
    """Return log P divided by the length penalty: the score without coverage."""
    return log_prob / length_penalty(length, settings)


ECHOES = 24  # tokens in a row that each repeat an earlier one
LONGEST_ROUND = 8  # the largest distance between a token and the one it repeats
MONOTONY = 48  # tokens in a row, among which are no more than
MONOTONE_TOKENS = 5  # different ones


def is_looping(tokens: Sequence[int]) -> bool:
    """Tell whether an unfinished translation repeats itself endlessly.

    >>> is_looping([7, 4, 5] * 8), is_looping([7, 4, 5] * 9)
    (False, True)
    """
    if len(tokens) >= MONOTONY and len(set(tokens[-MONOTONY:])) <= MONOTONE_TOKENS:
        return True
    return any(
        len(tokens) >= ECHOES + round_length
        and all(tokens[-i] == tokens[-i - round_length] for i in range(1, ECHOES + 1))
        for round_length in range(1, LONGEST_ROUND + 1)
    )
