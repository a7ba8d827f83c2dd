"""What every tokenizer can do, the ids that all of them share, and how to train, load and add one.

========  ===========================================  =======================================
kind      pieces                                       text outside the vocabulary
========  ===========================================  =======================================
bpe       parts of words, merged by frequency          bytes: every text is restored exactly
unigram   parts of words, chosen by likelihood         bytes: every text is restored exactly
word      whole words and punctuation marks            UNK
char      single characters                            UNK
========  ===========================================  =======================================

`register_tokenizer` adds another kind; the kind `marian` comes with imported models. BPE and
unigram are saved as SentencePiece model files, which other programs can read; every other kind as
JSON that names its kind.

All kinds share the first ids::

    id      0      1      2     3      4 … 19              20 …
    piece   <pad>  <unk>  <s>   </s>   <tag0> … <tag15>    placeholders, then learned pieces

The manifest of the data records which tag means which language, so a language can be added without
training the tokenizer again.

A placeholder stands for a span of text that is not translated, such as a URL or a tag (see
`translucid.text.placeholders`). In text it is one private-use character; in vocabularies that have
placeholders, it is one piece. There are eight of each family::

    word    <word0> … <word7>      read as a word: a URL, a file name, a number, ``%s``
    open    <open0> … <open7>      the opening tag of a pair, as in ``<b>now</b>``
    close   <close0> … <close7>    the closing tag of the same number
    mark    <mark0> … <mark7>      a mark that stands alone: an emoji, ``<br/>``
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from translucid.errors import DataError, InputError, nearest
from translucid.files import new_file

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

UNKNOWN_TEXT = "⁇"  # how decode shows UNK, so that an unknown word does not vanish silently
MAX_VOCAB_SIZE = 1_000_000


def tag_id(slot: int) -> int:
    """Return the token id of a language-tag slot (0 to 15)."""
    if not 0 <= slot < TAG_SLOTS:
        raise InputError(
            f"language-tag slot {slot} does not exist; slots run from 0 to {TAG_SLOTS - 1}.\n"
            f"  One model can hold at most {TAG_SLOTS} target languages."
        )
    return FIRST_TAG + slot


class Encoding(NamedTuple):
    """The tokens of one text and the characters that each of them covers.

    ``offsets`` are character positions [start, end) in the text; read in order they cover it. The
    bytes of one character share its span. A piece that is only the space assumed before the first
    word has the empty span (0, 0).
    """

    ids: list[int]
    pieces: list[str]
    offsets: list[tuple[int, int]]


class Tokenizer(ABC):
    """Turn text into ids and ids into text; immutable, and can be pickled.

    A tokenizer is made from the bytes of its file, whose SHA-256 is its `fingerprint`.

    ``encode`` adds neither ``<s>`` nor ``</s>`` nor a tag, and no text can become one of them; a
    character of `PLACEHOLDERS` becomes a placeholder if the vocabulary has them. The tokenizer does
    not normalise: the text should be normalised as the training text was
    (`translucid.text.normalization`).
    """

    kind: str

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
        """Return the piece of an id as the vocabulary spells it, e.g. ``▁the`` or ``</s>``."""
        self._check_ids([token])
        return self._pieces[token]

    def save(self, path: Path) -> None:
        """Write the tokenizer's file; ``fingerprint`` is its SHA-256."""
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
        """Return ids, pieces and the span of the text that each piece covers."""

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids; ``<pad>``, ``<s>``, ``</s>`` and tags add nothing to it.

        ``<unk>`` shows as ``⁇``. Bytes that are not valid UTF-8, which a model can produce and
        ``encode`` cannot, show as U+FFFD.
        """

    def within(self, size: int) -> Tokenizer:
        """Return the tokenizer of targets, which uses only the first `size` ids.

        It can still spell every text. A network whose target vocabulary is smaller than its source
        vocabulary needs this.
        """
        if size == self.vocab_size:
            return self
        raise InputError(
            f"a tokenizer of kind {self.kind} cannot use only {size:,} of its "
            f"{self.vocab_size:,} pieces; one of kind bpe can"
        )

    def sample(self, text: str, *, seed: int, strength: float) -> list[int]:  # noqa: ARG002
        """Return the ids of one random segmentation, a pure function of the arguments.

        ``strength`` is the dropout probability for BPE (BPE-dropout) and the exponent alpha for
        unigram (subword regularisation; the smaller, the more varied); 0.1 is usual for both.
        Strength 0 means no sampling: ``encode``. Words and characters have only one segmentation.
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


