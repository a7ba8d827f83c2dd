"""From texts and wishes to what is asked of the search."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from translucid.decoding.job import Tokens
from translucid.errors import InputError
from translucid.text.normalization import nfc
from translucid.text.spans import span_finder, whole_word
from translucid.text.tokenizer import EOS, UNK, Tokenizer
from translucid.translator.parts import Divided, Encode, Reader
from translucid.translator.searching import Request
from translucid.translator.terms import Terminology


@dataclass(frozen=True)
class Asked:
    """A text in parts, and what is asked of the search for each of them."""

    divided: Divided
    requests: tuple[Request, ...]


@dataclass(frozen=True)
class Wishes:
    """What holds for all texts: how they are read, what a source begins with, the terminology.

    What is to be written becomes tokens by `writer`.
    """

    reader: Reader
    writer: Tokenizer
    tag: Tokens
    terms: Terminology

    def ask(self, number: int, text: str, prefix: str) -> Asked:
        """Return what is asked for one text; `number` is its place, for messages."""
        with told_of("text", number):
            parts = self.reader.divide(text)
        begin = _prefix(_hidden(nfc(prefix), parts), self.writer.encode)
        requests = tuple(
            Request(
                source=(*self.tag, *part.tokens, EOS),
                prefix=() if place else begin,
                terms=self.terms.of(part.text),
            )
            for place, part in enumerate(parts.parts)
        )
        return Asked(parts, requests)


@contextmanager
def told_of(what: str, number: int) -> Iterator[None]:
    """Say in messages which text they are about; `number` is its place, from 0."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{what} {number + 1}: {error}") from error


def _hidden(prefix: str, divided: Divided) -> str:
    """Return a prefix as the network would write it: placeholders for the spans of the source."""
    prefix = prefix.strip()
    if not divided.parts or not prefix:
        return prefix
    first = divided.parts[0]
    prefix = prefix.removeprefix(first.before.strip())
    if divided.between_spans and span_finder().find(prefix):
        raise InputError(
            f"the prefix {prefix!r} has tags, addresses or the like in it, and this model has no "
            "placeholders for them: give a prefix that ends before them"
        )
    if len(divided.parts) == 1:
        prefix = prefix.removesuffix(divided.after.strip())
    return first.protected.hide_beginning(prefix)


def _prefix(text: str, encode: Encode) -> Tokens:
    """Return the tokens that a translation must begin with."""
    text = nfc(text).strip()
    tokens = tuple(encode(text))
    if "\n" in text or UNK in tokens:
        raise InputError(
            f"the prefix {text!r} cannot begin a translation: it has several lines, or characters "
            "that the model's vocabulary cannot spell"
        )
    return tokens


def checked_prefixes(prefixes: Iterable[str] | None, texts: Sequence[str]) -> list[str]:
    """Return a prefix for each text; refuse what is no list of as many."""
    if prefixes is None:
        return [""] * len(texts)
    given = checked_texts("prefixes", prefixes)
    if len(given) != len(texts):
        raise InputError(
            f"{len(given)} prefixes for {len(texts)} texts: give one a text, '' for none"
        )
    return given


def checked_keep(keep: Iterable[str], terms: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words to keep; refuse what is to be translated in another way as well."""
    kept = tuple(nfc(phrase).strip() for phrase in checked_texts("keep", keep))
    for number, phrase in enumerate(kept, start=1):
        if not phrase or "\n" in phrase:
            raise InputError(
                f"number {number} of keep is {phrase!r}: give a word or a phrase of one line"
            )
        for source, written in terms.items():
            if re.search(whole_word(phrase), nfc(source)):
                raise InputError(
                    f"{phrase!r} is to be kept as it is, and the term {source!r} must become "
                    f"{written!r}: leave one of the two out"
                )
    return kept


def checked_pairs(sources: Iterable[str], targets: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return sources and targets; refuse what are no two lists of as many texts."""
    given = checked_texts("sources", sources), checked_texts("targets", targets)
    if len(given[0]) != len(given[1]):
        raise InputError(
            f"{len(given[0])} sources and {len(given[1])} targets: give one target a source"
        )
    return given


def checked_texts(name: str, texts: Iterable[str]) -> list[str]:
    """Return texts as a list, whatever can be walked through once; refuse what are no strings."""
    if isinstance(texts, str):
        raise InputError(
            f"{name} is a list of texts, not the text {texts[:40]!r}: put it in a list"
        )
    given = list(texts)
    for number, text in enumerate(given, start=1):
        if not isinstance(text, str):
            raise InputError(
                f"number {number} of {name} is {text!r}, {type(text).__name__}: give strings"
            )
    return given


def check_batch_size(batch_size: int) -> None:
    """Refuse batches of nothing."""
    if batch_size < 1:
        raise InputError(f"batch_size = {batch_size}: a batch has at least 1 sentence")
