"""Tokenizers: one interface, four kinds, trained and loaded here.

========  ===========================================  =======================================
kind      pieces                                       text outside the vocabulary
========  ===========================================  =======================================
bpe       parts of words, merged by frequency          bytes: every text comes back exactly
unigram   parts of words, chosen by likelihood         bytes: every text comes back exactly
word      whole words and punctuation marks            UNK
char      single characters                            UNK
========  ===========================================  =======================================

The saved file of BPE and unigram is sentencepiece's own, which other programs can read; that of
words and characters is JSON.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from translucid.errors import DataError, InputError, nearest
from translucid.text.character import CharacterTokenizer
from translucid.text.interface import (
    BOS,
    EOS,
    FIRST_PIECE,
    KINDS,
    PAD,
    TAG_SLOTS,
    UNK,
    BrokenFileError,
    Encoding,
    Kind,
    Tokenizer,
    Tokenizers,
    tag_id,
)
from translucid.text.piece_list import PieceListTokenizer, read_pieces
from translucid.text.sentencepiece_tokenizer import SentencePieceTokenizer
from translucid.text.sentencepiece_training import train_sentencepiece
from translucid.text.word import WordTokenizer

__all__ = [
    "BOS",
    "EOS",
    "KINDS",
    "MAX_VOCAB_SIZE",
    "PAD",
    "TAG_SLOTS",
    "UNK",
    "Encoding",
    "Kind",
    "Tokenizer",
    "Tokenizers",
    "load_tokenizer",
    "tag_id",
    "train_tokenizer",
]

MAX_VOCAB_SIZE = 1_000_000

_LISTS: dict[str, type[PieceListTokenizer]] = {"word": WordTokenizer, "char": CharacterTokenizer}


def train_tokenizer(
    sentences: Iterable[str],
    *,
    kind: str,
    vocab_size: int,
    path: Path,
    placeholders: bool = False,
) -> Tokenizer:
    """Learn a vocabulary from sentences, write it to ``path`` and return the tokenizer.

    ``vocab_size`` is an upper limit, special pieces included: text that does not offer so many
    pieces gives a smaller vocabulary, which ``Tokenizer.vocab_size`` tells. The result depends on
    the sentences, their order and the limit alone.

    Every sentence given is used. sentencepiece holds them in memory, words and characters only
    their counts, so the caller bounds memory and time by the number of sentences it gives: a few
    million are plenty for any vocabulary.

    With `placeholders` the vocabulary has a piece for each placeholder; words and characters
    cannot have them.
    """
    _check_request(kind, vocab_size, path, placeholders=placeholders)
    text = _from_first_text(sentences)
    tokenizer: Tokenizer
    if kind in _LISTS:
        tokenizer = _LISTS[kind].train(text, vocab_size)
    else:
        tokenizer = SentencePieceTokenizer(
            train_sentencepiece(text, kind=kind, vocab_size=vocab_size, placeholders=placeholders)
        )
    tokenizer.save(path)
    return tokenizer


def load_tokenizer(path: Path) -> Tokenizer:
    """Load a tokenizer of any kind from the file that ``save`` or ``train_tokenizer`` wrote."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(
            path,
            f"the tokenizer cannot be read: {error.strerror}",
            remedy="Check the path; `translucid prepare` writes this file.",
        ) from error
    try:
        return _tokenizer_from(data)
    except BrokenFileError as error:
        raise DataError(
            path,
            f"this tokenizer cannot be used: {error}",
            remedy="Copy the file again from where it was made, or make it with "
            "`translucid prepare`.",
        ) from error


def _tokenizer_from(data: bytes) -> Tokenizer:
    if not data:
        raise BrokenFileError("it is empty")
    if not data.startswith(b"{"):
        return SentencePieceTokenizer(data)
    kind, _ = read_pieces(data)
    if kind not in _LISTS:
        raise BrokenFileError(f"its kind is {kind!r}; {nearest(kind, _LISTS)}")
    return _LISTS[kind](data)


def _check_request(kind: str, vocab_size: int, path: Path, *, placeholders: bool) -> None:
    """Refuse what cannot succeed before any time is spent on it."""
    if kind not in KINDS:
        raise InputError(f"there is no tokenizer of kind {kind!r}; {nearest(kind, KINDS)}")
    if not FIRST_PIECE + 2 <= vocab_size <= MAX_VOCAB_SIZE:
        raise InputError(
            f"a vocabulary of {vocab_size} pieces is not possible; the size must be from "
            f"{FIRST_PIECE + 2} to {MAX_VOCAB_SIZE:,}, of which {FIRST_PIECE} are special pieces."
        )
    if placeholders and kind in _LISTS:
        raise InputError(
            f"a tokenizer of kind {kind} has no placeholders: choose bpe or unigram, or leave "
            "placeholders out"
        )
    if not path.parent.is_dir():
        raise InputError(
            f"the tokenizer cannot be written to {path}: there is no folder {path.parent}.\n"
            f"  Create it first."
        )


def _from_first_text(sentences: Iterable[str]) -> Iterator[str]:
    """Return the sentences from the first that is not blank; there must be one."""
    remaining = iter(sentences)
    first = next((sentence for sentence in remaining if sentence.strip()), None)
    if first is None:
        raise InputError(
            "there is no text to train the tokenizer on: there are no sentences, or all of them "
            "are blank.\n"
            "  Check the training files, and in the report what cleaning has removed."
        )
    return itertools.chain([first], remaining)
