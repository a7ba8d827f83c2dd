"""``translucid average``: one model of several checkpoints of a run."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from translucid.errors import InputError


def average(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder that `translucid train` has made.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Model directory to write.")
    ],
    last: Annotated[
        int | None,
        typer.Option(metavar="N", help="Average the newest N checkpoints.  [default: 5]"),
    ] = None,
    best: Annotated[
        int | None,
        typer.Option(metavar="N", help="Average the N checkpoints with the best dev score."),
    ] = None,
    half: Annotated[
        bool,
        typer.Option("--half", help="Write weights of 16 bits: half the size of the model."),
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DATA", help="Where the run's data is now, if it was moved."),
    ] = None,
) -> None:
    """Average checkpoints of a run into one model.

    The mean of the weights is measured on the dev set. The paper averages the last 5 checkpoints of
    its base models and the last 20 of its big ones. A run keeps as many as
    training.keep_checkpoints says.

    \b
    Examples:
      translucid average run -o model
      translucid average run --last 10 -o model
      translucid average run --best 3 --half -o model
    """
    from translucid.cli.display import stderr_console
    from translucid.cli.training_display import describe_event
    from translucid.training.average import average as average_run

    if last is not None and best is not None:
        raise InputError(f"--last {last} and --best {best}: give one of the two")
    console = stderr_console()
    average_run(
        run,
        output=output,
        last=last,
        best=best,
        half=half,
        data=data,
        on_event=lambda event: console.print(describe_event(event), soft_wrap=True),
        command=shlex.join(["translucid", *sys.argv[1:]]),
    )
    typer.echo(output)
