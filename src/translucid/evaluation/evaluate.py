"""One system on one reference set: every score, and where they come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU

from translucid.errors import InputError
from translucid.evaluation.breakdown import (
    FrequencyGroup,
    LengthGroup,
    by_source_length,
    by_word_frequency,
)
from translucid.evaluation.metrics import (
    TOKENIZED_BLEU,
    Lengths,
    MetricScore,
    bleu_metric,
    case_notice,
    corpus_score,
    lengths,
    memory_notice,
    scored_metrics,
    sentence_chrf,
    tokenized_bleu_metric,
    tokenized_notice,
)
from translucid.evaluation.reference_set import ReferenceSet
from translucid.evaluation.system import Likelihood, Outputs
from translucid.events import Emit, Progress
from translucid.translator.confidence import (
    ACCEPTABLE,
    Bin,
    area_under_curve,
    calibration_curve,
)
from translucid.translator.translation import DOUBTFUL, Flags

Words = Callable[[str], Sequence[str]]


@dataclass(frozen=True)
class Scoring:
    """How to score: the languages (None: not known), and what was asked for.

    `tokenizer` is BLEU's, or None for that of the target language; `resamples` are those of the
    bootstrap, and 0 means no intervals.
    """

    source_lang: str | None
    target_lang: str | None
    tokenizer: str | None
    tokenized_bleu: bool
    resamples: int

    def target_words(self) -> Words:
        """Return the function that divides target text into words, as BLEU does."""
        return words_of(bleu_metric(self.target_lang, self.tokenizer))

    def source_words(self) -> Words:
        """Return the function that divides source text into words."""
        return words_of(bleu_metric(self.source_lang, None))


def words_of(metric: BLEU) -> Words:
    """Return the function that divides text into words as a BLEU metric does."""
    return lambda text: metric.tokenizer(text.rstrip()).split()


@dataclass(frozen=True)
class Frequencies:
    """How often each target word was seen, and where: "the training data", say."""

    counts: Mapping[str, int]
    origin: str


@dataclass(frozen=True)
class Sentence:
    """A sentence of the set and what became of it; `line` counts from 1.

    `confidence` is that of the model, where it is known (see `Outputs`).
    """

    line: int
    source: str
    references: tuple[str, ...]
    translation: str
    chrf: float
    confidence: float | None
    flags: Flags


@dataclass(frozen=True)
class Trust:
    """How well a model's confidence tells acceptable translations (chrF 50 or more) from others.

    `auc` is how often an acceptable one has the higher confidence; `curve` compares what was said
    and what was true of each tenth. Of the translations, `doubtful` have a confidence below an even
    chance, and of these `doubted_correctly` are not acceptable.
    """

    auc: float
    curve: tuple[Bin, ...]
    doubtful: int
    doubted_correctly: int


@dataclass(frozen=True)
class Evaluation:
    """All that is known of a system after its translations were compared with references."""

    name: str
    scores: tuple[MetricScore, ...]
    lengths: Lengths
    likelihood: Likelihood | None
    sentences: tuple[Sentence, ...]
    by_length: tuple[LengthGroup, ...]
    by_frequency: tuple[FrequencyGroup, ...]
    frequency_origin: str
    trust: Trust | None

    def worst(self, count: int) -> tuple[Sentence, ...]:
        """Return the sentences of lowest chrF that have a reference, of equals the longest first.

        Those that are like a reference to the letter are never among them.
        """
        ranked = sorted(self.judged(), key=lambda one: (one.chrf, -len(one.references[0])))
        return tuple(one for one in ranked if one.translation not in one.references)[:count]

    def best(self, count: int) -> tuple[Sentence, ...]:
        """Return the sentences of highest chrF, of equals the longest first."""
        ranked = sorted(self.judged(), key=lambda one: (-one.chrf, -len(one.references[0])))
        return tuple(ranked[:count])

    def judged(self) -> list[Sentence]:
        """Return the sentences that have a reference which is not blank."""
        return [one for one in self.sentences if any(text.strip() for text in one.references)]

    def flagged(self) -> Counter[str]:
        """Count the translations with each flag, and those that are blank though the source isn't.

        `exact` counts those that are like a reference to the letter.
        """
        counts: Counter[str] = Counter()
        for one in self.sentences:
            counts["blank"] += bool(one.source.strip()) and not one.translation.strip()
            counts["exact"] += bool(one.translation.strip()) and one.translation in one.references
            counts.update(name for name, on in vars(one.flags).items() if on)
        return counts


def evaluate(
    name: str,
    given: ReferenceSet,
    outputs: Outputs,
    scoring: Scoring,
    frequencies: Frequencies | None,
    emit: Emit,
) -> Evaluation:
    """Score translations of a reference set; without `frequencies`, words of the references count.

    Raises InputError where there are not as many translations as sources.
    """
    if len(outputs.texts) != len(given):
        raise InputError(
            f"{name} has {len(outputs.texts):,} translations of {len(given):,} sentences: "
            "there must be one for each"
        )
    for notice in (
        tokenized_notice(name, outputs.texts),
        case_notice(name, outputs.texts, given.references),
        memory_notice(len(given), scoring.resamples, trials=0),
    ):
        if notice is not None:
            emit(notice)
    words = scoring.target_words()
    if frequencies is None:
        counts = Counter(word for text in given.references[0] for word in words(text))
        frequencies = Frequencies(counts, "the references")
    bleu = bleu_metric(scoring.target_lang, scoring.tokenizer)
    sentences = _sentences(given, outputs)
    return Evaluation(
        name=name,
        scores=_scores(given, outputs, scoring, emit),
        lengths=lengths(bleu, outputs.texts, given.references),
        likelihood=outputs.likelihood,
        sentences=sentences,
        by_length=by_source_length(
            given, outputs.texts, scoring.source_words(), bleu, scoring.resamples
        ),
        by_frequency=by_word_frequency(
            given.references[0], outputs.texts, words, frequencies.counts
        ),
        frequency_origin=frequencies.origin,
        trust=_trust(sentences) if outputs.calibrated else None,
    )


def _trust(sentences: Sequence[Sentence]) -> Trust | None:
    """Measure the confidence of a model, where there are acceptable translations and others."""
    known = [
        (one.confidence, one.chrf >= ACCEPTABLE) for one in sentences if one.confidence is not None
    ]
    confidences = [confidence for confidence, _ in known]
    good = [is_good for _, is_good in known]
    if len(set(good)) < 2:
        return None
    doubted = [is_good for confidence, is_good in known if confidence < DOUBTFUL]
    return Trust(
        auc=area_under_curve(confidences, good),
        curve=calibration_curve(confidences, good),
        doubtful=len(doubted),
        doubted_correctly=doubted.count(False),
    )


def _scores(
    given: ReferenceSet, outputs: Outputs, scoring: Scoring, emit: Emit
) -> tuple[MetricScore, ...]:
    metrics = scored_metrics(scoring.target_lang, scoring.tokenizer)
    if scoring.tokenized_bleu:
        metrics[TOKENIZED_BLEU] = cast("Metric", tokenized_bleu_metric(scoring.target_lang))
    scores = []
    for number, (name, metric) in enumerate(metrics.items()):
        emit(Progress("scoring", number, len(metrics), "metrics"))
        scores.append(
            corpus_score(name, metric, outputs.texts, given.references, scoring.resamples)
        )
    emit(Progress("scoring", len(metrics), len(metrics), "metrics"))
    return tuple(scores)


def _sentences(given: ReferenceSet, outputs: Outputs) -> tuple[Sentence, ...]:
    return tuple(
        Sentence(line, source, tuple(references), translation, chrf, confidence, flags)
        for line, (source, references, translation, chrf, confidence, flags) in enumerate(
            zip(
                given.sources,
                zip(*given.references, strict=True),
                outputs.texts,
                sentence_chrf(outputs.texts, given.references),
                outputs.confidences,
                outputs.flags,
                strict=True,
            ),
            start=1,
        )
    )
