"""``translucid study``: the same network trained again and again, one thing changed each time."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Annotated

import typer

from translucid.cli import options
from translucid.errors import InputError
from translucid.training.config import TrainingConfig


@options.add_settings(
    TrainingConfig,
    into="limits",
    only=("max_steps",),
    help_texts={"max_steps": "Optimiser steps of each row."},
)
def study(
    what: Annotated[
        str,
        typer.Argument(
            metavar="STUDY", help="table-3, the paper's rows at a small scale, or a file."
        ),
    ],
    data: Annotated[
        Path, typer.Option(metavar="DATA", help="Folder that `translucid prepare` has made.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for all of it.")
    ],
    seeds: Annotated[
        str, typer.Option(metavar="N,N", help="Train every row with each of these seeds.")
    ] = "1",
    rows: Annotated[
        list[str] | None,
        typer.Option("--row", metavar="NAME", help="Only this row, beside base; may be repeated."),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of all rows."),
    ] = None,
    limits: options.Given = {},  # noqa: B006 - replaced by one option per setting
) -> None:
    """Train a network again and again, with one thing changed each time.

    Writes FOLDER/table.md, FOLDER/chart.svg and FOLDER/results.json anew after each row. Every row
    is a run in FOLDER/runs. Stopped at any moment, the same command continues.

    \b
    Examples:
      translucid study table-3 --data data -o study --max-steps 2000
      translucid study table-3 --data data -o study --row "1 layer" --seeds 1,2,3
      translucid study dropout.toml --data data -o study
    """
    from translucid.cli.display import show_progress, stderr_console, stop_on_signals
    from translucid.training.recipe import parse_assignments
    from translucid.training.study import study as run_study

    stop = threading.Event()
    with show_progress(stderr_console()) as emit, stop_on_signals(stop.set, once=False):
        found = run_study(
            what,
            data,
            output=output,
            seeds=_parse_seeds(seeds),
            rows=rows or (),
            config=[parse_assignments(assignments or [])],
            emit=emit,
            stop=stop,
            **limits,
        )
    if not found.is_complete:
        typer.echo("Continue:  the same command", err=True)
        raise typer.Exit(130)
    typer.echo(found.table, nl=False)


def _parse_seeds(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts) or len(set(parts)) < len(parts):
        raise InputError(
            f"--seeds {text}: give different whole numbers separated by commas, such as 1,2,3"
        )
    return [int(part) for part in parts]
