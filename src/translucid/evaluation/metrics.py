"""BLEU, chrF and TER by sacrebleu, each with the signature that says how it was computed.

The interval of a score is sacrebleu's bootstrap: the test set is drawn again and again from its
own sentences, and 95 % of the scores lie within `mean` ± `margin`. The draw has sacrebleu's seed
(12345, or the environment's SACREBLEU_SEED), so the interval is that of its command line too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU, BLEUScore
from sacrebleu.metrics.chrf import CHRF, CHRFScore
from sacrebleu.metrics.ter import TER, TERScore

from translucid.errors import InputError
from translucid.evaluation.moses import MosesTokenizer
from translucid.events import Notice
from translucid.text.languages import bleu_tokenizer

RESAMPLES = 1000  # sacrebleu's default for the bootstrap
TOKENIZED_BLEU = "BLEU (lower-cased, Moses-tokenised)"

_SUSPICIOUS = 100  # sacrebleu's number of lines that end in a period on its own

_NOTICED_BYTES = 2 << 30
_BYTES_A_RESAMPLE, _BYTES_A_TRIAL = 80, 10  # of sacrebleu's arrays, for a sentence

# One list of sentences for each set of references, all as long as the translations.
References: TypeAlias = Sequence[Sequence[str]]

# Those that need neither another package nor the network come first.
BLEU_TOKENIZERS = ("13a", "intl", "zh", "char", "none", "ja-mecab", "ko-mecab")


@dataclass(frozen=True)
class MetricScore:
    """One score of a set of translations.

    `detail` is what sacrebleu tells beside it (n-gram precisions, brevity penalty, lengths).
    """

    name: str
    score: float
    signature: str
    mean: float | None
    margin: float | None
    detail: str

    @property
    def higher_is_better(self) -> bool:
        """Whether more is better; TER counts edits."""
        return higher_is_better(self.name)

    def cited(self) -> str:
        """Return the score as sacrebleu writes it, with all that is needed to compute it again."""
        interval = "" if self.mean is None else f" (μ = {self.mean:.2f} ± {self.margin:.2f})"
        detail = f" {self.detail}" if self.detail else ""
        return f"{self.name}|{self.signature} = {self.score:.2f}{interval}{detail}"


def higher_is_better(name: str) -> bool:
    """Tell whether more of a metric is better; TER counts edits."""
    return name != "TER"


def bleu_metric(language: str | None, tokenizer: str | None) -> BLEU:
    """Return BLEU for a target language, or with the tokenizer given."""
    if tokenizer is not None and tokenizer not in BLEU_TOKENIZERS:
        known = ", ".join(BLEU_TOKENIZERS)
        raise InputError(f"BLEU has no tokenizer {tokenizer!r}; it has {known}")
    try:
        # force: sacrebleu would warn of tokenised text at every use; see tokenized_notice
        return BLEU(tokenize=tokenizer or bleu_tokenizer(language), force=True)
    except RuntimeError as error:  # what sacrebleu raises where a tokenizer's package is missing
        raise InputError(f"BLEU's tokenizer {tokenizer!r} cannot be used: {error}") from error


def tokenized_bleu_metric(language: str | None) -> BLEU:
    """Return the lower-cased, Moses-tokenised BLEU of older papers, as multi-bleu.perl computes it.

    Both sides are lower-cased, their punctuation is normalised, and Moses' rules divide them.
    There is no smoothing, and the signature names the tokenizer.
    """
    metric = BLEU(lowercase=True, tokenize="none", smooth_method="none", force=True)
    metric.tokenizer = MosesTokenizer(language)
    metric.tokenizer_signature = metric.tokenizer.signature()
    return metric


class PlainChrf(CHRF):
    """chrF whose scores are floats of Python, also those of the bootstrap.

    sacrebleu's are NumPy's there, except where a resample is blank; it cannot take the mean of both
    (2.6.0: "don't know how to coerce float and float32"), which a few blank lines bring about.
    """

    def _compute_score_from_stats(self, stats: list[int]) -> CHRFScore:
        found = super()._compute_score_from_stats(stats)
        found.score = float(found.score)
        return found


class PlainTer(TER):
    """TER whose scores are floats of Python, for the same reason."""

    def _compute_score_from_stats(self, stats: list[float]) -> TERScore:
        found = super()._compute_score_from_stats(stats)
        found.score = float(found.score)
        return found


def scored_metrics(language: str | None, tokenizer: str | None) -> dict[str, Metric]:
    """Return the metrics of an evaluation by their names."""
    return {"BLEU": bleu_metric(language, tokenizer), "chrF2": PlainChrf(), "TER": PlainTer()}


def tested_metrics(language: str | None, tokenizer: str | None) -> dict[str, Metric]:
    """Return the metrics for paired tests: sacrebleu's to the last bit, so that p-values agree."""
    return {"BLEU": bleu_metric(language, tokenizer), "chrF2": CHRF(), "TER": TER()}


