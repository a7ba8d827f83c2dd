"""Add & Norm: the residual connection around every sublayer (section 3.1, figure 1).

::

    post  (the paper)   x ─┬─ sublayer ─ dropout ─ + ─ norm ─▶        LayerNorm(x + Sublayer(x))
                           └───────────────────────┘
    pre                 x ─┬─ norm ─ sublayer ─ dropout ─ + ─▶        x + Sublayer(LayerNorm(x))
                           └──────────────────────────────┘

Pre-norm leaves the residual stream unnormalised, so each stack then ends in one more LayerNorm.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from translucid.config import ModelConfig
from translucid.model.dropout import Dropout


class AddNorm(nn.Module):
    """One residual connection with its LayerNorm and its dropout (sections 3.1 and 5.4)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_epsilon)
        self.dropout = Dropout(config.dropout)

    def forward(self, x_BLD: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return x plus what the sublayer makes of it, normalised before or after; same shape."""
        if self.pre:
            return x_BLD + self.dropout(sublayer(self.norm(x_BLD)))
        return self.norm(x_BLD + self.dropout(sublayer(x_BLD)))


def final_norm(config: ModelConfig) -> nn.Module:
    """Return what closes a stack (section 3.1): LayerNorm with pre-norm, else nothing."""
    if config.norm == "pre":
        return nn.LayerNorm(config.d_model, eps=config.norm_epsilon)
    return nn.Identity()
