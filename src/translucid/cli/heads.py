"""``translucid heads``: what each attention head of a model does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from translucid.cli import options
from translucid.errors import InputError


def heads(
    source: Annotated[
        Path | None,
        typer.Option("--src", metavar="FILE", help="Source sentences to measure on, one per line."),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--ref", metavar="FILE", help="Their translations.  [default: the model's own]"
        ),
    ] = None,
    models: options.Models = None,
    lines: Annotated[int, typer.Option(min=1, metavar="N", help="Use the first N lines.")] = 1000,
    importance: Annotated[
        bool,
        typer.Option("--importance", help="Turn each head off, and measure the loss in log P."),
    ] = False,
    sentences: Annotated[
        list[str] | None,
        typer.Option(
            "--sentence", metavar="TEXT", help="Instead: find heads that attend from word to word."
        ),
    ] = None,
    look_from: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="Word of --sentence, or its translation, that looks."),
    ] = None,
    look_to: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="Word that it should look at,")
    ] = None,
    rival: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="and word that it should not.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="--sentence: heads shown.")] = 10,
    language: options.To = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    batch_size: options.BatchSize = 32,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Show what each attention head does: a table of all heads, measured over sentences.

    With --sentence, --look-from and --look-to: the heads that attend from one word to another. Give
    them several times, in the same order, to find heads that do so in all sentences.

    \b
    Examples:
      translucid heads -m model --src test.fr --ref test.en
      translucid heads -m model --src test.fr --json > heads.json
      translucid heads -m model \\
        --sentence "L'animal n'a pas traversé la rue parce qu'il était trop fatigué." \\
        --look-from il --look-to animal --rival rue \\
        --sentence "L'animal n'a pas traversé la rue parce qu'elle était trop large." \\
        --look-from elle --look-to rue --rival animal
    """
    from translucid.cli.closed_pipe import ended_quietly
    from translucid.cli.head_measuring import measure, questions_of, sentences_of
    from translucid.cli.head_output import write_heads, write_word_heads
    from translucid.cli.model_choice import loaded
    from translucid.interpret.word_attention import find_word_heads

    questions = questions_of(sentences, look_from, look_to, rival)
    if bool(questions) == (source is not None):
        raise InputError("give --src FILE for the table of heads, or --sentence TEXT: one of both")
    for name, given in (("--ref", reference is not None), ("--importance", importance)):
        if questions and given:
            raise InputError(f"{name} is for the table of heads (--src), not for --sentence")
    with ended_quietly():
        if source is None:
            translator = loaded(models, threads)
            into = translator.target_language(language, [one.sentence for one in questions])
            found = find_word_heads(translator, questions, target=into)
            write_word_heads(questions, found, top, as_json=as_json)
            return
        pairs = sentences_of(source, reference, lines)
        translator = loaded(models, threads)
        into = translator.target_language(language, pairs.sources)
        table = measure(translator, pairs, into, batch_size, importance, quiet=quiet)
        write_heads(translator.name, table, as_json=as_json)
