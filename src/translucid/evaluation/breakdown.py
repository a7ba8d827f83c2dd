"""Breakdown of scores by length of the source, and of words by their frequency."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU

from translucid.evaluation.metrics import MetricScore, PlainChrf, measure_lengths, score_corpus
from translucid.evaluation.reference_set import ReferenceSet
from translucid.events import Emit, Progress

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
