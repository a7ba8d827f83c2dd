"""What a search has found so far for one source."""

from __future__ import annotations

import math

from translucid.decoding.stepper import Hypothesis


class Found:
    """The hypotheses of one source that have ended; what is in it never changes.

    Those that went in circles rank below all others, whatever the scores; then the higher score is
    first, then what was found earlier. The same translation is kept once.
    """

    def __init__(self) -> None:
        self._ended: dict[tuple[int, ...], tuple[Hypothesis, int]] = {}
        self._looped: dict[tuple[int, ...], tuple[Hypothesis, int]] = {}

    def add(self, hypothesis: Hypothesis, node: int) -> None:
        """Keep a hypothesis, and the number of its last node in the search tree."""
        found = self._ended if hypothesis.finished else self._looped
        found.setdefault(hypothesis.tokens, (hypothesis, node))

    def to_beat(self, count: int) -> float:
        """Return the score of the `count`-th best that has its end symbol, −∞ with fewer."""
        if len(self._ended) < count:
            return -math.inf
        return sorted((h.score for h, _ in self._ended.values()), reverse=True)[count - 1]

    def best(self, count: int) -> list[Hypothesis]:
        """Return the best hypotheses, as many as there are up to `count`."""
        return [hypothesis for hypothesis, _ in self._ranked()[:count]]

    def nodes(self, count: int) -> tuple[int, ...]:
        """Return where in the search tree the best hypotheses end."""
        return tuple(node for _, node in self._ranked()[:count])

    def _ranked(self) -> list[tuple[Hypothesis, int]]:
        parts = (self._ended, self._looped)
        return [e for part in parts for e in sorted(part.values(), key=lambda e: -e[0].score)]
