"""What ``translucid evaluate`` and ``translucid compare`` share: options, and tables of scores."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from translucid.cli.options import spell_option
from translucid.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from translucid.data.shards import PreparedData
    from translucid.decoding.config import SearchConfig
    from translucid.evaluation.compare import Comparison, MetricComparison, SystemScore
    from translucid.evaluation.evaluate import Evaluation
    from translucid.evaluation.metrics import MetricScore
    from translucid.translator import Reranker

# Test sets are translated by greedy, beam or minimum-risk search.
SEARCH_SETTINGS = (
    "method",
    "beam",
    "length_penalty",
    "length_form",
    "coverage_penalty",
    "max_length",
)
Source = Annotated[
    Path | None,
    typer.Option(
        "--src", metavar="FILE", help="Source sentences, one per line; plain, .gz or .xz."
    ),
]
Reference = Annotated[
    list[Path] | None,
    typer.Option(
        "--ref", metavar="FILE", help="Their references, one per line; may be given several times."
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DATA",
        help="Folder of `translucid prepare`: its test set, if --src is not given, and (evaluate) "
        "how often its training text has each word.",
    ),
]
Split = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Which split of --data: test or dev.  [default: test]"),
]
TrainText = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Target side of the training text, to tell rare words."),
]
From = Annotated[
    str | None, typer.Option("--from", metavar="LANG", help="Source language, if not the model's.")
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="LANG", help="Target language, where it is not clear."),
]
BleuTokenizer = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="BLEU's words: 13a, intl, zh, char, none, ja-mecab or ko-mecab.  "
        "[default: 13a; zh and char for scripts without spaces]",
    ),
]
Resamples = Annotated[
    int,
    typer.Option(metavar="N", min=0, help="Bootstrap resamples of intervals and tests; 0: none."),
]
Sentences = Annotated[
    int,
    typer.Option(metavar="N", min=0, help="Sentences of each kind in the report and in --json."),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON to stdout instead of tables.")]


def open_folder(data: Path | None) -> PreparedData | None:
    """Open prepared data, if any was named."""
    from translucid.data.shards import open_data

    return None if data is None else open_data(data)


def refuse_search(given: Mapping[str, Any], reranker: Reranker | None) -> None:
    """Refuse options of the search where no model translates."""
    names = [*map(spell_option, given), *(["--rerank"] if reranker else [])]
    if names:
        raise InputError(f"{', '.join(names)}: the translations are there already; leave it out")


def name_search(search: SearchConfig, default: SearchConfig) -> str:
    """Return a name for a search that has everything in it that is not usual."""
    name = f"{search.method}{search.beam}" if search.method == "beam" else search.method
    beam = {"beam": search.beam} if search.method == "beam" else {}
    usual = default.override({"method": search.method, **beam})
    changed = [
        f"{key.replace('_', '-')}{value}"
        for key, value in search.model_dump().items()
        if value != getattr(usual, key)
    ]
    return "-".join([name, *changed])


def add_command(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of results with the command that made them."""
    command = shlex.join(["translucid", *sys.argv[1:]])
    return {"made": settings["made"], "command": command, **settings}


_SHOWN = 3  # sentences


def _number(value: float | None, places: int = 2) -> str:
    return "–" if value is None else f"{value:.{places}f}"


def _with_margin(score: MetricScore) -> str:
    return _number(score.score) + ("" if score.margin is None else f" ± {score.margin:.2f}")


def _interval(mean: float | None, margin: float | None) -> str:
    return "–" if mean is None else f"{mean:.2f} ± {margin:.2f}"


# ---- one system ---------------------------------------------------------------------------------


def print_evaluation(console: Console, found: Evaluation) -> None:
    """Print scores, how to cite them, and the breakdowns."""
    console.print(f"{found.name}: {len(found.sentences):,} sentences")
    console.print(_scores(found))
    for score in found.scores:
        console.print(score.cite(), soft_wrap=True, style="dim")
    console.print(_by_length(found))
    console.print(_by_frequency(found))
    if remarks := _remarks(found):
        console.print(remarks, soft_wrap=True)


