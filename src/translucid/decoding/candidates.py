"""Which continuations of a beam are followed: the inner step of beam search.

::

    rows × vocabulary           the best w + 1 of each row         in order, best first
    ┌───────────────────┐       ┌───────────┐
    │ row 0: log P  …   │  top  │ 0: 7  9  3│   + total of     7·0  5·1  3·0  </s>·1  9·0 …
    │ row 1: log P  …   │  ───▶ │ 1: 5 </s> │   the row  ───▶  └──── w live ────┘
    └───────────────────┘       └───────────┘                  an end among the first w is finished

Of w rows at most w + 1 tokens each can matter: w that continue, and the end symbol. A single row
does not continue once it has ended: a beam of one is greedy search. Totals are float64, so that
sums lose nothing; equal totals are ordered by row, then by token.

Shapes: B sources, W rows per source (w in one group of them), N = B × W, V vocabulary, K
candidates, L lines, C columns and R rest of a vocabulary laid out as a table.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

LINES = 16  # of the table that the vocabulary is laid out as
SMALLEST_WIDTH = 64  # of that table; below it, the table does not pay
RUN = 64  # ids whose maximum is found at once


class Choice(NamedTuple):
    """The candidates of one step, best first, and which of them continue or end.

    `parents_BK` is the row of the source's beam that a candidate continues, `totals_BK` log P of
    all its tokens, −∞ for a filler. `kept_BW` are the numbers of those that continue, `ended_BK`
    marks those that end.
    """

    parents_BK: Tensor
    tokens_BK: Tensor
    log_probs_BK: Tensor
    totals_BK: Tensor
    kept_BW: Tensor
    ended_BK: Tensor


def top_tokens(values_NV: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` highest values of each row and their tokens; of equals, lower ids first.

    `topk` does not say which of equal values it takes. Rows with equal values among the highest
    are sorted, which is slow and rare.
    """
    more = min(count + 1, values_NV.size(1))
    values_NK, tokens_NK = _top(values_NV, more)
    equal_NK = (values_NK[:, 1:] == values_NK[:, :-1]) & (values_NK[:, 1:] > -math.inf)
    if bool(equal_NK.any()):
        rows = equal_NK.any(dim=1).nonzero()[:, 0]
        values, tokens = values_NV[rows].sort(dim=1, descending=True, stable=True)
        values_NK[rows], tokens_NK[rows] = values[:, :more], tokens[:, :more]
    return values_NK[:, :count], tokens_NK[:, :count]


