"""Training: from prepared data to a model directory, reported as events (section 5).

===================  ==========================================================================
train                the library function: settings, device, trainer, and what follows training
trainer, state       the loop, one step of it (``Trainer.train_step``); where a run stands
learner              forward, backward, update; one micro-batch per thread on a CPU
loss                 label-smoothed cross-entropy, R-Drop; ``register_loss``
optimizer, schedule  Adam, Muon, moving average; the learning rate as a function of the step
validation           loss, BLEU and chrF on the dev set
config, recipe       settings; from presets, files and assignments to complete ones
budget               from minutes or steps to a plan, in steps
parent               the model that training starts from
device, memory       where to compute, in which precision, and how much at once
distributed          several processes under torchrun: DDP and FSDP2
model_card           the model directories of a run, and their card
average              one model of several checkpoints of a run
study                one network trained again and again, with one thing changed each time
===================  ==========================================================================
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from translucid.training.loss import register_loss
    from translucid.training.train import TrainedRun

__all__ = ["TrainedRun", "register_loss"]

_HOMES = {"TrainedRun": "train", "register_loss": "loss"}


def __getattr__(name: str) -> Any:
    """Load PyTorch when it is first needed: settings are read without it."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"translucid.training.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