def _scores(found: Evaluation) -> Table:
    from translucid.cli.display import build_table

    table = build_table("metric", "score", "95 % interval", "better is")
    for score in found.scores:
        better = "higher" if score.higher_is_better else "lower"
        table.add_row(score.name, _number(score.score), _interval(score.mean, score.margin), better)
    if found.likelihood is not None:
        table.add_row("perplexity per token", _number(found.likelihood.perplexity), "", "lower")
        bits = _number(found.likelihood.bits_per_character, 3)
        table.add_row("bits per character", bits, "", "lower")
    table.add_row("length ratio", _number(found.lengths.ratio, 3), "", "near 1")
    if found.confidence_quality is not None:
        table.add_row("AUC of confidence", _number(found.confidence_quality.auc, 3), "", "higher")
    return table


def _by_length(found: Evaluation) -> Table:
    from translucid.cli.display import build_table

    table = build_table("words of the source", "sentences", "BLEU", "chrF2", "length ratio")
    for group in found.by_length:
        table.add_row(
            group.label,
            f"{group.sentences:,}",
            _with_margin(group.bleu),
            _with_margin(group.chrf),
            _number(group.length_ratio, 3),
        )
    return table


def _by_frequency(found: Evaluation) -> Table:
    from translucid.cli.display import build_table

    table = build_table(
        f"times seen in {found.frequency_origin}", "in references", "recall", "precision", "F1"
    )
    for group in found.by_frequency:
        shares = (group.recall, group.precision, group.f1)
        table.add_row(
            group.label,
            f"{group.in_references:,}",
            *("–" if share is None else f"{share:.1%}" for share in shares),
        )
    return table


def _remarks(found: Evaluation) -> str:
    """Name what a reader should look into: translations cut, looped, split or blank."""
    from translucid.evaluation.report import FLAG_LABELS

    counts = found.count_flags()
    said = [f"{counts[flag]:,} {words}" for flag, words in FLAG_LABELS.items() if counts[flag]]
    if found.confidence_quality is not None and found.confidence_quality.doubtful:
        bad = found.confidence_quality.doubted_correctly
        said.append(
            f"{found.confidence_quality.doubtful:,} doubtful, {bad:,} of which are not acceptable"
        )
    if counts["blank"]:
        said.append(f"{counts['blank']:,} blank though their source is not")
    return f"of the translations: {'; '.join(said)}" if said else ""


# ---- several systems ----------------------------------------------------------------------------


def print_comparison(console: Console, found: Comparison) -> None:
    """Print the tests of every metric, and the sentences that differ most."""
    console.print(f"{len(found.sentences):,} sentences; baseline: {found.systems[0]}")
    for metric in found.metrics:
        console.print(_tests(metric))
        for signature in metric.signatures:
            console.print(f"{metric.metric}|{signature}", soft_wrap=True, style="dim")
    console.print(_wins(found))
    for one in found.most_different(_SHOWN):
        console.print(f"line {one.line:,}: {one.source}", soft_wrap=True)
        console.print(f"  reference: {one.references[0]}", soft_wrap=True)
        for name, text, chrf in zip(found.systems, one.translations, one.chrf, strict=True):
            console.print(f"  {name} (chrF2 {chrf:.1f}): {text}", soft_wrap=True)


def _tests(metric: MetricComparison) -> Table:
    from translucid.cli.display import build_table

    table = build_table(
        "system", metric.metric, "95 % interval", "difference", "p, bootstrap", "p, randomisation"
    )
    baseline = metric.systems[0]
    for one in metric.systems:
        table.add_row(
            one.system,
            _number(one.score),
            _interval(one.mean, one.margin),
            "baseline" if one is baseline else f"{one.score - baseline.score:+.2f}",
            *_p_values(one, baseline),
        )
    return table


def _p_values(one: SystemScore, baseline: SystemScore) -> tuple[str, str]:
    """Return both p-values; a star is at those of differences that are taken to be real."""
    from translucid.evaluation.compare import is_significant

    shown = [
        "–" if p is None else f"{p:.4f}{'*' if is_significant(p, one, baseline) else ' '}"
        for p in (one.p_bootstrap, one.p_randomization)
    ]
    return shown[0], shown[1]


def _wins(found: Comparison) -> Table:
    from translucid.cli.display import build_table
    from translucid.evaluation.compare import WINS

    table = build_table(
        f"sentences, against {found.systems[0]}", "better", "worse", "alike", "the same text"
    )
    for place, name in enumerate(found.systems):
        if place:
            counts = found.wins(place)
            table.add_row(name, *(f"{counts[key]:,}" for key in WINS))
    return table
