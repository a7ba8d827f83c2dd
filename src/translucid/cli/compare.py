"""``translucid compare``: is one system really better than another, and where?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from translucid.cli import evaluate, options
from translucid.decoding.config import SearchConfig


@options.add_settings(SearchConfig, into="search", only=evaluate.SEARCH_SETTINGS)
def compare(
    systems: Annotated[
        list[Path],
        typer.Argument(
            metavar="SYSTEM",
            show_default=False,
            help="Two or more: model directories, RUN folders, fr-en (the built-in model), files "
            "of translations, or folders that `translucid evaluate` has made. The first is the "
            "baseline.",
        ),
    ],
    source: evaluate.Source = None,
    reference: evaluate.Reference = None,
    data: evaluate.Data = None,
    split: evaluate.Split = None,
    from_lang: evaluate.From = None,
    to_lang: evaluate.To = None,
    search: options.Given = {},  # noqa: B006 - replaced by one option per setting
    rerank: options.Rerank = None,
    rerank_weight: options.RerankWeight = None,
    bleu_tokenizer: evaluate.BleuTokenizer = None,
    resamples: evaluate.Resamples = 1000,
    trials: Annotated[
        int, typer.Option(metavar="N", min=0, help="Trials of approximate randomisation; 0: none.")
    ] = 10_000,
    sentences: evaluate.Sentences = 25,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder for translations, results and an HTML report.  [default: none saved]",
        ),
    ] = None,
    json_wanted: evaluate.Json = False,
    batch_size: options.BatchSize = 64,
    threads: options.Threads = None,
) -> None:
    """Compare two or more systems on one test set, each with the first.

    BLEU, chrF and TER with paired bootstrap resampling and paired approximate randomisation, as
    sacrebleu computes them, and the sentences where the systems differ most.

    \b
    Examples:
      translucid compare --src test.fr --ref test.en old/best new/best
      translucid compare --src test.fr --ref test.en --to en ours.txt theirs.txt -o comparison
      translucid compare --data data run-a run-b --json
    """
    from translucid.cli.display import show_progress, stderr_console, stdout_console
    from translucid.evaluation.compare import compare as compare_systems
    from translucid.evaluation.reference_set import ReferenceSource
    from translucid.evaluation.results import check_folder, dump_json
    from translucid.evaluation.system import load_systems
    from translucid.machine import set_thread_count

    if threads is not None:
        set_thread_count(threads)
    place = ReferenceSource(source, tuple(reference or ()), evaluate.open_folder(data), split)
    reranker = options.load_reranker(rerank, rerank_weight)
    loaded = load_systems(systems, lambda model: model.default_search.override(search), reranker)
    if not any(system.model for system in loaded):
        evaluate.refuse_search(search, reranker)
    if output is not None:
        check_folder(output)
    with show_progress(stderr_console()) as emit:
        found = compare_systems(
            loaded,
            place,
            source_lang=from_lang,
            target=to_lang,
            bleu_tokenizer=bleu_tokenizer,
            resamples=resamples,
            trials=trials,
            batch_size=batch_size,
            on_event=emit,
        )
    found = replace(found, settings=evaluate.add_command(found.settings))
    if output is not None:
        found.save(output, sentences)
    if json_wanted:
        content = {**found.to_json(sentences), "settings": found.settings}
        typer.echo(dump_json(content), nl=False)
    else:
        evaluate.print_comparison(stdout_console(), found)
    if output is not None:
        stderr_console().print(f"results in {output}", soft_wrap=True)
