"""Which tokens make a word: runs of tokens, side by side, that cover all of them.

::

    text      Le chaton  dort .
    tokens    ▁Le  ▁chat  on  ▁  ▁dort  ▁  .  </s>
    groups    └─┘  └──────┘  │  └───┘  └──┘  └──┘

Words are as spaces divide them, and where a script has no spaces, a token is a word: the words of
`Alignment.links`. The space before a word belongs to it, even as a token of its own; of several
spaces, the others stand alone, and so does every symbol.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from translucid.interpret.trace import TraceToken
from translucid.text.tokenizer import FIRST_PIECE, UNK
from translucid.translator.alignment import Side, Span, words

Group = tuple[int, int]


def word_groups(text: str, tokens: Sequence[TraceToken]) -> tuple[Group, ...]:
    """Return the tokens [first, last + 1) of each word, in order; together they are all tokens."""
    spans = [None if _is_symbol(token) else (token.start, token.end) for token in tokens]
    found = words(Side(text, (tuple(token.id for token in tokens),), (tuple(spans),)))
    groups: list[Group] = []
    before: int | None = None
    for place, span in enumerate(spans):
        word = _word_of(place, spans, found)
        if groups and word is not None and word == before:
            groups[-1] = (groups[-1][0], place + 1)
        else:
            groups.append((place, place + 1))
        before = None if span is None else word
    return tuple(groups)


def _is_symbol(token: TraceToken) -> bool:
    return token.id < FIRST_PIECE and token.id != UNK


def _word_of(place: int, spans: Sequence[Span | None], found: Sequence[Span]) -> int | None:
    """Return the number of the word that a token is part of.

    White space is part of the word that the next token begins, unless that brings its own.
    """
    span = spans[place]
    if span is None:
        return None
    start, end = span
    number = bisect.bisect_right(found, start, key=lambda word: word[1])
    if number == len(found):
        return None
    first = found[number][0]
    if first < end:
        return number
    after = spans[place + 1] if place + 1 < len(spans) else None
    return number if after is not None and first == end == after[0] else None
