"""How probable each word of a translation is: the sum over its tokens.

::

    tokens      ▁The   ▁cat   s   ▁sleep   .   </s>
    log P       -0.1   -0.2  -0.3   -0.1  -0.2  -0.05
    words       The    cats         sleep.                 as spaces divide them
    scores      -0.1   -0.5         -0.35                  the end symbol counts with the last word

So the scores of all words sum to log P of the whole.
"""

from __future__ import annotations

import bisect
import itertools
import math
import re
from collections.abc import Iterator, Sequence

from translucid.text.tokenizer import CORE_PIECES, UNK, UNKNOWN_TEXT

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_SPACE_MARK = "▁"  # how sentencepiece writes a space


def word_scores(text: str, tokens: Sequence[str], log_probs: Sequence[float]) -> list[float] | None:
    """Return log P of each word of ``text.split()``; None: it is not known which token has which.

    White space is not compared, so a token belongs to the word that its first visible character is
    part of, and one without such a character to the word that follows.
    """
    if len(log_probs) > len(tokens) + 1:
        return None  # of several parts, each with an end symbol of its own
    ends = list(itertools.accumulate(len(word) for word in text.split()))
    if not ends:
        return []
    found: list[list[float]] = [[] for _ in ends]
    last = len(ends) - 1
    for place, log_prob in zip(_places(tokens), log_probs, strict=False):
        found[min(bisect.bisect_right(ends, place), last)].append(log_prob)
    found[last] += log_probs[len(tokens) :]
    return [math.fsum(values) for values in found]


def _places(tokens: Sequence[str]) -> Iterator[int]:
    """Yield how many visible characters stand before those of each token."""
    parts = [_bytes_of(token) for token in tokens]
    borders = list(itertools.accumulate(map(len, parts), initial=0))
    token = place = shown = 0
    # A byte that is part of no character becomes one by itself, which is not white space.
    for character in b"".join(parts).decode("utf-8", "surrogateescape"):
        place += len(character.encode("utf-8", "surrogateescape"))
        while token < len(parts) and borders[token] < place:
            yield shown
            token += 1
        shown += not character.isspace()


def _bytes_of(token: str) -> bytes:
    """Return the text of a token, a space where its piece has a mark for it."""
    if match := _BYTE.fullmatch(token):
        return bytes([int(match[1], 16)])
    text = UNKNOWN_TEXT if token == CORE_PIECES[UNK] else token.replace(_SPACE_MARK, " ")
    return text.encode("utf-8", "replace")
