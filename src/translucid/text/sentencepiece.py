"""BPE and unigram tokenizers by SentencePiece, with bytes for characters outside the vocabulary.

Nothing is normalised and no white space removed, so ``decode(encode(text)) == text`` for every
text. Two things need care:

- A space is assumed before the first word, so that a word has the same pieces wherever it stands.
  ``decode`` removes it again.
- SentencePiece writes a space as U+2581 (▁) and would read a ▁ in the text as a space. Such a ▁
  is encoded as its three bytes, which SentencePiece also decodes as ▁.

A BPE tokenizer can work without its last pieces (`within`). Where it would use one of them, it
undoes the merge, and so on until only known pieces are left: the vocabulary filter of Sennrich et
al., "Edinburgh Neural Machine Translation Systems for WMT 16" (2016). A missing character becomes
bytes.

Random segmentations for training (`sample`) are pure functions of the word and a stream of numbers:

- BPE-dropout: Provilkov, Emelianenko, Voita: "BPE-Dropout: Simple and Effective Subword
  Regularization" (2020), algorithm 1.
- Unigram sampling: Kudo: "Subword Regularization: Improving Neural Network Translation Models
  with Multiple Subword Candidates" (2018), section 3.2, over all segmentations.

SentencePiece has both, but draws from one generator per thread that cannot be seeded again, so a
resumed run could not repeat what an uninterrupted one does. Here a piece is spelled with the space
itself. No piece has a space after its first character, so the words of a text, each with the space
before it, are segmented independently; the product of their distributions is that of the text.
"""

from __future__ import annotations

import functools
import hashlib
import heapq
import itertools
import math
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, Self

import sentencepiece

from translucid.errors import InputError
from translucid.text.sentencepiece_model import (
    SPACE_MARK,
    SentencePieceModel,
    move_to_front,
    read_model,
    train_model,
)
from translucid.text.tokenizer import (
    FIRST_PIECE,
    PLACEHOLDER_PIECES,
    UNK,
    UNKNOWN_TEXT,
    BrokenFileError,
    Encoding,
    Tokenizer,
    register_tokenizer,
    utf8,
)

# A word has this many random segmentations, each a draw from the full distribution; the seed and
# its position in the sentence choose one. So the most frequent words can be cached.
VARIANTS = 64
CACHE_SIZE = 1 << 17  # segmentations, about 40 MB
LONGEST_CACHED = 32  # characters; a longer word hardly ever comes again

SIZE_MULTIPLE = 64  # matrix products are faster if the number of pieces is a multiple of it


