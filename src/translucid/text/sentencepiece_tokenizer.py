"""BPE and unigram pieces by sentencepiece, with bytes for every character outside the vocabulary.

Nothing is normalised and no white space removed, so ``decode(encode(text)) == text`` for every
text. Two things need care:

- A space is assumed before the first word, so that a word has the same pieces wherever it stands.
  ``decode`` takes it off again.
- sentencepiece writes a space as U+2581 (▁) and would read a ▁ of the text as a space. Such a ▁
  is encoded as its three bytes, which sentencepiece too decodes as ▁.

A BPE tokenizer can do without its last pieces (`within`). Where one of them would stand, its merge
is undone, and so on until only known pieces are left: the vocabulary filter of Sennrich et al.,
"Edinburgh Neural Machine Translation Systems for WMT 16" (2016). A lacking character is its bytes.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Literal

import sentencepiece

from translucid.errors import InputError
from translucid.text.interface import (
    FIRST_PIECE,
    PLACEHOLDER_PIECES,
    UNK,
    UNKNOWN_TEXT,
    BrokenFileError,
    Encoding,
    Tokenizer,
    utf8,
)
from translucid.text.sentencepiece_model import (
    SPACE_MARK,
    SentencePieceModel,
    read_model,
    with_first,
)
from translucid.text.subword_sampling import (
    bpe_segmentation,
    uniforms,
    unigram_lattice,
    unigram_segmentation,
    unknown_score,
)

# A word is segmented at random in one of this many ways, chosen by the seed and its position in
# the sentence; each way is a draw from the full distribution. It lets the most frequent words of
# a corpus come from memory.
VARIANTS = 64
MEMORY = 1 << 17  # segmentations kept, about 40 MB
LONGEST_REMEMBERED = 32  # characters; a longer word hardly ever comes again

ROUND = 64  # a number of pieces that is a multiple of it is a round one


class SentencePieceTokenizer(Tokenizer):
    """A sentencepiece model of kind ``bpe`` or ``unigram``."""

    kind: Literal["bpe", "unigram"]

    def __init__(self, data: bytes, size: int | None = None) -> None:
        model = read_model(data)
        super().__init__(data, _named(model)[:size])
        self.kind = model.kind
        self._first_byte, self._first_subword = model.first_byte, model.first_subword
        self._processor = _load(data)
        self._surfaces = _surfaces(model)
        self._learned = _learned(model)
        self._ids = dict(
            zip(self._learned, range(self._first_subword, self.vocab_size), strict=False)
        )
        self._scores = dict(zip(self._learned, model.scores[self._first_subword :], strict=True))
        self._unknown = unknown_score(self._scores)
        self._longest = max(map(len, self._scores))
        self._alphabet = frozenset("".join(self._scores))
        self._ids.update(
            {model.pieces[token]: token for token in range(FIRST_PIECE, self._first_byte)}
        )
        self._remembered = functools.lru_cache(maxsize=MEMORY)(self._sample_word)
        self._undone = functools.cache(self._undo)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._data, self.vocab_size)

    def within(self, size: int) -> Tokenizer:
        """Return a tokenizer of the same kind that has the first `size` ids only."""
        if self.kind != "bpe" or size == self.vocab_size:
            return super().within(size)
        if not self._first_subword <= size < self.vocab_size:
            raise InputError(
                f"a BPE tokenizer cannot do with {size:,} of its {self.vocab_size:,} pieces: it "
                f"needs at least the {self._first_subword} that are symbols and bytes"
            )
        return SentencePieceTokenizer(self._data, size)

    def target_first(self, targets: Iterable[Sequence[str]]) -> tuple[SentencePieceTokenizer, int]:
        """Return this tokenizer with the pieces of target texts, in batches, first; and how many.

        Symbols, bytes and all characters of the texts are among them, since other texts may need
        them; and a few pieces more, as products of matrices are faster with a round number of rows.
        """
        seen, characters = set(range(self._first_subword)), {" "}
        for texts in targets:
            characters.update(*texts)
            seen.update(*self.encode_batch(texts))
        seen.update(self._ids[one] for one in characters if one in self._ids)
        others = (token for token in range(self.vocab_size) if token not in seen)
        seen.update(list(itertools.islice(others, -len(seen) % ROUND)))  # a list: `others` reads it
        return SentencePieceTokenizer(with_first(self._data, seen)), len(seen)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text; the empty text has none."""
        if SPACE_MARK in text:
            return self.encode_batch([text])[0]
        ids: list[int] = self._processor.encode(utf8(text), out_type=int)
        return self._known(ids)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, in one call of sentencepiece."""
        stand_ins = {
            row: self._stand_in(text) for row, text in enumerate(texts) if SPACE_MARK in text
        }
        plain = [utf8(text) for text in texts]
        for row, stand_in in stand_ins.items():
            plain[row] = utf8(texts[row].replace(SPACE_MARK, stand_in))
        batch: list[list[int]] = self._processor.encode(plain, out_type=int, num_threads=1)
        for row, stand_in in stand_ins.items():
            batch[row] = _replace_run(
                batch[row], self._byte_ids(stand_in), self._byte_ids(SPACE_MARK)
            )
        return [self._known(ids) for ids in batch]

    def encode_with_offsets(self, text: str) -> Encoding:
        """Return ids, pieces and the span of the text that each piece stands for."""
        ids = self.encode(text)
        offsets: list[tuple[int, int]] = []
        position = -1  # the space assumed before the text
        for token in ids:
            surface = self._surfaces[token]
            if self._first_byte <= token < self._first_subword:
                if surface[0] & 0xC0 == 0x80:  # a continuation byte belongs to the last character
                    offsets.append(offsets[-1])
                    continue
                length = 1
            else:
                length = len(surface.decode())
            offsets.append((max(position, 0), position + length))
            position += length
        return Encoding(ids, [self._pieces[token] for token in ids], offsets)

    def sample(self, text: str, *, seed: int, strength: float) -> list[int]:
        """Return the ids of one random segmentation, a pure function of the arguments."""
        limit = 1.0 if self.kind == "bpe" else math.inf
        if not (0 <= strength <= limit and math.isfinite(strength)):
            name, allowed = ("dropout", "from 0 to 1") if limit == 1 else ("alpha", "0 or more")
            raise InputError(
                f"the strength of subword sampling ({name} of {self.kind}) is {strength}; "
                f"it must be {allowed}. 0.1 is usual, 0 turns it off."
            )
        if strength == 0 or not text:
            return self.encode(text)
        utf8(text)
        words = text.split(" ")
        variants = hashlib.shake_128(b"%d" % seed).digest(len(words))
        ids: list[int] = []
        for word, variant in zip(words, variants, strict=True):
            draw = self._remembered if len(word) <= LONGEST_REMEMBERED else self._sample_word
            ids += draw(word, variant % VARIANTS, strength)
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids; special ids add nothing but ``<unk>``, which shows as ``⁇``."""
        ids = list(ids)
        self._check_ids(ids)
        text = b"".join([self._surfaces[token] for token in ids]).decode("utf-8", "replace")
        return text.removeprefix(" ")

    def _sample_word(self, word: str, variant: int, strength: float) -> tuple[int, ...]:
        """Return the ids of one segmentation of a word and the space before it."""
        word = " " + word
        uniform = uniforms(b"%d " % variant + utf8(word)).__next__
        if self.kind == "bpe":
            pieces = bpe_segmentation(word, self._scores, strength, uniform)
        else:
            lattice = unigram_lattice(word, self._scores, self._longest, self._unknown)
            pieces = unigram_segmentation(word, lattice, strength, uniform)
        return tuple(token for piece in pieces for token in self._undone(piece))

    def _known(self, ids: list[int]) -> list[int]:
        """Return ids with those that this tokenizer does not have spelled by others."""
        if max(ids, default=0) < self.vocab_size:
            return ids
        spelled = (
            self._undone(self._learned[token - self._first_subword])
            if token >= self.vocab_size
            else (token,)
            for token in ids
        )
        return list(itertools.chain.from_iterable(spelled))

    def _undo(self, piece: str) -> tuple[int, ...]:
        """Return the ids of a piece: its own, or those of the pieces it was merged of, or bytes."""
        known = self._ids.get(piece)
        if known is not None:
            return (known,)
        if len(piece) == 1:
            return tuple(self._byte_ids(piece))
        parts = {piece[i:j] for i in range(len(piece)) for j in range(i + 1, len(piece) + 1)}
        scores = {p: self._scores[p] for p in parts if p in self._scores and p != piece}
        merged = bpe_segmentation(piece, scores, 0.0, uniform=float)
        return tuple(token for part in merged for token in self._undone(part))

    def _byte_ids(self, text: str) -> list[int]:
        return [self._first_byte + byte for byte in utf8(text)]

    def _stand_in(self, text: str) -> str:
        """Return a character that neither the text nor the vocabulary has, to encode as bytes."""
        taken = self._alphabet.union(text)
        return next(chr(code) for code in range(0x10FFFF, 0xFFFF, -1) if chr(code) not in taken)


