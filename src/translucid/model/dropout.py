"""Residual dropout (section 5.4): in training, numbers chosen at random become zero.

On a CPU most of its cost is drawing random numbers: PyTorch draws one for each element, one after
another. Here each 64-bit draw decides four elements, by its four 16-bit quarters, which takes a
third of the time; the probability `p` is thereby rounded to a multiple of 1/65,536.

Threads that compute at the same time each draw from their own generator, not from PyTorch's:
otherwise, what is dropped would depend on which of them came first.
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
_thread_local = threading.local()  # .generator: of this thread, if not PyTorch's


@contextlib.contextmanager
def dropout_generator(generator: torch.Generator) -> Iterator[None]:
    """Make the dropout of this thread (section 5.4), on a CPU, draw from a generator."""
    _thread_local.generator = generator
    try:
        yield
    finally:
        _thread_local.generator = None


class Dropout(nn.Module):
    """In training, zero each input with probability `p` and scale up the rest (section 5.4)."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Return x as it is in evaluation, and with random zeros in training; same shape."""
        return apply_dropout(x, self.p) if self.training else x

    def extra_repr(self) -> str:
        """Return the probability, shown when a network is printed."""
        return f"{self.p}"


def apply_dropout(x: Tensor, p: float) -> Tensor:
    """Zero each number with probability `p`, scale up the rest (section 5.4); same shape."""
    if p == 0.0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, p)
    return _Dropped.apply(x, p)  # type: ignore[no-untyped-call]


class _Dropped(torch.autograd.Function):
    """Dropout that remembers a byte for each element: whether it was kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        keep, scale = dropout_mask(x, p)
        ctx.save_for_backward(keep)
        ctx.scale = scale
        return x * keep.to(x.dtype).mul_(scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (keep,) = ctx.saved_tensors
        return grad * keep.to(grad.dtype).mul_(ctx.scale), None


def dropout_mask(x: Tensor, p: float) -> tuple[Tensor, float]:
    """Return what is kept of x (section 5.4), each with probability 1 − `p`, and its scale."""
    count = x.numel()
    draws = torch.empty((count + 3) // 4, dtype=torch.int64)
    generator = None if torch.compiler.is_compiling() else getattr(_thread_local, "generator", None)
    draws.random_(-(1 << 63), None, generator=generator)
    quarters = draws.view(torch.int16)[:count].view(x.shape)
    zeros = min(round(p * _LEVELS), _LEVELS - 1)  # of the values a quarter may have
    return quarters >= zeros - _LEVELS // 2, _LEVELS / (_LEVELS - zeros)
