"""Attribution: how much each source token contributes to the probability of a translation.

Attention shows where a network looks; the first two methods measure what changes.

* Occlusion: set the embedding of a source token to zero. How much does log P of each written token
  drop?
* Integrated gradients (Sundararajan et al. 2017): scale all embeddings from zero to their value and
  integrate the gradient along this path. The attributions sum to the whole difference, log P with
  the source minus log P with a source of zeros (completeness).

* Attention rollout (Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers"): how much
  of each input is in each position after all layers. A layer mixes positions by its attention, and
  the residual connection keeps what was there; rollout takes both for equally strong and heads for
  alike, and multiplies the mixtures of all layers::

      mix = (mean of the heads + identity) / 2          R = mix_N · … · mix_2 · mix_1

In the first two, the positional encodings stay as they are. In rollout, the decoder takes from two
sides, so both are carried along: what comes from the source's tokens and what comes from the
target's. Rows of the two together sum to 1. It is a simplification: values, W^O and feed-forward
layers are left out. Because every layer is taken to give half of itself to the source, the source's
share is 1 - 2^-N whatever the network does; only the division among tokens tells something.

Shapes: B batch, S source, T target, L = M positions of one side, H heads, D d_model, V vocabulary,
N values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from translucid.errors import InputError
from translucid.interpret.decision import Contrast
from translucid.interpret.network import single_network
from translucid.interpret.trace import Side, Trace
from translucid.model import Transformer
from translucid.model.masks import padding_mask
from translucid.translator import Translator

TOLERANCE = 0.01  # largest relative error of completeness
MAX_POINTS = 512  # at which gradients are computed
_MIN_POINTS = 16
_POINTS = 8  # per interval of the path
_MIN_DIFFERENCE = 0.1  # nats; errors are relative to at least this
_MAX_LOGITS = 1 << 24  # of one batch


@dataclass(frozen=True)
class Attribution:
    """The contribution of source token s to log P of the token written in step t, in nats (T, S).

    A negative one makes the written token less probable.
    """

    method: str
    values_TS: Tensor


@dataclass(frozen=True)
class IntegratedGradients(Attribution):
    """Attribution whose rows sum to `differences_T`, up to `error`.

    `error` is the largest error of a row, relative to its difference (or to 0.1 nats where that is
    less); `points` is the number of points at which gradients were computed.
    """

    differences_T: Tensor
    error: float
    points: int


@torch.inference_mode()
def occlusion(
    translator: Translator, trace: Trace, contrast: Contrast | None = None
) -> Attribution:
    """Return how much log P of each written token drops without each source token.

    With a `contrast` there is one row: how much its margin drops.
    """
    sentence = _Sentence.of(single_network(translator), trace, contrast)
    length = sentence.source_1S.size(1)
    whole_SD = sentence.embedded_SD
    without = torch.ones(length, length, device=whole_SD.device).fill_diagonal_(0)
    log_probs = [
        sentence.log_probs(keep_BS[:, :, None] * whole_SD)
        for keep_BS in torch.split(without, sentence.batch_size)
    ]
    values_ST = sentence.log_probs(whole_SD[None]) - torch.cat(log_probs)
    return Attribution("occlusion", values_ST.T.cpu())


def integrated_gradients(
    translator: Translator,
    trace: Trace,
    contrast: Contrast | None = None,
    *,
    tolerance: float = TOLERANCE,
    max_points: int = MAX_POINTS,
) -> IntegratedGradients:
    """Return the contribution of each source token to log P of each written token.

    With a `contrast` there is one row: the contribution to its margin.

    Completeness holds on every interval of the path, so intervals with a large error are halved
    until the total error is at most `tolerance`, or `max_points` is reached; `error` of the result
    is what was achieved. Without added positions (rotary, relative, none) nearly everything happens
    close to zero, because LayerNorm makes small embeddings large.
    """
    if tolerance <= 0 or max_points < _MIN_POINTS:
        raise InputError(
            f"tolerance = {tolerance}, max_points = {max_points}: tolerance must be above 0, and "
            f"at least {_MIN_POINTS} points are needed"
        )
    with torch.inference_mode(False), torch.enable_grad():
        sentence = _Sentence.of(single_network(translator), trace, contrast)
        path = _integrate(sentence, [(0.0, 0.5), (0.5, 1.0)])
        while (error := _total_error(path)) > tolerance and _POINTS * (len(path) + 1) <= max_points:
            worst = _worst_intervals(path, tolerance, max_points // _POINTS - len(path))
            halves = [half for interval in worst for half in interval.halves]
            path = [one for one in path if one not in worst] + _integrate(sentence, halves)
    return IntegratedGradients(
        "integrated gradients",
        values_TS=torch.stack([interval.values_TS for interval in path]).sum(dim=0).cpu(),
        differences_T=_total_difference(path).cpu(),
        error=error,
        points=_POINTS * len(path),
    )


# ---- beside attention ---------------------------------------------------------------------------


def compare_attributions(
    trace: Trace, attributions: Sequence[Attribution]
) -> dict[tuple[str, str], RankCorrelation]:
    """Return the rank correlation of every pair of: attention, rollout, and the attributions.

    Attention is that of the alignment heads. Attributions count by their absolute value.
    """
    named = {
        "attention": alignment_attention(trace),
        "rollout": attention_rollout(trace, "cross"),
        **{one.method: one.values_TS.abs() for one in attributions},
    }
    names = list(named)
    return {
        (first, second): correlate_rows(named[first], named[second])
        for index, first in enumerate(names)
        for second in names[index + 1 :]
    }


def alignment_attention(trace: Trace) -> Tensor:
    """Return the mean attention of the alignment heads for the token written in each step, (T, S).

    Where the row that reads a token shows its alignment, the last token has no row: zeros.
    """
    heads = [trace.attention("cross", layer)[head] for layer, head in trace.alignment_heads]
    mean_TS = torch.stack(heads).mean(dim=0)
    if trace.alignment_row == "predicts":
        return mean_TS
    return torch.cat([mean_TS[1:], torch.zeros_like(mean_TS[:1])])


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rank correlation of two matrices, row by row, from -1 to 1.

    It is None where a row of one of them is constant.
    """

    rows: tuple[float | None, ...]

    @property
    def mean(self) -> float | None:
        """The mean over the rows that have a correlation."""
        known = [value for value in self.rows if value is not None]
        return math.fsum(known) / len(known) if known else None


