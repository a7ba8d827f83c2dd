"""Embeddings and the linear map before the softmax (section 3.4).

"We share the same weight matrix between the two embedding layers and the pre-softmax linear
transformation": that is ``tying = "all"``; ``"decoder"`` shares the target's two; ``"none"`` none.

Shapes: B batch, L positions, D d_model, V target vocabulary.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from translucid.config import ModelConfig
from translucid.errors import InputError


class TokenEmbedding(nn.Module):
    """The vector of each token, multiplied by √d_model (section 3.4)."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        self.scale = math.sqrt(d_model)

    def forward(self, ids_BL: Tensor) -> Tensor:
        """Look up and scale; (B, L) → (B, L, D)."""
        return F.embedding(ids_BL, self.weight) * self.scale


class OutputProjection(nn.Module):
    """The linear map from the decoder's output to a logit for each token (section 3.4)."""

    def __init__(self, weight: nn.Parameter, tokens: int, bias: bool) -> None:
        super().__init__()
        self.weight, self.tokens = weight, tokens
        self.bias = nn.Parameter(torch.empty(tokens)) if bias else None

    @property
    def rows(self) -> Tensor:
        """The rows of the target's tokens: all of the matrix, or its first ones."""
        return self.weight if len(self.weight) == self.tokens else self.weight[: self.tokens]

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Return the logits; (B, L, D) → (B, L, V)."""
        return F.linear(x_BLD, self.rows, self.bias)

    def into(self, logits_NV: Tensor, x_ND: Tensor) -> Tensor:
        """Write the logits into given memory, and return it."""
        torch.mm(x_ND, self.rows.t(), out=logits_NV)
        return logits_NV if self.bias is None else logits_NV.add_(self.bias)


def make_embeddings(config: ModelConfig) -> tuple[TokenEmbedding, TokenEmbedding, OutputProjection]:
    """Return source and target embedding and output projection, tied or not (section 3.4)."""
    source = TokenEmbedding(config.source_vocab_size, config.d_model)
    target = TokenEmbedding(config.target_vocab_size, config.d_model)
    if config.tying == "all":  # a target with fewer tokens has the first rows
        target.weight = source.weight
    tied = config.tying != "none"
    weight = target.weight if tied else nn.Parameter(torch.empty_like(target.weight))
    return source, target, OutputProjection(weight, config.target_vocab_size, config.output_bias)


def check_ids(name: str, ids: Tensor, vocab_size: int, dimensions: int) -> None:
    """Raise InputError unless `ids` is a non-empty tensor of known tokens (section 3.4).

    The values are looked at on the CPU only: on other devices that would wait for every kernel
    under way, and a compiled graph cannot branch on them.
    """
    if ids.dtype not in (torch.int64, torch.int32):
        raise InputError(f"{name} must hold token ids (int64 or int32), not {ids.dtype}")
    if ids.dim() != dimensions:
        shape = tuple(ids.shape)
        raise InputError(f"{name} must have {dimensions} dimension(s), not the shape {shape}")
    if ids.numel() == 0:
        raise InputError(
            f"{name} is empty: its shape is {tuple(ids.shape)}; give at least one token"
        )
    if ids.device.type == "cpu" and not torch.compiler.is_compiling():
        low, high = (int(value) for value in ids.aminmax())
        if low < 0 or high >= vocab_size:
            wrong = low if low < 0 else high
            raise InputError(
                f"{name} holds the id {wrong}, outside the vocabulary of {vocab_size} tokens: "
                f"ids 0 to {vocab_size - 1} are allowed"
            )
