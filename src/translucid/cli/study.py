"""``translucid study``: the same network trained again and again, one thing changed each time."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from translucid.errors import InputError

if TYPE_CHECKING:
    from translucid.training.study import RowResult, Study


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
    max_steps: Annotated[
        int | None, typer.Option(metavar="N", help="Optimiser steps of each row.")
    ] = None,
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
    from translucid.data.shards import open_data
    from translucid.training.recipe import Settings, parse_assignments
    from translucid.training.study import build_trials, run_trials

    prepared = open_data(data)
    chosen = _study(what).only(rows or [])
    steps = {} if max_steps is None else {"max_steps": max_steps}
    over = [parse_assignments(assignments or []), Settings(training=steps)]
    trials = build_trials(chosen, prepared, over, _seeds(seeds), output)
    found: list[RowResult] = []
    stop = threading.Event()
    with show_progress(stderr_console()) as emit, stop_on_signals(stop.set, once=False):
        for result in run_trials(trials, prepared, emit, stop):
            found.append(result)
            _write(output, chosen.about, found)
    if len(found) < len(trials):
        typer.echo("Continue:  the same command", err=True)
        raise typer.Exit(130)
    typer.echo((output / "table.md").read_text(encoding="utf-8"), nl=False)


def _study(what: str) -> Study:
    from translucid.training.study import TABLE_3, read_study, table_3

    if what == TABLE_3:
        return table_3()
    if not Path(what).is_file():
        raise InputError(f"{what!r} is neither {TABLE_3} nor a file that is there")
    return read_study(Path(what))


def _seeds(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts) or len(set(parts)) < len(parts):
        raise InputError(f"--seeds {text}: give different whole numbers with commas, such as 1,2,3")
    return [int(part) for part in parts]


def _write(output: Path, about: str, found: list[RowResult]) -> None:
    from translucid.atomic import new_file
    from translucid.interpret.figures.charts import Dots, dot_chart
    from translucid.training.study import format_table, summarize, to_json

    rows = [Dots(row.name, row.group, row.bleus) for row in summarize(found)]
    note = "A dot is a run; the line is the mean of the first row."
    files = {
        "table.md": format_table(about, found),
        "results.json": to_json(found),
        "chart.svg": dot_chart(about, note, "BLEU on the dev set", rows).svg,
    }
    for name, content in files.items():
        with new_file(output / name) as file:
            file.write(content.encode())
