"""BLEU, chrF and TER by sacrebleu, each with the signature that says how it was computed.

The interval of a score is sacrebleu's bootstrap: the test set is resampled from its own sentences,
and 95 % of the scores lie within `mean` ± `margin`. The seed is sacrebleu's (12345, or
SACREBLEU_SEED in the environment), so its command line gives the same interval.

Breakdowns score the sentences of each range of source length, and count the words of each range of
frequency that translations get right.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU, BLEUScore
from sacrebleu.metrics.chrf import CHRF, CHRFScore
from sacrebleu.metrics.ter import TER, TERScore

from translucid.errors import InputError
from translucid.evaluation.moses import MosesTokenizer
from translucid.evaluation.reference_set import ReferenceSet
from translucid.events import Emit, Notice, Progress
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

    @property
    def with_margin(self) -> str:
        """The score, and the margin of its interval if it has one."""
        return f"{self.score:.2f}" + ("" if self.margin is None else f" ± {self.margin:.2f}")

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


LENGTH_STARTS = (1, 6, 11, 21, 31, 51)  # words of the source
FREQUENCY_STARTS = (0, 1, 2, 5, 10, 100, 1000)  # occurrences of a word
_LINES_BETWEEN_EVENTS = 10_000


@dataclass(frozen=True)
class LengthGroup:
    """Sentences whose source has `shortest` to `longest` words, or any number from `shortest`."""

    shortest: int
    longest: int | None
    sentences: int
    bleu: MetricScore
    chrf: MetricScore
    length_ratio: float | None

    @property
    def label(self) -> str:
        """The range in words."""
        return format_range(self.shortest, self.longest)


@dataclass(frozen=True)
class FrequencyGroup:
    """Words of the target language that occur `fewest` to `most` times.

    The references have `in_references` words of this group, the translations `in_translations`;
    `matched` are in both the translation and the reference of a sentence, counted as often as in
    both.
    """

    fewest: int
    most: int | None
    in_references: int
    in_translations: int
    matched: int

    @property
    def label(self) -> str:
        """The range of frequencies."""
        return format_range(self.fewest, self.most)

    @property
    def recall(self) -> float | None:
        """The share of the references' words that the translations have."""
        return self.matched / self.in_references if self.in_references else None

    @property
    def precision(self) -> float | None:
        """The share of the translations' words that the references have."""
        return self.matched / self.in_translations if self.in_translations else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall."""
        words = self.in_references + self.in_translations
        return 2 * self.matched / words if words else None


def format_range(first: int, last: int | None) -> str:
    """Return a range as text.

    >>> format_range(1, 5), format_range(2, 2), format_range(51, None)
    ('1–5', '2', '51 or more')
    """
    if last is None:
        return f"{first:,} or more"
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"


def _ranges(starts: Sequence[int]) -> list[tuple[int, int | None]]:
    return [
        (start, None if index + 1 == len(starts) else starts[index + 1] - 1)
        for index, start in enumerate(starts)
    ]


def score_by_length(
    test: ReferenceSet,
    translations: Sequence[str],
    words: Callable[[str], Sequence[str]],
    metric: BLEU,
    resamples: int,
) -> tuple[LengthGroup, ...]:
    """Score the sentences of each range of source length; `words` tokenises a source.

    Blank sources and ranges without sentences are left out.
    """
    indices: dict[int, list[int]] = {}
    for index, source in enumerate(test.sources):
        if count := len(words(source)):
            group = bisect.bisect_right(LENGTH_STARTS, count) - 1
            indices.setdefault(group, []).append(index)
    groups = []
    for group, (shortest, longest) in enumerate(_ranges(LENGTH_STARTS)):
        if chosen := indices.get(group):
            part = test.subset(chosen)
            texts = [translations[index] for index in chosen]
            draws = resamples if len(chosen) > 1 else 0  # of one sentence all draws are the same
            groups.append(
                LengthGroup(
                    shortest,
                    longest,
                    sentences=len(chosen),
                    bleu=score_corpus("BLEU", metric, texts, part.references, draws),
                    chrf=score_corpus("chrF2", PlainChrf(), texts, part.references, draws),
                    length_ratio=measure_lengths(metric, texts, part.references).ratio,
                )
            )
    return tuple(groups)


def count_words(
    texts: Iterable[str], words: Callable[[str], Sequence[str]], total: int, emit: Emit
) -> Counter[str]:
    """Count the words of some texts."""
    counts: Counter[str] = Counter()
    for number, text in enumerate(texts):
        if number % _LINES_BETWEEN_EVENTS == 0:
            emit(Progress("counting words", number, total, "lines"))
        counts.update(words(text))
    emit(Progress("counting words", total, total, "lines"))
    return counts


def count_by_frequency(
    references: Sequence[str],
    translations: Sequence[str],
    words: Callable[[str], Sequence[str]],
    frequency: Mapping[str, int],
) -> tuple[FrequencyGroup, ...]:
    """Count matched and unmatched words of each range of frequency, against one reference."""
    tallies = [[0, 0, 0] for _ in FREQUENCY_STARTS]
    for reference, translation in zip(references, translations, strict=True):
        wanted, found = Counter(words(reference)), Counter(words(translation))
        for word in wanted.keys() | found.keys():
            group = bisect.bisect_right(FREQUENCY_STARTS, frequency.get(word, 0)) - 1
            tally = tallies[group]
            tally[0] += wanted[word]
            tally[1] += found[word]
            tally[2] += min(wanted[word], found[word])
    return tuple(
        FrequencyGroup(fewest, most, *tally)
        for (fewest, most), tally in zip(_ranges(FREQUENCY_STARTS), tallies, strict=True)
        if tally[0] or tally[1]
    )
