"""Which source tokens a translation owes its probability to, measured and not looked at.

Attention shows where a network looks; these two tell what changes when it cannot see.

* Occlusion: a source token's embedding is put to zero, and log P of each written token sinks.
* Integrated gradients (Sundararajan et al. 2017): all embeddings grow from zero to what they are,
  and the gradient on the way is summed up. What the tokens get sums to the whole difference, log P
  with the source less log P with a source of zeros (completeness).

In both, positions stay: a token without an embedding is a place that holds nothing.

Shapes: B batch, S source, T target, D d_model, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from translucid.errors import InputError
from translucid.interpret.network import network_of
from translucid.interpret.rollout import attention_rollout
from translucid.interpret.trace import Trace
from translucid.model import Transformer
from translucid.model.masks import padding_mask
from translucid.translator import Translator

TOLERANCE = 0.01  # how far integrated gradients may miss completeness
MOST_POINTS = 512  # of the way from zero
_FEWEST_POINTS = 16
_PANEL = 8  # points of one part of the way
_SMALLEST = 0.1  # nats; a miss is measured against at least so much
_NUMBERS_AT_A_TIME = 1 << 24  # of logits


@dataclass(frozen=True)
class Attribution:
    """What source token s gives log P of the token written in step t, in nats (T, S).

    Below 0 the token was less probable for it.
    """

    method: str
    values_TS: Tensor


@dataclass(frozen=True)
class IntegratedGradients(Attribution):
    """Attribution that is complete: a row sums to `differences_T`, but for `error`.

    `error` is the largest miss of a row, relative to its difference (or to 0.1 nats where that is
    less); `points` is how many points of the way were needed.
    """

    differences_T: Tensor
    error: float
    points: int


@torch.inference_mode()
def occlusion(translator: Translator, trace: Trace) -> Attribution:
    """Return how much log P of each written token sinks when each source token is not seen."""
    seen = _Sentence.of(network_of(translator), trace)
    length = seen.source_1S.size(1)
    whole_SD = seen.embedded_SD
    without = torch.ones(length, length, device=whole_SD.device).fill_diagonal_(0)
    log_probs = [
        seen.log_probs(keep_BS[:, :, None] * whole_SD)
        for keep_BS in torch.split(without, seen.rows)
    ]
    values_ST = seen.log_probs(whole_SD[None]) - torch.cat(log_probs)
    return Attribution("occlusion", values_ST.T.cpu())


def integrated_gradients(
    translator: Translator,
    trace: Trace,
    *,
    tolerance: float = TOLERANCE,
    most_points: int = MOST_POINTS,
) -> IntegratedGradients:
    """Return what each source token gives log P of each written token, summing to the whole.

    Completeness holds for every part of the way, so the parts that miss it are divided, until the
    whole misses no more than `tolerance`, or `most_points` is reached; `error` of the result says
    what was reached. Without added positions (rotary, relative, none) nearly all
    happens close to zero, because LayerNorm makes small embeddings large.
    """
    if tolerance <= 0 or most_points < _FEWEST_POINTS:
        raise InputError(
            f"tolerance = {tolerance}, most_points = {most_points}: tolerance must be above 0, and "
            f"at least {_FEWEST_POINTS} points are needed"
        )
    with torch.inference_mode(False), torch.enable_grad():
        seen = _Sentence.of(network_of(translator), trace)
        way = _panels(seen, [(0.0, 0.5), (0.5, 1.0)])
        while (error := _miss(way)) > tolerance and _PANEL * (len(way) + 1) <= most_points:
            divided = _worst(way, tolerance, most_points // _PANEL - len(way))
            halves = [half for panel in divided for half in panel.halves]
            way = [panel for panel in way if panel not in divided] + _panels(seen, halves)
    return IntegratedGradients(
        "integrated gradients",
        values_TS=torch.stack([panel.values_TS for panel in way]).sum(dim=0).cpu(),
        differences_T=_differences(way).cpu(),
        error=error,
        points=_PANEL * len(way),
    )


def compared(trace: Trace, attributions: Sequence[Attribution]) -> dict[tuple[str, str], Agreement]:
    """Return the rank correlation of every two of: attention, rollout, and the attributions.

    Attention is that of the heads that align words, where they looked for each written token. Of
    attributions it counts how large they are, for or against.
    """
    named = {
        "attention": alignment_attention(trace),
        "rollout": attention_rollout(trace, "cross"),
        **{one.method: one.values_TS.abs() for one in attributions},
    }
    names = list(named)
    return {
        (first, second): agreement(named[first], named[second])
        for place, first in enumerate(names)
        for second in names[place + 1 :]
    }


def alignment_attention(trace: Trace) -> Tensor:
    """Return where the heads that align words looked for the token written in each step, (T, S).

    It is their mean. Heads that look for a token in the row that reads it look nowhere for the last
    one, which no row reads: zeros.
    """
    heads = [trace.attention("cross", layer)[head] for layer, head in trace.alignment_heads]
    mean_TS = torch.stack(heads).mean(dim=0)
    if trace.alignment_row == "predicts":
        return mean_TS
    return torch.cat([mean_TS[1:], torch.zeros_like(mean_TS[:1])])


@dataclass(frozen=True)
class _Sentence:
    """The sentence of a trace as a function of the embeddings of its source."""

    model: Transformer
    source_1S: Tensor
    target_1T: Tensor
    written_1T: Tensor
    embedded_SD: Tensor

    @classmethod
    def of(cls, model: Transformer, trace: Trace) -> _Sentence:
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
        )

    @property
    def rows(self) -> int:
        """How many sources are computed at once."""
        one = self.target_1T.size(1) * self.model.config.target_vocab_size
        return max(1, _NUMBERS_AT_A_TIME // one)

    def scaled(self, shares_B: Tensor) -> Tensor:
        """Return shares of the embeddings, (B, S, D)."""
        return shares_B.to(self.embedded_SD)[:, None, None] * self.embedded_SD

    def log_probs(self, embedded_BSD: Tensor) -> Tensor:
        """Return log P of each written token, given embeddings of the source, (B, T)."""
        rows = embedded_BSD.size(0)
        source_BS = self.source_1S.expand(rows, -1)
        target_BT = self.target_1T.expand(rows, -1)
        allowed_B11S = padding_mask(source_BS, self.model.config.padding_id)
        memory_BSD = self.model.encoder(embedded_BSD, allowed_B11S)
        logits_BTV = self.model.decode(target_BT, memory_BSD, source_BS)
        written_BT1 = self.written_1T.expand(rows, -1)[..., None]
        return logits_BTV.log_softmax(dim=-1).gather(2, written_BT1)[..., 0]


@dataclass(frozen=True, eq=False)
class _Panel:
    """A part of the way: what it gives the tokens, and the difference that it should give.

    `begin` and `end` are shares of the embeddings, from 0 to 1.
    """

    begin: float
    end: float
    values_TS: Tensor
    difference_T: Tensor

    @property
    def miss(self) -> Tensor:
        """By how much the tokens together get too much or too little."""
        return self.values_TS.sum(dim=1) - self.difference_T

    @property
    def halves(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The beginnings and ends of its two halves."""
        middle = (self.begin + self.end) / 2
        return (self.begin, middle), (middle, self.end)


