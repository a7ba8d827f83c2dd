"""From texts and wishes to what is asked of the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from translucid.decoding.job import Tokens
from translucid.errors import InputError
from translucid.text.interface import EOS, UNK, Tokenizer
from translucid.text.normalize import nfc
from translucid.translator.parts import Divided, Encode, divided
from translucid.translator.searching import Request
from translucid.translator.terms import Terminology


@dataclass(frozen=True)
class Asked:
    """A text in parts, and what is asked of the search for each of them."""

    divided: Divided
    requests: tuple[Request, ...]


@dataclass(frozen=True)
class Wishes:
    """What holds for all texts: how a source begins, how long it may be, and the terminology."""

    tokenizer: Tokenizer
    tag: Tokens
    longest: int
    terms: Terminology

    def ask(self, number: int, text: str, prefix: str) -> Asked:
        """Return what is asked for one text; `number` is its place, for messages."""
        try:
            parts = divided(text, self.tokenizer.encode, self.longest)
        except InputError as error:
            raise InputError(f"text {number + 1}: {error}") from error
        begin = _prefix(prefix, self.tokenizer.encode)
        requests = tuple(
            Request(
                source=(*self.tag, *part.tokens, EOS),
                prefix=() if place else begin,
                terms=self.terms.of(part.text),
            )
            for place, part in enumerate(parts.parts)
        )
        return Asked(parts, requests)


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


def check_texts(texts: Sequence[str], prefixes: Sequence[str] | None, batch_size: int) -> None:
    """Refuse what is no list of texts, and prefixes that are not one a text."""
    _check_strings("texts", texts)
    if prefixes is not None:
        _check_strings("prefixes", prefixes)
        if len(prefixes) != len(texts):
            raise InputError(
                f"{len(prefixes)} prefixes for {len(texts)} texts: give one a text, '' for none"
            )
    check_batch_size(batch_size)


def check_pairs(sources: Sequence[str], targets: Sequence[str], batch_size: int) -> None:
    """Refuse what are no two lists of as many texts."""
    _check_strings("sources", sources)
    _check_strings("targets", targets)
    if len(sources) != len(targets):
        raise InputError(
            f"{len(sources)} sources and {len(targets)} targets: give one target a source"
        )
    check_batch_size(batch_size)


def _check_strings(name: str, texts: Sequence[str]) -> None:
    if isinstance(texts, str):
        raise InputError(
            f"{name} is a list of texts, not the text {texts[:40]!r}: put it in a list"
        )
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise InputError(
                f"number {number} of {name} is {text!r}, {type(text).__name__}: give strings"
            )


def check_batch_size(batch_size: int) -> None:
    """Refuse batches of nothing."""
    if batch_size < 1:
        raise InputError(f"batch_size = {batch_size}: a batch has at least 1 sentence")


def terminology(terms: Mapping[str, str] | None, tokenizer: Tokenizer) -> Terminology:
    """Return the terminology of a mapping from source words to target words."""
    return Terminology(terms or {}, tokenizer.encode)