def _top(values_NV: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Do what `topk` does, three times as fast where the vocabulary is large.

    The vocabulary is laid out as a table of 16 rows. The highest `count` values are in the
    `count` columns with the highest maxima: any value elsewhere is at most as high as each of
    those. So `topk` sees the maxima, and then what is in those columns::

        ┌ 9  2  4 ┐                                    ┌ 9  4 ┐
        │ 1  3  8 │   maxima  9  3  8   of the best 2  │ 1  8 │
    """
    width = values_NV.size(1) // LINES
    if width < SMALLEST_WIDTH or count > width // 2:
        return values_NV.topk(count, dim=1)
    table_NLC = values_NV[:, : LINES * width].view(-1, LINES, width)
    columns_Nk = table_NLC.amax(dim=1).topk(count, dim=1, sorted=False).indices
    few_NLk = table_NLC.gather(2, columns_Nk[:, None].expand(-1, LINES, -1))
    rest_NR = values_NV[:, LINES * width :]
    values_Nk, places_Nk = torch.cat([few_NLk.flatten(1), rest_NR], dim=1).topk(count, dim=1)
    in_table_Nk = places_Nk.clamp(max=LINES * count - 1)
    tokens_Nk = in_table_Nk // count * width + columns_Nk.gather(1, in_table_Nk % count)
    in_rest_Nk = places_Nk + LINES * (width - count)
    return values_Nk, torch.where(places_Nk < LINES * count, tokens_Nk, in_rest_Nk)


def argmax_tokens(values_NV: Tensor) -> Tensor:
    """Return the token with the highest value of each row; of equals, the lowest id.

    Five times as fast as `argmax` where the vocabulary is large: the maximum of each run of ids is
    found without its place, and only the first best run is looked through for the place.
    """
    rows, vocabulary = values_NV.shape
    runs = vocabulary // RUN
    if runs < 2:
        return values_NV.argmax(dim=1)
    maxima_NR = values_NV[:, : runs * RUN].view(rows, runs, RUN).amax(dim=2)
    best_N = maxima_NR.argmax(dim=1)
    columns_NC = best_N[:, None] * RUN + torch.arange(RUN, device=values_NV.device)
    few_NC = values_NV.gather(1, columns_NC)
    rest_NC = values_NV[:, runs * RUN :]  # higher ids: of equals, the others come first
    place_N = torch.cat([few_NC, rest_NC], dim=1).argmax(dim=1)
    return torch.where(place_N < RUN, best_N * RUN + place_N, (runs - 1) * RUN + place_N)


def choose(log_probs_BwV: Tensor, totals_Bw: Tensor, end: int, price_BV: Tensor | None) -> Choice:
    """Choose the w best continuations of each source's w rows, and those that end.

    `price_BV` is taken off a token's log P where candidates are compared, and only there.
    """
    sources, width, vocabulary = log_probs_BwV.shape
    ranked_BwV = log_probs_BwV if price_BV is None else log_probs_BwV - price_BV[:, None]
    values_Nk, tokens_Nk = top_tokens(
        ranked_BwV.reshape(-1, vocabulary), min(width + 1, vocabulary)
    )
    each = tokens_Nk.size(1)
    values_BK = values_Nk.reshape(sources, -1)
    keys_BK = (totals_Bw[:, :, None] + values_BK.view(sources, width, each)).view(sources, -1)
    keys_BK, order_BK = keys_BK.sort(dim=1, descending=True, stable=True)
    parents_BK = order_BK.div(each, rounding_mode="floor")
    tokens_BK = tokens_Nk.reshape(sources, -1).gather(1, order_BK)
    if price_BV is None:
        log_probs_BK, totals_BK = values_BK.gather(1, order_BK), keys_BK
    else:
        rows_BK = log_probs_BwV.flatten(1)
        log_probs_BK = rows_BK.gather(1, parents_BK * vocabulary + tokens_BK)
        totals_BK = totals_Bw.gather(1, parents_BK) + log_probs_BK
    ends_BK = tokens_BK == end
    ended_BK = ends_BK & (totals_BK > -math.inf)
    ended_BK[:, width:] = False
    kept_Bw = ends_BK.to(torch.uint8).argsort(dim=1, stable=True)[:, :width]
    choice = Choice(parents_BK, tokens_BK, log_probs_BK, totals_BK, kept_Bw, ended_BK)
    return _end_or_continue(choice) if width == 1 else choice


def _end_or_continue(choice: Choice) -> Choice:
    """Let a single row end or continue, not both: after its end it continues with a filler."""
    none = choice.tokens_BK.size(1)
    ended_B1 = choice.ended_BK.any(dim=1, keepdim=True)
    return Choice(
        parents_BK=F.pad(choice.parents_BK, (0, 1)),
        tokens_BK=F.pad(choice.tokens_BK, (0, 1)),
        log_probs_BK=F.pad(choice.log_probs_BK, (0, 1), value=-math.inf),
        totals_BK=F.pad(choice.totals_BK, (0, 1), value=-math.inf),
        kept_BW=choice.kept_BW.masked_fill(ended_B1, none),
        ended_BK=F.pad(choice.ended_BK, (0, 1)),
    )


def choose_in_groups(
    log_probs_BWV: Tensor, totals_BW: Tensor, end: int, groups: int, diversity: float
) -> Choice:
    """Choose group by group; a token costs `diversity` for each row of earlier groups with it."""
    width = totals_BW.size(1) // groups
    price_BV: Tensor | None = None
    parts: list[Choice] = []
    for group, first in enumerate(range(0, totals_BW.size(1), width)):
        rows = slice(first, first + width)
        part = choose(log_probs_BWV[:, rows], totals_BW[:, rows], end, price_BV)
        if group == 0:
            price_BV = log_probs_BWV.new_zeros(log_probs_BWV.size(0), log_probs_BWV.size(2))
        assert price_BV is not None
        taken_Bw = part.tokens_BK.gather(1, part.kept_BW)
        alive_Bw = part.totals_BK.gather(1, part.kept_BW) > -math.inf
        price_BV.scatter_add_(1, taken_Bw, diversity * alive_Bw.to(price_BV))
        count = part.tokens_BK.size(1)
        parts.append(
            part._replace(parents_BK=part.parents_BK + first, kept_BW=part.kept_BW + group * count)
        )
    return Choice(*(torch.cat(fields, dim=1) for fields in zip(*parts, strict=True)))
