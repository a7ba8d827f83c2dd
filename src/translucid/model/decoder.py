"""The decoder: a stack of N identical layers (section 3.1, right half of figure 1).

Shapes: B sources, W copies of each that are decoded side by side (for example beams), N = B × W
rows, S source and T target positions, D d_model, H heads, M keys, K size of a key, U of a value.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from torch import Tensor, nn

from translucid.config import ModelConfig
from translucid.model.attention import MultiHeadAttention
from translucid.model.cache import DecoderCache, LayerCache
from translucid.model.dropout import Dropout
from translucid.model.feed_forward import FeedForward
from translucid.model.masks import additive, causal_mask
from translucid.model.positional import Rotation, make_positions
from translucid.model.residual import AddNorm, final_norm


class CrossMemory(NamedTuple):
    """What a layer's cross-attention reads (section 3.2.3): the source, projected once."""

    keys_BHSK: Tensor
    values_BHSU: Tensor
    mask_B11S: Tensor


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, feed-forward, each with Add & Norm (section 3.1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config)
        self.self_attention_residual = AddNorm(config)
        self.cross_attention = MultiHeadAttention(config)
        self.cross_attention_residual = AddNorm(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = AddNorm(config)

    def forward(
        self,
        x_BTD: Tensor,
        memory: CrossMemory,
        mask: Tensor | None,
        rotation: Rotation | None,
        past: LayerCache | None,
    ) -> Tensor:
        """Attend to the target so far, then to the source, then transform; same shape.

        With a cache, x holds the newest position of each copy of a source, side by side; the keys
        and values of earlier ones come from `past`, which remembers the new ones too.
        """

        def masked_self_attention(y_BTD: Tensor) -> Tensor:
            keys, values = self.self_attention.keys_values(y_BTD, rotation)
            if past is not None:
                keys, values = past.append(keys, values)
            return self.self_attention.attend(y_BTD, keys, values, mask, rotation)

        def cross_attention(y_BTD: Tensor) -> Tensor:
            return self.cross_attention.attend(
                y_BTD, memory.keys_BHSK, memory.values_BHSU, memory.mask_B11S, None
            )

        x_BTD = self.self_attention_residual(x_BTD, masked_self_attention)
        x_BTD = self.cross_attention_residual(x_BTD, cross_attention)
        return self.feed_forward_residual(x_BTD, self.feed_forward)


class Decoder(nn.Module):
    """N layers that read the target so far and the *last* encoder layer's output (section 3.1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.positions = make_positions(config, bidirectional=False)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.norm = final_norm(config)

    def project_memory(self, memory_BSD: Tensor, allowed_B11S: Tensor) -> list[CrossMemory]:
        """Project the encoder's output to each layer's cross-attention keys and values."""
        mask = additive(allowed_B11S, None, memory_BSD.dtype)
        assert mask is not None
        return [
            CrossMemory(*layer.cross_attention.keys_values(memory_BSD, None), mask_B11S=mask)
            for layer in cast("list[DecoderLayer]", self.layers)
        ]

    def forward(self, embedded_BTD: Tensor, memories: list[CrossMemory]) -> Tensor:
        """Turn target embeddings into the states from which tokens are predicted; same shape.

        This is the whole target at once (teacher forcing), each position seeing only those before.
        """
        length = embedded_BTD.size(1)
        x_BTD = self.dropout(self.positions.add_to(embedded_BTD, 0))
        # A single position may see everything: no mask is needed, and none is made.
        allowed = causal_mask(length, length, x_BTD.device) if length > 1 else None
        mask = additive(allowed, self.positions.bias(length, length), x_BTD.dtype)
        rotation = self.positions.rotation(0, length)
        for layer, memory in zip(self.layers, memories, strict=True):
            x_BTD = layer(x_BTD, memory, mask, rotation, None)
        return self.norm(x_BTD)

    def step(
        self, embedded_N1D: Tensor, memories: list[CrossMemory], cache: DecoderCache
    ) -> Tensor:
        """Turn the embedding of every row's newest token into its state_ND (section 3.1).

        All copies of a source attend to the same memory, so they are side by side as queries of one
        row, and the source's keys and values are neither copied nor read twice.
        """
        offset, copies = cache.length, cache.copies
        placed_N1D = self.dropout(self.positions.add_to(embedded_N1D, offset))
        x_BWD = placed_N1D.view(-1, copies, placed_N1D.size(-1))
        mask, bias_H1T = cache.grow_ancestry(), self.positions.bias(1, offset + 1)
        if bias_H1T is not None:
            bias_H1M = bias_H1T.repeat_interleave(copies, dim=2)
            mask = bias_H1M if mask is None else mask + bias_H1M
        rotation = self.positions.rotation(offset, 1)
        for layer, memory, past in zip(self.layers, memories, cache.layers, strict=True):
            x_BWD = layer(x_BWD, memory, mask, rotation, past)
        return self.norm(x_BWD).flatten(0, 1)