def correlate_rows(first_TS: Tensor, second_TS: Tensor) -> RankCorrelation:
    """Return the rank correlation of two matrices, row by row."""
    if first_TS.shape != second_TS.shape or first_TS.dim() != 2:
        raise InputError(
            f"matrices of the shapes {tuple(first_TS.shape)} and {tuple(second_TS.shape)} cannot "
            "be compared: give two of the same rows and columns"
        )
    return RankCorrelation(tuple(map(spearman, first_TS, second_TS)))


def spearman(first_N: Tensor, second_N: Tensor) -> float | None:
    """Return Spearman's rank correlation, or None where one of the two is constant."""
    ranks = torch.stack([rank_values(first_N), rank_values(second_N)])
    centred = ranks - ranks.mean(dim=1, keepdim=True)
    spread = centred.square().sum(dim=1).prod().sqrt()
    return float(centred.prod(dim=0).sum() / spread) if spread > 0 else None


def rank_values(values_N: Tensor) -> Tensor:
    """Return the rank of each value from 1, the least first; equal values share their mean rank.

    >>> rank_values(torch.tensor([5.0, 1.0, 5.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    below_N = (values_N[None, :] < values_N[:, None]).sum(dim=1)
    equal_N = (values_N[None, :] == values_N[:, None]).sum(dim=1)
    return below_N + (equal_N + 1).double() / 2


# ---- log P as a function of the source's embeddings ---------------------------------------------


@dataclass(frozen=True)
class _Sentence:
    """The sentence of a trace as a function of the embeddings of its source."""

    model: Transformer
    source_1S: Tensor
    target_1T: Tensor
    written_1T: Tensor
    embedded_SD: Tensor
    contrast: Contrast | None

    @classmethod
    def of(cls, model: Transformer, trace: Trace, contrast: Contrast | None) -> _Sentence:
        device = model.output_projection.weight.device

        def ids(tokens: Sequence[int]) -> Tensor:
            return torch.tensor([list(tokens)], device=device)

        source_1S = ids([token.id for token in trace.source_tokens])
        return cls(
            model,
            source_1S,
            ids([token.id for token in trace.target_tokens]),
            ids([step.token.id for step in trace.steps]),
            model.source_embedding(source_1S)[0].detach(),
            contrast,
        )

    @property
    def batch_size(self) -> int:
        """The number of sources to compute at once."""
        logits = self.target_1T.size(1) * self.model.config.target_vocab_size
        return max(1, _MAX_LOGITS // logits)

    def scaled(self, factors_B: Tensor) -> Tensor:
        """Return the embeddings times each factor, (B, S, D)."""
        return factors_B.to(self.embedded_SD)[:, None, None] * self.embedded_SD

    def log_probs(self, embedded_BSD: Tensor) -> Tensor:
        """Return log P of each written token, given embeddings of the source, (B, T).

        With a contrast it is the margin, (B, 1).
        """
        rows = embedded_BSD.size(0)
        source_BS = self.source_1S.expand(rows, -1)
        target_BT = self.target_1T.expand(rows, -1)
        allowed_B11S = padding_mask(source_BS, self.model.config.padding_id)
        memory_BSD = self.model.encoder(embedded_BSD, allowed_B11S)
        logits_BTV = self.model.decode(target_BT, memory_BSD, source_BS)
        if self.contrast is not None:
            step, first, second = self.contrast
            return logits_BTV[:, step, [first]] - logits_BTV[:, step, [second]]
        written_BT1 = self.written_1T.expand(rows, -1)[..., None]
        return logits_BTV.log_softmax(dim=-1).gather(2, written_BT1)[..., 0]


# ---- the integral -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Interval:
    """A part of the path, its attributions, and the difference that they should sum to.

    `begin` and `end` are factors of the embeddings, from 0 to 1.
    """

    begin: float
    end: float
    values_TS: Tensor
    difference_T: Tensor

    @property
    def error(self) -> Tensor:
        """The error of completeness, (T,)."""
        return self.values_TS.sum(dim=1) - self.difference_T

    @property
    def halves(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The limits of its two halves."""
        middle = (self.begin + self.end) / 2
        return (self.begin, middle), (middle, self.end)


