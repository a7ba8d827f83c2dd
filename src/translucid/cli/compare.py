"""``translucid compare``: is one system really better than another, and where?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from translucid.cli import evaluation_options as options
from translucid.cli import options as shared
from translucid.decoding.settings import SearchConfig


@shared.add_settings(SearchConfig, into="search", only=options.SEARCH_SETTINGS)
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
    source: options.Source = None,
    reference: options.Reference = None,
    data: options.Data = None,
    split: options.Split = None,
    from_lang: options.From = None,
    to_lang: options.To = None,
    search: shared.Given = {},  # noqa: B006 - replaced by one option per setting
    rerank: shared.Rerank = None,
    rerank_weight: shared.RerankWeight = None,
    bleu_tokenizer: options.BleuTokenizer = None,
    resamples: options.Resamples = 1000,
    trials: Annotated[
        int, typer.Option(metavar="N", min=0, help="Trials of approximate randomisation; 0: none.")
    ] = 10_000,
    sentences: options.Sentences = 25,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder for translations, results and an HTML report.  [default: none saved]",
        ),
    ] = None,
    json_wanted: options.Json = False,
    batch_size: shared.BatchSize = 64,
    threads: shared.Threads = None,
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
    from translucid.cli.comparison_session import ComparisonSession, Significance
    from translucid.cli.evaluation_material import Place, Translating, open_folder
    from translucid.cli.rerank_option import load_reranker

    session = ComparisonSession(
        place=Place(source, tuple(reference or ()), open_folder(data), split),
        paths=tuple(systems),
        source_lang=from_lang,
        target_lang=to_lang,
        translating=Translating(search, load_reranker(rerank, rerank_weight), batch_size),
        threads=threads,
    )
    session.run(
        Significance(bleu_tokenizer, resamples, trials), output, sentences, as_json=json_wanted
    )
