"""The role of a head, such as "previous token", and the measures over a corpus that decide it.

Every measure is a mean over queries. A share is how much of a query's attention goes to one kind of
token, averaged over the queries that can see such a token, so a head that does nothing else has
1.0::

    previous         the token before                        encoder, decoder
    next             the token after                         encoder
    same_position    the query's own position                 encoder, decoder
    same_word        the same piece at another position;      all three
                     in cross-attention, in the source the piece that is being written
    first            the first token (in the decoder, <s>),  all three
                     where that is not the previous one
    end              </s>, where that is not the next token  encoder, cross
    alignment        share of words whose translation gets   cross
                     the most attention of all words

What an attention cannot do, or no query of the corpus could do, is None.

Shapes: B batch, L queries, M keys, K kinds of token, S source, T target.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from translucid.engines.heads import DecoderRow
from translucid.interpret.network import AttentionHead
from translucid.interpret.trace import Side
from translucid.text.tokenizer import EOS, FIRST_PIECE, PAD, UNK

TokenKind = Literal["previous", "next", "same_position", "same_word", "first", "end"]
KINDS: tuple[TokenKind, ...] = ("previous", "next", "same_position", "same_word", "first", "end")

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
ROLE_NAMES: dict[TokenKind, Role] = {
    "previous": "previous token",
    "next": "next token",
    "same_position": "same position",
    "same_word": "same word",
    "first": "first token",
    "end": "end of sentence",
}
MIN_SHARE = 0.5  # of the attention, or of the links, for a role
MIN_EVENNESS = 0.9  # entropy over that of uniform attention, for the role "broad"


@dataclass(frozen=True)
class HeadMeasures:
    """The measures of one head; see the module for the shares.

    `entropy` is in nats; `evenness` is its ratio to that of uniform attention (1.0). `distance` is
    in tokens, from query to key; in cross-attention, from the diagonal between the two sentences.
    `alignment_row` says whether the row that predicts a word or the one that reads it finds its
    source word. `queries` and `links` are the numbers of both that were measured.
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
    alignment_row: DecoderRow | None
    queries: int
    links: int

    def share(self, kind: TokenKind) -> float | None:
        """Return the share of the attention that goes to one kind of token."""
        value: float | None = getattr(self, kind)
        return value


@dataclass(frozen=True)
class HeadStatistics(HeadMeasures):
    """The measures of one head, its role, and the rule that gave it."""

    role: Role
    rule: str


def assign_role(measures: HeadMeasures) -> HeadStatistics:
    """Add the role to the measures of a head."""
    role, rule = classify_role(measures)
    return HeadStatistics(**vars(measures), role=role, rule=rule)


def classify_role(measures: HeadMeasures) -> tuple[Role, str]:
    """Return the role of a head and the rule that gave it; the first rule that applies decides.

    1. Nearly uniform attention: broad.
    2. Finds the source word of at least half of the words: alignment.
    3. At least half of the attention on one kind of token: that kind, the larger of two.
    4. Otherwise: mixed.
    """
    if measures.evenness >= MIN_EVENNESS:
        return (
            "broad",
            f"entropy is {measures.evenness:.2f} of even attention's, {MIN_EVENNESS} or more",
        )
    if measures.alignment is not None and measures.alignment >= MIN_SHARE:
        return "alignment", (
            f"finds the source word of {measures.alignment:.2f} of the words, {MIN_SHARE} or more"
        )
    share, kind = max(
        ((measures.share(kind) or 0.0, kind) for kind in KINDS), key=lambda pair: pair[0]
    )
    if share >= MIN_SHARE:
        return ROLE_NAMES[kind], f"{share:.2f} of the attention goes there, {MIN_SHARE} or more"
    return (
        "mixed",
        f"no kind of token gets {MIN_SHARE} of the attention; most: {ROLE_NAMES[kind]} {share:.2f}",
    )


class VisibleKeys(NamedTuple):
    """What the queries of one attention can see.

    `queries_BL`: 1 for those that count, else 0. `visible_BL`: the number of keys each may see.
    `distance_BLM`: distance of each key. `kinds_KBLM`: which keys are of which kind. `text_BM`:
    which keys are text.
    """

    queries_BL: Tensor
    visible_BL: Tensor
    distance_BLM: Tensor
    kinds_KBLM: Tensor
    text_BM: Tensor


def classify_keys(source_BS: Tensor, target_BT: Tensor) -> dict[Side, VisibleKeys]:
    """Return the kinds of all keys in the three attentions of padded sentences.

    Queries of self-attention are tokens of text, without symbols. In cross-attention all rows are
    queries, because each of them writes something.
    """
    written_BT = build_labels(target_BT)
    return {
        "encoder": _self_keys(source_BS, causal=False),
        "decoder": _self_keys(target_BT, causal=True),
        "cross": _cross_keys(source_BS, target_BT, written_BT),
    }


def build_labels(target_BT: Tensor) -> Tensor:
    """Return the token that each row of the decoder predicts: the one after the token it reads."""
    next_BT = torch.cat([target_BT[:, 1:], torch.full_like(target_BT[:, :1], PAD)], dim=1)
    last_BT = (target_BT != PAD) & (next_BT == PAD)
    return next_BT.masked_fill(last_BT, EOS)


def _self_keys(ids_BL: Tensor, *, causal: bool) -> VisibleKeys:
    place_L = torch.arange(ids_BL.size(1), device=ids_BL.device)
    step_LM = place_L[None, :] - place_L[:, None]  # key - query
    visible_BLM = (ids_BL != PAD)[:, None, :].expand(-1, ids_BL.size(1), -1)
    if causal:
        visible_BLM = visible_BLM & (step_LM <= 0)
    return _visible_keys(
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


def _cross_keys(source_BS: Tensor, target_BT: Tensor, written_BT: Tensor) -> VisibleKeys:
    place_T, place_S = (
        torch.arange(ids.size(1), device=ids.device) for ids in (target_BT, source_BS)
    )
    lengths_B, widths_B = ((ids != PAD).sum(dim=1) for ids in (target_BT, source_BS))
    line_BT = place_T * (widths_B / lengths_B)[:, None]
    same_BTS = (written_BT[:, :, None] == source_BS[:, None, :]) & _text(source_BS)[:, None, :]
    return _visible_keys(
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


def _visible_keys(
    keys_BM: Tensor,
    queries_BL: Tensor,
    visible_BLM: Tensor,
    distance_BLM: Tensor,
    kinds: dict[TokenKind, Tensor],
) -> VisibleKeys:
    nothing = torch.zeros_like(visible_BLM)
    return VisibleKeys(
        queries_BL=queries_BL.double(),
        visible_BL=visible_BLM.sum(dim=-1).double().clamp(min=1),
        distance_BLM=distance_BLM,
        kinds_KBLM=torch.stack([kinds.get(kind, nothing) & visible_BLM for kind in KINDS]),
        text_BM=_text(keys_BM),
    )


def _text(ids: Tensor) -> Tensor:
    """Return which tokens are text, not symbols."""
    return (ids >= FIRST_PIECE) | (ids == UNK)
