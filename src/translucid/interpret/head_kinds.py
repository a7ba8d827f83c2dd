"""Which keys are of which kind for each query: the previous token, the same word, and so on.

The kinds are described in :mod:`translucid.interpret.head_roles`.

Shapes: B batch, L queries, M keys, K kinds of token, S source, T target.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from translucid.interpret.head_roles import KINDS, Kind
from translucid.interpret.trace import Side
from translucid.text.tokenizer import EOS, FIRST_PIECE, PAD, UNK


class Looks(NamedTuple):
    """What the queries of one kind of attention could look at.

    `queries_BL`: which count, 1 or 0. `visible_BL`: how many keys each may see. `distance_BLM`: how
    far each key is. `kinds_KBLM`: which keys are of which kind. `text_BM`: keys that are text.
    """

    queries_BL: Tensor
    visible_BL: Tensor
    distance_BLM: Tensor
    kinds_KBLM: Tensor
    text_BM: Tensor


def looks_of(source_BS: Tensor, target_BT: Tensor) -> dict[Side, Looks]:
    """Return what there is to look at in the three attentions of padded sentences.

    Queries of self-attention are tokens of text: symbols have no neighbours worth the name. Those
    of cross-attention are all rows, because each of them writes something.
    """
    written_BT = written_of(target_BT)
    return {
        "encoder": _self_looks(source_BS, causal=False),
        "decoder": _self_looks(target_BT, causal=True),
        "cross": _cross_looks(source_BS, target_BT, written_BT),
    }


def written_of(target_BT: Tensor) -> Tensor:
    """Return what each row of the decoder is to write: the token after the one it reads."""
    next_BT = torch.cat([target_BT[:, 1:], torch.full_like(target_BT[:, :1], PAD)], dim=1)
    last_BT = (target_BT != PAD) & (next_BT == PAD)
    return next_BT.masked_fill(last_BT, EOS)


def _self_looks(ids_BL: Tensor, *, causal: bool) -> Looks:
    place_L = torch.arange(ids_BL.size(1), device=ids_BL.device)
    step_LM = place_L[None, :] - place_L[:, None]  # key - query
    visible_BLM = (ids_BL != PAD)[:, None, :].expand(-1, ids_BL.size(1), -1)
    if causal:
        visible_BLM = visible_BLM & (step_LM <= 0)
    return _looks(
        ids_BL,
        _text(ids_BL),
        visible_BLM,
        step_LM.abs().double().expand_as(visible_BLM),
        {
            "previous": step_LM == -1,
            "next": step_LM == 1,
            "same_position": step_LM == 0,
            "same_word": (ids_BL[:, :, None] == ids_BL[:, None, :]) & (step_LM != 0),
            "first": (place_L == 0) & (step_LM < -1),
            "end": (ids_BL == EOS)[:, None, :] & (step_LM > 1),
        },
    )


def _cross_looks(source_BS: Tensor, target_BT: Tensor, written_BT: Tensor) -> Looks:
    place_T, place_S = (
        torch.arange(ids.size(1), device=ids.device) for ids in (target_BT, source_BS)
    )
    lengths_B, widths_B = ((ids != PAD).sum(dim=1) for ids in (target_BT, source_BS))
    line_BT = place_T * (widths_B / lengths_B)[:, None]
    same_BTS = (written_BT[:, :, None] == source_BS[:, None, :]) & _text(source_BS)[:, None, :]
    return _looks(
        source_BS,
        target_BT != PAD,
        (source_BS != PAD)[:, None, :].expand(-1, target_BT.size(1), -1),
        (place_S - line_BT[:, :, None]).abs().double(),
        {
            "same_word": same_BTS,
            "first": (place_S == 0)[None, None, :],
            "end": (source_BS == EOS)[:, None, :],
        },
    )


def _looks(
    keys_BM: Tensor,
    queries_BL: Tensor,
    visible_BLM: Tensor,
    distance_BLM: Tensor,
    kinds: dict[Kind, Tensor],
) -> Looks:
    nothing = torch.zeros_like(visible_BLM)
    return Looks(
        queries_BL=queries_BL.double(),
        visible_BL=visible_BLM.sum(dim=-1).double().clamp(min=1),
        distance_BLM=distance_BLM,
        kinds_KBLM=torch.stack([kinds.get(kind, nothing) & visible_BLM for kind in KINDS]),
        text_BM=_text(keys_BM),
    )


def _text(ids: Tensor) -> Tensor:
    """Return which tokens are text, not symbols."""
    return (ids >= FIRST_PIECE) | (ids == UNK)
