"""The probability of given translations: texts as pairs of tokens, and their scores."""

from __future__ import annotations

import math
from collections.abc import Sequence

from translucid.decoding.hypothesis import Tokens
from translucid.engines.base import Pair
from translucid.errors import InputError
from translucid.text.normalization import nfc
from translucid.text.tokenizer import EOS, Tokenizer, Tokenizers
from translucid.translator.translation import ScoredTranslation

MAX_SCORED_TOKENS = 4096  # attention needs memory by the square of the length


def build_pairs(
    positions: int,
    tokenizers: Tokenizers,
    tags: Sequence[Tokens],
    texts: Sequence[tuple[str, str]],
) -> list[list[Pair]]:
    """Return the lines of each source and target as pairs, to be scored one by one."""
    each = [
        _build_line_pairs(number, *pair, tokenizers, tag)
        for number, (pair, tag) in enumerate(zip(texts, tags, strict=True), start=1)
    ]
    longest = max_scored_tokens(positions)
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


def max_scored_tokens(positions: int) -> int:
    """Return the most tokens of a line that can be scored, symbols counted."""
    return min(MAX_SCORED_TOKENS, positions)


def can_score(
    positions: int, tokenizers: Tokenizers, tag: Tokens, source: str, target: str
) -> bool:
    """Tell whether no line of a text and its translation is too long to be scored."""
    longest = max_scored_tokens(positions)
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
