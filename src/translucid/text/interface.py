"""What every tokenizer can do, and the ids that all of them share.

::

    id      0      1      2     3      4 … 19              20 …
    piece   <pad>  <unk>  <s>   </s>   <tag0> … <tag15>    placeholders, then what was learned

Which tag means which language is recorded beside the data, so another language can be added
later without training the tokenizer again.

A placeholder stands for a span of text that is not translated, such as an address or a tag (see
`translucid.text.spans`). In text it is one private-use character; in the vocabularies that have
placeholders, it is one piece. There are four families, eight of each::

    word    <word0> … <word7>      read as a word: an address, a file name, a number, ``%s``
    open    <open0> … <open7>      the opening one of a pair of tags, as in ``<b>now</b>``
    close   <close0> … <close7>    the closing one of the same number
    mark    <mark0> … <mark7>      a mark that stands alone: an emoji, ``<br/>``
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from translucid.atomic import new_file
from translucid.errors import InputError

PAD, UNK, BOS, EOS = 0, 1, 2, 3
TAG_SLOTS = 16
FIRST_TAG = 4
FIRST_PIECE = FIRST_TAG + TAG_SLOTS  # the first id that stands for text

CORE_PIECES = ("<pad>", "<unk>", "<s>", "</s>")
TAG_PIECES = tuple(f"<tag{slot}>" for slot in range(TAG_SLOTS))
SPECIAL_PIECES = CORE_PIECES + TAG_PIECES

PLACEHOLDER_FAMILIES = ("word", "open", "close", "mark")
FAMILY_SIZE = 8
PLACEHOLDER_PIECES = tuple(
    f"<{family}{slot}>" for family in PLACEHOLDER_FAMILIES for slot in range(FAMILY_SIZE)
)
PLACEHOLDERS = "".join(chr(0xFF100 + number) for number in range(len(PLACEHOLDER_PIECES)))

UNKNOWN_TEXT = "⁇"  # how decode shows UNK, so that an unknown word does not vanish in silence

Kind = Literal["bpe", "unigram", "word", "char"]
KINDS: tuple[Kind, ...] = ("bpe", "unigram", "word", "char")


def tag_id(slot: int) -> int:
    """Return the token id of a language-tag slot (0 to 15)."""
    if not 0 <= slot < TAG_SLOTS:
        raise InputError(
            f"language-tag slot {slot} does not exist; slots run from 0 to {TAG_SLOTS - 1}.\n"
            f"  One model can hold at most {TAG_SLOTS} target languages."
        )
    return FIRST_TAG + slot


class Encoding(NamedTuple):
    """The tokens of one text and the part of it that each stands for.

    ``offsets`` are character positions [start, end) in the text given; read in order they cover
    it. The bytes of one character share its span. A piece that stands for nothing but the space
    assumed before the first word has the empty span (0, 0).
    """

    ids: list[int]
    pieces: list[str]
    offsets: list[tuple[int, int]]


class Tokenizer(ABC):
    """Turns text into ids and ids into text; never changes once made, and can be pickled.

    It is made from the bytes of its file, of which `fingerprint` is the hash, and from how many of
    its pieces it is to have (`within`).

    ``encode`` adds neither ``<s>`` nor ``</s>`` nor a tag, and no text, whatever it spells,
    becomes one of them; a character of `PLACEHOLDERS` becomes a placeholder where the vocabulary
    has them. The text should be normalised (:func:`translucid.text.normalize.nfc`)
    as the training text was; the tokenizer itself changes nothing.
    """

    kind: Kind

    def __init__(self, data: bytes, pieces: Sequence[str]) -> None:
        self._data = data
        self._pieces = tuple(pieces)
        self.fingerprint = hashlib.sha256(data).hexdigest()

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._data,)

    @property
    def vocab_size(self) -> int:
        """The number of ids, special ones included."""
        return len(self._pieces)

    @property
    def has_placeholders(self) -> bool:
        """Whether the vocabulary has placeholders, from id FIRST_PIECE on."""
        return self._pieces[FIRST_PIECE : FIRST_PIECE + 1] == PLACEHOLDER_PIECES[:1]

    def piece(self, token: int) -> str:
        """Return the piece of an id as the vocabulary holds it, e.g. ``▁the`` or ``</s>``."""
        self._check_ids([token])
        return self._pieces[token]

    def save(self, path: Path) -> None:
        """Write the tokenizer's file; ``fingerprint`` is the sha256 of what is written."""
        with new_file(path) as file:
            file.write(self._data)

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Return the ids of a text; the empty text has none."""

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text."""
        return [self.encode(text) for text in texts]

    @abstractmethod
    def encode_with_offsets(self, text: str) -> Encoding:
        """Return ids, pieces and the span of the text that each piece stands for."""

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids; ``<pad>``, ``<s>``, ``</s>`` and tags add nothing to it.

        ``<unk>`` shows as ``⁇``. Bytes that are no valid UTF-8, which a model can produce and
        ``encode`` cannot, show as U+FFFD.
        """

    def within(self, size: int) -> Tokenizer:
        """Return a tokenizer that has the first `size` ids only, and spells every text with them.

        That is what a network needs whose target side has fewer pieces than its source side.
        """
        if size == self.vocab_size:
            return self
        raise InputError(
            f"a tokenizer of kind {self.kind} cannot do with {size:,} of its {self.vocab_size:,} "
            "pieces; one of kind bpe can"
        )

    def sample(self, text: str, *, seed: int, strength: float) -> list[int]:  # noqa: ARG002
        """Return the ids of one random segmentation, a pure function of the arguments.

        ``strength`` is the dropout probability for BPE (BPE-dropout) and the exponent alpha for
        unigram (subword regularisation; the smaller, the more varied); 0.1 is usual for both.
        Strength 0 means no sampling: ``encode``. Words and characters have one segmentation only.
        """
        if strength < 0:
            raise InputError(
                f"the strength of subword sampling is {strength}; it must be 0 or more."
            )
        return self.encode(text)

    def _check_ids(self, ids: Sequence[int]) -> None:
        """Refuse ids outside the vocabulary."""
        wrong = [token for token in ids if not 0 <= token < self.vocab_size]
        if wrong:
            raise InputError(
                f"token id {wrong[0]} is not in the vocabulary; ids run from 0 to "
                f"{self.vocab_size - 1}.\n"
                f"  The ids come from another tokenizer than this one ({self.kind}, fingerprint "
                f"{self.fingerprint[:12]})."
            )


Tokenizers = tuple[Tokenizer, Tokenizer]  # of sources and of targets, which may have fewer pieces


class BrokenFileError(ValueError):
    """Bytes that are no tokenizer; the message completes "it cannot be used: …".

    Only inside this package: whoever knows the path makes a DataError of it.
    """


def utf8(text: str) -> bytes:
    """Return the text as UTF-8, or say which character cannot be part of a text."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise InputError(
            f"character {error.start + 1} of the text is the lone surrogate U+{code:04X}, which "
            f"is half a character and cannot be written as UTF-8.\n"
            f"  Text: {text[max(0, error.start - 20) : error.start + 20]!r}\n"
            f"  Remove it, or repair the text where it was read (a broken \\u escape in JSON, or "
            f"UTF-16 read as something else)."
        ) from error
