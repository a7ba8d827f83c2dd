"""``translucid train``: from prepared data to a model directory."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from translucid.cli import options
from translucid.errors import InputError
from translucid.training.config import TrainingConfig

AUTO = "auto"


# The defaults are those of the preset, so --help does not show the ones of the config class.
_LIMITS = {
    "max_steps": "Optimiser steps; 0 saves the first weights as they are. Intervals and learning "
    "rate follow.",
    "max_minutes": "Minutes of training, made into steps by measuring the first ones.",
}


@options.add_settings(TrainingConfig, into="limits", only=_LIMITS, help_texts=_LIMITS)
def train(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="Folder that `translucid prepare` has made, or several with one tokenizer; "
            "DATA@0.2 shows its pairs once in five epochs. The dev set is that of the first.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="RUN", help="Folder for the run.")
    ],
    from_model: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="MODEL",
            help="Model to start from: a model directory, a run, or fr-en, the built-in model.",
        ),
    ] = None,
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
        bool, typer.Option("--resume", help="Continue the run in RUN, if there is one.")
    ] = False,
    limits: options.Given = {},  # noqa: B006 - replaced by one option per setting
    batch_tokens: Annotated[
        str | None,
        typer.Option(
            metavar="N|auto",
            help="Tokens per side of an optimiser step; auto: those of the recipe, as many at once "
            "as fit into memory.",
        ),
    ] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write RUN/tensorboard too.")
    ] = False,
) -> None:
    """Train a network on prepared data.

    RUN/best is the model with the best dev score, RUN/model the last one; RUN/metrics.jsonl
    records the course of the run. Ctrl-C saves and stops; --resume continues, bit for bit as if
    nothing had happened.

    \b
    Examples:
      translucid train data -o run
      translucid train data -o run --preset small --max-minutes 90
      translucid train data -o run -c recipe.toml --set training.warmup_steps=400
      translucid train data -o run --resume
      translucid train own-data general-data@0.2 -o run --from fr-en
      torchrun --nproc-per-node 2 -m translucid train data -o run
    """
    from translucid.cli.training_display import train_with_display
    from translucid.training.distributed import DistributedContext
    from translucid.training.recipe import Settings, parse_assignments, read_settings

    settings = dict(limits)
    if batch_tokens is not None:
        settings["batch_tokens"] = _parse_tokens(batch_tokens)
    context = DistributedContext.from_environment(os.environ)
    try:
        run = train_with_display(
            data,
            output=output,
            from_model=from_model,
            preset=preset,
            config=[
                read_settings(config) if config else Settings(),
                parse_assignments(assignments or []),
            ],
            resume=resume,
            tensorboard=tensorboard,
            **settings,
        )
    except KeyboardInterrupt:  # the second Ctrl-C, which does not wait for threads
        typer.echo("Aborted.", err=True)
        _leave(130)
    if context.is_main:
        if run.is_interrupted:
            typer.echo("Continue:  the same command with --resume", err=True)
        else:
            typer.echo(run.model)
    code = 130 if run.is_interrupted else 0
    if context.world_size > 1:
        _leave(code)
    raise typer.Exit(code)


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


def _parse_tokens(text: str) -> int | str:
    if text != AUTO and not text.isdecimal():
        raise InputError(f"--batch-tokens {text}: give a whole number, or {AUTO}")
    return text if text == AUTO else int(text)
