"""SentencePiece model files: reading and checking them, training them, converting other programs'.

A file is a protocol buffer: a sequence of fields, each a tag (number and wire type) and a value.

::

    ModelProto      1 pieces (repeated)     2 trainer_spec     3 normalizer_spec
    SentencePiece   1 piece                 2 score            3 type (1 if absent)
    TrainerSpec     3 model_type            4 vocab_size      35 byte_fallback
                   40 unk_id               41 bos_id          42 eos_id          43 pad_id
    NormalizerSpec  1 name                  2 precompiled_charsmap
                    3 add_dummy_prefix      4 remove_extra_whitespaces
                    5 escape_whitespaces

SentencePiece itself loads many truncated files without an error, and its Python package tells
neither the kind of a model nor how it normalises; hence this reader.
"""

from __future__ import annotations

import io
import re
import struct
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import sentencepiece

from translucid.errors import InputError
from translucid.text.tokenizer import (
    BOS,
    CORE_PIECES,
    EOS,
    FIRST_PIECE,
    PAD,
    PLACEHOLDERS,
    SPECIAL_PIECES,
    TAG_PIECES,
    UNK,
    BrokenFileError,
    utf8,
)

_T = TypeVar("_T")

SPACE_MARK = "▁"  # U+2581, which stands for a space in SentencePiece's pieces
BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(256))
FEWEST_PIECES = FIRST_PIECE + len(BYTE_PIECES)  # symbols and bytes

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 1, 2, 3, 4, 6
_FOREIGN = "it was trained by another program"
_MODEL_KINDS: dict[int, Literal["bpe", "unigram"]] = {1: "unigram", 2: "bpe"}


@dataclass(frozen=True)
class SentencePieceModel:
    """The vocabulary of a model file; the id of a piece is its position.

    Bytes begin at id `first_byte`, after the special pieces and the placeholders, if there are any.
    Learned pieces begin at `first_subword`.
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
    """Read and check a model file in Translucid's layout; raises BrokenFileError."""
    content = _read(data)
    pieces = [piece.text for piece in content.pieces]
    has_placeholders = "".join(pieces[FIRST_PIECE:])[: len(PLACEHOLDERS)] == PLACEHOLDERS
    layout = _layout(has_placeholders)
    if content.pieces[: len(layout)] != [
        piece._replace(score=found.score)
        for piece, found in zip(layout, content.pieces, strict=False)
    ]:
        raise BrokenFileError(
            f"its first ids are not {', '.join(CORE_PIECES)}, 16 tags and 256 bytes; {_FOREIGN}"
        )
    _check_learned(content.pieces[len(layout) :])
    if len(set(pieces)) != len(pieces):
        raise BrokenFileError("a piece occurs twice in it")
    spec = content.normalizer
    if spec.get(2, b"") or spec.get(3, 1) != 1 or spec.get(4, 1) != 0 or spec.get(5, 1) != 1:
        raise BrokenFileError(f"it normalises the text; {_FOREIGN}")
    scores = tuple(piece.score for piece in content.pieces)
    return SentencePieceModel(content.kind, tuple(pieces), scores, len(layout) - len(BYTE_PIECES))


def move_to_front(data: bytes, first: Container[int]) -> bytes:
    """Return a model file in which the pieces with these ids come before the other learned ones.

    Special pieces and bytes keep their ids, and both groups keep their order. How a text is
    segmented depends only on the scores, so it stays the same.
    """
    pieces: list[bytes] = []
    rest: list[bytes] = []
    for number, _, field in _raw_fields(data):
        (pieces if number == 1 else rest).append(field)
    first_subword = read_model(data).first_subword
    order = sorted(range(len(pieces)), key=lambda i: i >= first_subword and i not in first)
    return b"".join([*(pieces[i] for i in order), *rest])


def check_complete(data: bytes) -> None:
    """Refuse what is no model file of BPE or unigram, or a part of one, by BrokenFileError."""
    _read(data)


def locate_pieces(data: bytes) -> list[tuple[str, int]]:
    """Return the pieces of a text and the byte at which each ends, as SentencePiece encodes them.

    ::

        SentencePieceText    1 text    2 pieces (repeated)
        SentencePiece        1 piece   2 id    3 surface    4 begin    5 end
    """
    found = (value for number, value in _fields(data) if number == 2)
    pieces = [dict(_fields(_expect(value, bytes))) for value in found]
    return [
        (_decode(_expect(piece.get(1, b""), bytes)), _expect(piece.get(5, 0), int))
        for piece in pieces
    ]


