"""The tokenizer of an imported Marian model: two SentencePiece models that share one vocabulary.

::

    source text ─ source model ─ pieces ─┐
                                         ├─ vocabulary ─ ids, special pieces first, as everywhere
    target text ─ target model ─ pieces ─┘

The vocabulary is a list of its own: a piece has another id there than in either model, and a piece
of a model that it lacks is UNK. A text that is not from a model's language may also have characters
that the model does not know; those are looked up too, and are UNK only if they are not listed.

The SentencePiece models normalise a text (mostly by NFKC) and merge its white space, so a decoded
text is the normalised one. `within` returns the tokenizer of targets.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Literal

from translucid.text.sentencepiece import load_processor
from translucid.text.sentencepiece_model import BYTE_PIECES, SPACE_MARK, locate_pieces
from translucid.text.tokenizer import (
    CORE_PIECES,
    FIRST_PIECE,
    FIRST_TAG,
    TAG_PIECES,
    TAG_SLOTS,
    UNK,
    UNKNOWN_TEXT,
    BrokenFileError,
    Encoding,
    Tokenizer,
    from_json,
    to_json,
    utf8,
)

Side = Literal["source", "target"]


class MarianTokenizer(Tokenizer):
    """The tokenizer of one side; both are in its file, with the vocabulary that they share."""

    kind = "marian"

    def __init__(self, data: bytes, side: Side = "source") -> None:
        content = from_json(data)
        super().__init__(data, _read_pieces(content))
        self._side: Side = side
        self._models = {each: _read_model(content, each) for each in ("source", "target")}
        self._processor = load_processor(self._models[side])
        learned = enumerate(self._pieces[FIRST_PIECE:], FIRST_PIECE)
        self._ids = {piece: token for token, piece in learned}
        self._surfaces = [_surface(token, piece) for token, piece in enumerate(self._pieces)]

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._data, self._side)

    @classmethod
    def build(
        cls, models: tuple[bytes, bytes], tags: Sequence[str], learned: Sequence[str]
    ) -> bytes:
        """Return the file of a tokenizer: two SentencePiece models, language tags, pieces of text.

        Slots for tags that are not needed stay free.
        """
        tags = (*tags, *TAG_PIECES[len(tags) :])
        return to_json(
            cls.kind,
            {
                "source": base64.b64encode(models[0]).decode(),
                "target": base64.b64encode(models[1]).decode(),
                "pieces": [*CORE_PIECES, *tags, *learned],
            },
        )

    @property
    def models(self) -> tuple[bytes, bytes]:
        """The SentencePiece models of source and target."""
        return self._models["source"], self._models["target"]

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text; the empty text has none."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, in one call of SentencePiece."""
        for text in texts:
            utf8(text)
        batch: list[list[str]] = self._processor.encode(list(texts), out_type=str, num_threads=1)
        return [[self._ids.get(piece, UNK) for piece in pieces] for pieces in batch]

    def encode_with_offsets(self, text: str) -> Encoding:
        """Return ids, pieces and the span of the text that each piece covers.

        White space that the model drops belongs to the next piece, or to the last one.
        """
        encoded = utf8(text)
        located = locate_pieces(self._processor.encode(text, out_type="serialized_proto"))
        ids = [self._ids.get(piece, UNK) for piece, _ in located]
        ends = [len(encoded[:end].decode()) for _, end in located]
        ends[-1:] = [len(text)] * len(ends[-1:])
        return Encoding(
            ids, [self._pieces[token] for token in ids], list(zip([0, *ends], ends, strict=False))
        )

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids; special ids add nothing but ``<unk>``, which shows as ``⁇``."""
        ids = list(ids)
        self._check_ids(ids)
        text = b"".join([self._surfaces[token] for token in ids]).decode("utf-8", "replace")
        return text.strip()

    def within(self, size: int) -> Tokenizer:
        """Return the tokenizer of targets, which has all ids."""
        if size != self.vocab_size:
            return super().within(size)
        return self if self._side == "target" else self._of_targets

    @cached_property
    def _of_targets(self) -> MarianTokenizer:
        return type(self)(self._data, "target")


def _read_pieces(content: dict[str, Any]) -> list[str]:
    pieces = content.get("pieces")
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise BrokenFileError('its "pieces" are not a list of strings')
    if len(pieces) <= FIRST_PIECE or tuple(pieces[:FIRST_TAG]) != CORE_PIECES:
        raise BrokenFileError(
            f"its first pieces are not {', '.join(CORE_PIECES)} and {TAG_SLOTS} language tags"
        )
    return pieces


def _read_model(content: dict[str, Any], side: str) -> bytes:
    try:
        return base64.b64decode(content.get(side, ""), validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise BrokenFileError(f"its {side} model is not base64 ({error})") from error


def _surface(token: int, piece: str) -> bytes:
    """Return what an id adds to a decoded text, as UTF-8."""
    if token < FIRST_PIECE:
        return utf8(UNKNOWN_TEXT) if token == UNK else b""
    if piece in _BYTES:
        return bytes([_BYTES[piece]])
    return utf8(piece.replace(SPACE_MARK, " "))


_BYTES = {piece: byte for byte, piece in enumerate(BYTE_PIECES)}
