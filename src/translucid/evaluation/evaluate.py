"""One system on one test set: every score, and where it comes from.

::

    found = translucid.evaluate(model, sources=french, references=english)
    found.bleu.score, found.bleu.signature, found.bleu.margin
    found.save("results")
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from sacrebleu.metrics.base import Metric

from translucid.data.shards import PreparedData
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.evaluation.metrics import (
    RESAMPLES,
    TOKENIZED_BLEU,
    FrequencyGroup,
    LengthGroup,
    Lengths,
    MetricScore,
    Scoring,
    bleu_metric,
    check_case,
    check_memory,
    check_tokenized,
    count_by_frequency,
    count_words,
    evaluation_metrics,
    measure_lengths,
    score_by_length,
    score_corpus,
    sentence_chrf,
    tokenized_bleu_metric,
)
from translucid.evaluation.reference_set import ReferenceSet, ReferenceSource, read_lines
from translucid.evaluation.results import (
    REPORT,
    SCORES,
    SETTINGS,
    build_settings,
    dump_json,
    join_lines,
    write_results,
)
from translucid.evaluation.system import (
    TRANSLATIONS,
    Likelihood,
    Outputs,
    System,
    reference_likelihood,
)
from translucid.events import Emit, Progress, silent
from translucid.translator import Reranker, Translator
from translucid.translator.confidence import ACCEPTABLE, Bin, area_under_curve, calibration_curve
from translucid.translator.translation import DOUBTFUL, Flags

SENTENCES = 25  # of each kind, in reports and JSON


@dataclass(frozen=True)
class Frequencies:
    """How often each target word occurs, and where: in "the training data", for example."""

    counts: Mapping[str, int]
    origin: str


@dataclass(frozen=True)
class Sentence:
    """A sentence of the test set and its translation; `line` counts from 1.

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
class ConfidenceQuality:
    """How well a model's confidence separates acceptable translations (chrF 50 or more).

    `auc` is how often an acceptable one has the higher confidence; `curve` compares confidence and
    truth of each tenth. Of the translations, `doubtful` have a confidence below one half, and of
    these `doubted_correctly` are not acceptable.
    """

    auc: float
    curve: tuple[Bin, ...]
    doubtful: int
    doubted_correctly: int


@dataclass(frozen=True)
class Evaluation:
    """The scores of one system, with breakdowns and every sentence."""

    name: str
    scores: tuple[MetricScore, ...]
    lengths: Lengths
    likelihood: Likelihood | None
    sentences: tuple[Sentence, ...]
    by_length: tuple[LengthGroup, ...]
    by_frequency: tuple[FrequencyGroup, ...]
    frequency_origin: str
    confidence_quality: ConfidenceQuality | None
    scoring: Scoring
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def bleu(self) -> MetricScore:
        """BLEU, with its interval and signature."""
        return self._find("BLEU")

    @property
    def chrf(self) -> MetricScore:
        """The chrF2 score."""
        return self._find("chrF2")

    @property
    def ter(self) -> MetricScore:
        """The translation edit rate; lower is better."""
        return self._find("TER")

    def _find(self, name: str) -> MetricScore:
        return next(score for score in self.scores if score.name == name)

    def worst(self, count: int) -> tuple[Sentence, ...]:
        """Return the sentences of lowest chrF that have a reference, of equals the longest first.

        Those that equal a reference are never among them.
        """
        ranked = sorted(self.scorable(), key=lambda one: (one.chrf, -len(one.references[0])))
        return tuple(one for one in ranked if one.translation not in one.references)[:count]

    def best(self, count: int) -> tuple[Sentence, ...]:
        """Return the sentences of highest chrF, of equals the longest first."""
        ranked = sorted(self.scorable(), key=lambda one: (-one.chrf, -len(one.references[0])))
        return tuple(ranked[:count])

    def scorable(self) -> list[Sentence]:
        """Return the sentences that have a reference which is not blank."""
        return [one for one in self.sentences if any(text.strip() for text in one.references)]

    def count_flags(self) -> Counter[str]:
        """Count the translations with each flag, and those that are blank though the source isn't.

        `exact` counts those that equal a reference.
        """
        counts: Counter[str] = Counter()
        for one in self.sentences:
            counts["blank"] += bool(one.source.strip()) and not one.translation.strip()
            counts["exact"] += bool(one.translation.strip()) and one.translation in one.references
            counts.update(name for name, on in vars(one.flags).items() if on)
        return counts

    def to_json(self, sentences: int = SENTENCES) -> dict[str, Any]:
        """Return everything as plain values, with this many of the worst and best sentences."""
        quality = self.confidence_quality
        return {
            "name": self.name,
            "sentences": len(self.sentences),
            "scores": [_score_json(score) for score in self.scores],
            "length": {**asdict(self.lengths), "ratio": self.lengths.ratio},
            "perplexity": None if self.likelihood is None else _likelihood_json(self.likelihood),
            "confidence": None if quality is None else _quality_json(quality),
            "flags": {name: count for name, count in sorted(self.count_flags().items()) if count},
            "by_source_length": [_length_json(group) for group in self.by_length],
            "by_word_frequency": {
                "seen_in": self.frequency_origin,
                "groups": [_frequency_json(group) for group in self.by_frequency],
            },
            "worst": [_sentence_json(one) for one in self.worst(sentences)],
            "best": [_sentence_json(one) for one in self.best(sentences)],
        }

    def save(self, folder: str | Path, sentences: int = SENTENCES) -> None:
        """Write translations, scores, settings and an HTML report, replacing earlier results."""
        from translucid.evaluation.report import evaluation_report

        write_results(
            Path(folder),
            {
                TRANSLATIONS: join_lines([one.translation for one in self.sentences]),
                SCORES: dump_json(self.to_json(sentences)),
                SETTINGS: dump_json(self.settings),
                REPORT: evaluation_report(self, sentences),
            },
        )


