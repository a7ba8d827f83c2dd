"""The probability of given translations: log P of every token, the whole target in one pass.

Shapes: B batch, S source, T target, P positions of a batch that hold a token, D d_model, V
vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from translucid.decoding.hypothesis import Tokens
from translucid.decoding.stepper import log_mean
from translucid.errors import InputError
from translucid.text.normalization import nfc
from translucid.text.tokenizer import BOS, EOS, PAD, Tokenizer, Tokenizers
from translucid.translator.member import Member, pad
from translucid.translator.translation import ScoredTranslation

MAX_SCORED_TOKENS = 4096  # attention needs memory by the square of the length
_POSITIONS_PER_CHUNK = 1024  # as logits of a whole vocabulary


@dataclass(frozen=True)
class Pair:
    """A source as the network reads it, and a target without start and end symbol."""

    source: Tokens
    target: Tokens

    @property
    def length(self) -> int:
        """Tokens of the longer side, symbols counted."""
        return max(len(self.source), len(self.target) + 1)


def build_pairs(
    members: Sequence[Member],
    tokenizers: Tokenizers,
    tags: Sequence[Tokens],
    texts: Sequence[tuple[str, str]],
) -> list[list[Pair]]:
    """Return the lines of each source and target as pairs, to be scored one by one."""
    each = [
        _build_line_pairs(number, *pair, tokenizers, tag)
        for number, (pair, tag) in enumerate(zip(texts, tags, strict=True), start=1)
    ]
    longest = max_scored_tokens(members)
    for number, pairs in enumerate(each, start=1):
        for pair in pairs:
            _check_length(number, pair, longest)
    return each


def build_scores(
    each: Sequence[Sequence[Pair]], log_probs: Sequence[list[float]], tokenizer: Tokenizer
) -> list[ScoredTranslation]:
    """Return the score of each target, given log P of the tokens of all lines, in order."""
    found = iter(log_probs)
    return [_build_score(pairs, [next(found) for _ in pairs], tokenizer) for pairs in each]


def max_scored_tokens(members: Sequence[Member]) -> int:
    """Return the most tokens of a line that can be scored, symbols counted."""
    return min(MAX_SCORED_TOKENS, *(member.positions for member in members))


def can_score(
    members: Sequence[Member], tokenizers: Tokenizers, tag: Tokens, source: str, target: str
) -> bool:
    """Tell whether no line of a text and its translation is too long to be scored."""
    longest = max_scored_tokens(members)
    return all(p.length <= longest for p in _build_line_pairs(1, source, target, tokenizers, tag))


def _build_line_pairs(
    number: int, source: str, target: str, tokenizers: Tokenizers, tag: Tokens
) -> list[Pair]:
    """Return the lines of a text with their translations, without lines that are blank in both.

    White space around a line is copied by the translator, so it is not scored.
    """
    source_tokenizer, target_tokenizer = tokenizers
    lines = [nfc(text).split("\n") for text in (source, target)]
    if len(lines[0]) != len(lines[1]):
        raise InputError(
            f"pair {number} has {len(lines[0])} lines of source and {len(lines[1])} of target: "
            "lines are scored one by one, so there must be as many on both sides"
        )
    stripped = [(s.strip(), t.strip()) for s, t in zip(*lines, strict=True)]
    return [
        Pair((*tag, *source_tokenizer.encode(s), EOS), tuple(target_tokenizer.encode(t)))
        for s, t in stripped
        if s or t
    ]


def _check_length(number: int, pair: Pair, longest: int) -> None:
    if pair.length > longest:
        raise InputError(
            f"pair {number} has {len(pair.source)} source and {len(pair.target) + 1} target tokens "
            f"in a line, and at most {longest} can be scored at once: divide the line on both sides"
        )


def _build_score(
    pairs: Sequence[Pair], log_probs: Sequence[list[float]], tokenizer: Tokenizer
) -> ScoredTranslation:
    flat = tuple(value for values in log_probs for value in values)
    total = math.fsum(flat)
    return ScoredTranslation(
        log_prob=total,
        log_probs=flat,
        tokens=tuple(tokenizer.piece(token) for pair in pairs for token in pair.target),
        perplexity=math.exp(min(-total / max(1, len(flat)), 700.0)),  # beyond it a float overflows
    )


@torch.inference_mode()
def score_pairs(members: Sequence[Member], pairs: Sequence[Pair]) -> list[list[float]]:
    """Return log P of every token of each target, and last that of its end."""
    labels_BT = pad([(*pair.target, EOS) for pair in pairs], torch.device("cpu"))
    places_BT = labels_BT != PAD
    labels_P = labels_BT[places_BT]
    states = [_states(member, pairs)[places_BT.to(member.device)] for member in members]
    found = []
    for begin in range(0, labels_P.numel(), _POSITIONS_PER_CHUNK):
        chunk = slice(begin, begin + _POSITIONS_PER_CHUNK)
        each_PV = [
            member.model.output_projection(states_PD[chunk]).log_softmax(dim=-1).cpu()
            for member, states_PD in zip(members, states, strict=True)
        ]
        found.append(log_mean(each_PV).gather(1, labels_P[chunk, None])[:, 0])
    values = iter(torch.cat(found).tolist())
    return [[next(values) for _ in (*pair.target, EOS)] for pair in pairs]


def _states(member: Member, pairs: Sequence[Pair]) -> Tensor:
    """Return the decoder's states_BTD, from which the tokens of the targets are predicted."""
    source_BS = pad([pair.source for pair in pairs], member.device)
    target_BT = pad([(BOS, *pair.target) for pair in pairs], member.device)
    memory_BSD = member.model.encode(source_BS)
    return member.model.decoder_states(target_BT, memory_BSD, source_BS)