def _load(data: bytes) -> sentencepiece.SentencePieceProcessor:
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=data)
    except (RuntimeError, ValueError) as error:
        raise BrokenFileError(f"sentencepiece cannot load it ({error})") from error


def _named(model: SentencePieceModel) -> tuple[str, ...]:
    """Return the pieces; placeholders have names, as nobody sees their characters."""
    first, end = FIRST_PIECE, model.first_byte
    return (*model.pieces[:first], *PLACEHOLDER_PIECES[: end - first], *model.pieces[end:])


def _learned(model: SentencePieceModel) -> list[str]:
    """Return the pieces after the bytes, spelled with the space itself."""
    return [piece.replace(SPACE_MARK, " ") for piece in model.pieces[model.first_subword :]]


def _surfaces(model: SentencePieceModel) -> list[bytes]:
    """Return what each id adds to a decoded text, as UTF-8."""
    specials = [b""] * FIRST_PIECE
    specials[UNK] = utf8(UNKNOWN_TEXT)
    placeholders = map(utf8, model.pieces[FIRST_PIECE : model.first_byte])
    every_byte = (bytes([byte]) for byte in range(256))
    return [*specials, *placeholders, *every_byte, *map(utf8, _learned(model))]


def _replace_run(ids: list[int], old: list[int], new: list[int]) -> list[int]:
    """Return ids with each run of ``old`` replaced; the runs are whole characters in UTF-8."""
    result: list[int] = []
    position = 0
    while position < len(ids):
        if ids[position] == old[0] and ids[position : position + len(old)] == old:
            result += new
            position += len(old)
        else:
            result.append(ids[position])
            position += 1
    return result
