"""Vocabularies that are plain lists of pieces, kept as readable JSON: words and characters.

A piece outside the list is encoded as UNK and cannot be decoded; for text that must be restored
exactly, use BPE or unigram.

A word includes the space before it, if there is one::

    L'eau, ici  bas    →    " L'"  "eau"  ","  " ici"  " "  " bas"

A space is assumed before the first word, so that a word is the same piece at the beginning and in
the middle of a sentence. Joining the pieces gives the text back exactly if every word is known.
"""

from __future__ import annotations

import re
import unicodedata
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from typing import ClassVar, Self

from translucid.text.tokenizer import (
    FIRST_PIECE,
    SPECIAL_PIECES,
    UNK,
    UNKNOWN_TEXT,
    BrokenFileError,
    Encoding,
    Tokenizer,
    from_json,
    register_tokenizer,
    to_json,
    utf8,
)

# Scripts written without spaces between words; without a dictionary, each character is a word.
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")


class PieceListTokenizer(Tokenizer):
    """A tokenizer that cuts the text into pieces and looks them up in a list."""

    always: ClassVar[tuple[str, ...]]  # pieces of every vocabulary, whether seen in training or not
    unknown: ClassVar[str]  # what UNK adds to a decoded text

    def __init__(self, data: bytes) -> None:
        learned = _read_pieces(data)
        super().__init__(data, [*SPECIAL_PIECES, *learned])
        self._ids = {piece: token for token, piece in enumerate(learned, FIRST_PIECE)}
        self._surfaces = [""] * FIRST_PIECE + list(learned)
        self._surfaces[UNK] = self.unknown

    @classmethod
    def train(
        cls, sentences: Iterable[str], *, vocab_size: int, placeholders: bool = False
    ) -> Self:
        """Keep the most frequent pieces; among equally frequent ones, sort by code point."""
        assert not placeholders, "refused before"
        counts: Counter[str] = Counter()
        for sentence in sentences:
            utf8(sentence)
            counts.update(cls.split(sentence))
        ranked = sorted(counts.keys() - cls.always, key=lambda piece: (-counts[piece], piece))
        pieces = [*cls.always, *ranked][: vocab_size - FIRST_PIECE]
        return cls(to_json(cls.kind, {"pieces": pieces}))

    @staticmethod
    @abstractmethod
    def split(text: str) -> list[str]:
        """Cut a text into the pieces it would have if all were known."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text; a piece outside the vocabulary is UNK."""
        utf8(text)
        return [self._ids.get(piece, UNK) for piece in self.split(text)]

    def encode_with_offsets(self, text: str) -> Encoding:
        """Return ids, pieces and the span of the text that each piece covers."""
        ids = self.encode(text)
        parts = self.split(text)
        position = len(text) - sum(map(len, parts))  # -1 if a space is assumed before the text
        offsets = []
        for part in parts:
            offsets.append((max(position, 0), position + len(part)))
            position += len(part)
        return Encoding(ids, [self._pieces[token] for token in ids], offsets)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids; special ids add nothing but ``<unk>``, which shows as ``⁇``."""
        ids = list(ids)
        self._check_ids(ids)
        return "".join([self._surfaces[token] for token in ids])


class CharacterTokenizer(PieceListTokenizer):
    """Every Unicode character is a token: the smallest vocabulary and the longest sequences."""

    kind = "char"
    always = ()
    unknown = UNKNOWN_TEXT

    @staticmethod
    def split(text: str) -> list[str]:
        """Cut a text into its characters."""
        return list(text)


class WordTokenizer(PieceListTokenizer):
    """The most frequent words and punctuation marks; every other one is UNK."""

    kind = "word"
    always = (" ",)  # comes before a text that begins with white space
    unknown = " " + UNKNOWN_TEXT

    @staticmethod
    def split(text: str) -> list[str]:
        """Cut a text, and the space assumed before it, into words and punctuation marks."""
        if not text:
            return []
        spaced = " " + text
        matches = _PIECE.finditer(spaced.translate(_CLASSES))
        return [spaced[match.start() : match.end()] for match in matches]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids; special ids add nothing but ``<unk>``, which shows as ``⁇``."""
        return super().decode(ids).removeprefix(" ")


for _kind in (WordTokenizer, CharacterTokenizer):
    register_tokenizer(_kind.kind, load=_kind, train=_kind.train)


def _read_pieces(data: bytes) -> list[str]:
    pieces = from_json(data).get("pieces")
    if not isinstance(pieces, list) or not all(isinstance(p, str) and p for p in pieces):
        raise BrokenFileError('its "pieces" are not a list of strings that are not empty')
    if len(set(pieces)) != len(pieces):
        raise BrokenFileError("a piece occurs twice in it")
    if any("\ud800" <= character <= "\udfff" for piece in pieces for character in piece):
        raise BrokenFileError("a piece is not valid text (a lone surrogate)")
    return pieces


class _CharacterClasses(dict[int, str]):
    """A table for ``str.translate`` that replaces each character by a letter for its class.

    ::

        s  the space             l  letter, digit, _, joiner     a  apostrophe
        w  other white space     i  letter of an unspaced script m  combining mark
        p  anything else
    """

    def __missing__(self, code: int) -> str:
        self[code] = _classify(chr(code))
        return self[code]


def _classify(character: str) -> str:
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


_CLASSES = _CharacterClasses()

# An apostrophe inside a word closes its first part: l'|eau, aujourd'|hui, don'|t.
_PIECE = re.compile("s?(?:l[lm]*a(?=[li])|l[lm]*|[ipa]m*|m+)|s|w")
