"""Residual dropout (section 5.4): in training, a share of the numbers is set to zero.

On a processor most of its cost is random numbers: PyTorch draws one for each element, one after
another. Here each 64-bit draw decides four elements, by its four 16-bit quarters, which takes a
third of the time; the share is thereby rounded to a multiple of 1/65,536.

Threads that compute at the same time each draw from a generator of their own, not from PyTorch's,
or what is dropped would depend on which of them came first.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

_LEVELS = 1 << 16
_own = threading.local()  # its generator: where this thread draws from, if not from PyTorch's


@contextlib.contextmanager
def dropout_generator(generator: torch.Generator) -> Iterator[None]:
    """Make the dropout of this thread (section 5.4), on a processor, draw from a generator."""
    _own.generator = generator
    try:
        yield
    finally:
        _own.generator = None


class Dropout(nn.Module):
    """Zero a share of the input and scale up the rest (section 5.4), in training only."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        """Return x as it is in evaluation, and with random zeros in training; same shape."""
        return apply_dropout(x, self.share) if self.training else x

    def extra_repr(self) -> str:
        """Return the share, shown when a network is printed."""
        return f"{self.share}"


def apply_dropout(x: Tensor, share: float) -> Tensor:
    """Zero a share of the numbers and scale up the rest (section 5.4); same shape."""
    if share == 0.0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, share)
    return _Dropped.apply(x, share)  # type: ignore[no-untyped-call]


class _Dropped(torch.autograd.Function):
    """Dropout that remembers a byte for each element: whether it was kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, share: float) -> Tensor:
        keep, scale = dropout_mask(x, share)
        ctx.save_for_backward(keep)
        ctx.scale = scale
        return x * keep.to(x.dtype).mul_(scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (keep,) = ctx.saved_tensors
        return grad * keep.to(grad.dtype).mul_(ctx.scale), None


def dropout_mask(x: Tensor, share: float) -> tuple[Tensor, float]:
    """Return what is kept of x (section 5.4), each with probability 1 − `share`, and its scale."""
    count = x.numel()
    draws = torch.empty((count + 3) // 4, dtype=torch.int64)
    own = None if torch.compiler.is_compiling() else getattr(_own, "generator", None)
    draws.random_(-(1 << 63), None, generator=own)
    quarters = draws.view(torch.int16)[:count].view(x.shape)
    zeros = min(round(share * _LEVELS), _LEVELS - 1)  # of the values a quarter may have
    return quarters >= zeros - _LEVELS // 2, _LEVELS / (_LEVELS - zeros)