# ---- kinds of tokenizers ------------------------------------------------------------------------


class TrainTokenizer(Protocol):
    """Learn a tokenizer with at most `vocab_size` pieces, special ones included."""

    def __call__(
        self, sentences: Iterable[str], *, vocab_size: int, placeholders: bool
    ) -> Tokenizer:
        """Return the tokenizer; `placeholders` asks for a piece for each placeholder."""


@dataclass(frozen=True)
class TokenizerKind:
    """How tokenizers of one kind are trained, and loaded from the bytes of their file."""

    load: Callable[[bytes], Tokenizer]
    train: TrainTokenizer
    can_have_placeholders: bool


# The modules of the built-in kinds, which register them when they are first needed.
_BUILT_IN = {
    "bpe": "translucid.text.sentencepiece",
    "unigram": "translucid.text.sentencepiece",
    "word": "translucid.text.word_and_character",
    "char": "translucid.text.word_and_character",
}
IMPORTED = "marian"  # the kind that comes with imported models: it is loaded, and never trained
_REGISTRY: dict[str, TokenizerKind] = {}


def register_tokenizer(
    kind: str,
    *,
    load: Callable[[bytes], Tokenizer],
    train: TrainTokenizer,
    can_have_placeholders: bool = False,
) -> None:
    """Add a kind of tokenizer, so that it can be trained, saved and loaded by its name.

    `load` makes a tokenizer from the bytes of its file, which must come from `to_json`. It and
    `train` must be importable by name (not lambdas), as `prepare` sends them to other processes::

        register_tokenizer("syllable", load=SyllableTokenizer, train=SyllableTokenizer.train)

    A word list of your own needs only a subclass of
    `translucid.text.word_and_character.PieceListTokenizer` with a `split` method.
    """
    entry = TokenizerKind(load, train, can_have_placeholders)
    if _REGISTRY.setdefault(kind, entry) != entry:
        raise InputError(f"a tokenizer of kind {kind!r} is registered already; use another name")


def tokenizer_kinds() -> tuple[str, ...]:
    """Return the names of all kinds, built-in ones first."""
    return tuple(dict.fromkeys([*_BUILT_IN, *_REGISTRY]))


def get_tokenizer_kind(kind: str) -> TokenizerKind:
    """Return how a kind of tokenizer is trained and loaded; InputError if there is no such kind."""
    if kind in _BUILT_IN:
        importlib.import_module(_BUILT_IN[kind])
    if kind not in _REGISTRY:
        raise InputError(
            f"there is no tokenizer of kind {kind!r}; {nearest(kind, tokenizer_kinds())}"
        )
    return _REGISTRY[kind]


def registered_tokenizers() -> dict[str, TokenizerKind]:
    """Return the kinds that were added to the built-in ones, for another process to add too."""
    return {kind: entry for kind, entry in _REGISTRY.items() if kind not in _BUILT_IN}


def train_tokenizer(
    sentences: Iterable[str],
    *,
    kind: str,
    vocab_size: int,
    path: Path,
    placeholders: bool = False,
) -> Tokenizer:
    """Learn a vocabulary from sentences, write it to ``path`` and return the tokenizer.

    ``vocab_size`` is an upper limit, special pieces included: text with fewer pieces gives a
    smaller vocabulary (see ``Tokenizer.vocab_size``). The result depends only on the sentences,
    their order and the limit.

    Every sentence is used. SentencePiece keeps them in memory, words and characters only their
    counts, so the caller bounds memory and time by the number of sentences; a few million are
    plenty for any vocabulary.

    With `placeholders` the vocabulary has a piece for each placeholder; words and characters
    cannot have them.
    """
    entry = get_tokenizer_kind(kind)
    if not FIRST_PIECE + 2 <= vocab_size <= MAX_VOCAB_SIZE:
        raise InputError(
            f"a vocabulary of {vocab_size} pieces is not possible; the size must be from "
            f"{FIRST_PIECE + 2} to {MAX_VOCAB_SIZE:,}, of which {FIRST_PIECE} are special pieces."
        )
    if placeholders and not entry.can_have_placeholders:
        raise InputError(
            f"a tokenizer of kind {kind} has no placeholders: choose bpe or unigram, or leave "
            "placeholders out"
        )
    if not path.parent.is_dir():
        raise InputError(
            f"the tokenizer cannot be written to {path}: there is no folder {path.parent}.\n"
            f"  Create it first."
        )
    text = _skip_blank(sentences)
    tokenizer = entry.train(text, vocab_size=vocab_size, placeholders=placeholders)
    tokenizer.save(path)
    return tokenizer