def evaluate(
    system: Translator | System,
    test: ReferenceSet | ReferenceSource | PreparedData | None = None,
    *,
    sources: Sequence[str] | None = None,
    references: Sequence[str] | Sequence[Sequence[str]] | None = None,
    source_lang: str | None = None,
    target: str | None = None,
    search: SearchConfig | None = None,
    rerank: Reranker | None = None,
    bleu_tokenizer: str | None = None,
    tokenized_bleu: bool = False,
    resamples: int = RESAMPLES,
    frequencies: Frequencies | None = None,
    batch_size: int = 64,
    on_event: Emit = silent,
) -> Evaluation:
    """Translate a test set, unless that was done elsewhere, and score the translations.

    The test set is `test`, where prepared data stands for its test split, or `sources` with
    `references` (or with several lists of them).
    `source_lang` and `target` are the languages, where they are not clear from the model. `search`
    and `rerank` are those of `Translator.translate`. BLEU's tokenizer is that of the target
    language unless `bleu_tokenizer` names another; `tokenized_bleu` adds the BLEU of older papers.
    `resamples` of the bootstrap give intervals; 0 gives none. `frequencies` say how often words
    occur in the training text, by default in the references.
    """
    if isinstance(system, Translator):
        system = System.from_model(system, search, rerank)
    elif search is not None or rerank is not None:
        raise InputError("search and rerank belong to the System: give them there")
    given = check_test(test, sources, references)
    languages = given.languages(system.model, source_lang, target)
    if isinstance(given, ReferenceSource):
        given = given.read(languages)
    scoring = Scoring(languages.source, languages.target, bleu_tokenizer, tokenized_bleu, resamples)
    scoring.target_words()  # refuses an unknown tokenizer before anything is translated
    outputs = system.translate(given, languages.target, batch_size, on_event)
    facts = system.describe(languages.source, languages.target)
    if system.model is not None:
        known = reference_likelihood(system.model, given, languages.target, batch_size, on_event)
        outputs = replace(outputs, likelihood=known)
        seconds = outputs.seconds or 0.0
        speed = round(len(given) / max(seconds, 1e-9), 2)
        facts |= {"batch_size": batch_size, "seconds": seconds, "sentences_per_second": speed}
    found = score_outputs(system.name, given, outputs, scoring, frequencies, on_event)
    return replace(found, settings=build_settings([facts], given, vars(scoring)))


def check_test(
    test: ReferenceSet | ReferenceSource | PreparedData | None,
    sources: Sequence[str] | None,
    references: Sequence[str] | Sequence[Sequence[str]] | None,
) -> ReferenceSet | ReferenceSource:
    """Return the test set, given as such or as sources and references."""
    if test is None and sources is not None and references is not None:
        return ReferenceSet.from_texts(sources, references)
    if test is None or sources is not None or references is not None:
        raise InputError("give either a test set, or both sources and references")
    return ReferenceSource(None, (), test, None) if isinstance(test, PreparedData) else test


def count_training_words(
    data: PreparedData | None, text: Path | None, scoring: Scoring, emit: Emit
) -> Frequencies | None:
    """Count the words of prepared training data, or of a text file; None without either."""
    words = scoring.target_words()
    if text is not None:
        lines = read_lines(text)
        return Frequencies(count_words(lines, words, len(lines), emit), text.name)
    if data is None:
        return None
    if scoring.target_lang is None:
        raise InputError("the target language is not known: give --to LANG")
    split, language = data.split("train"), scoring.target_lang
    texts = (split.text(language, pair) for pair in range(len(split)))
    return Frequencies(count_words(texts, words, len(split), emit), "the training data")


