"""The network that learns: it with its objective, its optimiser and its averaged weights."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

import torch
from torch import Tensor

from translucid.checkpoint.format import check_weights
from translucid.checkpoint.store import Checkpoint
from translucid.data.collate import Batch
from translucid.model import Transformer
from translucid.training.distributed import Distribution
from translucid.training.loss import Objective
from translucid.training.optimizer import (
    WeightAverage,
    build_optimizer,
    memory_for,
    optimizer_tensors,
    scale_and_clip,
    set_learning_rate,
)
from translucid.training.randomness import set_randomness
from translucid.training.settings import TrainingConfig


class Learner:
    """A network and all that changes with it in a step.

    `bf16` computes matrix products in bfloat16; weights and gradients stay in float32.
    """

    def __init__(
        self,
        model: Transformer,
        settings: TrainingConfig,
        distribution: Distribution,
        *,
        device: torch.device,
        bf16: bool,
    ) -> None:
        self.model = model
        self.settings = settings
        self.distribution = distribution
        self.device = device
        self.bf16 = bf16
        self.objective = Objective(model, settings.label_smoothing, agreement=0.0).to(device)
        if settings.compile:
            self.objective.compile(dynamic=True)
        self.module = distribution.wrap(self.objective)
        self.parameters = dict(model.named_parameters())
        self.optimizer = build_optimizer(self.parameters, settings)
        self.average = (
            WeightAverage(self.parameters, settings.ema_decay) if settings.ema_decay else None
        )

    def accumulate(self, batches: Sequence[Batch], step: int, real: int) -> Tensor:
        """Add up the gradients of a step's summed loss over this process's micro-batches.

        Only the first `real` of them count; where other processes need company, those after them,
        or the last once more, are computed and add nothing. Return the (smoothed, plain) loss sums,
        a row for each that counts, in float64 on the CPU.
        """
        self.module.train()
        twice = step >= self.settings.agreement_from
        self.objective.agreement = self.settings.agreement if twice else 0.0
        rounds = self.distribution.rounds(real)
        sums = [torch.empty(0, 2, device=self.device)]
        for number in range(rounds):
            batch = batches[min(number, len(batches) - 1)].to(self.device)
            set_randomness(self.settings.seed, step, batch)
            with self.distribution.accumulating(self.module, last=number == rounds - 1):
                with self._precision():
                    smoothed, plain = self.module(batch.source_BS, batch.target_BT, batch.labels_BT)
                (smoothed if number < real else smoothed * 0).backward()
            if number < real:
                sums.append(torch.stack([smoothed.detach(), plain.detach()])[None])
        return torch.cat(sums).cpu().double()

    def clip(self, tokens: int) -> float:
        """Make the gradients those of the loss a token, clip them and return their norm."""
        return scale_and_clip(
            self.parameters.values(), tokens=tokens, longest=self.settings.clip_norm
        )

    def update(self, step: int, rate: float) -> None:
        """Change the weights by the gradients."""
        set_learning_rate(self.optimizer, rate)
        self.optimizer.step()
        if self.average is not None:
            self.average.update(step)

    def forget_gradients(self) -> None:
        """Drop the gradients, after a step or instead of one."""
        self.optimizer.zero_grad(set_to_none=True)

    @contextlib.contextmanager
    def best_weights(self) -> Iterator[Transformer]:
        """Give the network with the weights to use: the averaged ones where there are any."""
        with contextlib.ExitStack() as stack:
            if self.average is not None:
                stack.enter_context(self.average.in_use())
            yield stack.enter_context(self.distribution.whole(self.model))

    def weights_to_use(self) -> dict[str, Tensor]:
        """Return the weights that `best_weights` gives, whole, by name."""
        tensors = self.parameters if self.average is None else self.average.tensors
        return self.distribution.full_state(tensors)

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """Return all tensors that a checkpoint holds, whole, by file and name."""
        files: dict[str, Mapping[str, Tensor]] = {
            "model": self.parameters,
            "optimizer": optimizer_tensors(self.optimizer, self.parameters),
        }
        if self.average is not None:
            files["average"] = self.average.tensors
        return {name: self.distribution.full_state(tensors) for name, tensors in files.items()}

    def restore(self, checkpoint: Checkpoint | None) -> None:
        """Take over a checkpoint, which the main process has; the others pass None."""
        self._put_all(self.parameters, self._read(checkpoint, "model", self.parameters))
        if self.average is not None:
            tensors = self.average.tensors
            self._put_all(tensors, self._read(checkpoint, "average", tensors))
        found = checkpoint.tensors("optimizer") if checkpoint else {}
        shapes = json.loads(
            self.distribution.share(json.dumps({n: list(t.shape) for n, t in found.items()}))
        )
        self._put_all(memory_for(self.optimizer, self.parameters, shapes), found)

    def _put_all(self, targets: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> None:
        for name, target in targets.items():
            self.distribution.put(target, values.get(name))

    def _read(
        self, checkpoint: Checkpoint | None, name: str, expected: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        if checkpoint is None:
            return {}
        tensors = checkpoint.tensors(name)
        check_weights(expected, tensors, checkpoint.folder / f"{name}.safetensors")
        return tensors

    def _precision(self) -> AbstractContextManager[object]:
        if not self.bf16:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)
