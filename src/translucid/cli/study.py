"""``translucid study``: the same network trained again and again, one thing changed each time."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from translucid.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from translucid.cli.study_rows import Trial
    from translucid.data.shards import PreparedData
    from translucid.training.recipe import Settings
    from translucid.training.study import Study
    from translucid.training.study_results import RowResult


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
    is a run of its own in FOLDER/runs. Stopped at any moment, the same command goes on.

    \b
    Examples:
      translucid study table-3 --data data -o study --max-steps 2000
      translucid study table-3 --data data -o study --row "1 layer" --seeds 1,2,3
      translucid study dropout.toml --data data -o study
    """
    from translucid.cli.study_rows import trained
    from translucid.data.shards import open_data
    from translucid.training.recipe import Settings, of_assignments

    prepared = open_data(data)
    if "dev" not in prepared.manifest.splits:
        raise InputError(f"{data} has no dev set, and a study compares dev scores: prepare one")
    chosen = _study(what).only(rows or [])
    steps = {} if max_steps is None else {"max_steps": max_steps}
    over = [of_assignments(assignments or []), Settings(training=steps)]
    trials = list(_trials(chosen, prepared, over, _seeds(seeds), output))
    found: list[RowResult] = []
    for result in trained(trials, prepared):
        if result is None:
            typer.echo("Go on:  the same command", err=True)
            raise typer.Exit(130)
        found.append(result)
        _write(output, chosen.about, found)
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


def _trials(
    chosen: Study, data: PreparedData, over: list[Settings], seeds: list[int], output: Path
) -> Iterator[Trial]:
    """Yield every row with every seed; all settings are checked before anything is trained."""
    from translucid.cli.study_rows import Trial
    from translucid.training.recipe import Settings

    dev = data.manifest.splits["dev"].pairs
    for row in chosen.rows:
        for seed in seeds:
            usual = Settings(training={"validation_sample": dev, "keep_checkpoints": 1})
            layers = [usual, *over, Settings(training={"seed": seed})]
            recipe = chosen.recipe(row, layers, data.manifest.tokenizer.sizes)
            yield Trial(row, recipe, output / "runs" / folder_name(row.name) / f"seed-{seed}")


def folder_name(name: str) -> str:
    """Return a folder's name for a row: readable, and different for different rows."""
    plain = re.sub(r"[^\w.-]+", "-", name)
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def _write(output: Path, about: str, found: list[RowResult]) -> None:
    from translucid.atomic import new_file
    from translucid.interpret.figures.charts import Dots, dot_chart
    from translucid.training.study_results import summaries, table, to_json

    rows = [Dots(row.name, row.group, row.bleus) for row in summaries(found)]
    note = "A dot is a run; the line is the mean of the first row."
    files = {
        "table.md": table(about, found),
        "results.json": to_json(found),
        "chart.svg": dot_chart(about, note, "BLEU on the dev set", rows).svg,
    }
    for name, content in files.items():
        with new_file(output / name) as file:
            file.write(content.encode())