class SentencePieceTokenizer(Tokenizer):
    """A SentencePiece model of kind ``bpe`` or ``unigram``."""

    kind: Literal["bpe", "unigram"]

    def __init__(self, data: bytes, size: int | None = None) -> None:
        model = read_model(data)
        super().__init__(data, _name_pieces(model)[:size])
        self.kind = model.kind
        self._first_byte, self._first_subword = model.first_byte, model.first_subword
        self._processor = load_processor(data)
        self._surfaces = _surfaces(model)
        self._learned = _learned_pieces(model)
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
        self._sample_cached = functools.lru_cache(maxsize=CACHE_SIZE)(self._sample_word)
        self._spell = functools.cache(self._spell_piece)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._data, self.vocab_size)

    @classmethod
    def train(
        cls, kind: str, sentences: Iterable[str], *, vocab_size: int, placeholders: bool
    ) -> Self:
        """Learn a tokenizer of kind ``bpe`` or ``unigram``."""
        return cls(
            train_model(sentences, kind=kind, vocab_size=vocab_size, placeholders=placeholders)
        )

    def within(self, size: int) -> Tokenizer:
        """Return a tokenizer of the same kind that uses only the first `size` ids."""
        if self.kind != "bpe" or size == self.vocab_size:
            return super().within(size)
        if not self._first_subword <= size < self.vocab_size:
            raise InputError(
                f"a BPE tokenizer cannot use only {size:,} of its {self.vocab_size:,} pieces: it "
                f"needs at least the {self._first_subword} that are symbols and bytes"
            )
        return SentencePieceTokenizer(self._data, size)

    def move_target_pieces_first(
        self, targets: Iterable[Sequence[str]]
    ) -> tuple[SentencePieceTokenizer, int]:
        """Return this tokenizer with the pieces of target texts first, and their number.

        `targets` are batches of texts. Symbols, bytes and all characters of the texts count too,
        since other texts may need them, and a few more pieces to reach a multiple of SIZE_MULTIPLE.
        """
        seen, characters = set(range(self._first_subword)), {" "}
        for texts in targets:
            characters.update(*texts)
            seen.update(*self.encode_batch(texts))
        seen.update(self._ids[one] for one in characters if one in self._ids)
        others = (token for token in range(self.vocab_size) if token not in seen)
        seen.update(list(itertools.islice(others, -len(seen) % SIZE_MULTIPLE)))
        return SentencePieceTokenizer(move_to_front(self._data, seen)), len(seen)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text; the empty text has none."""
        if SPACE_MARK in text:
            return self.encode_batch([text])[0]
        ids: list[int] = self._processor.encode(utf8(text), out_type=int)
        return self._respell(ids)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, in one call of SentencePiece."""
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
        return [self._respell(ids) for ids in batch]

    def encode_with_offsets(self, text: str) -> Encoding:
        """Return ids, pieces and the span of the text that each piece covers."""
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
            draw = self._sample_cached if len(word) <= LONGEST_CACHED else self._sample_word
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
        return tuple(token for piece in pieces for token in self._spell(piece))

    def _respell(self, ids: list[int]) -> list[int]:
        """Return ids in which those that this tokenizer lacks are spelled with others."""
        if max(ids, default=0) < self.vocab_size:
            return ids
        spelled = (
            self._spell(self._learned[token - self._first_subword])
            if token >= self.vocab_size
            else (token,)
            for token in ids
        )
        return list(itertools.chain.from_iterable(spelled))

    def _spell_piece(self, piece: str) -> tuple[int, ...]:
        """Return the ids of a piece: its own, or those of the pieces it consists of, or bytes."""
        known = self._ids.get(piece)
        if known is not None:
            return (known,)
        if len(piece) == 1:
            return tuple(self._byte_ids(piece))
        parts = {piece[i:j] for i in range(len(piece)) for j in range(i + 1, len(piece) + 1)}
        scores = {p: self._scores[p] for p in parts if p in self._scores and p != piece}
        merged = bpe_segmentation(piece, scores, 0.0, uniform=float)
        return tuple(token for part in merged for token in self._spell(part))

    def _byte_ids(self, text: str) -> list[int]:
        return [self._first_byte + byte for byte in utf8(text)]

    def _stand_in(self, text: str) -> str:
        """Return a character that is in neither the text nor the vocabulary, to encode as bytes."""
        taken = self._alphabet.union(text)
        return next(chr(code) for code in range(0x10FFFF, 0xFFFF, -1) if chr(code) not in taken)


for _kind in ("bpe", "unigram"):
    register_tokenizer(
        _kind,
        load=SentencePieceTokenizer,
        train=functools.partial(SentencePieceTokenizer.train, _kind),
        can_have_placeholders=True,
    )


def load_processor(data: bytes) -> sentencepiece.SentencePieceProcessor:
    """Return SentencePiece's own tokenizer of a model file, or raise BrokenFileError."""
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=data)
    except (RuntimeError, ValueError) as error:
        raise BrokenFileError(f"SentencePiece cannot load it ({error})") from error


def _name_pieces(model: SentencePieceModel) -> tuple[str, ...]:
    """Return the pieces, with names for placeholders, whose characters are invisible."""
    first, end = FIRST_PIECE, model.first_byte
    return (*model.pieces[:first], *PLACEHOLDER_PIECES[: end - first], *model.pieces[end:])


def _learned_pieces(model: SentencePieceModel) -> list[str]:
    """Return the pieces after the bytes, spelled with the space itself."""
    return [piece.replace(SPACE_MARK, " ") for piece in model.pieces[model.first_subword :]]


def _surfaces(model: SentencePieceModel) -> list[bytes]:
    """Return what each id adds to a decoded text, as UTF-8."""
    specials = [b""] * FIRST_PIECE
    specials[UNK] = utf8(UNKNOWN_TEXT)
    placeholders = map(utf8, model.pieces[FIRST_PIECE : model.first_byte])
    every_byte = (bytes([byte]) for byte in range(256))
    return [*specials, *placeholders, *every_byte, *map(utf8, _learned_pieces(model))]


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


