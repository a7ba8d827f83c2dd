"""A network that translates, alone or as a member of an ensemble, and a copy that shows attention.

The served network uses fused attention, which does not show its weights. The copy shares all
tensors, and only its cross-attention is computed step by step: so the weights are those of the
served network.

Shapes: B batch, S source, T target, N rows (B × copies), V vocabulary, H heads, L queries.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, cast

import torch
from torch import Tensor

from translucid.decoding.stepper import Stepper
from translucid.model import Transformer, eager
from translucid.model.attention import EQUATION_1_KERNELS, Kernel
from translucid.model.transformer import share_weights
from translucid.text.tokenizer import PAD

if TYPE_CHECKING:
    from translucid.model.decoder import DecoderLayer
    from translucid.model.session import DecodingSession
    from translucid.translator.alignment import AlignmentHeads


@dataclass(frozen=True)
class Member:
    """A network, and its heads that align best."""

    model: Transformer
    heads: AlignmentHeads
    _copies: threading.local = field(default_factory=threading.local, compare=False, repr=False)

    @property
    def device(self) -> torch.device:
        """Where the network computes."""
        return next(self.model.parameters()).device

    @property
    def positions(self) -> int:
        """The most tokens that the network can read or write at once."""
        config = self.model.config
        return config.max_positions if config.positions == "learned" else sys.maxsize

    def attending_copy(self) -> tuple[Transformer, CrossAttentionRecord]:
        """Return a weight-sharing copy that records the attention of those heads, one per thread.

        Making it takes about as long as one step of the search.
        """
        if not hasattr(self._copies, "copy"):
            self._copies.copy = record_cross_attention(self.model, self.heads.chosen)
        copy: tuple[Transformer, CrossAttentionRecord] = self._copies.copy
        return copy

    def start(self, sources: Sequence[Sequence[int]], *, copies: int, attending: bool) -> Stepper:
        """Return a decoding session of sources, with `attention_NS` if it is `attending`."""
        source_BS = pad(sources, self.device)
        if not attending:
            return self.model.start(source_BS, copies)
        model, record = self.attending_copy()
        return AttendingSession(model.start(source_BS, copies), record, self.heads.chosen)


def pad(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return rows of different lengths as one tensor, padded on the right."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows], device=device)


class Head(NamedTuple):
    """A head of the decoder's cross-attention, counted from 0."""

    layer: int
    head: int


@dataclass
class CrossAttentionRecord:
    """What heads of the cross-attention attended to in the newest pass."""

    weights_BLS: dict[Head, Tensor] = field(default_factory=dict)

    def mean(self, heads: Sequence[Head]) -> Tensor:
        """Return the mean weights_BLS of some heads."""
        return torch.stack([self.weights_BLS[head] for head in heads]).mean(dim=0)


def attend_with_weights(
    kernel: Kernel,
    q_BHLK: Tensor,
    k_BHMK: Tensor,
    v_BHMU: Tensor,
    mask: Tensor | None,
    dropout: float,
) -> tuple[Tensor, Tensor]:
    """Return a kernel's output and weights; those of equation 1 if it does not show its own."""
    output_BHLU, weights_BHLM = eager(q_BHLK, k_BHMK, v_BHMU, mask, dropout)
    if kernel not in EQUATION_1_KERNELS:
        output_BHLU, own_BHLM = kernel(q_BHLK, k_BHMK, v_BHMU, mask, dropout)
        weights_BHLM = weights_BHLM if own_BHLM is None else own_BHLM
    return output_BHLU, weights_BHLM


@dataclass(frozen=True)
class _RecordingKernel:
    """Attention by the kernel `inner` that stores the weights of a layer's heads in a record."""

    record: CrossAttentionRecord
    heads: tuple[Head, ...]
    inner: Kernel

    def __call__(
        self, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMU: Tensor, mask: Tensor | None, dropout: float
    ) -> tuple[Tensor, Tensor]:
        output_BHLU, weights_BHLM = attend_with_weights(
            self.inner, q_BHLK, k_BHMK, v_BHMU, mask, dropout
        )
        for head in self.heads:
            self.record.weights_BLS[head] = weights_BHLM[:, head.head]
        return output_BHLU, weights_BHLM


def record_cross_attention(
    model: Transformer, heads: Sequence[Head]
) -> tuple[Transformer, CrossAttentionRecord]:
    """Return a weight-sharing copy of a network, and the record of what these heads attend to."""
    copy, record = share_weights(model), CrossAttentionRecord()
    for number, layer in enumerate(cast("list[DecoderLayer]", copy.decoder.layers)):
        mine = tuple(head for head in heads if head.layer == number)
        if mine:
            attention = layer.cross_attention
            attention.kernel = _RecordingKernel(record, mine, attention.kernel)
    return copy, record


class AttendingSession:
    """A decoding session that shows what each row attended to in the newest step.

    It is an `AttendingStepper`: `attention_NS` is the mean of the chosen heads; each row sums to 1,
    padding has 0.
    """

    attention_NS: Tensor

    def __init__(
        self, session: DecodingSession, record: CrossAttentionRecord, heads: Sequence[Head]
    ) -> None:
        self._session, self._record, self._heads = session, record, heads

    def step(self, last_ids_N: Tensor) -> Tensor:
        """Feed the newest token of every row; return log P(next token) as (N, V)."""
        log_probs_NV = self._session.step(last_ids_N)
        self.attention_NS = self._record.mean(self._heads).flatten(0, 1)
        return log_probs_NV

    def reorder(self, rows_N: Tensor) -> None:
        """Continue with these rows, in this order."""
        self._session.reorder(rows_N)
