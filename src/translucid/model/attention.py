"""Scaled dot-product attention and multi-head attention (section 3.2, figure 2).

::

      x ── W^Q ── q ─┐
                     ├─ softmax(q kᵀ / √d_k) v ── W^O ── out        (equation 1, per head)
    mem ── W^K ── k ─┤
    mem ── W^V ── v ─┘

Shapes: B batch, L queries, M keys, D d_model, H heads, K size of a query or key in one head (d_k),
U size of a value in one head (d_v).
"""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from translucid.config import KERNELS, ModelConfig
from translucid.model.dropout import apply_dropout
from translucid.model.positional import Rotation, rotate

SHORT = 128  # queries; beyond, the weights of all heads would take much memory


class Kernel(Protocol):
    """The single extension point of attention (section 3.2.1): equation 1 for all heads at once.

    `register_kernel` adds a kernel that the setting `model.attention` can name.
    ``mask`` is added to the scores (0 where a query may attend, -inf where it may not; see
    :mod:`translucid.model.masks`) and broadcasts to (B, H, L, M). ``dropout`` acts on the weights.
    Returns the output_BHLU and, from kernels that make them, the weights_BHLM.
    """

    def __call__(
        self, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMU: Tensor, mask: Tensor | None, dropout: float
    ) -> tuple[Tensor, Tensor | None]:
        """Attend: queries to keys, then the weighted sum of values."""


register_kernel = KERNELS.register


@register_kernel("sdpa")
def sdpa(
    q_BHLK: Tensor, k_BHMK: Tensor, v_BHMU: Tensor, mask: Tensor | None, dropout: float
) -> tuple[Tensor, None]:
    """Equation 1 (section 3.2.1) by PyTorch's fused kernel: fast; it shows no weights."""
    return F.scaled_dot_product_attention(
        q_BHLK, k_BHMK, v_BHMU, attn_mask=mask, dropout_p=dropout
    ), None


@register_kernel("eager")
def eager(
    q_BHLK: Tensor, k_BHMK: Tensor, v_BHMU: Tensor, mask: Tensor | None, dropout: float
) -> tuple[Tensor, Tensor]:
    """Equation 1 (section 3.2.1) step by step, returning the weights too.

    A test compares it with :func:`sdpa`, so a picture of these weights is a picture of what the
    fast model does.
    """
    scores_BHLM = q_BHLK @ k_BHMK.transpose(-2, -1) / math.sqrt(q_BHLK.size(-1))
    if mask is not None:
        scores_BHLM = scores_BHLM + mask
    weights_BHLM = scores_BHLM.softmax(dim=-1)
    return apply_dropout(weights_BHLM, dropout) @ v_BHMU, weights_BHLM


@register_kernel("auto")
def auto(
    q_BHLK: Tensor, k_BHMK: Tensor, v_BHMU: Tensor, mask: Tensor | None, dropout: float
) -> tuple[Tensor, Tensor | None]:
    """Equation 1 (section 3.2.1) by the kernel that is fastest for these sizes.

    On a CPU, PyTorch's fused kernel gains nothing from a second thread if there are many short
    sequences, as in training; plain matrix products do (see docs/results.md). With dropout, the
    fused kernel materialises all weights too.
    """
    compiling = torch.compiler.is_compiling()  # sizes are not known then
    plain = 1 < q_BHLK.size(2) <= SHORT or dropout > 0
    if q_BHLK.device.type != "cpu" or compiling or not plain:
        return sdpa(q_BHLK, k_BHMK, v_BHMU, mask, dropout)
    return eager(q_BHLK, k_BHMK, v_BHMU, mask, dropout)


EQUATION_1_KERNELS: tuple[Kernel, ...] = (auto, sdpa, eager)
"""Kernels that compute equation 1 and nothing else, so that each can replace another."""


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O (section 3.2.2).

    The same module serves as self-attention, masked self-attention and cross-attention (section
    3.2.3): what differs is where keys and values come from, and the mask. It knows nothing of
    caches or of recording: a cache stores what :meth:`keys_values` returns, and a recorder puts
    another function in place of ``kernel``.
    """

    kernel: Kernel

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d_model, heads, bias = config.d_model, config.heads, config.attention_bias
        self.heads = heads
        self.w_q = nn.Linear(d_model, heads * config.d_k, bias=bias)
        self.w_k = nn.Linear(d_model, heads * config.d_k, bias=bias)
        self.w_v = nn.Linear(d_model, heads * config.d_v, bias=bias)
        self.w_o = nn.Linear(heads * config.d_v, d_model, bias=bias)
        self.dropout = config.attention_dropout
        self.kernel = KERNELS.find(config.attention)

    def keys_values(self, memory_BMD: Tensor, rotation: Rotation | None) -> tuple[Tensor, Tensor]:
        """Project what is attended to: k_BHMK and v_BHMU of all heads."""
        k_BHMK = self._split(self.w_k(memory_BMD))
        return rotate(k_BHMK, rotation), self._split(self.w_v(memory_BMD))

    def attend(
        self,
        x_BLD: Tensor,
        k_BHMK: Tensor,
        v_BHMU: Tensor,
        mask: Tensor | None,
        rotation: Rotation | None,
    ) -> Tensor:
        """Let each position of x attend to the given keys and values; returns out_BLD."""
        q_BHLK = rotate(self._split(self.w_q(x_BLD)), rotation)
        # SDPA applies dropout_p even in evaluation mode, so it is set to 0 here.
        dropout = self.dropout if self.training else 0.0
        heads_BHLU, _ = self.kernel(q_BHLK, k_BHMK, v_BHMU, mask, dropout)
        return self.w_o(heads_BHLU.transpose(1, 2).flatten(2))

    def _split(self, x_BLHK: Tensor) -> Tensor:
        """Cut the last dimension into heads: (B, L, H·K) → (B, H, L, K)."""
        batch, length, width = x_BLHK.shape
        return x_BLHK.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
