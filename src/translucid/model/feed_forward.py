"""Position-wise feed-forward networks (section 3.3).

Shapes: B batch, L positions, D d_model, F d_ff.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from translucid.config import ModelConfig
from translucid.model.dropout import Dropout


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (equation 2), the same at every position.

    ``gelu`` and ``silu`` put those functions in place of the maximum. ``swiglu`` (Shazeer 2020)
    multiplies x W_1 + b_1 by a gate, SiLU(x W_g + b_g), which is a third matrix.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.activation = config.activation
        self.w_1 = nn.Linear(config.d_model, config.d_ff)
        self.w_2 = nn.Linear(config.d_ff, config.d_model)
        if config.activation == "swiglu":
            self.w_gate = nn.Linear(config.d_model, config.d_ff)
        self.dropout = Dropout(config.feed_forward_dropout)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Apply the two linear maps with the non-linearity between them; (B, L, D) → same."""
        inner_BLF = self.w_1(x_BLD)
        if self.activation == "swiglu":
            inner_BLF = F.silu(self.w_gate(x_BLD)) * inner_BLF
        else:
            inner_BLF = getattr(F, self.activation)(inner_BLF)
        return self.w_2(self.dropout(inner_BLF))
