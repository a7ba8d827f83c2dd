"""The decoder: a stack of N identical layers (section 3.1, right half of figure 1).

Shapes: B batch of sources, N rows (B × copies, for example the beams of each source; N = B when
training), S source positions, T target positions, D d_model, H heads, K and W sizes of a head.
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
    values_BHSW: Tensor
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
        x_NTD: Tensor,
        memory: CrossMemory,
        mask: Tensor | None,
        rotation: Rotation | None,
        past: LayerCache | None,
    ) -> Tensor:
        """Attend to the target so far, then to the source, then transform; same shape.

        With a cache, x holds only the newest positions; the keys and values of earlier ones come
        from `past`, which remembers the new ones too.
        """

        def masked_self_attention(y_NTD: Tensor) -> Tensor:
            keys, values = self.self_attention.keys_values(y_NTD, rotation)
            if past is not None:
                keys, values = past.append(keys, values)
            return self.self_attention.attend(y_NTD, keys, values, mask, rotation)

        def cross_attention(y_NTD: Tensor) -> Tensor:
            # All copies of a source ask the same keys, so they stand side by side as queries of
            # one row, and the source's keys and values are neither copied nor read twice.
            y_BLD = y_NTD.reshape(memory.keys_BHSK.size(0), -1, y_NTD.size(-1))
            out_BLD = self.cross_attention.attend(
                y_BLD, memory.keys_BHSK, memory.values_BHSW, memory.mask_B11S, None
            )
            return out_BLD.view_as(y_NTD)

        x_NTD = self.self_attention_residual(x_NTD, masked_self_attention)
        x_NTD = self.cross_attention_residual(x_NTD, cross_attention)
        return self.feed_forward_residual(x_NTD, self.feed_forward)


class Decoder(nn.Module):
    """N layers that read the target so far and the *last* encoder layer's output (section 3.1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.positions = make_positions(config, both_ways=False)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.norm = final_norm(config)

    def read(self, memory_BSD: Tensor, allowed_B11S: Tensor) -> list[CrossMemory]:
        """Project the encoder's output to each layer's cross-attention keys and values."""
        mask = additive(allowed_B11S, None, memory_BSD.dtype)
        assert mask is not None
        return [
            CrossMemory(*layer.cross_attention.keys_values(memory_BSD, None), mask_B11S=mask)
            for layer in cast("list[DecoderLayer]", self.layers)
        ]

    def forward(
        self, embedded_NTD: Tensor, memories: list[CrossMemory], cache: DecoderCache | None
    ) -> Tensor:
        """Turn target embeddings into the states from which tokens are predicted; same shape.

        Without a cache this is the whole target at once (teacher forcing), each position seeing
        only those before it. With one, it is the newest positions of a target under way.
        """
        queries = embedded_NTD.size(1)
        offset = 0 if cache is None else cache.length
        x_NTD = self.dropout(self.positions.add_to(embedded_NTD, offset))
        rotation = self.positions.rotation(offset, queries)
        keys = offset + queries
        # A single newest position may see everything: no mask is needed, and none is made.
        allowed = causal_mask(queries, keys, x_NTD.device) if queries > 1 else None
        mask = additive(allowed, self.positions.bias(queries, keys), x_NTD.dtype)
        for index, (layer, memory) in enumerate(zip(self.layers, memories, strict=True)):
            past = None if cache is None else cache.layers[index]
            x_NTD = layer(x_NTD, memory, mask, rotation, past)
        return self.norm(x_NTD)