def convert_model(data: bytes, *, placeholders: bool) -> bytes:
    """Return the model file of another program in Translucid's layout; raises BrokenFileError.

    The learned pieces and their scores stay, so normalised text is segmented as before. Their ids
    change; special pieces, language tags, bytes and, if asked for, placeholders are added. The
    model's own normalisation is left out, as is any other control symbol. A model whose pieces
    contain or end with a space, or that has symbols of its user, cannot be converted. A file that
    has Translucid's layout already is returned as it is.
    """
    content = _read(data)
    if [piece.text for piece in content.pieces[:FIRST_PIECE]] == list(SPECIAL_PIECES):
        return data
    learned = [piece for piece in content.pieces if piece.type in (_NORMAL, _USER_DEFINED)]
    _check_learned(learned)
    if content.normalizer.get(3, 1) != 1 or content.normalizer.get(5, 1) != 1:
        raise BrokenFileError("it does not begin a text with a space (add_dummy_prefix)")
    layout = _layout(placeholders)
    if taken := {piece.text for piece in layout} & {piece.text for piece in learned}:
        raise BrokenFileError(f"it has learned {min(taken)!r}, which is reserved")
    pieces = [*layout, *learned]
    # In a protocol buffer the last value of a field counts.
    trainer = content.trainer + b"".join(
        _encode_number(number, value)
        for number, value in ((4, len(pieces)), (35, 1), (40, UNK), (41, BOS), (42, EOS), (43, PAD))
    )
    normalizer = _encode_bytes(1, b"identity") + b"".join(
        _encode_number(number, value) for number, value in ((3, 1), (4, 0), (5, 1))
    )
    return b"".join(
        [
            *(_encode_bytes(1, _encode_piece(piece)) for piece in pieces),
            _encode_bytes(2, trainer),
            _encode_bytes(3, normalizer),
        ]
    )


def add_normalization(data: bytes, table: Mapping[str, str]) -> bytes:
    """Return a model file that replaces what a table names, the longest match at each place."""
    hexadecimal = (
        "\t".join(" ".join(f"{ord(character):X}" for character in text) for text in rule)
        for rule in table.items()
    )
    file = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder) / "rules.tsv"
        rules.write_text("\n".join(hexadecimal) + "\n", encoding="ascii")
        sentencepiece.SentencePieceTrainer.train(  # the only way to have rules compiled
            sentence_iterator=iter(["a"]),
            model_writer=file,
            model_type="char",
            vocab_size=8,
            hard_vocab_limit=False,
            normalization_rule_tsv=str(rules),
            minloglevel=2,
        )
    (spec,) = (_expect(value, bytes) for number, value in _fields(file.getvalue()) if number == 3)
    compiled = _expect(dict(_fields(spec))[2], bytes)
    # In a protocol buffer, a message that comes again adds its fields to the first.
    return data + _encode_bytes(3, _encode_bytes(1, b"translucid") + _encode_bytes(2, compiled))


def remove_normalization(data: bytes) -> bytes:
    """Return the model file that `add_normalization` was given."""
    fields = [(number, field) for number, _, field in _raw_fields(data)]
    added = [place for place, (number, _) in enumerate(fields) if number == 3][1:]
    return b"".join(field for place, (_, field) in enumerate(fields) if place not in added)


class _Piece(NamedTuple):
    text: str
    score: float
    type: int


class _Content(NamedTuple):
    """What a model file of any program holds."""

    kind: Literal["bpe", "unigram"]
    pieces: list[_Piece]
    trainer: bytes
    normalizer: dict[int, int | float | bytes]


def _read(data: bytes) -> _Content:
    """Read a model file, which must be complete and of a kind that we know."""
    pieces: list[_Piece] = []
    specs: dict[int, bytes] = {}
    for number, value in _fields(data):
        if number == 1:
            fields = dict(_fields(_expect(value, bytes)))
            text = _decode(_expect(fields.get(1, b""), bytes))
            score = _expect(fields.get(2, 0.0), float)
            pieces.append(_Piece(text, score, _expect(fields.get(3, _NORMAL), int)))
        elif number in (2, 3):
            specs[number] = _expect(value, bytes)
    if 2 not in specs or 3 not in specs:
        raise BrokenFileError("the end of the model is missing")
    trainer = dict(_fields(specs[2]))
    announced = _expect(trainer.get(4, 0), int)
    if announced != len(pieces):
        raise BrokenFileError(f"it announces {announced} pieces and has {len(pieces)}")
    model_type = _expect(trainer.get(3, 1), int)
    if model_type not in _MODEL_KINDS:
        raise BrokenFileError("it is a SentencePiece model of neither BPE nor unigram")
    return _Content(_MODEL_KINDS[model_type], pieces, specs[2], dict(_fields(specs[3])))


def _layout(placeholders: bool) -> list[_Piece]:
    """Return the pieces that come before the learned ones: special ones, placeholders, bytes."""
    special = [_Piece(text, 0.0, _CONTROL) for text in SPECIAL_PIECES]
    special[UNK] = special[UNK]._replace(type=_UNKNOWN)
    added = [_Piece(text, 0.0, _USER_DEFINED) for text in PLACEHOLDERS if placeholders]
    return [*special, *added, *(_Piece(text, 0.0, _BYTE) for text in BYTE_PIECES)]