def _panels(seen: _Sentence, parts: Sequence[tuple[float, float]]) -> list[_Panel]:
    """Return embedding · ∫ ∂ log P / ∂ embedding over parts of the way, by Gauss and Legendre."""
    points, weights = np.polynomial.legendre.leggauss(_PANEL)
    places_B = torch.tensor([a + (b - a) * (x + 1) / 2 for a, b in parts for x in points])
    weights_B = torch.tensor([(b - a) * weight / 2 for a, b in parts for weight in weights])
    ends_B = torch.tensor([end for part in parts for end in part])
    slopes_BTS = torch.cat([_slopes(seen, some_B) for some_B in torch.split(places_B, seen.rows)])
    weighted_BTS = slopes_BTS * weights_B.to(slopes_BTS)[:, None, None]
    with torch.no_grad():
        log_probs_BT = torch.cat(
            [seen.log_probs(seen.scaled(some_B)) for some_B in torch.split(ends_B, seen.rows)]
        ).double()
    return [
        _Panel(
            a,
            b,
            values_TS=weighted_BTS[n * _PANEL :][:_PANEL].sum(dim=0),
            difference_T=log_probs_BT[2 * n + 1] - log_probs_BT[2 * n],
        )
        for n, (a, b) in enumerate(parts)
    ]


