"""``translucid score``: how probable given translations are to a model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from translucid.cli import options


def score(
    source: Annotated[
        Path, typer.Option("--src", metavar="FILE", help="Source sentences, one per line.")
    ],
    target: Annotated[
        Path, typer.Option("--tgt", metavar="FILE", help="Their translations, one per line.")
    ],
    models: options.Models = None,
    output: options.Output = None,
    language: options.To = None,
    format_name: Annotated[
        str, typer.Option("--format", metavar="text|jsonl", help="Numbers, or JSON objects.")
    ] = "text",
    word_scores: options.WordScores = False,
    errors: options.Errors = "strict",
    batch_size: options.BatchSize = 64,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Score given translations: the natural logarithm of P(target | source).

    One line in, one number out: the sum over all tokens of the target, its end symbol among them.
    --format jsonl adds the tokens, the log P of each, and the perplexity.

    \b
    Examples:
      translucid score -m model --src test.fr --tgt test.en
      translucid score -m model --src test.fr --tgt test.en --format jsonl -o scores.jsonl
      translucid score -m model --src test.fr --tgt test.en --word-scores
    """
    from translucid.cli.closed_pipe import ended_quietly
    from translucid.cli.file_language import target_of_file
    from translucid.cli.line_files import ERRORS
    from translucid.cli.model_choice import loaded
    from translucid.cli.pair_scoring import FORMATS, PairScoring, ScoreFormat, open_pairs
    from translucid.cli.translation_places import output_of, progress_shown, stream_output

    form = ScoreFormat(options.choose("--format", format_name, FORMATS), word_scores)
    pairs = open_pairs(source, target, options.choose("--errors", errors, ERRORS))
    destination = output_of(output, (source, target))
    translator = loaded(models, threads)
    if language is None and pairs.lines is not None:
        language = target_of_file(translator, source, pairs.errors, quiet=quiet)
    scoring = PairScoring(pairs, translator, language, batch_size)
    begin = time.monotonic()
    with ended_quietly():
        with stream_output(destination) as stream, progress_shown(destination, quiet=quiet) as emit:
            total = scoring.write(stream, form, emit)
        if not quiet:
            typer.echo(total.summary(time.monotonic() - begin), err=True)
