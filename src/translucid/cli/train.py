"""``translucid train``: from prepared data to a model directory."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from translucid.errors import InputError

if TYPE_CHECKING:
    from translucid.data.shards import PreparedData
    from translucid.training.recipe import Recipe, Settings

AUTO = "auto"
DEFAULT_PRESET = "tiny"


def train(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Folder that `translucid prepare` has made.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="RUN", help="Folder for the run.")
    ],
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Network and recipe to begin with; `translucid info` lists them.  [default: tiny]",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", "-c", metavar="FILE", help="TOML file with tables [model] and [training]."
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="One setting, such as training.warmup_steps=400 or model.dropout=0.2.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in RUN, if there is one.")
    ] = False,
    max_steps: Annotated[
        int | None, typer.Option(metavar="N", help="End after so many optimiser steps.")
    ] = None,
    max_minutes: Annotated[
        float | None, typer.Option(metavar="M", help="End after so many minutes.")
    ] = None,
    batch_tokens: Annotated[
        str | None,
        typer.Option(
            metavar="N|auto",
            help="Tokens a side of an optimiser step; auto: those of the recipe, as many at a time "
            "as fit into memory.",
        ),
    ] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write RUN/tensorboard too.")
    ] = False,
) -> None:
    """Train a network on prepared data.

    RUN/best is the model with the best dev score, RUN/model the last one; RUN/metrics.jsonl tells
    the course of the run. Ctrl-C saves and stops; --resume goes on, to the bit as if nothing had
    happened.

    \b
    Examples:
      translucid train data -o run
      translucid train data -o run --preset small --max-minutes 90
      translucid train data -o run -c recipe.toml --set training.warmup_steps=400
      translucid train data -o run --resume
      torchrun --nproc-per-node 2 -m translucid train data -o run
    """
    from translucid.cli.model_findings import keep_findings
    from translucid.cli.training_session import Session
    from translucid.data.shards import open_data
    from translucid.training.place import Place
    from translucid.training.recipe import Settings, of_assignments, of_file

    options = {
        "max_steps": max_steps,
        "max_minutes": max_minutes,
        "batch_tokens": None if batch_tokens in (None, AUTO) else _count(str(batch_tokens)),
    }
    layers = [
        of_file(config) if config else Settings(),
        of_assignments(assignments or []),
        Settings(training={key: value for key, value in options.items() if value is not None}),
    ]
    prepared = open_data(data)
    place = Place.of_environment(os.environ)
    resume = resume or place.restarted  # torchrun has started the same command again
    earlier = _earlier(output) if resume else None
    session = Session(
        recipe=_as_begun(_recipe(prepared, layers, preset, earlier), earlier, batch_tokens == AUTO),
        data=prepared,
        run=output,
        resume=resume,
        going_on=earlier is not None,
        fit_memory=batch_tokens == AUTO,
        tensorboard=tensorboard,
    )
    try:
        interrupted = session.train().cause == "interrupted"
    except KeyboardInterrupt:  # the second Ctrl-C, which does not wait for threads
        typer.echo("Aborted.", err=True)
        _leave(130)
    if place.rank == 0 and interrupted:
        typer.echo("Go on:  the same command with --resume", err=True)
    elif place.rank == 0:
        keep_findings(session.models, prepared)
        typer.echo(session.result)
    if place.world > 1:
        _leave(130 if interrupted else 0)
    raise typer.Exit(130 if interrupted else 0)


def _leave(code: int) -> NoReturn:
    """End the process at once, all being saved and closed, and leave its threads where they are.

    Those that compute would be waited for. Those in which PyTorch 2.13 sends messages to other
    processes may still hold Python objects while the interpreter is taken down; they then abort the
    process ("terminate called without an active exception"), which torchrun would take for a failed
    run.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _recipe(
    data: PreparedData,
    layers: Sequence[Settings],
    preset: str | None,
    earlier: Settings | None,
) -> Recipe:
    """Return complete settings: those of a preset, or of the run that goes on, and on top others.

    A preset that is named counts in a run that goes on too, so that a contradiction is seen.
    """
    from translucid.presets import find_preset
    from translucid.training.recipe import complete, of_preset

    named = preset or next((layer.preset for layer in layers if layer.preset), None)
    below = [] if earlier is None else [earlier]
    if named or earlier is None:
        below.append(of_preset(find_preset(named or DEFAULT_PRESET)))
    return complete([*below, *layers], data.manifest.tokenizer.sizes)


def _as_begun(recipe: Recipe, earlier: Settings | None, fit_memory: bool) -> Recipe:
    """Keep the micro-batches of a run that goes on, which memory or processes may have cut.

    The same command then goes on as it began. Smaller ones than it has are refused later.
    """
    if earlier is None:
        return recipe
    begun = earlier.training["micro_batch_tokens"]
    if fit_memory or recipe.training.micro_batch_tokens > begun:
        return recipe._replace(training=recipe.training.replace(micro_batch_tokens=begun))
    return recipe


def _earlier(run: Path) -> Settings | None:
    """Return the settings of the run in a folder, if there is one."""
    from translucid.training.recipe import FROM_DATA, Settings
    from translucid.training.run_folder import RunFolder, read_record

    if not RunFolder(run).record.is_file():
        return None
    record = read_record(run)
    model = record.model.model_dump(exclude=set(FROM_DATA))  # whether the data fits is seen later
    return Settings(model, record.training.model_dump())


def _count(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"--batch-tokens {text}: give a whole number, or {AUTO}")
    return int(text)
