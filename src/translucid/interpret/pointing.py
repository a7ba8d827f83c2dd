"""Which heads look from one word to another: from "it" to what it stands for, for example.

A word may be several tokens, and may occur several times: attention *from* a word is the mean over
its tokens, attention *to* a word the sum over its tokens.

The decoder has two rows for a word: the one that predicts it and, after it, the one that reads it.
What is known of a word when it is written shows in the first, what is made of it in the second.

Shapes: H heads, S source, T target.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from translucid.errors import InputError
from translucid.interpret.attention_head import SIDES, AttentionHead, layers_of
from translucid.interpret.explain import explain
from translucid.interpret.trace import Side, Trace, TraceToken
from translucid.text.normalization import nfc
from translucid.translator import Translator
from translucid.translator.alignment_heads import Row


class Way(NamedTuple):
    """A head and, in the decoder, the row of the word: the one that predicts or that reads it."""

    head: AttentionHead
    row: Row

    def __str__(self) -> str:
        return f"{self.head}, {self.row}"


@dataclass(frozen=True)
class Pointing:
    """How much a head looks from one word to another, and to the other's rival if there is one.

    1.0 is all of its attention. `even` is what it would be if the head looked at all tokens alike.
    """

    way: Way
    weight: float
    rival: float | None
    even: float

    @property
    def lead(self) -> float:
        """How much more it looks to the word than to its rival; without one, the weight."""
        return self.weight - (self.rival or 0.0)

    @property
    def points(self) -> bool:
        """Whether it looks there more than evenly, and more than to the rival."""
        return self.weight > self.even and self.lead > 0


def find_pointing_heads(
    translator: Translator,
    sentence: str,
    from_word: str,
    to_word: str,
    *,
    rival: str | None = None,
    target: str | None = None,
) -> tuple[Pointing, ...]:
    """Translate a sentence and return all heads by how much they look from a word to another.

    In the encoder both are words of the source, in the decoder both are of the translation, in
    cross-attention the first is of the translation and the second of the source; attentions for
    which a word is missing are left out. `target` is the language, where the model has several.
    """
    trace = explain(translator, sentence, target=target, level="light")
    return pointing_heads(trace, from_word, to_word, rival=rival)


def pointing_heads(
    trace: Trace, from_word: str, to_word: str, *, rival: str | None = None
) -> tuple[Pointing, ...]:
    """Return all heads by how much they look from one word to another, the most first.

    With a `rival`, the order is by how much more they look to the word than to its rival.
    """
    found = [one for side in SIDES for one in _of_side(trace, side, from_word, to_word, rival)]
    if not found:
        raise InputError(
            f"no attention goes from {from_word!r} to {to_word!r}"
            f"{'' if rival is None else f' and to {rival!r}'}: they must be words of "
            f"the source {trace.source!r}, or of the translation {trace.translation!r}, or the "
            "first of the translation and the others of the source; the decoder looks back only"
        )
    return tuple(sorted(found, key=lambda one: -one.lead))


def pointing_in_all(tables: Sequence[Sequence[Pointing]]) -> tuple[tuple[Pointing, ...], ...]:
    """Return for each head its pointing in every table, those first that do it in all of them.

    The order is by the least lead. Heads that are missing in a table are left out.
    """
    by_way = [{one.way: one for one in table} for table in tables]
    shared = [way for way in by_way[0] if all(way in table for table in by_way)] if by_way else []
    rows = [tuple(table[way] for table in by_way) for way in shared]
    return tuple(sorted(rows, key=lambda row: -min(one.lead for one in row)))


def _of_side(
    trace: Trace, side: Side, from_word: str, to_word: str, rival: str | None
) -> Iterator[Pointing]:
    """Yield how much each head of one kind of attention looks from the word to the other."""
    text, tokens = _keys(trace, side)
    keys = places_of(text, tokens, to_word)
    rivals = [] if rival is None else places_of(text, tokens, rival)
    if not keys or (rival is not None and not rivals):
        return
    for row, queries in _queries(trace, side, from_word):
        if side == "decoder":  # which sees no later token, neither the word nor its rival
            latest = max(min(keys), min(rivals, default=0))
            queries = [query for query in queries if latest <= query]
        if not queries:
            continue
        even = _even(queries, keys, len(tokens), causal=side == "decoder")
        for layer in range(layers_of(trace.model, side)):
            weights_HLM = trace.attention(side, layer)
            to_H = _between(weights_HLM, queries, keys)
            other_H = None if rival is None else _between(weights_HLM, queries, rivals)
            for head, weight in enumerate(to_H):
                way = Way(AttentionHead(side, layer, head), row)
                yield Pointing(way, weight, None if other_H is None else other_H[head], even)


def _even(queries: Sequence[int], keys: Sequence[int], tokens: int, *, causal: bool) -> float:
    """Return the attention from one word to another of a head that looks at all tokens alike."""
    if not causal:
        return len(keys) / tokens
    shares = [sum(key <= query for key in keys) / (query + 1) for query in queries]
    return sum(shares) / len(shares)


def _between(weights_HLM: Tensor, queries: Sequence[int], keys: Sequence[int]) -> list[float]:
    """Return for each head the attention from one word to another."""
    of_H: list[float] = weights_HLM[:, queries][:, :, keys].double().sum(dim=2).mean(dim=1).tolist()
    return of_H


def _keys(trace: Trace, side: Side) -> tuple[str, tuple[TraceToken, ...]]:
    """Return the text and the tokens that are looked at."""
    if side == "decoder":
        return trace.translation, trace.target_tokens
    return trace.source, trace.source_tokens


def _queries(trace: Trace, side: Side, word: str) -> Iterator[tuple[Row, list[int]]]:
    """Yield the rows from which a word looks."""
    if side == "encoder":
        yield "reads", places_of(trace.source, trace.source_tokens, word)
        return
    written = [step.token for step in trace.steps]
    yield "predicts", places_of(trace.translation, written, word)
    yield "reads", places_of(trace.translation, trace.target_tokens, word)


def places_of(text: str, tokens: Sequence[TraceToken], word: str) -> list[int]:
    """Return the numbers of the tokens that are, or are part of, a word, wherever it occurs.

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
