"""What a head does, in numbers over a corpus, and the name that the numbers earn it.

Every number is a mean over queries, that is, over tokens that look at something. A share is how
much of a query's attention goes to one kind of token, and is a mean over those queries alone that
have such a token to look at, so that a head that does nothing else has 1.0::

    previous         the token before                        encoder, decoder
    next             the token after                         encoder
    same_position    the query's own place                   encoder, decoder
    same_word        the same piece at another place;        all three
                     in cross-attention, in the source the piece that is being written
    first            the first token (in the decoder, <s>),  all three
                     where that is not the previous one
    end              </s>, where that is not the next token  encoder, cross
    alignment        share of words whose translation gets   cross
                     the most attention of all words

What a kind of attention cannot do, or no query of the corpus could do, is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from translucid.interpret.network import AttentionHead
from translucid.interpret.trace import Side
from translucid.text.interface import EOS, FIRST_PIECE, PAD, UNK
from translucid.translator.alignment_heads import Row

Kind = Literal["previous", "next", "same_position", "same_word", "first", "end"]
KINDS: tuple[Kind, ...] = ("previous", "next", "same_position", "same_word", "first", "end")

Role = Literal[
    "previous token",
    "next token",
    "same position",
    "same word",
    "first token",
    "end of sentence",
    "alignment",
    "broad",
    "mixed",
]
NAMES: dict[Kind, Role] = {
    "previous": "previous token",
    "next": "next token",
    "same_position": "same position",
    "same_word": "same word",
    "first": "first token",
    "end": "end of sentence",
}
ENOUGH = 0.5  # of the attention, or of the links: a head that does one thing more than all others
EVEN = 0.9  # of the entropy that even attention would have


@dataclass(frozen=True)
class HeadMeasures:
    """The numbers of one head; see the module for the shares.

    `entropy` is in nats; `evenness` relates it to that of even attention (1.0: the head looks at
    everything alike). `distance` is in tokens, from query to key; in cross-attention from the
    straight line between the two sentences. `alignment_row` says whether it is the row that
    predicts a word or the one that reads it that finds its source word. `queries` and `links` are
    how many were measured on.
    """

    head: AttentionHead
    entropy: float
    evenness: float
    distance: float
    previous: float | None
    next: float | None
    same_position: float | None
    same_word: float | None
    first: float | None
    end: float | None
    alignment: float | None
    alignment_row: Row | None
    queries: int
    links: int

    def share(self, kind: Kind) -> float | None:
        """Return the share of the attention that goes to one kind of token."""
        value: float | None = getattr(self, kind)
        return value


@dataclass(frozen=True)
class HeadStatistics(HeadMeasures):
    """The numbers of one head, the role that they earn it, and the rule that gave it."""

    role: Role
    rule: str


def with_role(measures: HeadMeasures) -> HeadStatistics:
    """Name what a head does."""
    role, rule = role_of(measures)
    return HeadStatistics(**vars(measures), role=role, rule=rule)


def role_of(measures: HeadMeasures) -> tuple[Role, str]:
    """Return what a head does and the rule that says so; the first rule that holds decides.

    1. Attention that is nearly even is broad.
    2. A head that finds the source words of half the words is an alignment head.
    3. Half of the attention on one kind of token gives that role, the largest if there are two.
    4. Else it does several things.
    """
    if measures.evenness >= EVEN:
        return "broad", f"entropy is {measures.evenness:.2f} of even attention's, {EVEN} or more"
    if measures.alignment is not None and measures.alignment >= ENOUGH:
        return "alignment", (
            f"finds the source word of {measures.alignment:.2f} of the words, {ENOUGH} or more"
        )
    share, kind = max(
        ((measures.share(kind) or 0.0, kind) for kind in KINDS), key=lambda pair: pair[0]
    )
    if share >= ENOUGH:
        return NAMES[kind], f"{share:.2f} of the attention goes there, {ENOUGH} or more"
    return (
        "mixed",
        f"no kind of token gets {ENOUGH} of the attention; most: {NAMES[kind]} {share:.2f}",
    )


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
