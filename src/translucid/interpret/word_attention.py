"""Attention between words: which heads attend from one word to another, such as "it" to its noun.

A word may be several tokens, and may occur several times: attention *from* a word is the mean over
its tokens, attention *to* a word the sum over its tokens.

The decoder has two rows for a word: the one that predicts it and, after it, the one that reads it.
The first shows what is known when the word is written, the second what is made of it.

`word_groups` tells which tokens make up a word::

    text      Le chaton  dort .
    tokens    ▁Le  ▁chat  on  ▁  ▁dort  ▁  .  </s>
    groups    └─┘  └──────┘  │  └───┘  └──┘  └──┘

Shapes: H heads, L queries, M keys.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from translucid.engines.heads import DecoderRow
from translucid.errors import InputError
from translucid.interpret.explain import explain
from translucid.interpret.network import SIDES, AttentionHead, count_layers
from translucid.interpret.trace import Side, Trace, TraceToken
from translucid.text.normalization import nfc
from translucid.text.tokenizer import FIRST_PIECE, UNK
from translucid.translator import Translator
from translucid.translator.alignment import Span, TextSide, find_words

Group = tuple[int, int]


class HeadRow(NamedTuple):
    """A head and, in the decoder, the row of the word: the one that predicts or that reads it."""

    head: AttentionHead
    row: DecoderRow

    def __str__(self) -> str:
        return f"{self.head}, {self.row}"


@dataclass(frozen=True)
class WordAttention:
    """The attention of a head from one word to another, and to the other's rival if there is one.

    1.0 is all of its attention. `even` is what uniform attention over all tokens would give.
    """

    where: HeadRow
    weight: float
    rival: float | None
    even: float

    @property
    def margin(self) -> float:
        """How much more the word receives than its rival; without one, the weight."""
        return self.weight - (self.rival or 0.0)

    @property
    def attends(self) -> bool:
        """Whether the word receives more than uniform attention, and more than the rival."""
        return self.weight > self.even and self.margin > 0


@dataclass(frozen=True)
class WordQuestion:
    """Which heads attend from one word of a sentence to another, rather than to a third?"""

    sentence: str
    look_from: str
    look_to: str
    rival: str | None = None


@dataclass(frozen=True)
class WordHeads:
    """The traces of some sentences, and for each head its attention in each of them.

    Heads come first that attend to the right word in all sentences.
    """

    traces: tuple[Trace, ...]
    rows: tuple[tuple[WordAttention, ...], ...]


def find_word_heads(
    translator: Translator, questions: Sequence[WordQuestion], *, target: str | None = None
) -> WordHeads:
    """Translate sentences and rank all heads by their attention between the words of each.

    `target` is the language to translate into, needed where the model has several.
    """
    traces = tuple(
        explain(translator, one.sentence, target=target, level="light") for one in questions
    )
    tables = [
        measure_word_attention(trace, one.look_from, one.look_to, rival=one.rival)
        for trace, one in zip(traces, questions, strict=True)
    ]
    return WordHeads(traces, rank_across(tables))


def measure_word_attention(
    trace: Trace, from_word: str, to_word: str, *, rival: str | None = None
) -> tuple[WordAttention, ...]:
    """Return the attention of all heads from one word to another, the most first.

    In the encoder both are words of the source, in the decoder both are of the translation, in
    cross-attention the first is of the translation and the second of the source; attentions for
    which a word is missing are left out. With a `rival`, the order is by how much more the word
    receives than its rival.
    """
    found = [one for side in SIDES for one in _measure_side(trace, side, from_word, to_word, rival)]
    if not found:
        raise InputError(
            f"no attention goes from {from_word!r} to {to_word!r}"
            f"{'' if rival is None else f' and to {rival!r}'}: they must be words of "
            f"the source {trace.source!r}, or of the translation {trace.translation!r}, or the "
            "first of the translation and the others of the source; the decoder looks back only"
        )
    return tuple(sorted(found, key=lambda one: -one.margin))


def rank_across(tables: Sequence[Sequence[WordAttention]]) -> tuple[tuple[WordAttention, ...], ...]:
    """Return for each head its attention in every table, ordered by its least margin.

    Heads that are missing from a table are left out.
    """
    by_row = [{one.where: one for one in table} for table in tables]
    shared = [row for row in by_row[0] if all(row in table for table in by_row)] if by_row else []
    rows = [tuple(table[row] for table in by_row) for row in shared]
    return tuple(sorted(rows, key=lambda row: -min(one.margin for one in row)))


def _measure_side(
    trace: Trace, side: Side, from_word: str, to_word: str, rival: str | None
) -> Iterator[WordAttention]:
    """Yield the attention between the words of each head of one of the three attentions."""
    text, tokens = (
        (trace.translation, trace.target_tokens)
        if side == "decoder"
        else (trace.source, trace.source_tokens)
    )
    keys = find_tokens(text, tokens, to_word)
    rivals = [] if rival is None else find_tokens(text, tokens, rival)
    if not keys or (rival is not None and not rivals):
        return
    for row, queries in _find_queries(trace, side, from_word):
        if side == "decoder":  # which sees no later token, neither the word nor its rival
            latest = max(min(keys), min(rivals, default=0))
            queries = [query for query in queries if latest <= query]
        if not queries:
            continue
        even = _uniform_weight(queries, keys, len(tokens), causal=side == "decoder")
        for layer in range(count_layers(trace.model, side)):
            weights_HLM = trace.attention(side, layer)
            to_H = _sum_attention(weights_HLM, queries, keys)
            rival_H = None if rival is None else _sum_attention(weights_HLM, queries, rivals)
            for head, weight in enumerate(to_H):
                where = HeadRow(AttentionHead(side, layer, head), row)
                yield WordAttention(where, weight, None if rival_H is None else rival_H[head], even)


def _uniform_weight(
    queries: Sequence[int], keys: Sequence[int], tokens: int, *, causal: bool
) -> float:
    """Return the attention from one word to another of a head that attends to all tokens alike."""
    if not causal:
        return len(keys) / tokens
    shares = [sum(key <= query for key in keys) / (query + 1) for query in queries]
    return sum(shares) / len(shares)


def _sum_attention(weights_HLM: Tensor, queries: Sequence[int], keys: Sequence[int]) -> list[float]:
    """Return for each head the attention from one word to another."""
    of_H: list[float] = weights_HLM[:, queries][:, :, keys].double().sum(dim=2).mean(dim=1).tolist()
    return of_H


def _find_queries(trace: Trace, side: Side, word: str) -> Iterator[tuple[DecoderRow, list[int]]]:
    """Yield the rows of a word in an attention matrix."""
    if side == "encoder":
        yield "reads", find_tokens(trace.source, trace.source_tokens, word)
        return
    written = [step.token for step in trace.steps]
    yield "predicts", find_tokens(trace.translation, written, word)
    yield "reads", find_tokens(trace.translation, trace.target_tokens, word)


def find_tokens(text: str, tokens: Sequence[TraceToken], word: str) -> list[int]:
    """Return the indices of the tokens that belong to a word, wherever it occurs.

    Case does not matter, and an apostrophe ends a word: "animal" is in "L'animal".
    """
    spans = [
        match.span()
        for match in re.finditer(rf"(?<!\w){re.escape(nfc(word))}(?!\w)", text, re.IGNORECASE)
    ]
    return [
        number
        for number, token in enumerate(tokens)
        if any(max(token.start, start) < min(token.end, end) for start, end in spans)
    ]


# ---- which tokens make up a word ----------------------------------------------------------------


def word_groups(text: str, tokens: Sequence[TraceToken]) -> tuple[Group, ...]:
    """Return the tokens [first, last + 1) of each word, in order; together they are all tokens.

    Spaces divide words; in scripts without spaces, every token is a word: the words of
    `Alignment.links`. The space before a word belongs to it, even as a token of its own; of several
    spaces, the others stand alone, and so does every symbol.
    """
    spans = [None if _is_symbol(token) else (token.start, token.end) for token in tokens]
    found = find_words(TextSide(text, (tuple(token.id for token in tokens),), (tuple(spans),)))
    groups: list[Group] = []
    previous: int | None = None
    for index, span in enumerate(spans):
        word = _find_word(index, spans, found)
        if groups and word is not None and word == previous:
            groups[-1] = (groups[-1][0], index + 1)
        else:
            groups.append((index, index + 1))
        previous = None if span is None else word
    return tuple(groups)


def _is_symbol(token: TraceToken) -> bool:
    return token.id < FIRST_PIECE and token.id != UNK


def _find_word(index: int, spans: Sequence[Span | None], found: Sequence[Span]) -> int | None:
    """Return the number of the word that a token is part of.

    White space is part of the word that the next token begins, unless that has a space itself.
    """
    span = spans[index]
    if span is None:
        return None
    start, end = span
    number = bisect.bisect_right(found, start, key=lambda word: word[1])
    if number == len(found):
        return None
    first = found[number][0]
    if first < end:
        return number
    after = spans[index + 1] if index + 1 < len(spans) else None
    return number if after is not None and first == end == after[0] else None
