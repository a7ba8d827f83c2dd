"""Noisy-channel reranking: a model of the other direction helps to choose among hypotheses.

A network often prefers a translation that leaves something out. A network of the other direction
does not, because it cannot predict the source from it. So the hypotheses of a beam are reranked
with the probability of the source given each of them (Yee, Dauphin and Auli, "Simple and
Effective Noisy Channel Modeling for Neural Machine Translation", 2019)::

    source ── search ──▶ hypothesis 1 ─┐
                         hypothesis 2 ─┼─ log P(source | hypothesis) ─▶ new order
                         …            ─┘

    score = score of the search + weight · log P(source | hypothesis) / lp

The search's own score is log P(hypothesis | source) / lp, plus the coverage penalty if any. Both
are divided by the length penalty of the search, each by that of its own length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import Hypothesis, normalize_score
from translucid.engines.base import Pair
from translucid.errors import InputError
from translucid.events import Emit, Notice, Progress
from translucid.text.normalization import nfc
from translucid.text.tokenizer import EOS
from translucid.translator.request import describe_directions
from translucid.translator.scoring import max_scored_tokens

if TYPE_CHECKING:
    from translucid.translator.translator import Translator

WEIGHT = 0.2
HIGHEST = 10.0
_METHODS = ("beam", "diverse")  # that follow several hypotheses
_SEGMENTS_PER_EVENT = 256


@dataclass(frozen=True)
class RankedSegment:
    """A segment, its language, and the hypotheses that the search found for it."""

    source: str
    language: str
    hypotheses: tuple[Hypothesis, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Reranker:
    """A translator of the other direction, and the weight of its scores."""

    model: Translator
    weight: float = WEIGHT

    def __post_init__(self) -> None:
        if not 0 < self.weight <= HIGHEST:
            raise InputError(
                f"the reranking weight is {self.weight}: give a number above 0, at most "
                f"{HIGHEST:g}; {WEIGHT} is usual"
            )

    def check(self, source: str, target: str, *, lowercase: bool) -> None:
        """Refuse a model that does not translate the other way, or needs capitals."""
        if (target, source) not in self.model.directions:
            known = describe_directions(self.model.directions)
            raise InputError(
                f"{self.model.name} translates {known}: to rerank translations from "
                f"{source} into {target}, it must translate {target}→{source}"
            )
        if lowercase and not self.model.generation.lowercase:
            raise InputError(
                f"{self.model.name} was trained on text with capitals, but would score "
                "lower-case text: take a model that was trained with --lowercase too"
            )

    def rescore(
        self, segments: Sequence[RankedSegment], settings: SearchConfig, batch_size: int, emit: Emit
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each segment with their new scores.

        If one is too long for the model, all of its segment keep the scores of the search.
        """
        skipped = 0
        found: list[list[Hypothesis]] = []
        for begin in range(0, len(segments), _SEGMENTS_PER_EVENT):
            emit(Progress("rerank", begin, len(segments), "sentences"))
            some = segments[begin : begin + _SEGMENTS_PER_EVENT]
            pairs = [self._pairs(segment) for segment in some]
            flat = [pair for each in pairs for pair in each]
            log_probs = iter(self.model.log_probs(flat, batch_size))
            for segment, each in zip(some, pairs, strict=True):
                skipped += not each
                scores = list(islice(log_probs, len(each)))
                found.append(self._rescore_segment(segment, scores, settings))
        emit(Progress("rerank", len(segments), len(segments), "sentences"))
        if skipped:
            emit(Notice(f"{skipped:,} of {len(segments):,} sentences were too long to rerank"))
        return found

    def _rescore_segment(
        self, segment: RankedSegment, log_probs: Sequence[list[float]], settings: SearchConfig
    ) -> list[Hypothesis]:
        """Return the hypotheses of one segment, given log P of the source's tokens for each."""
        if not log_probs:
            return list(segment.hypotheses)
        channel = [normalize_score(math.fsum(one), len(one), settings) for one in log_probs]
        pairs = zip(segment.hypotheses, channel, strict=True)
        return [replace(one, score=one.score + self.weight * back) for one, back in pairs]

    def _pairs(self, segment: RankedSegment) -> list[Pair]:
        """Return each hypothesis as source and the source as target; nothing if one is too long."""
        encode = self.model.tokenizer.encode
        tag = self.model.tag(segment.language)
        source = tuple(self.model.target_tokenizer.encode(segment.source))
        pairs = [Pair((*tag, *encode(nfc(text).strip()), EOS), source) for text in segment.texts]
        longest = max_scored_tokens(self.model.engines.positions)
        return pairs if all(pair.length <= longest for pair in pairs) else []


def return_whole_beam(settings: SearchConfig) -> SearchConfig:
    """Return settings that return all hypotheses of the beam; refuse a search for a single one."""
    if settings.method not in _METHODS or settings.beam < 2:
        method = f"beam of {settings.beam}" if settings.method in _METHODS else settings.method
        raise InputError(
            f"reranking chooses among the hypotheses of a beam, and the search is {method}: "
            f"search with {' or '.join(_METHODS)}, and a beam of 2 or more"
        )
    return settings.replace(n_best=settings.beam)
