"""``translucid average``: one model of several checkpoints of a run."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from translucid.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from translucid.checkpoint.run_directory import RunDirectory, RunRecord
    from translucid.data.shards import PreparedData
    from translucid.events import Validated
    from translucid.training.model_card import RunFacts
    from translucid.training.recipe import Recipe

PAPERS_LAST = 5  # "averaging the last 5 checkpoints": section 6.1


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
    from translucid.checkpoint.averaging import average_checkpoints, round_to_half
    from translucid.checkpoint.model_directory import is_model_directory
    from translucid.checkpoint.run_directory import RunDirectory
    from translucid.cli.display import stderr_console
    from translucid.cli.training_display import describe_event
    from translucid.training.model_card import ModelWriter
    from translucid.training.state import read_run_recipe
    from translucid.training.train import finish_models

    if last is not None and best is not None:
        raise InputError(f"--last {last} and --best {best}: give one of the two")
    if output.exists() and not is_model_directory(output):
        raise InputError(f"-o {output} is there and is no model directory; give another name")
    directory = RunDirectory(run)
    recipe = read_run_recipe(directory)
    prepared = _data(directory.read_record(), data)
    steps = _steps(directory, recipe, last, best)
    weights = average_checkpoints(directory.checkpoints, steps)
    if half:
        weights = round_to_half(weights)
    scores = _scores(run, recipe, prepared, weights, steps[-1])
    writer = ModelWriter(recipe.model, recipe.training, prepared, directory)
    writer.write(output, weights, _facts(directory, steps, scores, half))
    console = stderr_console()
    finish_models(
        [output], prepared, lambda event: console.print(describe_event(event), soft_wrap=True)
    )
    console.print(f"mean of the checkpoints after steps {', '.join(f'{s:,}' for s in steps)}")
    if scores is not None:
        console.print(describe_event(scores), soft_wrap=True)
    typer.echo(output)


def _data(record: RunRecord, moved: Path | None) -> PreparedData:
    """Open the data of a run, for its tokenizer and its dev set."""
    from translucid.data.shards import open_data
    from translucid.errors import DataError
    from translucid.training.state import fingerprint_data

    folder = moved or Path(record.data)
    if moved is None and not folder.is_dir():
        raise DataError(
            folder,
            "the data of the run is not there any more",
            remedy="Say where it is now: --data DATA.",
        )
    data = open_data(folder)
    if fingerprint_data(data) != record.fingerprint:
        raise DataError(
            folder,
            f"this is not the data that the run was trained on in {record.data}",
            remedy="Say where that is now: --data DATA.",
        )
    return data


def _steps(run: RunDirectory, recipe: Recipe, last: int | None, best: int | None) -> list[int]:
    from translucid.checkpoint.averaging import best_steps, newest_steps

    if best is None:
        return newest_steps(run.checkpoints, PAPERS_LAST if last is None else last)
    metric = recipe.training.metric
    sign = -1 if metric == "loss" else 1
    scores = {
        event.step: sign * float(getattr(event, metric)) for event in run.metrics.validations()
    }
    return best_steps(run.checkpoints, scores, best)


def _scores(
    run: Path, recipe: Recipe, data: PreparedData, weights: dict[str, Tensor], step: int
) -> Validated | None:
    """Measure averaged weights on the dev set, if there is one."""
    from translucid.checkpoint.model_directory import build_network
    from translucid.events import Validated
    from translucid.text.tokenizer import load_tokenizer
    from translucid.training.validation import Validator

    if "dev" not in data.manifest.splits:
        return None
    model = build_network(recipe.model, weights, run)
    settings = recipe.training
    found = Validator(
        data,
        load_tokenizer(data.tokenizer_path),
        settings.validation_sample,
        settings.micro_batch_tokens,
    )(model, step)
    return Validated(step=step, best=False, **vars(found))


def _facts(run: RunDirectory, steps: list[int], scores: Validated | None, half: bool) -> RunFacts:
    """Return what the card says of the run up to the newest of the checkpoints."""
    from dataclasses import replace

    from translucid.training.model_card import RunFacts
    from translucid.training.state import TrainingState

    state = TrainingState.from_json(run.checkpoints.open(steps[-1]).state)
    command = shlex.join(["translucid", *sys.argv[1:]])
    facts = RunFacts.from_state(state, scores, command)
    return replace(facts, averaged=tuple(steps), half=half)
