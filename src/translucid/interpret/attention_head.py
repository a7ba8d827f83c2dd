"""Heads by name: which of the three attentions, which layer, which head.

::

    encoder 2.1     self-attention of the encoder, layer 2, head 1, both counted from 0
    decoder 0.3     masked self-attention of the decoder
    cross 3.0       attention of the decoder to the encoder's output
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, cast, get_args

from translucid.config import ModelConfig
from translucid.errors import InputError
from translucid.interpret.trace import Side
from translucid.model import MultiHeadAttention, Transformer
from translucid.model.decoder import DecoderLayer
from translucid.model.encoder import EncoderLayer

SIDES: tuple[Side, ...] = get_args(Side)


class AttentionHead(NamedTuple):
    """One head of one of the three attentions, layer and head counted from 0."""

    side: Side
    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.side} {self.layer}.{self.head}"


def layers_of(config: ModelConfig, side: Side) -> int:
    """Return how many layers have this attention."""
    return config.encoder_layers if side == "encoder" else config.decoder_layers


def heads_of(config: ModelConfig) -> tuple[AttentionHead, ...]:
    """Return all heads of a network: encoder, decoder, cross, each from its first layer on."""
    return tuple(
        AttentionHead(side, layer, head)
        for side in SIDES
        for layer in range(layers_of(config, side))
        for head in range(config.heads)
    )


def attentions(model: Transformer) -> Iterator[tuple[Side, int, MultiHeadAttention]]:
    """Yield every attention of a network with its name and layer."""
    for number, below in enumerate(cast("list[EncoderLayer]", model.encoder.layers)):
        yield "encoder", number, below.self_attention
    for number, layer in enumerate(cast("list[DecoderLayer]", model.decoder.layers)):
        yield "decoder", number, layer.self_attention
        yield "cross", number, layer.cross_attention


def checked_heads(heads: Iterable[AttentionHead], config: ModelConfig) -> tuple[AttentionHead, ...]:
    """Return the heads, each once; refuse those that the network does not have."""
    asked = tuple(dict.fromkeys(AttentionHead(*head) for head in heads))
    known = set(heads_of(config))
    if wrong := [head for head in asked if head not in known]:
        raise InputError(
            f"no such head: {', '.join(map(str, wrong))}. The network has {config.encoder_layers} "
            f"encoder and {config.decoder_layers} decoder layers of {config.heads} heads, counted "
            f"from 0; attentions are {', '.join(SIDES)}"
        )
    return asked