def _skip_blank(sentences: Iterable[str]) -> Iterator[str]:
    """Return the sentences from the first one that is not blank; refuse to have none."""
    remaining = iter(sentences)
    first = next((sentence for sentence in remaining if sentence.strip()), None)
    if first is None:
        raise InputError(
            "there is no text to train the tokenizer on: there are no sentences, or all of them "
            "are blank.\n"
            "  Check the training files, and what the report says that cleaning removed."
        )
    return itertools.chain([first], remaining)


# ---- files --------------------------------------------------------------------------------------

FORMAT = "translucid tokenizer"
VERSION = 1


class BrokenFileError(ValueError):
    """Bytes that are not a usable tokenizer; the message completes "it cannot be used: …".

    Raised by functions that do not know the path; `load_tokenizer` turns it into a DataError.
    """


def load_tokenizer(path: Path) -> Tokenizer:
    """Load a tokenizer of any kind from the file that ``save`` or ``train_tokenizer`` wrote."""
    data = read_tokenizer_file(path)
    try:
        if not data.startswith(b"{"):
            return get_tokenizer_kind("bpe").load(data)  # a SentencePiece file tells which it is
        kind = str(from_json(data).get("kind"))
        if kind == IMPORTED:
            from translucid.text.marian import MarianTokenizer

            return MarianTokenizer(data)
        if kind in tokenizer_kinds():
            return get_tokenizer_kind(kind).load(data)
    except BrokenFileError as error:
        raise unusable_tokenizer(path, error) from error
    raise DataError(
        path,
        f"this tokenizer cannot be used: its kind is {kind!r}; {nearest(kind, tokenizer_kinds())}",
        remedy="If it is your own kind, register it first: translucid.text.tokenizer."
        f"register_tokenizer({kind!r}, load=…, train=…). Otherwise make the file again with "
        "`translucid prepare`.",
    )


def read_tokenizer_file(path: Path) -> bytes:
    """Return the bytes of a tokenizer's file, or raise a DataError that names it."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(
            path,
            f"the tokenizer cannot be read: {error.strerror}",
            remedy="Check the path; `translucid prepare` writes this file.",
        ) from error
    if not data:
        raise unusable_tokenizer(path, BrokenFileError("it is empty"))
    return data


def unusable_tokenizer(path: Path, error: BrokenFileError) -> DataError:
    """Return the error that says which file is not a usable tokenizer, and why."""
    return DataError(
        path,
        f"this tokenizer cannot be used: {error}",
        remedy="Copy the file again from where it was made, or make it with `translucid prepare`.",
    )


def to_json(kind: str, content: Mapping[str, Any]) -> bytes:
    """Return the file of a tokenizer: JSON with one value per line, for people and diffs."""
    values = {"format": FORMAT, "version": VERSION, "kind": kind, **content}
    return utf8(json.dumps(values, ensure_ascii=False, indent=0) + "\n")


def from_json(data: bytes) -> dict[str, Any]:
    """Return what `to_json` wrote: the kind and the content; raises BrokenFileError."""
    try:
        values = json.loads(data)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenFileError(f"it is not valid JSON ({error})") from error
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise BrokenFileError(f'it is JSON without "format": "{FORMAT}"')
    if values.get("version") != VERSION:
        raise BrokenFileError(
            f"it has version {values.get('version')!r} and this program reads version {VERSION}"
        )
    return values


def utf8(text: str) -> bytes:
    """Return the text as UTF-8, or say which character cannot be encoded."""
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