def corpus_score(
    name: str,
    metric: Metric,
    translations: Sequence[str],
    references: References,
    resamples: int,
) -> MetricScore:
    """Score translations as a whole; `resamples` of the bootstrap, or 0 for no interval."""
    found = metric.corpus_score(translations, references, n_bootstrap=max(1, resamples))
    with_interval = resamples > 1
    return MetricScore(
        name=name,
        score=float(found.score),
        signature=str(metric.get_signature()),
        mean=float(found._mean) if with_interval else None,
        margin=float(found._ci) if with_interval else None,
        detail=str(found._verbose),
    )


@dataclass(frozen=True)
class Lengths:
    """How long translations and references are, in words of BLEU's tokenizer."""

    translations: int
    references: int

    @property
    def ratio(self) -> float | None:
        """How many words of translation there are for one of the references."""
        return self.translations / self.references if self.references else None


def lengths(metric: BLEU, translations: Sequence[str], references: References) -> Lengths:
    """Count words; of several references, that of the nearest length counts, as in BLEU."""
    found = cast("BLEUScore", metric.corpus_score(translations, references))
    return Lengths(found.sys_len, found.ref_len)


def tokenized_notice(name: str, translations: Sequence[str]) -> Notice | None:
    """Warn of translations that seem to be divided into tokens, as sacrebleu itself does."""
    count = sum(text.endswith(" .") for text in translations)
    if count < _SUSPICIOUS:
        return None
    return Notice(
        f"{count:,} translations of {name} end in ' .', as if divided into tokens: scores are of "
        "text as people write it, so join the tokens first"
    )


def case_notice(name: str, translations: Sequence[str], references: References) -> Notice | None:
    """Warn where one side writes no capitals and most lines of the other have some."""
    has, has_not = f"translations of {name}", "references"
    capitals, others = (_with_capitals(texts) for texts in (translations, references[0]))
    if capitals <= others:
        has, has_not, capitals, others = has_not, has, others, capitals
    if others or 2 * capitals <= len(translations):
        return None
    return Notice(
        f"{capitals:,} {has} have capitals and the {has_not} none: BLEU and chrF take each for an "
        "error. Give both sides as they are written, or both in lower case"
    )


def _with_capitals(texts: Sequence[str]) -> int:
    return sum(text != text.lower() for text in texts)


def memory_notice(sentences: int, resamples: int, trials: int) -> Notice | None:
    """Tell of the memory that sacrebleu's tests take, where it is much."""
    needed = sentences * max(resamples * _BYTES_A_RESAMPLE, trials * _BYTES_A_TRIAL)
    if needed <= _NOTICED_BYTES:
        return None
    return Notice(
        f"the tests of {sentences:,} sentences take about {needed / 1e9:.0f} GB of memory; fewer "
        "resamples and trials take less"
    )


def sentence_chrf(translations: Sequence[str], references: References) -> list[float]:
    """Return chrF of each sentence, by which sentences are ranked.

    Sentence BLEU is zero for most short sentences; chrF tells them apart.
    """
    metric = CHRF()
    return [
        float(metric.sentence_score(translation, list(each)).score)
        for translation, *each in zip(translations, *references, strict=True)
    ]
