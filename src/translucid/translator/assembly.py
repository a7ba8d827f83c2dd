"""Assemble the translations of whole texts from the hypotheses of their segments.

::

    batch.inputs ─ search ─ batch.choose(hypotheses) ─ batch.assemble(choices, weights)
                                   └ batch.best_pairs(choices) ─ soft alignments ─┘

A caller may search for the segments in any batches, together with segments of other requests.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from translucid.decoding.hypothesis import Ending, Hypothesis, Tokens
from translucid.engines.base import (
    ALL_PLACEHOLDERS,
    Array,
    DecoderInput,
    find_forced_tokens,
)
from translucid.text.tokenizer import UNK, Tokenizer
from translucid.translator.alignment import build_alignment
from translucid.translator.confidence import Calibration
from translucid.translator.request import EncodedText
from translucid.translator.search import Searcher
from translucid.translator.segmentation import Segment, SegmentedText
from translucid.translator.translation import Alignment, Candidate, Flags, Translation

Choice = tuple[Hypothesis, ...]  # one hypothesis per segment of a text
Choices = list[list[Choice]]  # for each text its translations, best first

_SEVERITY: dict[Ending, int] = {"end": 0, "limit": 1, "loop": 2}


@dataclass(frozen=True)
class TranslationBatch:
    """Texts as inputs of the decoder, and the searcher for them."""

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

    def best_pairs(self, choices: Choices) -> list[tuple[Tokens, Tokens]]:
        """Return source and best translation of each segment, to be aligned."""
        best = [hypothesis.tokens for ranked in choices for hypothesis in ranked[0]]
        return [(item.source, tokens) for item, tokens in zip(self.inputs, best, strict=True)]

    def assemble(self, choices: Choices, weights: Sequence[Array] | None) -> list[Translation]:
        """Return the translations; `weights` are the soft alignments of the pairs, if requested."""
        blocks = None if weights is None else iter(weights)
        each = zip(self.texts, self.encoded, choices, strict=True)
        return [self._assemble_one(text, encoded, ranked, blocks) for text, encoded, ranked in each]

    def _assemble_one(
        self,
        text: str,
        encoded: EncodedText,
        ranked: Sequence[Choice],
        weights: Iterator[Array] | None,
    ) -> Translation:
        segmented, best = encoded.segmented, ranked[0]
        n_best = tuple(build_candidate(segmented, one, self.tokenizer) for one in ranked)
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
    """Return the best combinations of one hypothesis per segment, best first.

    Combinations with fewer loops come first, then those with the higher sum of scores, then those
    whose hypotheses come earlier in their own lists. Segments are added one by one, and only
    `n_best` combinations are kept: one that is not among the best of the first segments cannot
    become so later. A combination is a linked list, because a text may have thousands of segments.
    """
    combinations: list[_Combination] = [_Combination(0, 0.0, None, None)]
    for hypotheses in found:
        longer = [
            _Combination(one.looped + (not h.finished), one.score + h.score, h, one)
            for one in combinations
            for h in hypotheses
        ]
        combinations = heapq.nsmallest(n_best, longer, key=lambda one: (one.looped, -one.score))
    return [one.choices() for one in combinations]


class _Combination:
    """One hypothesis per segment so far, linked from the last to the first."""

    def __init__(
        self, looped: int, score: float, chosen: Hypothesis | None, before: _Combination | None
    ) -> None:
        self.looped, self.score, self.chosen, self.before = looped, score, chosen, before

    def choices(self) -> tuple[Hypothesis, ...]:
        """Return the chosen hypotheses, from the first segment to the last."""
        found: list[Hypothesis] = []
        one: _Combination | None = self
        while one is not None and one.chosen is not None:
            found.append(one.chosen)
            one = one.before
        return tuple(reversed(found))


def build_candidate(
    segmented: SegmentedText, chosen: Sequence[Hypothesis], tokenizer: Tokenizer
) -> Candidate:
    """Return the translation that takes these hypotheses, one per segment."""
    texts = segmented.restore([hypothesis.tokens for hypothesis in chosen], tokenizer)
    each = [hypothesis.log_probs for hypothesis in chosen]
    known = [log_probs for log_probs in each if log_probs is not None]
    endings = [hypothesis.ending for hypothesis in chosen]
    return Candidate(
        text=segmented.join(texts),
        tokens=tuple(tokenizer.piece(token) for h in chosen for token in h.tokens),
        log_probs=tuple(itertools.chain(*known)) if len(known) == len(each) else None,
        log_prob=math.fsum(hypothesis.log_prob for hypothesis in chosen),
        length=sum(hypothesis.length for hypothesis in chosen),
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
    required = tuple(token for token in segment.tokens if token in ALL_PLACEHOLDERS)
    return bool(segment.protected.spans) and bool(find_forced_tokens(hypothesis, required))
