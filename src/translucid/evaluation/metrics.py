"""BLEU, chrF and TER by sacrebleu, each with the signature that says how it was computed.

The interval of a score is sacrebleu's bootstrap: the test set is resampled from its own sentences,
and 95 % of the scores lie within `mean` ± `margin`. The seed is sacrebleu's (12345, or
SACREBLEU_SEED in the environment), so its command line gives the same interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

_SUSPICIOUS = 100  # lines that end in a separate period, as in sacrebleu

_NOTICED_BYTES = 2 << 30
_BYTES_PER_RESAMPLE, _BYTES_PER_TRIAL = 80, 10  # of sacrebleu's arrays, per sentence

Words: TypeAlias = Callable[[str], Sequence[str]]

# One list of sentences per set of references, each as long as the translations.
References: TypeAlias = Sequence[Sequence[str]]

# The first ones need neither another package nor the network.
BLEU_TOKENIZERS = ("13a", "intl", "zh", "char", "none", "ja-mecab", "ko-mecab")


@dataclass(frozen=True)
class Scoring:
    """How to score translations; a language that is not known is None.

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
        return word_splitter(bleu_metric(self.target_lang, self.tokenizer))

    def source_words(self) -> Words:
        """Return the function that divides source text into words."""
        return word_splitter(bleu_metric(self.source_lang, None))


def word_splitter(metric: BLEU) -> Words:
    """Return a function that divides text into words as a BLEU metric does."""
    return lambda text: metric.tokenizer(text.rstrip()).split()


@dataclass(frozen=True)
class MetricScore:
    """One score of a set of translations.

    `detail` is what sacrebleu adds (n-gram precisions, brevity penalty, lengths).
    """

    name: str
    score: float
    signature: str
    mean: float | None
    margin: float | None
    detail: str

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher score is better; TER counts edits."""
        return higher_is_better(self.name)

    def cite(self) -> str:
        """Return the score as sacrebleu writes it, with the signature to compute it again."""
        interval = "" if self.mean is None else f" (μ = {self.mean:.2f} ± {self.margin:.2f})"
        detail = f" {self.detail}" if self.detail else ""
        return f"{self.name}|{self.signature} = {self.score:.2f}{interval}{detail}"


def higher_is_better(name: str) -> bool:
    """Return whether a higher score is better; TER counts edits."""
    return name != "TER"


def bleu_metric(language: str | None, tokenizer: str | None) -> BLEU:
    """Return BLEU for a target language, or with the tokenizer given."""
    if tokenizer is not None and tokenizer not in BLEU_TOKENIZERS:
        known = ", ".join(BLEU_TOKENIZERS)
        raise InputError(f"BLEU has no tokenizer {tokenizer!r}; it has {known}")
    try:
        # force: sacrebleu would warn about tokenised text every time; see check_tokenized
        return BLEU(tokenize=tokenizer or bleu_tokenizer(language), force=True)
    except RuntimeError as error:  # what sacrebleu raises where a tokenizer's package is missing
        raise InputError(f"BLEU's tokenizer {tokenizer!r} cannot be used: {error}") from error


def tokenized_bleu_metric(language: str | None) -> BLEU:
    """Return the lower-cased, Moses-tokenised BLEU of older papers, as multi-bleu.perl computes it.

    Both sides are lower-cased, their punctuation is normalised, and Moses' rules tokenise them.
    There is no smoothing, and the signature names the tokenizer.
    """
    metric = BLEU(lowercase=True, tokenize="none", smooth_method="none", force=True)
    metric.tokenizer = MosesTokenizer(language)
    metric.tokenizer_signature = metric.tokenizer.signature()
    return metric


class PlainChrf(CHRF):
    """chrF whose bootstrap scores are Python floats.

    sacrebleu's are NumPy floats there, except where a resample is blank, and it cannot take the
    mean of both (2.6.0: "don't know how to coerce float and float32"), as happens with blank lines.
    """

    def _compute_score_from_stats(self, stats: list[int]) -> CHRFScore:
        found = super()._compute_score_from_stats(stats)
        found.score = float(found.score)
        return found


class PlainTer(TER):
    """TER whose bootstrap scores are Python floats, for the same reason."""

    def _compute_score_from_stats(self, stats: list[float]) -> TERScore:
        found = super()._compute_score_from_stats(stats)
        found.score = float(found.score)
        return found


def evaluation_metrics(language: str | None, tokenizer: str | None) -> dict[str, Metric]:
    """Return the metrics of an evaluation by name."""
    return {"BLEU": bleu_metric(language, tokenizer), "chrF2": PlainChrf(), "TER": PlainTer()}


def comparison_metrics(language: str | None, tokenizer: str | None) -> dict[str, Metric]:
    """Return the metrics of paired tests: exactly sacrebleu's, so that p-values agree."""
    return {"BLEU": bleu_metric(language, tokenizer), "chrF2": CHRF(), "TER": TER()}


def score_corpus(
    name: str,
    metric: Metric,
    translations: Sequence[str],
    references: References,
    resamples: int,
) -> MetricScore:
    """Score translations as a corpus; 0 `resamples` of the bootstrap give no interval."""
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
    """The lengths of translations and references, in words of BLEU's tokenizer."""

    translations: int
    references: int

    @property
    def ratio(self) -> float | None:
        """Words of translation per word of reference."""
        return self.translations / self.references if self.references else None


def measure_lengths(metric: BLEU, translations: Sequence[str], references: References) -> Lengths:
    """Count words; of several references, the one of the nearest length counts, as in BLEU."""
    found = cast("BLEUScore", metric.corpus_score(translations, references))
    return Lengths(found.sys_len, found.ref_len)


def check_tokenized(name: str, translations: Sequence[str]) -> Notice | None:
    """Return a warning if translations seem to be tokenised, as sacrebleu itself does."""
    count = sum(text.endswith(" .") for text in translations)
    if count < _SUSPICIOUS:
        return None
    return Notice(
        f"{count:,} translations of {name} end in ' .', as if divided into tokens: scores are of "
        "text as people write it, so join the tokens first"
    )


def check_case(name: str, translations: Sequence[str], references: References) -> Notice | None:
    """Return a warning if one side has no capitals and most lines of the other have some."""
    has, has_not = f"translations of {name}", "references"
    capitals, others = (_count_with_capitals(texts) for texts in (translations, references[0]))
    if capitals <= others:
        has, has_not, capitals, others = has_not, has, others, capitals
    if others or 2 * capitals <= len(translations):
        return None
    return Notice(
        f"{capitals:,} {has} have capitals and the {has_not} none: BLEU and chrF take each for an "
        "error. Give both sides as they are written, or both in lower case"
    )


def _count_with_capitals(texts: Sequence[str]) -> int:
    return sum(text != text.lower() for text in texts)


def check_memory(sentences: int, resamples: int, trials: int) -> Notice | None:
    """Return a notice if sacrebleu's tests need much memory."""
    needed = sentences * max(resamples * _BYTES_PER_RESAMPLE, trials * _BYTES_PER_TRIAL)
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