def _slopes(seen: _Sentence, places_B: Tensor) -> Tensor:
    """Return embedding · ∂ log P / ∂ embedding at some places of the way, (B, T, S)."""
    scaled_BSD = seen.scaled(places_B).requires_grad_()
    log_probs_T = seen.log_probs(scaled_BSD).sum(dim=0)
    slopes = []
    for step, log_prob in enumerate(log_probs_T, start=1):
        again = step < len(log_probs_T)
        (slope_BSD,) = torch.autograd.grad(log_prob, scaled_BSD, retain_graph=again)
        slopes.append((slope_BSD * seen.embedded_SD).sum(dim=2))
    return torch.stack(slopes, dim=1).double()


def _worst(way: Sequence[_Panel], tolerance: float, most: int) -> list[_Panel]:
    """Return the parts of the way that miss more than their share, at least the worst one."""
    scale_T = _differences(way).abs().clamp(min=_SMALLEST)
    misses = [float((panel.miss.abs() / scale_T).max()) for panel in way]
    order = sorted(range(len(way)), key=lambda number: -misses[number])
    too_much = [number for number in order if misses[number] > tolerance / len(way)]
    return [way[number] for number in (too_much or order[:1])[:most]]


def _differences(way: Sequence[_Panel]) -> Tensor:
    return torch.stack([panel.difference_T for panel in way]).sum(dim=0)


def _miss(way: Sequence[_Panel]) -> float:
    """Return by how much the worst step misses its difference, relative to it."""
    miss_T = torch.stack([panel.miss for panel in way]).sum(dim=0).abs()
    return float((miss_T / _differences(way).abs().clamp(min=_SMALLEST)).max())


@dataclass(frozen=True)
class Agreement:
    """Rank correlation of two matrices row by row, from -1 (reversed) to 1 (the same order).

    A row that one of them holds for all alike has no order, and so None.
    """

    rows: tuple[float | None, ...]

    @property
    def mean(self) -> float | None:
        """Mean over the rows that have an order."""
        known = [value for value in self.rows if value is not None]
        return math.fsum(known) / len(known) if known else None


def agreement(first_TS: Tensor, second_TS: Tensor) -> Agreement:
    """Return how far two matrices agree, row by row, in what matters more and what less."""
    if first_TS.shape != second_TS.shape or first_TS.dim() != 2:
        raise InputError(
            f"matrices of the shapes {tuple(first_TS.shape)} and {tuple(second_TS.shape)} cannot "
            "be compared: give two of the same rows and columns"
        )
    return Agreement(tuple(map(spearman, first_TS, second_TS)))


def spearman(first_N: Tensor, second_N: Tensor) -> float | None:
    """Return Spearman's rank correlation, or None where one of the two has no order."""
    ranks = torch.stack([ranks_of(first_N), ranks_of(second_N)])
    apart = ranks - ranks.mean(dim=1, keepdim=True)
    spread = apart.square().sum(dim=1).prod().sqrt()
    return float(apart.prod(dim=0).sum() / spread) if spread > 0 else None


def ranks_of(values_N: Tensor) -> Tensor:
    """Return the place of each value from 1, the least first; equals share their mean place.

    >>> ranks_of(torch.tensor([5.0, 1.0, 5.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    below_N = (values_N[None, :] < values_N[:, None]).sum(dim=1)
    alike_N = (values_N[None, :] == values_N[:, None]).sum(dim=1)
    return below_N + (alike_N + 1).double() / 2
