"""Reports of evaluations and comparisons, each as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from translucid.evaluation.compare import (
    SIGNIFICANT,
    WINS,
    Comparison,
    Difference,
    MetricComparison,
    SystemScore,
    is_significant,
)
from translucid.evaluation.evaluate import Evaluation, Sentence
from translucid.evaluation.html_page import (
    LEGEND,
    Column,
    bar,
    escape,
    mark_differences,
    page,
    paragraph,
    prose,
    section,
    table,
)
from translucid.evaluation.metrics import MetricScore, Scoring, higher_is_better
from translucid.evaluation.results import describe_settings
from translucid.translator.confidence import ACCEPTABLE

FLAG_LABELS = {
    "truncated": "cut at the limit of length",
    "looped": "ended for going in circles",
    "split": "translated in several parts",
    "between_spans": "translated piece by piece between what is not translated",
    "forced_spans": "with something not translated where the model would not have put it",
    "unknown": "of a source with characters that the model cannot spell",
}
_BANDS = 10  # of sentence chrF


def evaluation_report(found: Evaluation, sentences: int) -> str:
    """Return the report of an evaluation as one HTML page, with this many sentences of a kind."""
    contents = [
        ("scores", "Scores"),
        ("length", "By source length"),
        ("rare", "By rarity of words"),
        ("spread", "Sentence scores"),
        ("worst", "Worst sentences"),
        ("best", "Best sentences"),
        ("settings", "How it was made"),
    ]
    direction = "→".join(filter(None, (found.scoring.source_lang, found.scoring.target_lang)))
    subtitle = f"{len(found.sentences):,} sentences" + (f", {direction}" if direction else "")
    return page(
        f"Evaluation of {found.name}",
        subtitle,
        contents,
        "".join(
            [
                _scores(found),
                _by_length(found),
                _by_frequency(found),
                _spread(found),
                _confidence(found),
                _sentences("worst", "Worst sentences", found.worst(sentences), found.scoring),
                _sentences("best", "Best sentences", found.best(sentences), found.scoring),
                _settings(found.settings),
            ]
        ),
    )


def _scores(found: Evaluation) -> str:
    cards = [_card(score) for score in found.scores]
    ratio = found.lengths.ratio
    if ratio is not None:
        words = f"{found.lengths.translations:,} words for {found.lengths.references:,}"
        cards.append(_figure("Length ratio", f"{ratio:.3f}", words))
    if found.likelihood is not None:
        bits = f"{found.likelihood.bits_per_character:.3f} bits per character"
        cards.append(_figure("Perplexity", f"{found.likelihood.perplexity:.2f}", bits))
    cited = table(
        "Each score as sacrebleu writes it; the signature says how it was computed",
        [Column("metric", "text"), Column("to cite", "text")],
        [[escape(one.name), f"<code>{escape(one.cite())}</code>"] for one in found.scores],
    )
    return section(
        "scores", "Scores", f'<ul class="cards">{"".join(cards)}</ul>\n', _remarks(found), cited
    )


def _card(score: MetricScore) -> str:
    direction = "higher is better" if score.higher_is_better else "lower is better"
    interval = "" if score.mean is None else f"95 % within {score.mean:.2f} ± {score.margin:.2f}; "
    return _figure(score.name, f"{score.score:.2f}", interval + direction)


def _figure(name: str, value: str, note: str) -> str:
    return (
        f'<li><span class="name">{escape(name)}</span> '
        f'<span class="value">{escape(value)}</span> '
        f'<span class="note">{escape(note)}</span></li>'
    )


def _remarks(found: Evaluation) -> str:
    """Return remarks on the translations as a whole."""
    counts = found.count_flags()
    words = {
        "exact": "like a reference to the letter",
        "blank": "blank though the source is not",
        **FLAG_LABELS,
    }
    remarks = [f"{counts[what]:,} {said}" for what, said in words.items() if counts[what]]
    if not remarks:
        return ""
    return paragraph(f"Of {len(found.sentences):,} translations: {'; '.join(remarks)}.")


def _by_length(found: Evaluation) -> str:
    columns = [
        Column("words of the source", "text"),
        *(Column(name, "number") for name in ("sentences", "BLEU", "chrF2")),
        Column("length ratio", "number"),
    ]
    most = max((group.bleu.score for group in found.by_length), default=0.0)
    rows = [
        [
            escape(group.label),
            f"{group.sentences:,}",
            bar(group.bleu.score, most, group.bleu.with_margin),
            bar(group.chrf.score, 100.0, group.chrf.with_margin),
            number(group.length_ratio, 3),
        ]
        for group in found.by_length
    ]
    return section(
        "length",
        "By source length",
        paragraph(
            "BLEU of different groups is not strictly comparable: short sentences have few longer "
            "n-grams. A group of few sentences has a wide interval."
        ),
        table("Scores by number of words in the source", columns, rows),
    )


def number(value: float | None, places: int) -> str:
    """Return a number for a cell, or a dash if there is none."""
    return "–" if value is None else f"{value:.{places}f}"


def _by_frequency(found: Evaluation) -> str:
    columns = [
        Column("times seen", "text"),
        Column("in references", "number"),
        Column("in translations", "number"),
        *(Column(name, "number") for name in ("right", "recall", "precision", "F1")),
    ]
    rows = [
        [
            escape(group.label),
            f"{group.in_references:,}",
            f"{group.in_translations:,}",
            f"{group.matched:,}",
            bar(group.recall, 1.0, _percent(group.recall)),
            bar(group.precision, 1.0, _percent(group.precision)),
            bar(group.f1, 1.0, _percent(group.f1)),
        ]
        for group in found.by_frequency
    ]
    return section(
        "rare",
        "By rarity of words",
        paragraph(
            f"Target words by how often they occur in {found.frequency_origin}. Recall: the "
            "share of the references' words that the translations have; precision: the share of "
            "the translations' words that the references have."
        ),
        table(f"Words by their frequency in {found.frequency_origin}", columns, rows),
    )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _spread(found: Evaluation) -> str:
    width = 100 // _BANDS
    counts = [0] * _BANDS
    for one in found.scorable():
        counts[min(_BANDS - 1, int(one.chrf // width))] += 1
    rows = [
        [f"{width * band}–{width * (band + 1)}", bar(count, max(counts), f"{count:,}")]
        for band, count in enumerate(counts)
    ]
    columns = [Column("chrF2", "text"), Column("sentences", "number")]
    shown = table("Sentences by chrF2", columns, rows)
    return section("spread", "Sentence scores", f'<div class="narrow">{shown}</div>\n')


def _confidence(found: Evaluation) -> str:
    """Compare the confidence of the model with the truth."""
    quality = found.confidence_quality
    if quality is None:
        return ""
    rows = [
        [
            f"{100 * one.confidence:.0f} %",
            bar(one.acceptable, 1.0, _percent(one.acceptable)),
            f"{one.lines:,}",
        ]
        for one in quality.curve
    ]
    columns = [
        Column("confidence", "number"),
        Column("acceptable", "number"),
        Column("lines", "number"),
    ]
    note = paragraph(
        f"A translation is acceptable if its chrF2 is {ACCEPTABLE:.0f} or more. The area under the "
        f"curve is {quality.auc:.3f}, the probability that an acceptable one has the "
        f"higher confidence. Of {quality.doubtful:,} that were doubted, "
        f"{quality.doubted_correctly:,} are not acceptable."
    )
    shown = table("Confidence and truth of each tenth", columns, rows)
    return section("confidence", "Confidence", note, f'<div class="narrow">{shown}</div>\n')


def _sentences(anchor: str, title: str, sentences: Sequence[Sentence], scoring: Scoring) -> str:
    columns = [
        Column("line", "number"),
        Column("chrF2", "number"),
        *(Column(name, "prose") for name in ("source", "reference", "translation")),
    ]
    rows = [_sentence(one, scoring) for one in sentences]
    note = paragraph("There are none.") if not rows else LEGEND
    shown = table(f"The {len(rows)} {anchor} by chrF2", columns, rows) if rows else ""
    return section(anchor, title, note, shown)


def _sentence(one: Sentence, scoring: Scoring) -> list[str]:
    flags = "".join(
        f'<span class="flag">{escape(words)}</span>'
        for flag, words in FLAG_LABELS.items()
        if getattr(one.flags, flag)
    )
    sure = "" if one.confidence is None else f"model's confidence {one.confidence:.2f}"
    reference = nearest_reference(one.references, one.translation)
    return [
        f"{one.line:,}",
        f"{one.chrf:.1f}",
        prose(one.source, scoring.source_lang),
        mark_differences(reference, one.translation, "missing", scoring.target_lang),
        mark_differences(one.translation, reference, "extra", scoring.target_lang)
        + (f'<small class="muted">{escape(sure)}</small>' if sure else "")
        + flags,
    ]


def nearest_reference(references: Sequence[str], translation: str) -> str:
    """Return the reference that equals a translation, else the first."""
    return translation if translation in references else references[0]


def _settings(settings: Mapping[str, Any]) -> str:
    """Return the section that says how the results were made."""
    items = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
        for name, value in describe_settings(settings).items()
    )
    return section("settings", "How it was made", f"<dl>{items}</dl>\n")


def comparison_report(found: Comparison, sentences: int) -> str:
    """Return the report of a comparison as one HTML page, with this many sentences."""
    contents = [
        ("scores", "Scores and tests"),
        ("sentences", "Sentence by sentence"),
        ("different", "Where they differ most"),
        ("settings", "How it was made"),
    ]
    others = ", ".join(found.systems[1:])
    return page(
        f"{others} compared with {found.systems[0]}",
        f"{len(found.sentences):,} sentences; the baseline is {found.systems[0]}",
        contents,
        _tests(found) + _wins(found) + _differences(found, sentences) + _settings(found.settings),
    )


def _tests(found: Comparison) -> str:
    return section(
        "scores",
        "Scores and tests",
        paragraph(
            "Each system is tested against the baseline on the same sentences. p is the "
            "probability of a difference at least as large if both were equally good: below "
            f"{SIGNIFICANT} the difference is taken to be real, and p is in bold. p-values are not "
            "corrected for many comparisons."
        ),
        *(_metric(metric) for metric in found.metrics),
    )


def _metric(metric: MetricComparison) -> str:
    better = "higher is better" if higher_is_better(metric.metric) else "lower is better"
    columns = [
        Column("system", "text"),
        Column(metric.metric, "number"),
        Column("95 % interval", "number"),
        Column("difference", "number"),
        Column("p, bootstrap", "number"),
        Column("p, randomisation", "number"),
    ]
    baseline = metric.systems[0]
    rows = [_score(one, baseline) for one in metric.systems]
    signed = "".join(f"<p><code>{escape(one)}</code></p>\n" for one in metric.signatures)
    return table(f"{metric.metric} ({better})", columns, rows) + signed


def _score(one: SystemScore, baseline: SystemScore) -> list[str]:
    interval = "–" if one.mean is None else f"{one.mean:.2f} ± {one.margin:.2f}"
    difference = "baseline" if one is baseline else f"{one.score - baseline.score:+.2f}"
    return [
        escape(one.system),
        f"{one.score:.2f}",
        interval,
        difference,
        *(_p_value(p, one, baseline) for p in (one.p_bootstrap, one.p_randomization)),
    ]


def _p_value(p: float | None, one: SystemScore, baseline: SystemScore) -> str:
    shown = number(p, 4)
    return f"<strong>{shown}</strong>" if is_significant(p, one, baseline) else shown


def _wins(found: Comparison) -> str:
    columns = [
        Column("system", "text"),
        *(Column(name, "number") for name in ("better", "worse", "alike", "of these the same")),
    ]
    rows = []
    for place, name in enumerate(found.systems):
        if place:
            counts = found.wins(place)
            shown = [f"{counts[key]:,}" for key in WINS]
            rows.append([escape(name), *shown])
    caption = f"Sentences by chrF2 against {found.systems[0]}"
    return section("sentences", "Sentence by sentence", table(caption, columns, rows))


def _differences(found: Comparison, count: int) -> str:
    sentences = found.most_different(count)
    columns = [
        Column("line", "number"),
        *(Column(name, "prose") for name in ("source", "reference", *found.systems)),
    ]
    rows = [_difference(one, found.scoring) for one in sentences]
    caption = "Sentences on which chrF2 differs most"
    legend = (
        '<p class="legend">In a translation, <mark class="extra">what the reference lacks</mark> '
        "is marked; its chrF2 stands below it.</p>\n"
    )
    return section(
        "different",
        "Where they differ most",
        legend + table(caption, columns, rows) if rows else paragraph("They do not differ."),
    )


def _difference(one: Difference, scoring: Scoring) -> list[str]:
    language = scoring.target_lang
    shown = [
        mark_differences(text, nearest_reference(one.references, text), "extra", language)
        + f'<small class="muted">chrF2 {chrf:.1f}</small>'
        for text, chrf in zip(one.translations, one.chrf, strict=True)
    ]
    return [
        f"{one.line:,}",
        prose(one.source, scoring.source_lang),
        prose(one.references[0], language),
        *shown,
    ]
