"""From gradients to new weights: clipping, the optimisers (Muon among them), the moving average."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from translucid.training.config import TrainingConfig

Parameters = Mapping[str, nn.Parameter]


def build_optimizer(
    parameters: Parameters, settings: TrainingConfig, *, bf16: bool = False
) -> torch.optim.Optimizer:
    """Return the optimiser that the settings name, in PyTorch's fused form where it has one.

    Weight decay takes hold of matrices alone: shrinking biases and LayerNorm's gains helps nothing.
    Muon is for the matrices of layers: an embedding's rows are words, which have little in common.
    With `bf16` it computes its products in bfloat16.
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
            return Muon(
                groups,
                momentum=settings.momentum,
                betas=betas,
                epsilon=settings.epsilon,
                precision=torch.bfloat16 if bf16 else torch.float32,
            )
        case "sgd":
            return torch.optim.SGD(groups, lr=1.0, momentum=settings.momentum, fused=True)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Give all parameters the learning rate of the coming step."""
    for group in optimizer.param_groups:
        group["lr"] = rate


@torch.no_grad()
def scale_and_clip(parameters: Iterable[nn.Parameter], *, tokens: int, max_norm: float) -> float:
    """Turn gradients of a summed loss into those of the mean, and clip what is too long.

    Both is one multiplication. Return the norm of the mean's gradient over all parameters, before
    clipping; `max_norm` 0 clips nothing. Where the norm is not finite, gradients stay as they are.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    total = torch.nn.utils.get_total_norm(gradients)
    norm = float(total.full_tensor() if isinstance(total, DTensor) else total) / tokens
    if not norm < float("inf"):
        return norm
    factor = min(1.0, max_norm / norm) if max_norm and norm else 1.0
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


def allocate_optimizer_state(
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


MUON_COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # a, b, c: steep at 0, and from then on near 1
MUON_ROUNDS = 5
MUON_SIZE = 0.2  # an entry's root mean square change in learning rates, as with Adam
MUON_TINY = 1e-7  # keeps a gradient of zeros at zero


def newton_schulz(g_NRC: Tensor) -> Tensor:
    """Return matrices with the singular vectors of those given and singular values near 1.

    A round X ← aX + (bA + cA²)X with A = XXᵀ takes every singular value s to as + bs³ + cs⁵. After
    five, all that were above a hundredth of the matrix's norm are between 0.68 and 1.14.
    """
    a, b, c = MUON_COEFFICIENTS
    wide = g_NRC.size(-2) <= g_NRC.size(-1)
    x_NRC = g_NRC if wide else g_NRC.mT  # XXᵀ is the smaller product
    x_NRC = x_NRC / (torch.linalg.matrix_norm(x_NRC, keepdim=True) + MUON_TINY)
    for _ in range(MUON_ROUNDS):
        a_NRR = x_NRC @ x_NRC.mT
        polynomial_NRR = torch.baddbmm(a_NRR, a_NRR, a_NRR, beta=b, alpha=c)
        x_NRC = torch.baddbmm(x_NRC, polynomial_NRR, x_NRC, beta=a)
    return x_NRC if wide else x_NRC.mT


class Muon(torch.optim.Optimizer):
    """Muon for the first group of parameters, which are matrices; fused AdamW for the others.

    The gradient of a matrix has a few strong directions and many weak ones, and Adam learns the
    weak ones slowly. Muon (Jordan and others, 2024) replaces the momentum U S Vᵀ by about U Vᵀ, so
    that all directions are learned at the same pace::

        M ← μ M + G
        O ← newton_schulz(G + μ M)
        W ← (1 - rate · decay) W - rate · 0.2 √max(rows, columns) · O

    The factor gives a step the size that Adam's steps usually have (Liu and others, 2025, "Muon is
    scalable for LLM training"), so that one learning rate serves Muon and the AdamW beside it.

    PyTorch's `torch.optim.Muon` always computes in bfloat16, which kills the process on processors
    that only claim to support it, and takes matrices one by one. Here those of one shape are
    computed together, in `precision`. Shapes: N matrices of one shape, R rows, C columns.
    """

    def __init__(
        self,
        groups: Sequence[dict[str, Any]],
        *,
        momentum: float,
        betas: tuple[float, float],
        epsilon: float,
        precision: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(groups, {"lr": 0.0})
        self.momentum = momentum
        self.precision = precision
        self._adam = torch.optim.AdamW(self.param_groups[1:], betas=betas, eps=epsilon, fused=True)

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], float]) -> float: ...
    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Change all parameters that have a gradient."""
        assert closure is None, "gradients are there when a step is taken"
        # One memory for both, whose objects `load_state_dict` replaces.
        self._adam.state, self._adam.param_groups = self.state, self.param_groups[1:]
        self._adam.step()
        group = self.param_groups[0]
        rate: float = group["lr"]
        alike: dict[torch.Size, list[Tensor]] = defaultdict(list)
        for parameter in group["params"]:
            if parameter.grad is not None:
                alike[parameter.shape].append(parameter)
        for shape, matrices in alike.items():
            wanted_NRC = self._update_momentum(matrices)
            changes_NRC = newton_schulz(wanted_NRC.to(self.precision)).to(wanted_NRC.dtype)
            torch._foreach_mul_(matrices, 1 - rate * group["weight_decay"])
            length = rate * MUON_SIZE * max(shape) ** 0.5
            torch._foreach_add_(matrices, changes_NRC.unbind(), alpha=-length)
        return None

    def _update_momentum(self, matrices: Sequence[Tensor]) -> Tensor:
        """Add the gradients to the momentum; return Nesterov's look-ahead as one tensor."""
        for matrix in matrices:
            if "momentum" not in self.state[matrix]:
                self.state[matrix]["momentum"] = torch.zeros_like(matrix)
        momentum = [self.state[matrix]["momentum"] for matrix in matrices]
        gradients = [matrix.grad for matrix in matrices if matrix.grad is not None]
        torch._foreach_mul_(momentum, self.momentum)
        torch._foreach_add_(momentum, gradients)
        return torch.stack(torch._foreach_add(gradients, momentum, alpha=self.momentum))
