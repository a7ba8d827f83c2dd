"""Averaging: one network whose weights are the mean over several checkpoints (section 6.1).

"For the base models, we used a single model obtained by averaging the last 5 checkpoints."
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from translucid.checkpoint.store import Checkpoint, CheckpointStore
from translucid.errors import InputError

_MOVING_AVERAGE, _PLAIN = "average", "model"  # files of a checkpoint, without .safetensors


def kept_weights(checkpoint: Checkpoint) -> dict[str, Tensor]:
    """Return the weights that the run of a checkpoint validates: the moving average, if any."""
    averaged = f"{_MOVING_AVERAGE}.safetensors" in checkpoint.files
    return checkpoint.tensors(_MOVING_AVERAGE if averaged else _PLAIN)


def average_checkpoints(store: CheckpointStore, steps: Sequence[int]) -> dict[str, Tensor]:
    """Return the mean of the weights at these steps, summed in float64, one checkpoint at a time.

    Every byte of each checkpoint is checked first; a damaged one is refused by name.
    """
    if not steps:
        raise InputError("no checkpoints to average: give at least one step")
    sums: dict[str, Tensor] = {}
    types: dict[str, torch.dtype] = {}
    for step in steps:
        for name, weight in kept_weights(store.open(step)).items():
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
