"""Averaging: one model whose weights are the mean over several checkpoints (section 6.1).

"For the base models, we used a single model obtained by averaging the last 5 checkpoints."
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from translucid.checkpoint.model_directory import build_network, is_model_directory
from translucid.checkpoint.run_directory import RunDirectory, RunRecord
from translucid.checkpoint.store import CheckpointStore
from translucid.data.mixture import fingerprint_data, mix
from translucid.data.shards import PreparedData, open_data
from translucid.errors import DataError, InputError
from translucid.events import Notice, TrainingEvent, Validated
from translucid.training.model_card import ModelWriter, RunFacts
from translucid.training.recipe import Recipe
from translucid.training.state import TrainingState, read_run_recipe
from translucid.training.train import TrainedRun, finish_models
from translucid.training.validation import Validator

PAPERS_LAST = 5  # "averaging the last 5 checkpoints": section 6.1


def average(
    run: TrainedRun | str | Path,
    *,
    output: str | Path,
    last: int | None = None,
    best: int | None = None,
    half: bool = False,
    data: str | Path | None = None,
    on_event: Callable[[TrainingEvent], None] | None = None,
    command: str = "",
) -> Path:
    """Average checkpoints of a run into one model directory, and return its path.

    ::

        model = translucid.load(average("run", output="model", last=5))

    The newest `last` checkpoints (5) are averaged, or the `best` by their dev score. `half` writes
    weights of 16 bits. `data` is where the data of the run is now, if it was moved. The mean of the
    weights is measured on the dev set; `command` is what a person typed, for the model card.
    """
    if last is not None and best is not None:
        raise InputError(f"last = {last} and best = {best}: give one of the two")
    folder = Path(output)
    if folder.exists() and not is_model_directory(folder):
        raise InputError(f"-o {folder} exists and is not a model directory; give another name")
    directory = RunDirectory(Path(run))
    recipe = read_run_recipe(directory)
    prepared = _open_data(directory.read_record(), None if data is None else Path(data))
    steps = _choose_steps(directory, recipe, last, best)
    weights = average_checkpoints(directory.checkpoints, steps)
    if half:
        weights = round_to_half(weights)
    scores = _validate(directory.path, recipe, prepared, weights, steps[-1])
    parent = directory.read_record().parent
    writer = ModelWriter(recipe.model, recipe.training, prepared, directory, parent)
    facts = _facts(directory, steps, scores, half=half, command=command)
    writer.write(folder, weights, facts)
    emit = on_event or (lambda _: None)
    finish_models([folder], prepared, emit, parent)
    emit(Notice(facts.describe_averaging()))
    if scores is not None:
        emit(scores)
    return folder


def _open_data(record: RunRecord, moved: Path | None) -> PreparedData:
    """Open the data of a run, for its tokenizer and its dev set."""
    folders = [(Path(folder), weight) for folder, weight in record.folders]
    first, weight = folders[0] if folders else (Path(record.data), 1.0)
    folders = [(moved or first, weight), *folders[1:]]
    if lacking := [folder for folder, _ in folders if not folder.is_dir()]:
        raise DataError(
            lacking[0],
            "the data of the run no longer exists",
            remedy="Say where it is now: --data DATA (of several folders, the first).",
        )
    data = mix((open_data(folder), weight) for folder, weight in folders)
    if fingerprint_data(data) != record.fingerprint:
        raise DataError(
            folders[0][0],
            f"this is not the data that the run was trained on in {record.data}",
            remedy="Say where that is now: --data DATA.",
        )
    return data


def _choose_steps(
    run: RunDirectory, recipe: Recipe, last: int | None, best: int | None
) -> list[int]:
    if best is None:
        return newest_steps(run.checkpoints, PAPERS_LAST if last is None else last)
    metric = recipe.training.metric
    sign = -1 if metric == "loss" else 1
    scores = {
        event.step: sign * float(getattr(event, metric)) for event in run.metrics.validations()
    }
    return best_steps(run.checkpoints, scores, best)


def _validate(
    run: Path, recipe: Recipe, data: PreparedData, weights: dict[str, Tensor], step: int
) -> Validated | None:
    """Measure averaged weights on the dev set, if there is one."""
    if "dev" not in data.manifest.splits:
        return None
    model = build_network(recipe.model, weights, run)
    return Validator.for_settings(data, recipe.training)(model, step)


def _facts(
    run: RunDirectory, steps: list[int], scores: Validated | None, *, half: bool, command: str
) -> RunFacts:
    """Return what the card says of the run up to the newest of the checkpoints."""
    state = TrainingState.from_json(run.checkpoints.open(steps[-1]).state)
    facts = RunFacts.from_state(state, scores, command)
    return replace(facts, averaged=tuple(steps), half=half)


def average_checkpoints(store: CheckpointStore, steps: Sequence[int]) -> dict[str, Tensor]:
    """Return the mean of the weights at these steps, summed in float64, one checkpoint at a time.

    Every byte of each checkpoint is checked first; a damaged one is refused by name.
    """
    if not steps:
        raise InputError("no checkpoints to average: give at least one step")
    sums: dict[str, Tensor] = {}
    types: dict[str, torch.dtype] = {}
    for step in steps:
        for name, weight in store.open(step).weights().items():
            types[name] = weight.dtype
            sums[name] = sums[name].add_(weight) if name in sums else weight.double()
    return {name: (total / len(steps)).to(types[name]) for name, total in sums.items()}


def round_to_half(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return weights rounded to 16 bits; one that 16 bits cannot hold is refused by name."""
    rounded = {name: weight.half() for name, weight in weights.items()}
    lost = [name for name, weight in rounded.items() if not weight.isfinite().all()]
    if lost:
        raise InputError(
            f"16 bits hold numbers up to {torch.finfo(torch.float16).max:,.0f}, and these weights "
            f"have larger ones: {', '.join(lost)}. Keep 32 bits."
        )
    return rounded


def newest_steps(store: CheckpointStore, count: int) -> list[int]:
    """Return the steps of the newest checkpoints, oldest first."""
    return _last(store.steps(), count, f"{store.folder}: ")


def best_steps(store: CheckpointStore, scores: Mapping[int, float], count: int) -> list[int]:
    """Return the steps of the checkpoints with the highest scores, oldest first.

    `scores` come by step; a checkpoint without one does not count.
    """
    scored = [step for step in store.steps() if step in scores]
    ranked = sorted(scored, key=lambda step: scores[step])
    where = f"{store.folder}, of checkpoints that were validated: "
    return sorted(_last(ranked, count, where))


def _last(steps: Sequence[int], count: int, where: str) -> list[int]:
    if count < 1:
        raise InputError(f"{count} checkpoints cannot be averaged: give at least 1")
    if count > len(steps):
        there = f"{len(steps)} ({', '.join(map(str, sorted(steps)))})" if steps else "none"
        raise InputError(
            f"{where}{count} were requested, and there are {there}. Give a lower number, or "
            "train with a greater training.keep_checkpoints."
        )
    return list(steps[-count:])
