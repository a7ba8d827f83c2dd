"""The file that sentencepiece writes, read as far as Translucid needs it, and checked.

It is a protocol buffer: a run of fields, each a tag (number and wire type) and a value.

::

    ModelProto      1 pieces (repeated)     2 trainer_spec     3 normalizer_spec (the last one)
    SentencePiece   1 piece                 2 score            3 type (1 if absent)
    TrainerSpec     3 model_type            4 vocab_size
    NormalizerSpec  2 precompiled_charsmap  3 add_dummy_prefix
                    4 remove_extra_whitespaces                 5 escape_whitespaces

sentencepiece itself loads many a truncated file without a word, and its Python package tells
neither the kind of a model nor how it normalises; hence this reader.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

from translucid.text.interface import (
    CORE_PIECES,
    FIRST_PIECE,
    PLACEHOLDERS,
    SPECIAL_PIECES,
    UNK,
    BrokenFileError,
)

_T = TypeVar("_T")

SPACE_MARK = "▁"  # U+2581, which stands for a space in sentencepiece's pieces
BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(256))
FEWEST_PIECES = FIRST_PIECE + len(BYTE_PIECES)  # symbols and bytes

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 1, 2, 3, 4, 6
_MODEL_KINDS: dict[int, Literal["bpe", "unigram"]] = {1: "unigram", 2: "bpe"}


@dataclass(frozen=True)
class SentencePieceModel:
    """What a sentencepiece file says of its vocabulary: id = position.

    Bytes begin at id `first_byte`: behind the symbols, or behind the placeholders where there are
    any. What was learned begins at `first_subword`.
    """

    kind: Literal["bpe", "unigram"]
    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    first_byte: int

    @property
    def first_subword(self) -> int:
        """The first id whose piece was learned from text."""
        return self.first_byte + len(BYTE_PIECES)


def read_model(data: bytes) -> SentencePieceModel:
    """Read and check a sentencepiece file made by Translucid; raises BrokenFileError."""
    pieces: list[str] = []
    scores: list[float] = []
    types: list[int] = []
    specs: dict[int, dict[int, int | float | bytes]] = {}
    for number, value in _fields(data):
        if number == 1:
            fields = dict(_fields(_expect(value, bytes)))
            pieces.append(_text(_expect(fields.get(1, b""), bytes)))
            scores.append(_expect(fields.get(2, 0.0), float))
            types.append(_expect(fields.get(3, _NORMAL), int))
        elif number in (2, 3):
            specs[number] = dict(_fields(_expect(value, bytes)))
    if 2 not in specs or 3 not in specs:
        raise BrokenFileError("the end of the model is missing")
    announced = _expect(specs[2].get(4, 0), int)
    if announced != len(pieces):
        raise BrokenFileError(f"it announces {announced} pieces and holds {len(pieces)}")
    first_byte = FIRST_PIECE + _placeholders_in(pieces)
    _check_vocabulary(pieces, types, first_byte)
    _check_normalizer(specs[3])
    model_type = _expect(specs[2].get(3, 1), int)
    if model_type not in _MODEL_KINDS:
        raise BrokenFileError("it is a sentencepiece model of neither BPE nor unigram")
    return SentencePieceModel(_MODEL_KINDS[model_type], tuple(pieces), tuple(scores), first_byte)


def with_first(data: bytes, first: Container[int]) -> bytes:
    """Return a sentencepiece file in which the pieces with these ids come before the others.

    Symbols and bytes stay where they are, and both groups keep their order. Which pieces a text is
    made of depends on their scores alone, so it stays the same too.
    """
    pieces: list[bytes] = []
    rest: list[bytes] = []
    for number, _, field in _whole_fields(data):
        (pieces if number == 1 else rest).append(field)
    first_subword = read_model(data).first_subword
    order = sorted(range(len(pieces)), key=lambda i: i >= first_subword and i not in first)
    return b"".join([*(pieces[i] for i in order), *rest])


def _placeholders_in(pieces: list[str]) -> int:
    """Return how many placeholders stand behind the tags: all of them, or none."""
    there = "".join(pieces[FIRST_PIECE : FIRST_PIECE + len(PLACEHOLDERS)]) == PLACEHOLDERS
    return len(PLACEHOLDERS) if there else 0


def _check_vocabulary(pieces: list[str], types: list[int], first_byte: int) -> None:
    """Refuse a model with another layout of ids, or whose pieces cross the border of a word."""
    placeholders = PLACEHOLDERS[: first_byte - FIRST_PIECE]
    layout = [*SPECIAL_PIECES, *placeholders, *BYTE_PIECES]
    symbols = [_CONTROL] * FIRST_PIECE
    symbols[UNK] = _UNKNOWN
    layout_types = [*symbols, *[_USER_DEFINED] * len(placeholders), *[_BYTE] * len(BYTE_PIECES)]
    first_subword = len(layout)
    if pieces[:first_subword] != layout or types[:first_subword] != layout_types:
        raise BrokenFileError(
            f"its first ids are not {', '.join(CORE_PIECES)}, 16 tags and 256 bytes; "
            f"it was trained by another program"
        )
    learned = pieces[first_subword:]
    if any(kind != _NORMAL for kind in types[first_subword:]):
        raise BrokenFileError("it has user-defined pieces; it was trained by another program")
    if any(SPACE_MARK in piece[1:] for piece in learned) or "" in learned:
        raise BrokenFileError("it has pieces that cross a space; it was trained by another program")
    if SPACE_MARK not in learned:
        raise BrokenFileError("it has no piece for the space; it was trained by another program")
    if len(set(pieces)) != len(pieces):
        raise BrokenFileError("a piece occurs twice in it")


def _check_normalizer(spec: dict[int, int | float | bytes]) -> None:
    """Refuse a model that changes the text, since what it encodes could not be decoded."""
    if spec.get(2, b"") or spec.get(3, 1) != 1 or spec.get(4, 1) != 0 or spec.get(5, 1) != 1:
        raise BrokenFileError("it normalises the text; it was trained by another program")


def _fields(data: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """Yield (number, value) of each field of a protocol buffer message."""
    return ((number, value) for number, value, _ in _whole_fields(data))


def _whole_fields(data: bytes) -> Iterator[tuple[int, int | float | bytes, bytes]]:
    """Yield (number, value, all its bytes) of each field of a protocol buffer message."""
    position = 0
    value: int | float | bytes
    while position < len(data):
        start = position
        tag, position = _varint(data, position)
        match tag & 7:
            case 0:
                value, position = _varint(data, position)
            case 2:
                length, position = _varint(data, position)
                value = _cut(data, position, length)
                position += length
            case 5:
                value = struct.unpack("<f", _cut(data, position, 4))[0]
                position += 4
            case _:
                raise BrokenFileError("it is no sentencepiece model")
        yield tag >> 3, value, data[start:position]


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Read a number of variable length; return it and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        byte = _cut(data, position, 1)[0]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise BrokenFileError("it is no sentencepiece model")


def _cut(data: bytes, position: int, length: int) -> bytes:
    """Return the next ``length`` bytes, all of which must be there."""
    if position + length > len(data):
        raise BrokenFileError("it ends in the middle")
    return data[position : position + length]


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BrokenFileError("a piece is not valid UTF-8") from error


def _expect(value: object, kind: type[_T]) -> _T:
    if not isinstance(value, kind):
        raise BrokenFileError("it is no sentencepiece model")
    return value