def _check_learned(learned: Sequence[_Piece]) -> None:
    """Refuse pieces that cross a word boundary, and those that a user has defined."""
    texts = [piece.text for piece in learned]
    if any(piece.type != _NORMAL for piece in learned):
        raise BrokenFileError(f"it has user-defined pieces; {_FOREIGN}")
    if any(SPACE_MARK in text[1:] for text in texts) or "" in texts:
        raise BrokenFileError(f"it has pieces that cross a space; {_FOREIGN}")
    if SPACE_MARK not in texts:
        raise BrokenFileError(f"it has no piece for the space; {_FOREIGN}")


# The rarest characters, which together make up less than a hundred-thousandth of the text, get no
# piece and are encoded as bytes.
CHARACTER_COVERAGE = 0.99999

# SentencePiece skips sentences that are too long and aborts the process at a word of 65,536
# characters, so longer text is passed in parts. Each part begins with the space mark, which is
# therefore never too rare to get a piece.
LONGEST_PART = 1_000

_RESERVED = "\u2585"  # SentencePiece skips sentences with this character


class _Feed:
    """Pass sentences to SentencePiece, and keep an exception that C++ cannot pass on."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self._sentences = sentences
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[bytes]:
        try:
            for sentence in self._sentences:
                text = sentence.replace(_RESERVED, " ")
                for start in range(0, len(text), LONGEST_PART):
                    yield utf8(text[start : start + LONGEST_PART])
        except BaseException as error:
            self.error = error
            raise


def train_model(
    sentences: Iterable[str], *, kind: str, vocab_size: int, placeholders: bool
) -> bytes:
    """Learn a vocabulary of at most ``vocab_size`` pieces and return the model file.

    With `placeholders` it has a piece for each character of `PLACEHOLDERS`. The same text gives the
    same file. It uses one thread: the sums of unigram training depend on the number of threads.
    """
    feed = _Feed(sentences)
    file = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(feed),
            model_writer=file,
            model_type=kind,
            vocab_size=vocab_size,
            hard_vocab_limit=False,
            character_coverage=CHARACTER_COVERAGE,
            byte_fallback=True,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            split_digits=True,  # a number is read and copied digit by digit
            max_sentence_length=4 * LONGEST_PART,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            control_symbols=list(TAG_PIECES),
            user_defined_symbols=list(PLACEHOLDERS) if placeholders else [],
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as failure:
        if feed.error is not None:
            raise feed.error from None
        least = re.search(r"smaller than required_chars\D*\d+ vs (\d+)", str(failure))
        if least is None:
            raise
        specials = FIRST_PIECE + placeholders * len(PLACEHOLDERS)
        raise _too_small(vocab_size, int(least[1]), specials) from failure
    return file.getvalue()


def _too_small(vocab_size: int, least: int, specials: int) -> InputError:
    """Return the error for a vocabulary that cannot hold every character of the text."""
    characters = least - specials - len(BYTE_PIECES)
    return InputError(
        f"a vocabulary of {vocab_size} pieces is too small for this text: it needs at least "
        f"{least} ({specials} special pieces, {len(BYTE_PIECES)} bytes and {characters} "
        f"characters), and some more to hold parts of words.\n"
        f"  Use a larger vocabulary; 8000 is usual for a small corpus."
    )


def _fields(data: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """Yield (number, value) of each field of a protocol buffer message."""
    return ((number, value) for number, value, _ in _raw_fields(data))


def _raw_fields(data: bytes) -> Iterator[tuple[int, int | float | bytes, bytes]]:
    """Yield (number, value, encoded field) of each field of a protocol buffer message."""
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
                raise BrokenFileError("it is not a SentencePiece model")
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
    raise BrokenFileError("it is not a SentencePiece model")


def _cut(data: bytes, position: int, length: int) -> bytes:
    """Return the next ``length`` bytes; refuse data that ends before."""
    if position + length > len(data):
        raise BrokenFileError("it is cut off")
    return data[position : position + length]


def _decode(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BrokenFileError("a piece is not valid UTF-8") from error


def _expect(value: object, kind: type[_T]) -> _T:
    if not isinstance(value, kind):
        raise BrokenFileError("it is not a SentencePiece model")
    return value


def _encode_piece(piece: _Piece) -> bytes:
    score = _encode_varint(2 << 3 | 5) + struct.pack("<f", piece.score)
    return _encode_bytes(1, piece.text.encode()) + score + _encode_number(3, piece.type)


def _encode_number(number: int, value: int) -> bytes:
    return _encode_varint(number << 3) + _encode_varint(value)


def _encode_bytes(number: int, value: bytes) -> bytes:
    return _encode_varint(number << 3 | 2) + _encode_varint(len(value)) + value


def _encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])
