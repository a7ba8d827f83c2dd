"""Hypotheses: translations that a search has found, and how they rank."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

Tokens: TypeAlias = tuple[int, ...]

Ending: TypeAlias = Literal["end", "limit", "loop"]
"""Why a hypothesis ends: the network chose the end symbol; the limit of length forced it although
another token was more probable; or the hypothesis went in circles and has no end symbol."""


@dataclass(frozen=True)
class Hypothesis:
    """One translation: its tokens without the end symbol, and the log-probability of each.

    `log_probs` ends with that of the end symbol, which a loop does not have. `score` is what the
    search ranked it by: `log_prob` after the penalties.
    """

    tokens: Tokens
    log_probs: tuple[float, ...]
    ending: Ending
    score: float

    @property
    def log_prob(self) -> float:
        """Log P of the whole."""
        return math.fsum(self.log_probs)

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
