"""The report of a comparison as one HTML file: tests, and the sentences that differ most."""

from __future__ import annotations

from translucid.evaluation.compare import (
    SIGNIFICANT,
    WINS,
    Comparison,
    Difference,
    MetricComparison,
    SystemScore,
    significant,
)
from translucid.evaluation.metrics import higher_is_better
from translucid.evaluation.report_html import Reported, nearest_reference, number, settings_section
from translucid.evaluation.report_page import (
    Column,
    escaped,
    marked,
    page,
    paragraph,
    prose,
    section,
    table,
)


def comparison_html(found: Comparison, reported: Reported) -> str:
    """Return the report as a page."""
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
        _tests(found) + _wins(found) + _differences(found, reported) + settings_section(reported),
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
    signed = "".join(f"<p><code>{escaped(one)}</code></p>\n" for one in metric.signatures)
    return table(f"{metric.metric} ({better})", columns, rows) + signed


def _score(one: SystemScore, baseline: SystemScore) -> list[str]:
    interval = "–" if one.mean is None else f"{one.mean:.2f} ± {one.margin:.2f}"
    difference = "baseline" if one is baseline else f"{one.score - baseline.score:+.2f}"
    return [
        escaped(one.system),
        f"{one.score:.2f}",
        interval,
        difference,
        *(_p_value(p, one, baseline) for p in (one.p_bootstrap, one.p_randomization)),
    ]


def _p_value(p: float | None, one: SystemScore, baseline: SystemScore) -> str:
    shown = number(p, 4)
    return f"<strong>{shown}</strong>" if significant(p, one, baseline) else shown


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
            rows.append([escaped(name), *shown])
    caption = f"Sentences by chrF2 against {found.systems[0]}"
    return section("sentences", "Sentence by sentence", table(caption, columns, rows))


def _differences(found: Comparison, reported: Reported) -> str:
    sentences = found.most_different(reported.sentences)
    columns = [
        Column("line", "number"),
        *(Column(name, "prose") for name in ("source", "reference", *found.systems)),
    ]
    rows = [_difference(one, reported) for one in sentences]
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


def _difference(one: Difference, reported: Reported) -> list[str]:
    language = reported.scoring.target_lang
    shown = [
        marked(text, nearest_reference(one.references, text), "extra", language)
        + f'<small class="muted">chrF2 {chrf:.1f}</small>'
        for text, chrf in zip(one.translations, one.chrf, strict=True)
    ]
    return [
        f"{one.line:,}",
        prose(one.source, reported.scoring.source_lang),
        prose(one.references[0], language),
        *shown,
    ]
