"""``translucid evaluate``: scores that can be cited, of a model or of given translations.

Options and tables that ``translucid compare`` has too are here.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from translucid.cli import options
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from translucid.data.shards import PreparedData
    from translucid.evaluation.compare import Comparison, MetricComparison, SystemScore
    from translucid.evaluation.evaluate import Evaluation
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
    names = [*map(options.spell_option, given), *(["--rerank"] if reranker else [])]
    if names:
        raise InputError(f"{', '.join(names)}: the translations are already given; leave it out")


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


@options.add_settings(SearchConfig, into="search", only=SEARCH_SETTINGS)
def evaluate(
    models: options.Models = None,
    source: Source = None,
    reference: Reference = None,
    translations: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Score these translations instead of a model's."),
    ] = None,
    data: Data = None,
    split: Split = None,
    train_text: TrainText = None,
    from_lang: From = None,
    to_lang: To = None,
    search: options.Given = {},  # noqa: B006 - replaced by one option per setting
    rerank: options.Rerank = None,
    rerank_weight: options.RerankWeight = None,
    tokenized_bleu: Annotated[
        bool,
        typer.Option(
            "--tokenized-bleu",
            help="Add the lower-cased, Moses-tokenised BLEU of older papers.",
        ),
    ] = False,
    bleu_tokenizer: BleuTokenizer = None,
    resamples: Resamples = 1000,
    sentences: Sentences = 25,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder for the results.  [default: evaluations/... beside the model; for "
            "the built-in one, in the current folder]",
        ),
    ] = None,
    json_wanted: Json = False,
    batch_size: options.BatchSize = 64,
    engine: options.Engine = "auto",
    precision: options.EnginePrecision = None,
    threads: options.Threads = None,
) -> None:
    """Translate a test set and score it: BLEU, chrF, TER, perplexity.

    Every score has sacrebleu's signature and a bootstrap interval. Translations, scores, settings
    and an HTML report with the worst and the best sentences are saved beside the model.

    \b
    Examples:
      translucid evaluate --src test.fr --ref test.en
      translucid evaluate -m run --data data --beam 5
      translucid evaluate -m run --src test.en --ref test.de --tokenized-bleu --json
      translucid evaluate --translations theirs.en --src test.fr --ref test.en --to en
    """
    from translucid.cli.display import show_progress, stderr_console, stdout_console
    from translucid.evaluation.evaluate import count_training_words
    from translucid.evaluation.evaluate import evaluate as evaluate_system
    from translucid.evaluation.metrics import Scoring
    from translucid.evaluation.reference_set import ReferenceSource
    from translucid.evaluation.results import check_folder, default_folder, dump_json
    from translucid.evaluation.system import System

    if models and translations:
        raise InputError("-m and --translations: give a model or translations, not both")
    place = ReferenceSource(source, tuple(reference or ()), open_folder(data), split)
    translator = None if translations else options.load_models(models, threads, engine, precision)
    languages = place.languages(translator, from_lang, to_lang)
    reranker = options.load_reranker(rerank, rerank_weight)
    if translator is None:
        assert translations is not None
        refuse_search(search, reranker)
        system, search_name = System.from_file(translations), ""
    else:
        chosen = translator.default_search.override(search)
        system = System.from_model(translator, chosen, reranker)
        search_name = name_search(chosen, translator.default_search)
    test = place.read(languages)
    folder = output or default_folder(system, test, languages.target, search_name)
    check_folder(folder)
    scoring = Scoring(languages.source, languages.target, bleu_tokenizer, tokenized_bleu, resamples)
    with show_progress(stderr_console()) as emit:
        # First, so that a mistake in its files is found before hours of work.
        frequencies = count_training_words(place.data, train_text, scoring, emit)
        found = evaluate_system(
            system,
            test,
            source_lang=languages.source,
            target=languages.target,
            bleu_tokenizer=bleu_tokenizer,
            tokenized_bleu=tokenized_bleu,
            resamples=resamples,
            frequencies=frequencies,
            batch_size=batch_size,
            on_event=emit,
        )
    found = replace(found, settings=add_command(found.settings))
    found.save(folder, sentences)
    if json_wanted:
        content = {**found.to_json(sentences), "settings": found.settings}
        typer.echo(dump_json(content), nl=False)
    else:
        print_evaluation(stdout_console(), found)
    stderr_console().print(f"results in {folder}", soft_wrap=True)


_SHOWN = 3  # sentences


def _number(value: float | None, places: int = 2) -> str:
    return "–" if value is None else f"{value:.{places}f}"


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
            group.bleu.with_margin,
            group.chrf.with_margin,
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
