"""``translucid compare``: is one system really better than another, and where?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from translucid.cli import evaluation_options as options
from translucid.cli import translation_options


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
    method: translation_options.Method = None,
    beam: translation_options.Beam = None,
    length_penalty: translation_options.LengthPenalty = None,
    length_form: translation_options.LengthForm = None,
    coverage_penalty: translation_options.CoveragePenalty = None,
    max_length: translation_options.MaxLength = None,
    read_back: translation_options.ReadBack = None,
    read_back_weight: translation_options.ReadBackWeight = None,
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
    batch_size: translation_options.BatchSize = 64,
    threads: translation_options.Threads = None,
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
    from translucid.cli.reader_choice import reader_of

    given = {
        "method": method,
        "beam": beam,
        "length_penalty": length_penalty,
        "length_form": length_form,
        "coverage_penalty": coverage_penalty,
        "max_length": max_length,
    }
    session = ComparisonSession(
        place=Place(source, tuple(reference or ()), open_folder(data), split),
        paths=tuple(systems),
        source_lang=from_lang,
        target_lang=to_lang,
        translating=Translating(given, reader_of(read_back, read_back_weight), batch_size),
        threads=threads,
    )
    session.run(
        Significance(bleu_tokenizer, resamples, trials), output, sentences, as_json=json_wanted
    )
