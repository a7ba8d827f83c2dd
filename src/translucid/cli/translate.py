"""``translucid translate``: texts, standard input or a file; one line in, one line out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from translucid.cli import options
from translucid.decoding.settings import SearchConfig


@options.add_settings(SearchConfig, into="search")
def translate(
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT", show_default=False, help="What to translate.  [default: standard input]"
        ),
    ] = None,
    models: options.Models = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--input", "-i", metavar="FILE", help="Text file to translate: plain, .gz or .xz."
        ),
    ] = None,
    read_as: Annotated[
        str | None,
        typer.Option("--as", metavar="text", help="Read -i FILE as lines of text in any case."),
    ] = None,
    output: options.Output = None,
    target: options.To = None,
    format_name: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="text|tsv|jsonl",
            help="Lines of text, source and translation in columns, or JSON objects.",
        ),
    ] = "text",
    alignment: Annotated[
        bool,
        typer.Option("--alignment", help="Add links between words: 0-0 1-2 (Pharaoh format)."),
    ] = False,
    word_scores: options.WordScores = False,
    search: options.Given = {},  # noqa: B006 - replaced by one option per setting
    sample: options.Sample = False,
    rerank: options.Rerank = None,
    rerank_weight: options.RerankWeight = None,
    terms: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Terminology: lines of source words, tab, target words."),
    ] = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="Never write the token that is this word; repeatable."),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Words that are not translated, one per line."),
    ] = None,
    prefix: Annotated[
        str, typer.Option(metavar="TEXT", help="Begin every translation with this.")
    ] = "",
    errors: options.Errors = "strict",
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue -o FILE where it was stopped.")
    ] = False,
    batch_size: options.BatchSize = 64,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Translate texts, standard input or a file.

    One line in, one line out: order, blank lines and line ends are kept. Standard input is
    translated as it comes. A file (-i FILE -o FILE) that was stopped continues with --resume.
    Addresses, file names, code in backticks, tags, emoji and placeholders such as %s and {name}
    are not translated, nor are the words of a list (--keep FILE).

    \b
    Examples:
      translucid translate "Je suis étudiant."
      translucid translate "I am a student." --to fr
      translucid translate -m model -i book.fr -o book.en
      translucid translate -m model -i book.fr -o book.en --resume
      tail -f log.fr | translucid translate -m model --format jsonl
      translucid translate -m model -i test.fr --beam 5 --n-best 5
      translucid translate -i book.fr -o book.en --beam 8 --rerank fr-en
      translucid translate -i strings.txt -o strings.en --keep products.txt
      translucid translate -m model "Bonjour." --sample --temperature 0.8 --seed 7
    """
    from translucid.cli.file_language import target_of_file
    from translucid.cli.line_files import ERRORS, survey
    from translucid.cli.model_choice import chosen, loaded
    from translucid.cli.terms_file import read_keep, read_terms
    from translucid.cli.translation_output import FORMATS, Form
    from translucid.cli.translation_places import FILE_TYPES, places_of
    from translucid.cli.translation_run import Run

    search = options.with_sample(search, sample=sample)
    reranker = options.load_reranker(rerank, rerank_weight)
    handling = options.choose("--errors", errors, ERRORS)
    as_text = read_as is not None and options.choose("--as", read_as, FILE_TYPES) == "text"
    places = places_of(texts, source, output, handling, resume=resume, as_text=as_text)
    form = Form(
        options.choose("--format", format_name, FORMATS), "n_best" in search, alignment, word_scores
    )
    terminology = {} if terms is None else read_terms(terms)
    kept = () if keep is None else read_keep(keep)
    facts = None if places.file is None else survey(places.file, handling)
    translator = loaded(models, threads)
    if target is None and places.file is not None:
        target = target_of_file(translator, places.file, places.errors, quiet=quiet)
    request = translator.complete(
        target=target,
        terms=terminology,
        forbidden=forbid or (),
        keep=kept,
        prefix=prefix,
        alignment=alignment,
        **search,
    )
    Run(
        places, facts, chosen(models), translator, request, reranker, form, batch_size, quiet
    ).to_the_end()
