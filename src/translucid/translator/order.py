"""Texts that are to be translated, as parts for the search, and the way back to translations.

::

    order.requests ─ search ─ order.choices(found) ─ order.translations(choices, weights)
                                      └ order.pairs(choices) ─ soft alignments ─┘

Whoever calls may search for the parts in any batches, together with parts of other orders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from translucid.decoding.job import Tokens
from translucid.decoding.stepper import Hypothesis
from translucid.text.tokenizer import Tokenizer
from translucid.translator.alignment import alignment_of
from translucid.translator.asking import Asked
from translucid.translator.assembly import best_combinations, candidate, flags
from translucid.translator.confidence import Calibration
from translucid.translator.searching import Request, Searcher
from translucid.translator.translation import Alignment, Translation

Choice = tuple[Hypothesis, ...]  # one hypothesis for each part of a text
Choices = list[list[Choice]]  # for each text its ways to be translated, best first


@dataclass(frozen=True)
class Order:
    """Texts, what is asked of the search for the parts of each, and what searches for them."""

    texts: tuple[str, ...]
    asked: tuple[Asked, ...]
    searcher: Searcher
    tokenizer: Tokenizer
    calibration: Calibration | None = None

    @property
    def requests(self) -> tuple[Request, ...]:
        """The parts of all texts, in their order."""
        return tuple(request for one in self.asked for request in one.requests)

    def choices(self, found: Sequence[list[Hypothesis]]) -> Choices:
        """Return the best translations of each text, given what was found for each part."""
        each = iter(found)
        return [
            best_combinations([next(each) for _ in one.requests], self.searcher.settings.n_best)
            for one in self.asked
        ]

    def pairs(self, choices: Choices) -> list[tuple[Tokens, Tokens]]:
        """Return source and best translation of each part, as an alignment needs them."""
        best = [hypothesis.tokens for ways in choices for hypothesis in ways[0]]
        return [(r.source, tokens) for r, tokens in zip(self.requests, best, strict=True)]

    def translations(self, choices: Choices, weights: Sequence[Tensor] | None) -> list[Translation]:
        """Return the translations; `weights` are the soft alignments of the pairs, if wanted."""
        parts = None if weights is None else iter(weights)
        each = zip(self.texts, self.asked, choices, strict=True)
        return [self._translation(text, one, ways, parts) for text, one, ways in each]

    def _translation(
        self, text: str, asked: Asked, ways: Sequence[Choice], weights: Iterator[Tensor] | None
    ) -> Translation:
        n_best = tuple(candidate(asked.divided, way, self.tokenizer) for way in ways)
        tokens = sum(len(part.tokens) for part in asked.divided.parts)
        sure = self.calibration.confidence(n_best[0], tokens) if self.calibration else None
        return Translation(
            source=text,
            n_best=n_best,
            flags=flags(asked.divided, ways[0]),
            alignment=None if weights is None else self._alignment(asked, ways[0], weights),
            source_tokens=tokens,
            confidence=sure,
        )

    def _alignment(self, asked: Asked, best: Choice, weights: Iterator[Tensor]) -> Alignment:
        return alignment_of(asked, best, [next(weights) for _ in best], self.tokenizer)
