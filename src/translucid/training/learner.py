"""The network that learns: it with its objective, its optimiser and its averaged weights."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn

from translucid.checkpoint.format import check_weights
from translucid.checkpoint.store import Checkpoint
from translucid.data.collate import Batch
from translucid.model import Transformer
from translucid.model.dropout import drawing_from
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
from translucid.training.randomness import generator_of, set_randomness
from translucid.training.settings import TrainingConfig
from translucid.training.side_by_side import Threads, at_a_time, may_be_apart


class Learner:
    """A network and all that changes with it in a step.

    `bf16` computes matrix products in bfloat16; weights and gradients stay in float32. `at_a_time`
    micro-batches are computed side by side.
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
        apart = may_be_apart(settings, device=device, bf16=bf16, world=distribution.world)
        self.at_a_time = at_a_time(settings, torch.get_num_threads()) if apart else 1
        self._threads = Threads(self.at_a_time) if self.at_a_time > 1 else None

    def accumulate(self, batches: Sequence[Batch], step: int, real: int) -> Tensor:
        """Add up the gradients of a step's summed loss over this process's micro-batches.

        Only the first `real` of them count; where other processes need company, those after them,
        or the last once more, are computed and add nothing. Return the (smoothed, plain) loss sums,
        a row for each that counts, in float64 on the CPU.
        """
        self.module.train()
        twice = step >= self.settings.agreement_from
        self.objective.agreement = self.settings.agreement if twice else 0.0
        if self._threads is not None and real > 1:
            return self._accumulate_side_by_side(self._threads, batches[:real], step)
        rounds = self.distribution.rounds(real)
        sums = [torch.empty(0, 2, device=self.device)]
        for number in range(rounds):
            batch = batches[min(number, len(batches) - 1)].to(self.device)
            set_randomness(self.settings.seed, step, batch)
            with self.distribution.accumulating(self.module, last=number == rounds - 1):
                smoothed, plain = self._losses(batch)
                counted = smoothed if number < real else smoothed * 0
                counted.backward()  # type: ignore[no-untyped-call]
            if number < real:
                sums.append(torch.stack([smoothed.detach(), plain.detach()])[None])
        return torch.cat(sums).cpu().double()

    def _accumulate_side_by_side(
        self, threads: Threads, batches: Sequence[Batch], step: int
    ) -> Tensor:
        parameters = [p for p in self.parameters.values() if p.requires_grad]

        def computed(batch: Batch) -> tuple[Tensor, tuple[Tensor, ...]]:
            with drawing_from(generator_of(self.settings.seed, step, batch)):
                smoothed, plain = self._losses(batch)
            gradients = torch.autograd.grad(smoothed, parameters)
            return torch.stack([smoothed.detach(), plain.detach()])[None], gradients

        sums = [torch.empty(0, 2)]
        for losses, gradients in threads.map(computed, batches):
            sums.append(losses)
            _add_gradients(parameters, gradients)
        return torch.cat(sums).double()

    def _losses(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the (smoothed, plain) loss sums of a micro-batch."""
        with self._precision():
            smoothed, plain = self.module(batch.source_BS, batch.target_BT, batch.labels_BT)
        return smoothed, plain

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


def _add_gradients(parameters: Sequence[nn.Parameter], gradients: tuple[Tensor, ...]) -> None:
    """Add to the gradients of parameters, as a backward pass does: in the parameters' layout."""
    known = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if known:
        torch._foreach_add_(known, gradients)
        return
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.contiguous()
