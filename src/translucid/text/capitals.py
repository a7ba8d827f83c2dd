"""Lines in capitals, which are read as the sentences that they are.

::

    JE TRAVAILLE CHEZ IBM. OÙ EST LA GARE ?   →   Je travaille chez IBM. Où est la gare ?

The vocabulary tells words from abbreviations: it spells words with fewer pieces in lower case, or
with a capital only at the beginning, and most abbreviations with as many or more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from translucid.text.normalization import lowercase
from translucid.text.tokenizer import FAMILY_SIZE, PLACEHOLDERS, UNK

Encode: TypeAlias = Callable[[str], Sequence[int]]

_LONGEST_ABBREVIATION = 6  # letters, as of UNESCO
_ENGLISH_PRONOUN = "I"
_WORD = re.compile(r"[^\W\d_]+")
_BETWEEN = re.escape(PLACEHOLDERS[FAMILY_SIZE:])  # tags and marks, not those read as words
_SENTENCE_BEGINNING = re.compile(rf"(?:^|[.!?…]\s+)[\s\"'“”„«»‘’(\[¡¿–—{_BETWEEN}-]*[^\W\d_]")


def is_in_capitals(text: str) -> bool:
    """Tell whether a text has letters, all of them capitals.

    >>> is_in_capitals("OÙ EST LA GARE ?"), is_in_capitals("Où ?"), is_in_capitals("我在IBM工作")
    (True, False, False)
    """
    letters = [character for character in text if character.isalpha()]
    return bool(letters) and all(map(str.isupper, letters))


def write_as_sentence(text: str, encode: Encode) -> str:
    """Return a text in capitals as an ordinary sentence of the same length.

    Abbreviations stay as they are, and so does "I".
    """
    words = _WORD.sub(lambda found: _choose_case(found[0], encode), text)
    return _SENTENCE_BEGINNING.sub(lambda found: text[found.start() : found.end()], words)


def _choose_case(word: str, encode: Encode) -> str:
    def cost(spelled: str) -> tuple[int, int]:
        tokens = encode(spelled)
        return tokens.count(UNK), len(tokens)

    lower = lowercase(word)
    best = min((lower, word[0] + lower[1:]), key=cost)
    is_word = cost(best) < cost(word)
    if cost(best) == cost(word):
        is_usual = cost(best) == (0, 1) or (len(word) > 3 and cost(best) == (0, 2))
        is_word = is_usual or len(word) > _LONGEST_ABBREVIATION
    return best if is_word and word != _ENGLISH_PRONOUN else word
