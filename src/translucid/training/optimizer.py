"""From gradients to new weights: scaling and clipping, the optimiser, the average of weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from translucid.training.muon import Muon
from translucid.training.settings import TrainingConfig

Parameters = Mapping[str, nn.Parameter]


def build_optimizer(parameters: Parameters, settings: TrainingConfig) -> torch.optim.Optimizer:
    """Return the optimiser that the settings name, in PyTorch's fused form where it has one.

    Weight decay takes hold of matrices alone: shrinking biases and LayerNorm's gains helps nothing.
    Muon is for the matrices of layers: an embedding's rows are words, which have little in common.
    """
    matrices = {name: p for name, p in parameters.items() if p.dim() > 1}
    maps = [p for name, p in matrices.items() if ".layers." in name]
    tables = [p for name, p in matrices.items() if ".layers." not in name]
    groups = [
        {"params": maps, "weight_decay": settings.weight_decay},
        {"params": tables, "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters.values() if p.dim() <= 1], "weight_decay": 0.0},
    ]
    betas = (settings.beta1, settings.beta2)
    match settings.optimizer:
        case "adam":
            return torch.optim.Adam(groups, betas=betas, eps=settings.epsilon, fused=True)
        case "adamw":
            return torch.optim.AdamW(groups, betas=betas, eps=settings.epsilon, fused=True)
        case "muon":
            return Muon(groups, momentum=settings.momentum, betas=betas, epsilon=settings.epsilon)
        case "sgd":
            return torch.optim.SGD(groups, lr=1.0, momentum=settings.momentum, fused=True)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Give all parameters the learning rate of the coming step."""
    for group in optimizer.param_groups:
        group["lr"] = rate


@torch.no_grad()
def scale_and_clip(parameters: Iterable[nn.Parameter], *, tokens: int, longest: float) -> float:
    """Turn gradients of a summed loss into those of the mean, and shorten what is too long.

    Both is one multiplication. Return the norm of the mean's gradient over all parameters, before
    clipping; `longest` 0 clips nothing. Where the norm is not finite, gradients stay as they are.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    total = torch.nn.utils.get_total_norm(gradients)
    norm = float(total.full_tensor() if isinstance(total, DTensor) else total) / tokens
    if not norm < float("inf"):
        return norm
    factor = min(1.0, longest / norm) if longest and norm else 1.0
    torch._foreach_mul_(gradients, factor / tokens)
    return norm


def optimizer_tensors(
    optimizer: torch.optim.Optimizer, parameters: Parameters
) -> dict[str, Tensor]:
    """Return what the optimiser remembers, as ``exp_avg/encoder.layers.0…``, by parameter name."""
    return {
        f"{slot}/{name}": value
        for name, parameter in parameters.items()
        for slot, value in optimizer.state.get(parameter, {}).items()
        if isinstance(value, Tensor)
    }


def memory_for(
    optimizer: torch.optim.Optimizer, parameters: Parameters, shapes: Mapping[str, Sequence[int]]
) -> dict[str, Tensor]:
    """Give the optimiser memory to be filled, named as `optimizer_tensors` does, and return it.

    A number beside a parameter (Adam's count of steps) has the shape (); the rest is like it.
    """
    tensors = {}
    for full_name, shape in shapes.items():
        slot, _, name = full_name.partition("/")
        parameter = parameters[name]
        scalar = not shape and parameter.dim() > 0
        memory = (
            torch.zeros((), dtype=torch.float32, device=parameter.device)
            if scalar
            else torch.zeros_like(parameter, requires_grad=False)
        )
        optimizer.state[parameter][slot] = tensors[full_name] = memory
    return tensors


class WeightAverage:
    """The exponential moving average of the weights, by a decay that grows with the steps.

    In step t the decay is min(decay, (1 + t) / (10 + t)), so that the first weights, which are
    random, are soon forgotten.
    """

    def __init__(self, parameters: Parameters, decay: float) -> None:
        self.decay = decay
        self._parameters: list[Tensor] = list(parameters.values())
        self.tensors = {name: p.detach().clone() for name, p in parameters.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move the average towards the weights after a step."""
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(list(self.tensors.values()), self._parameters, 1 - decay)

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Put the average in the place of the weights for a while."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        for parameter, average in zip(self._parameters, self.tensors.values(), strict=True):
            weights = parameter.detach().clone()
            parameter.copy_(average)
            average.copy_(weights)
