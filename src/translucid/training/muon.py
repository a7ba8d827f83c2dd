"""Muon: a matrix moves by its momentum with all singular values made alike.

The gradient of a matrix has a few strong directions and many weak ones, and Adam learns the weak
ones slowly. Muon (Jordan and others, 2024) replaces the momentum U S Vᵀ by about U Vᵀ, so that all
directions are learned at one pace::

    M ← μ M + G
    O ← newton_schulz(G + μ M)
    W ← (1 - rate · decay) W - rate · 0.2 √max(rows, columns) · O

The factor gives a step the size that Adam's steps usually have (Liu and others, 2025, "Muon is
scalable for LLM training"), so that one learning rate serves Muon and AdamW beside it.

PyTorch's `torch.optim.Muon` computes in bfloat16, of which processors that only claim to know it
die, and takes matrices one by one. Here those of one shape go together, in float32.

Shapes: N matrices of one shape, R rows, C columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, overload

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # a, b, c: steep at 0, and from then on near 1
ROUNDS = 5
SIZE = 0.2  # an entry's root mean square change in learning rates, as with Adam
TINY = 1e-7  # a gradient of zeros stays one


def newton_schulz(g_NRC: Tensor) -> Tensor:
    """Return matrices with the singular vectors of those given and singular values near 1.

    A round X ← aX + (bA + cA²)X with A = XXᵀ takes every singular value s to as + bs³ + cs⁵. After
    five, all that were above a hundredth of the matrix's norm are between 0.68 and 1.14.
    """
    a, b, c = COEFFICIENTS
    wide = g_NRC.size(-2) <= g_NRC.size(-1)
    x_NRC = g_NRC if wide else g_NRC.mT  # XXᵀ is the smaller product
    x_NRC = x_NRC / (torch.linalg.matrix_norm(x_NRC, keepdim=True) + TINY)
    for _ in range(ROUNDS):
        a_NRR = x_NRC @ x_NRC.mT
        polynomial_NRR = torch.baddbmm(a_NRR, a_NRR, a_NRR, beta=b, alpha=c)
        x_NRC = torch.baddbmm(x_NRC, polynomial_NRR, x_NRC, beta=a)
    return x_NRC if wide else x_NRC.mT


class Muon(torch.optim.Optimizer):
    """Muon for the first group of parameters, which are matrices; fused AdamW for the others."""

    def __init__(
        self,
        groups: Sequence[dict[str, Any]],
        *,
        momentum: float,
        betas: tuple[float, float],
        epsilon: float,
    ) -> None:
        super().__init__(groups, {"lr": 0.0})
        self.momentum = momentum
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
            changes_NRC = newton_schulz(self._moved_momentum(matrices))
            torch._foreach_mul_(matrices, 1 - rate * group["weight_decay"])
            length = rate * SIZE * max(shape) ** 0.5
            torch._foreach_add_(matrices, changes_NRC.unbind(), alpha=-length)
        return None

    def _moved_momentum(self, matrices: Sequence[Tensor]) -> Tensor:
        """Add gradients to the momentum; return where it leads next (Nesterov), as one tensor."""
        for matrix in matrices:
            if "momentum" not in self.state[matrix]:
                self.state[matrix]["momentum"] = torch.zeros_like(matrix)
        momentum = [self.state[matrix]["momentum"] for matrix in matrices]
        gradients = [matrix.grad for matrix in matrices if matrix.grad is not None]
        torch._foreach_mul_(momentum, self.momentum)
        torch._foreach_add_(momentum, gradients)
        return torch.stack(torch._foreach_add(gradients, momentum, alpha=self.momentum))