Uniform = Callable[[], float]

UNKNOWN_PENALTY = 10.0  # as in SentencePiece: how much worse it is than the worst piece


def uniforms(key: bytes) -> Iterator[float]:
    """Yield numbers in [0, 1) that depend only on the key, on every machine and version."""
    for block in itertools.count():
        digest = hashlib.blake2b(key, salt=block.to_bytes(16, "little")).digest()
        for number in struct.unpack("<8Q", digest):
            yield (number >> 11) * 2.0**-53


def bpe_segmentation(
    word: str, scores: Mapping[str, float], dropout: float, uniform: Uniform
) -> list[str]:
    """Return the pieces of a word by BPE, dropping possible merges at random in each step.

    In each step every pair of neighbours whose union is a piece is a candidate; each is dropped
    with probability ``dropout``, and the remaining one with the highest score (then the leftmost)
    is merged. A step without remaining candidates is the last. Dropout 0 is plain BPE.

    Candidates are tried in the order of their scores, so only those before the winner need a
    random number. Merging ends only when all candidates are dropped in one step, so dropout has
    little effect on very long words, such as whole sentences of a script without spaces.
    """
    end = len(word)
    symbols = list(word)
    following = list(range(1, end + 1))
    preceding = list(range(-1, end - 1))
    heap: list[tuple[float, int, str]] = []  # candidates: (-score, index of the left symbol, union)
    dropped: list[tuple[float, int, str]] = []  # those dropped in this step

    def propose(left: int, union: str) -> None:
        score = scores.get(union)
        if score is not None:
            heapq.heappush(heap, (-score, left, union))

    for left in range(end - 1):
        propose(left, word[left : left + 2])
    while heap:
        candidate = heapq.heappop(heap)
        _, left, union = candidate
        right = following[left]
        # A neighbour may have been merged since the candidate was proposed.
        if not symbols[left] or right == end or symbols[left] + symbols[right] != union:
            continue
        if dropout and uniform() < dropout:
            dropped.append(candidate)
            continue
        symbols[left], symbols[right] = union, ""
        after = following[left] = following[right]
        if after < end:
            preceding[after] = left
            propose(left, union + symbols[after])
        if preceding[left] >= 0:
            propose(preceding[left], symbols[preceding[left]] + union)
        while dropped:
            heapq.heappush(heap, dropped.pop())
    return [symbol for symbol in symbols if symbol]


Lattice = list[list[tuple[int, float]]]


def unknown_score(scores: Mapping[str, float]) -> float:
    """Return the score of a character that is not a piece."""
    return min(scores.values()) - UNKNOWN_PENALTY


def unigram_lattice(
    word: str, scores: Mapping[str, float], longest: int, unknown: float
) -> Lattice:
    """Return every piece in a word: at index e, the (start, score) of those that end at e.

    ``longest`` is the length of the longest piece. A character that is not a piece has the score
    ``unknown``.
    """
    lattice: Lattice = [[] for _ in range(len(word) + 1)]
    for start in range(len(word)):
        for end in range(start + 1, min(start + longest, len(word)) + 1):
            score = scores.get(word[start:end])
            if score is not None:
                lattice[end].append((start, score))
            elif end == start + 1:
                lattice[end].append((start, unknown))
    return lattice


def unigram_segmentation(word: str, lattice: Lattice, alpha: float, uniform: Uniform) -> list[str]:
    """Draw one segmentation with probability proportional to exp(alpha · sum of its scores).

    Forward filtering: the log-weight of all segmentations of each beginning of the word. Backward
    sampling: from the end, each piece by its share in that weight.
    """
    totals = [0.0]
    for edges in lattice[1:]:
        weights = [totals[start] + alpha * score for start, score in edges]
        highest = max(weights)
        totals.append(highest + math.log(sum([math.exp(weight - highest) for weight in weights])))
    pieces: list[str] = []
    end = len(word)
    while end > 0:
        left = uniform()
        for start, score in lattice[end]:
            left -= math.exp(totals[start] + alpha * score - totals[end])
            if left < 0:
                break
        pieces.append(word[start:end])
        end = start
    return pieces[::-1]
