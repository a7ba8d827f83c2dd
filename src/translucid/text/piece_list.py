"""A vocabulary that is a plain list of pieces, kept as readable JSON: words, characters.

A piece outside the list is encoded as UNK and cannot be decoded; for text that must come back
whole, use BPE or unigram.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal, Self

from translucid.text.interface import (
    FIRST_PIECE,
    SPECIAL_PIECES,
    UNK,
    BrokenFileError,
    Encoding,
    Tokenizer,
    utf8,
)

FORMAT = "translucid tokenizer"
VERSION = 1


class PieceListTokenizer(Tokenizer):
    """A tokenizer whose pieces are parts of the text, looked up in a list."""

    kind: Literal["word", "char"]
    always: ClassVar[tuple[str, ...]]  # pieces of every vocabulary, seen in training or not
    unknown: ClassVar[str]  # what UNK adds to a decoded text

    def __init__(self, data: bytes) -> None:
        _, learned = read_pieces(data)
        super().__init__(data, [*SPECIAL_PIECES, *learned])
        self._ids = {piece: token for token, piece in enumerate(learned, FIRST_PIECE)}
        self._surfaces = [""] * FIRST_PIECE + list(learned)
        self._surfaces[UNK] = self.unknown

    @classmethod
    def train(cls, sentences: Iterable[str], vocab_size: int) -> Self:
        """Keep the most frequent pieces, those of equal frequency in the order of their code."""
        counts: Counter[str] = Counter()
        for sentence in sentences:
            utf8(sentence)
            counts.update(cls.split(sentence))
        ranked = sorted(counts.keys() - cls.always, key=lambda piece: (-counts[piece], piece))
        return cls(_to_json(cls.kind, [*cls.always, *ranked][: vocab_size - FIRST_PIECE]))

    @staticmethod
    @abstractmethod
    def split(text: str) -> list[str]:
        """Cut a text into the pieces it would have if all were known."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text; a piece outside the vocabulary is UNK."""
        utf8(text)
        return [self._ids.get(piece, UNK) for piece in self.split(text)]

    def encode_with_offsets(self, text: str) -> Encoding:
        """Return ids, pieces and the span of the text that each piece stands for."""
        ids = self.encode(text)
        parts = self.split(text)
        position = len(text) - sum(map(len, parts))  # -1 where a space is assumed before the text
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


def _to_json(kind: str, learned: Sequence[str]) -> bytes:
    """Return the file of a tokenizer: one piece a line, for people and for version control."""
    head = f'{{\n"format": "{FORMAT}",\n"version": {VERSION},\n"kind": "{kind}",\n"pieces": [\n'
    lines = ",\n".join(json.dumps(piece, ensure_ascii=False) for piece in learned)
    return utf8(f"{head}{lines}\n]\n}}\n")


def read_pieces(data: bytes) -> tuple[str, list[str]]:
    """Return the kind and the pieces that a file holds; raises BrokenFileError."""
    try:
        content = json.loads(data)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenFileError(f"it is not valid JSON ({error})") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise BrokenFileError(f'it is JSON without "format": "{FORMAT}"')
    if content.get("version") != VERSION:
        raise BrokenFileError(
            f"it has version {content.get('version')!r} and this program reads version {VERSION}"
        )
    pieces = content.get("pieces")
    if not isinstance(pieces, list) or not all(isinstance(p, str) and p for p in pieces):
        raise BrokenFileError('its "pieces" are not a list of strings that are not empty')
    if len(set(pieces)) != len(pieces):
        raise BrokenFileError("a piece occurs twice in it")
    if any("\ud800" <= character <= "\udfff" for piece in pieces for character in piece):
        raise BrokenFileError("a piece of it is no valid text (a lone surrogate)")
    return str(content.get("kind")), pieces
