"""Whole words and punctuation marks, each with the space before it, if there is one.

::

    L'eau, ici  bas    →    " L'"  "eau"  ","  " ici"  " "  " bas"

A space is assumed before the first word, so that it is the same piece as in the middle of a
sentence. The spaces are in the pieces, so that joining them gives the text back exactly, as long
as every word is known; a word outside the vocabulary is UNK.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from translucid.text.interface import UNKNOWN_TEXT
from translucid.text.piece_list import PieceListTokenizer

# Scripts written without spaces between words; without a dictionary, the character is the word.
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")


class _Classes(dict[int, str]):
    """A table for ``str.translate`` that puts a letter for the class of each character.

    ::

        s  the space             l  letter, digit, _, joiner     a  apostrophe
        w  other white space     i  letter of an unspaced script m  combining mark
        p  anything else
    """

    def __missing__(self, code: int) -> str:
        self[code] = _class_of(chr(code))
        return self[code]


def _class_of(character: str) -> str:
    category = unicodedata.category(character)
    if character == " ":
        return "s"
    if character.isspace():
        return "w"
    if character in "'’":
        return "a"
    if category[0] == "M":
        return "m"
    if category[0] == "L" and unicodedata.name(character, "").startswith(UNSPACED):
        return "i"
    joiner = character in "\u200c\u200d"
    return "l" if category[0] in "LN" or category == "Pc" or joiner else "p"


_CLASSES = _Classes()

# An apostrophe inside a word closes its first part: l'|eau, aujourd'|hui, don'|t.
_PIECE = re.compile("s?(?:l[lm]*a(?=[li])|l[lm]*|[ipa]m*|m+)|s|w")


class WordTokenizer(PieceListTokenizer):
    """The most frequent words and punctuation marks; every other one is UNK."""

    kind = "word"
    always = (" ",)  # stands before a text that begins with white space
    unknown = " " + UNKNOWN_TEXT

    @staticmethod
    def split(text: str) -> list[str]:
        """Cut a text, and the space assumed before it, into words and marks."""
        if not text:
            return []
        spaced = " " + text
        matches = _PIECE.finditer(spaced.translate(_CLASSES))
        return [spaced[match.start() : match.end()] for match in matches]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids; special ids add nothing but ``<unk>``, which shows as ``⁇``."""
        return super().decode(ids).removeprefix(" ")
