"""Attention rollout: how much of each input is in each position after all layers.

Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers". A layer mixes positions by its
attention, and the residual connection keeps what was there; rollout takes both for equally strong
and heads for alike, and multiplies the mixtures of all layers::

    mix = (mean of the heads + identity) / 2          R = mix_N · … · mix_2 · mix_1

The decoder takes from two sides, so both are carried along: what comes from the source's tokens
and what comes from the target's. Rows of the two together sum to 1. It is a simplification: values,
W^O and feed-forward layers are left out. Because every layer is taken to give half of itself to the
source, the source's share is 1 - 2^-N whatever the network does; only the division among tokens
tells something.

Shapes: S source, T target, L = M positions of one side, H heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from translucid.interpret.trace import Side, Trace


class DecoderRollout(NamedTuple):
    """What each decoder position is made of; rows of the two together sum to 1."""

    source_TS: Tensor
    target_TT: Tensor


def attention_rollout(trace: Trace, side: Side) -> Tensor:
    """Return how much of each input is in each position after the last layer; rows sum to 1.

    `encoder`: source in source (S, S). `decoder`: target in target (T, T), by self-attention alone.
    `cross`: source in target (T, S), through decoder, cross-attention and encoder.
    """
    if side != "cross":
        return stack_rollout(_mean_heads(trace, side))
    source_TS = decoder_rollout(trace).source_TS
    return source_TS / source_TS.sum(dim=-1, keepdim=True)


def decoder_rollout(trace: Trace) -> DecoderRollout:
    """Return what of source and target is in each decoder position after the last layer."""
    return two_sided_rollout(
        stack_rollout(_mean_heads(trace, "encoder")),
        _mean_heads(trace, "decoder"),
        _mean_heads(trace, "cross"),
    )


def stack_rollout(layers: Sequence[Tensor]) -> Tensor:
    """Return the rollout of a stack of self-attention, given each layer's weights_LM."""
    identity_LM = torch.eye(layers[0].size(0), dtype=layers[0].dtype)
    rolled_LM = identity_LM
    for weights_LM in layers:
        rolled_LM = (weights_LM + identity_LM) / 2 @ rolled_LM
    return rolled_LM


def two_sided_rollout(
    memory_SS: Tensor, decoder: Sequence[Tensor], cross: Sequence[Tensor]
) -> DecoderRollout:
    """Return the rollout of a decoder, given the encoder's and each layer's two attentions."""
    target_TT = torch.eye(decoder[0].size(0), dtype=memory_SS.dtype)
    identity_TT = target_TT
    source_TS = torch.zeros(decoder[0].size(0), memory_SS.size(0), dtype=memory_SS.dtype)
    for self_TT, cross_TS in zip(decoder, cross, strict=True):
        mix_TT = (self_TT + identity_TT) / 2
        source_TS = (mix_TT @ source_TS + cross_TS @ memory_SS) / 2
        target_TT = mix_TT @ target_TT / 2
    return DecoderRollout(source_TS, target_TT)


def _mean_heads(trace: Trace, side: Side) -> list[Tensor]:
    """Return the weights of each layer, averaged over its heads, exact to float64."""
    config = trace.model
    layers = config.encoder_layers if side == "encoder" else config.decoder_layers
    return [trace.attention(side, layer).double().mean(dim=0) for layer in range(layers)]
