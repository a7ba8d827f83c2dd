"""Residual dropout (section 5.4): in training, a share of the numbers is set to zero.

On a processor the random numbers are the cost of it: PyTorch draws one for each element, one after
another. Here each 64-bit draw decides four elements, by its four 16-bit quarters, which takes a
third of the time; the share is thereby rounded to a multiple of 1/65,536.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_LEVELS = 1 << 16


class Dropout(nn.Module):
    """Zero a share of the input in training and scale up the rest (section 5.4); else nothing."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        """Return x as it is in evaluation, and with random zeros in training; same shape."""
        if not self.training or self.share == 0.0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.share)
        return x * dropout_mask(x, self.share)

    def extra_repr(self) -> str:
        """Say the share where a network is printed."""
        return f"{self.share}"


def dropout_mask(x: Tensor, share: float) -> Tensor:
    """Return a mask like x (section 5.4): 0 with probability `share`, else 1 / (1 − share)."""
    count = x.numel()
    draws = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    quarters = draws.view(torch.int16)[:count].view(x.shape)
    dropped = min(round(share * _LEVELS), _LEVELS - 1)  # of the values a quarter may have
    keep = quarters >= dropped - _LEVELS // 2
    return keep.to(x.dtype).mul_(_LEVELS / (_LEVELS - dropped))
