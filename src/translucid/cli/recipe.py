"""``translucid recipe``: make a published result again, from the corpus to its score."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from translucid.cli.recipe_file import RecipeFile
    from translucid.cli.recipe_stages import Stage


def recipe(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A recipe, such as those in recipes/.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for all of it.")
    ],
    mirror: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Take the corpus from this folder, not from the network."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Train with this seed instead of the recipe's.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands, and do nothing.")
    ] = False,
) -> None:
    """Make a result again: fetch, prepare, train, average, evaluate.

    Each stage is a command of its own, printed before it runs. Stopped at any moment, the same
    command goes on where it was. At the end stand the scores, and what the recipe expects.

    \b
    Examples:
      translucid recipe recipes/lesson.toml -o lesson
      translucid recipe recipes/sort.toml -o sort --seed 2
      translucid recipe recipes/lesson.toml -o lesson --dry-run
    """
    from translucid.cli.recipe_file import read_recipe
    from translucid.cli.recipe_stages import models_of, stages

    asked = read_recipe(file)
    todo = stages(asked, output, mirror=mirror, seed=seed)
    if dry_run:
        for stage in todo:
            typer.echo(shlex.join(["translucid", *stage.words]))
        return
    began = time.monotonic()
    for number, stage in enumerate(todo, start=1):
        _announce(stage, number, len(todo))
        if stage.is_done:
            typer.echo(f"{stage.file} is already there", err=True)
            continue
        code = run_to_its_end([sys.executable, "-m", "translucid", *stage.words])
        if code != 0:
            typer.echo(
                f"stopped at stage {number}, {stage.title}: the same command goes on", err=True
            )
            raise typer.Exit(code if code > 0 else 1)
    _conclude(asked, time.monotonic() - began)
    for model in models_of(asked, output):
        typer.echo(model)


def _announce(stage: Stage, number: int, total: int) -> None:
    typer.echo(f"\n[{number}/{total}] {stage.title}", err=True)
    typer.echo(f"$ {shlex.join(['translucid', *stage.words])}", err=True)


def _conclude(asked: RecipeFile, seconds: float) -> None:
    for direction, text in asked.expected.items():
        typer.echo(f"expected {direction}: {text}", err=True)
    typer.echo(f"{seconds / 60:.1f} minutes in this run", err=True)


def run_to_its_end(command: Sequence[str]) -> int:
    """Run a command and return its exit code; it has the last word about Ctrl-C and SIGTERM.

    Ctrl-C reaches it from the terminal, for it is in the same group; SIGTERM is handed on.
    """
    child = subprocess.Popen(command)  # noqa: S603 - our own command

    def wait(number: int, frame: FrameType | None) -> None:
        del frame
        if number == signal.SIGTERM:
            child.send_signal(number)

    before = {number: signal.signal(number, wait) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
