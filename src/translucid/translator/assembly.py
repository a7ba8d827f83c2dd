"""From the hypotheses that a search finds for each segment to the translations of whole texts.

::

    batch.inputs ─ search ─ batch.choose(hypotheses) ─ batch.assemble(choices, weights)
                                   └ batch.pairs(choices) ─ soft alignments ─┘

A caller may search for the segments in any batches, together with segments of other requests.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from translucid.decoding.hypothesis import Ending, Hypothesis, Tokens
from translucid.text.tokenizer import UNK, Tokenizer
from translucid.translator.alignment import build_alignment
from translucid.translator.confidence import Calibration
from translucid.translator.request import EncodedText
from translucid.translator.searching import (
    ALL_PLACEHOLDERS,
    DecoderInput,
    Searcher,
    forced_tokens,
)
from translucid.translator.segmentation import Segment, SegmentedText
from translucid.translator.translation import Alignment, Candidate, Flags, Translation

Choice = tuple[Hypothesis, ...]  # one hypothesis per segment of a text
Choices = list[list[Choice]]  # for each text its translations, best first

_SEVERITY: dict[Ending, int] = {"end": 0, "limit": 1, "loop": 2}


@dataclass(frozen=True)
class TranslationBatch:
    """Texts as inputs of the decoder, and the search that they are meant for."""

    texts: tuple[str, ...]
    encoded: tuple[EncodedText, ...]
    searcher: Searcher
    tokenizer: Tokenizer
    calibration: Calibration | None = None

    @property
    def inputs(self) -> tuple[DecoderInput, ...]:
        """The segments of all texts, in order."""
        return tuple(item for text in self.encoded for item in text.inputs)

    def choose(self, hypotheses: Sequence[list[Hypothesis]]) -> Choices:
        """Return the best translations of each text, given the hypotheses of each segment."""
        each = iter(hypotheses)
        return [
            best_combinations([next(each) for _ in text.inputs], self.searcher.settings.n_best)
            for text in self.encoded
        ]

    def pairs(self, choices: Choices) -> list[tuple[Tokens, Tokens]]:
        """Return source and best translation of each segment, as an alignment needs them."""
        best = [hypothesis.tokens for ways in choices for hypothesis in ways[0]]
        return [(item.source, tokens) for item, tokens in zip(self.inputs, best, strict=True)]

    def assemble(self, choices: Choices, weights: Sequence[Tensor] | None) -> list[Translation]:
        """Return the translations; `weights` are the soft alignments of the pairs, if wanted."""
        blocks = None if weights is None else iter(weights)
        each = zip(self.texts, self.encoded, choices, strict=True)
        return [self._assemble_one(text, encoded, ways, blocks) for text, encoded, ways in each]

    def _assemble_one(
        self,
        text: str,
        encoded: EncodedText,
        ways: Sequence[Choice],
        weights: Iterator[Tensor] | None,
    ) -> Translation:
        segmented, best = encoded.segmented, ways[0]
        n_best = tuple(build_candidate(segmented, way, self.tokenizer) for way in ways)
        tokens = sum(len(segment.tokens) for segment in segmented.segments)
        alignment: Alignment | None = None
        if weights is not None:
            blocks = [next(weights) for _ in best]
            alignment = build_alignment(encoded, best, blocks, self.tokenizer)
        return Translation(
            source=text,
            n_best=n_best,
            flags=find_flags(segmented, best),
            alignment=alignment,
            source_tokens=tokens,
            confidence=self.calibration.confidence(n_best[0], tokens) if self.calibration else None,
        )


def best_combinations(
    found: Sequence[Sequence[Hypothesis]], n_best: int
) -> list[tuple[Hypothesis, ...]]:
    """Return the best ways to take one hypothesis per segment, best first.

    Ways with fewer hypotheses that went in circles come first, then those with the higher sum of
    scores, then those whose hypotheses come earlier in their own lists. Adding segments one by one,
    only `n_best` ways need to be kept: a way that is not among the best of the segments so far
    cannot become so later. A way is a chain, because a text may have thousands of segments.
    """
    ways: list[_Way] = [_Way(0, 0.0, None, None)]
    for hypotheses in found:
        longer = [
            _Way(way.looped + (not h.finished), way.score + h.score, h, way)
            for way in ways
            for h in hypotheses
        ]
        ways = heapq.nsmallest(n_best, longer, key=lambda way: (way.looped, -way.score))
    return [way.choices() for way in ways]


class _Way:
    """One hypothesis per segment so far, as a chain from the last to the first."""

    def __init__(
        self, looped: int, score: float, chosen: Hypothesis | None, before: _Way | None
    ) -> None:
        self.looped, self.score, self.chosen, self.before = looped, score, chosen, before

    def choices(self) -> tuple[Hypothesis, ...]:
        """Return the chosen hypotheses, from the first segment to the last."""
        found: list[Hypothesis] = []
        way: _Way | None = self
        while way is not None and way.chosen is not None:
            found.append(way.chosen)
            way = way.before
        return tuple(reversed(found))


def build_candidate(
    segmented: SegmentedText, chosen: Sequence[Hypothesis], tokenizer: Tokenizer
) -> Candidate:
    """Return the translation that takes these hypotheses, one per segment."""
    texts = segmented.restore([hypothesis.tokens for hypothesis in chosen], tokenizer)
    log_probs = tuple(value for hypothesis in chosen for value in hypothesis.log_probs)
    endings = [hypothesis.ending for hypothesis in chosen]
    return Candidate(
        text=segmented.join(texts),
        tokens=tuple(tokenizer.piece(token) for h in chosen for token in h.tokens),
        log_probs=log_probs,
        log_prob=math.fsum(log_probs),
        score=math.fsum(hypothesis.score for hypothesis in chosen),
        ending=max(endings, key=_SEVERITY.__getitem__, default="end"),
    )


def find_flags(segmented: SegmentedText, chosen: Sequence[Hypothesis]) -> Flags:
    """Return what a reader of the translation should be warned of."""
    endings = {hypothesis.ending for hypothesis in chosen}
    return Flags(
        truncated="limit" in endings,
        unknown=any(UNK in segment.tokens for segment in segmented.segments),
        looped="loop" in endings,
        split=segmented.split,
        between_spans=segmented.between_spans,
        forced_spans=any(map(_has_forced_span, segmented.segments, chosen)),
    )


def _has_forced_span(segment: Segment, hypothesis: Hypothesis) -> bool:
    wanted = tuple(token for token in segment.tokens if token in ALL_PLACEHOLDERS)
    return bool(segment.protected.spans) and bool(forced_tokens(hypothesis, wanted))