def _integrate(sentence: _Sentence, limits: Sequence[tuple[float, float]]) -> list[_Interval]:
    """Return embedding · ∫ ∂ log P / ∂ embedding over intervals, by Gauss-Legendre quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    points_B = torch.tensor([a + (b - a) * (x + 1) / 2 for a, b in limits for x in nodes])
    weights_B = torch.tensor([(b - a) * weight / 2 for a, b in limits for weight in weights])
    ends_B = torch.tensor([end for interval in limits for end in interval])
    batch = sentence.batch_size
    slopes_BTS = torch.cat([_slopes(sentence, some_B) for some_B in torch.split(points_B, batch)])
    weighted_BTS = slopes_BTS * weights_B.to(slopes_BTS)[:, None, None]
    with torch.no_grad():
        log_probs_BT = torch.cat(
            [sentence.log_probs(sentence.scaled(some_B)) for some_B in torch.split(ends_B, batch)]
        ).double()
    return [
        _Interval(
            a,
            b,
            values_TS=weighted_BTS[n * _POINTS :][:_POINTS].sum(dim=0),
            difference_T=log_probs_BT[2 * n + 1] - log_probs_BT[2 * n],
        )
        for n, (a, b) in enumerate(limits)
    ]


def _slopes(sentence: _Sentence, points_B: Tensor) -> Tensor:
    """Return embedding · ∂ log P / ∂ embedding at some points of the path, (B, T, S)."""
    scaled_BSD = sentence.scaled(points_B).requires_grad_()
    log_probs_T = sentence.log_probs(scaled_BSD).sum(dim=0)
    slopes = []
    for step, log_prob in enumerate(log_probs_T, start=1):
        again = step < len(log_probs_T)
        (slope_BSD,) = torch.autograd.grad(log_prob, scaled_BSD, retain_graph=again)
        slopes.append((slope_BSD * sentence.embedded_SD).sum(dim=2))
    return torch.stack(slopes, dim=1).double()


def _worst_intervals(path: Sequence[_Interval], tolerance: float, most: int) -> list[_Interval]:
    """Return the intervals with more than their share of the error, at least the worst one."""
    scale_T = _total_difference(path).abs().clamp(min=_MIN_DIFFERENCE)
    errors = [float((interval.error.abs() / scale_T).max()) for interval in path]
    order = sorted(range(len(path)), key=lambda number: -errors[number])
    too_large = [number for number in order if errors[number] > tolerance / len(path)]
    return [path[number] for number in (too_large or order[:1])[:most]]


def _total_difference(path: Sequence[_Interval]) -> Tensor:
    return torch.stack([interval.difference_T for interval in path]).sum(dim=0)


def _total_error(path: Sequence[_Interval]) -> float:
    """Return the error of the worst step, relative to its difference."""
    error_T = torch.stack([interval.error for interval in path]).sum(dim=0).abs()
    return float((error_T / _total_difference(path).abs().clamp(min=_MIN_DIFFERENCE)).max())


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