def score_outputs(
    name: str,
    test: ReferenceSet,
    outputs: Outputs,
    scoring: Scoring,
    frequencies: Frequencies | None,
    emit: Emit,
) -> Evaluation:
    """Score translations of a test set; without `frequencies`, the references' words are counted.

    Raises InputError where there are not as many translations as sources.
    """
    if len(outputs.texts) != len(test):
        raise InputError(
            f"{name} has {len(outputs.texts):,} translations of {len(test):,} sentences: "
            "there must be one for each"
        )
    for notice in (
        check_tokenized(name, outputs.texts),
        check_case(name, outputs.texts, test.references),
        check_memory(len(test), scoring.resamples, trials=0),
    ):
        if notice is not None:
            emit(notice)
    words = scoring.target_words()
    if frequencies is None:
        counts = Counter(word for text in test.references[0] for word in words(text))
        frequencies = Frequencies(counts, "the references")
    bleu = bleu_metric(scoring.target_lang, scoring.tokenizer)
    sentences = _sentences(test, outputs)
    return Evaluation(
        name=name,
        scores=_scores(test, outputs, scoring, emit),
        lengths=measure_lengths(bleu, outputs.texts, test.references),
        likelihood=outputs.likelihood,
        sentences=sentences,
        by_length=score_by_length(
            test, outputs.texts, scoring.source_words(), bleu, scoring.resamples
        ),
        by_frequency=count_by_frequency(
            test.references[0], outputs.texts, words, frequencies.counts
        ),
        frequency_origin=frequencies.origin,
        confidence_quality=_confidence_quality(sentences) if outputs.calibrated else None,
        scoring=scoring,
    )


def _confidence_quality(sentences: Sequence[Sentence]) -> ConfidenceQuality | None:
    """Measure the confidence of a model, if some translations are acceptable and some not."""
    known = [
        (one.confidence, one.chrf >= ACCEPTABLE) for one in sentences if one.confidence is not None
    ]
    confidences = [confidence for confidence, _ in known]
    good = [is_good for _, is_good in known]
    if len(set(good)) < 2:
        return None
    doubted = [is_good for confidence, is_good in known if confidence < DOUBTFUL]
    return ConfidenceQuality(
        auc=area_under_curve(confidences, good),
        curve=calibration_curve(confidences, good),
        doubtful=len(doubted),
        doubted_correctly=doubted.count(False),
    )


def _scores(
    test: ReferenceSet, outputs: Outputs, scoring: Scoring, emit: Emit
) -> tuple[MetricScore, ...]:
    metrics = evaluation_metrics(scoring.target_lang, scoring.tokenizer)
    if scoring.tokenized_bleu:
        metrics[TOKENIZED_BLEU] = cast("Metric", tokenized_bleu_metric(scoring.target_lang))
    scores = []
    for number, (name, metric) in enumerate(metrics.items()):
        emit(Progress("scoring", number, len(metrics), "metrics"))
        scores.append(score_corpus(name, metric, outputs.texts, test.references, scoring.resamples))
    emit(Progress("scoring", len(metrics), len(metrics), "metrics"))
    return tuple(scores)


def _sentences(test: ReferenceSet, outputs: Outputs) -> tuple[Sentence, ...]:
    return tuple(
        Sentence(line, source, tuple(references), translation, chrf, confidence, flags)
        for line, (source, references, translation, chrf, confidence, flags) in enumerate(
            zip(
                test.sources,
                zip(*test.references, strict=True),
                outputs.texts,
                sentence_chrf(outputs.texts, test.references),
                outputs.confidences,
                outputs.flags,
                strict=True,
            ),
            start=1,
        )
    )


# ---- as plain values -----------------------------------------------------------------------------


def _likelihood_json(known: Likelihood) -> dict[str, Any]:
    return {
        "perplexity": known.perplexity,
        "bits_per_character": known.bits_per_character,
        **asdict(known),
    }


def _quality_json(quality: ConfidenceQuality) -> dict[str, Any]:
    return {**asdict(quality), "curve": [one._asdict() for one in quality.curve]}


def _length_json(group: LengthGroup) -> dict[str, Any]:
    return {
        "words": group.label,
        "sentences": group.sentences,
        "scores": [_score_json(group.bleu), _score_json(group.chrf)],
        "length_ratio": group.length_ratio,
    }


def _frequency_json(group: FrequencyGroup) -> dict[str, Any]:
    return {
        "times": group.label,
        "in_references": group.in_references,
        "in_translations": group.in_translations,
        "matched": group.matched,
        "recall": group.recall,
        "precision": group.precision,
        "f1": group.f1,
    }


def _score_json(score: MetricScore) -> dict[str, Any]:
    return {**asdict(score), "higher_is_better": score.higher_is_better, "cite": score.cite()}


def _sentence_json(one: Sentence) -> dict[str, Any]:
    flags = [name for name, on in vars(one.flags).items() if on]
    return {**asdict(one), "flags": flags}
