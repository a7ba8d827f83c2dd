"""Watching where the decoder looks: a twin of the network whose cross-attention shows its weights.

The served network uses fused attention, which shows none. The twin shares its tensors, and only
its cross-attention computes step by step; so the weights are those of the served network.

Shapes: B batch, N rows (B × copies), H heads, L queries, T target, S source, A heads chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, cast

import torch
from torch import Tensor

from translucid.model import Transformer, eager
from translucid.model.attention import PLAIN, Kernel
from translucid.model.transformer import share_weights

if TYPE_CHECKING:
    from translucid.model.decoder import DecoderLayer
    from translucid.model.session import DecodingSession


class Head(NamedTuple):
    """A head of the decoder's cross-attention, counted from 0."""

    layer: int
    head: int


@dataclass
class Watch:
    """What some heads of the cross-attention attended to when they were last asked."""

    weights_BLS: dict[Head, Tensor] = field(default_factory=dict)

    def of(self, heads: Sequence[Head]) -> Tensor:
        """Return the mean weights_BLS of some of the heads."""
        return torch.stack([self.weights_BLS[head] for head in heads]).mean(dim=0)


@dataclass(frozen=True)
class _WatchedKernel:
    """Attention step by step that leaves the weights of a layer's heads with a watch.

    `inner` is the kernel that the network had: where that changes the outcome, as one that turns
    heads off does, its outcome goes on.
    """

    watch: Watch
    heads: tuple[Head, ...]
    inner: Kernel

    def __call__(
        self, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMW: Tensor, mask: Tensor | None, dropout: float
    ) -> tuple[Tensor, Tensor]:
        output_BHLW, weights_BHLM = eager(q_BHLK, k_BHMK, v_BHMW, mask, dropout)
        if self.inner not in PLAIN:
            output_BHLW, own_BHLM = self.inner(q_BHLK, k_BHMK, v_BHMW, mask, dropout)
            weights_BHLM = weights_BHLM if own_BHLM is None else own_BHLM
        for head in self.heads:
            self.watch.weights_BLS[head] = weights_BHLM[:, head.head]
        return output_BHLW, weights_BHLM


def watched(model: Transformer, heads: Sequence[Head]) -> tuple[Transformer, Watch]:
    """Return a twin of a network, and where it leaves the weights of these heads."""
    other, watch = share_weights(model), Watch()
    for number, layer in enumerate(cast("list[DecoderLayer]", other.decoder.layers)):
        mine = tuple(head for head in heads if head.layer == number)
        if mine:
            attention = layer.cross_attention
            attention.kernel = _WatchedKernel(watch, mine, attention.kernel)
    return other, watch


class AttendingSession:
    """A decoding session that tells what each row attended to in the newest step.

    It is a search's `AttendingStepper`: `attention_NS` is the mean of the chosen heads; a row of it
    sums to 1, padding has 0.
    """

    attention_NS: Tensor

    def __init__(self, session: DecodingSession, watch: Watch, heads: Sequence[Head]) -> None:
        self._session, self._watch, self._heads = session, watch, heads

    def step(self, last_ids_N: Tensor) -> Tensor:
        """Feed the newest token of every row; return log P(next token) as (N, V)."""
        log_probs_NV = self._session.step(last_ids_N)
        self.attention_NS = self._watch.of(self._heads).flatten(0, 1)
        return log_probs_NV

    def reorder(self, rows_N: Tensor) -> None:
        """Continue with these rows, in this order."""
        self._session.reorder(rows_N)
