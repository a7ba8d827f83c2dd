"""The encoder: a stack of N identical layers (section 3.1, left half of figure 1).

Shapes: B batch, S source positions, D d_model.
"""

from __future__ import annotations

from torch import Tensor, nn

from translucid.config import ModelConfig
from translucid.model.attention import MultiHeadAttention
from translucid.model.dropout import Dropout
from translucid.model.feed_forward import FeedForward
from translucid.model.masks import additive
from translucid.model.positional import Rotation, make_positions
from translucid.model.residual import AddNorm, final_norm


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, a residual connection around each (section 3.1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config)
        self.self_attention_residual = AddNorm(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = AddNorm(config)

    def forward(self, x_BSD: Tensor, mask: Tensor | None, rotation: Rotation | None) -> Tensor:
        """Let every source position attend to all others, then transform each; same shape."""

        def self_attention(y_BSD: Tensor) -> Tensor:
            keys, values = self.self_attention.keys_values(y_BSD, rotation)
            return self.self_attention.attend(y_BSD, keys, values, mask, rotation)

        x_BSD = self.self_attention_residual(x_BSD, self_attention)
        return self.feed_forward_residual(x_BSD, self.feed_forward)


class Encoder(nn.Module):
    """N layers over embedded tokens; the last one's output is the memory (section 3.1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.positions = make_positions(config, bidirectional=True)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.norm = final_norm(config)

    def forward(self, embedded_BSD: Tensor, allowed_B11S: Tensor) -> Tensor:
        """Turn embeddings into representations memory_BSD; padding is never attended to."""
        length = embedded_BSD.size(1)
        x_BSD = self.dropout(self.positions.add_to(embedded_BSD, offset=0))
        rotation = self.positions.rotation(0, length)
        mask = additive(allowed_B11S, self.positions.bias(length, length), x_BSD.dtype)
        for layer in self.layers:
            x_BSD = layer(x_BSD, mask, rotation)
        return self.norm(x_BSD)
