"""The tokens that a translation is forced to begin with: which ones can be."""

from __future__ import annotations

from collections.abc import Sequence

from translucid.decoding.job import Tokens
from translucid.errors import InputError
from translucid.text.normalization import nfc
from translucid.text.tokenizer import EOS, FIRST_PIECE, UNK
from translucid.translator import Translator


def forced_prefix(translator: Translator, prefix: Sequence[int]) -> Tokens:
    """Return the tokens that a translation is to begin with; refuse what it cannot have.

    It can have the tokens of text, without line breaks, and at the end the end symbol.
    """
    tokenizer, size = translator.writer, translator.writer.vocab_size
    never = frozenset(translator.searcher(None).forbidden)
    for place, token in enumerate(prefix):
        if isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < size:
            raise InputError(
                f"prefix[{place}] = {token!r} is no token: ids are whole numbers from 0 to "
                f"{size - 1}"
            )
        last = place == len(prefix) - 1
        if token in never or (token == EOS and not last):
            raise InputError(
                f"prefix[{place}] = {token} is {tokenizer.piece(token)!r}, which no translation "
                f"can have there: take tokens of text, ids {FIRST_PIECE} to {size - 1} without "
                f"line breaks; the end symbol, {EOS}, may come last"
            )
    return tuple(prefix)


def prefix_of_text(translator: Translator, text: str) -> Tokens:
    """Return the tokens of a text that a translation is to begin with."""
    line = nfc(text).strip()
    tokens = tuple(translator.writer.encode(line))
    if "\n" in line or UNK in tokens:
        raise InputError(
            f"the prefix {line!r} cannot begin a translation: it has several lines, or characters "
            "that the model's vocabulary cannot spell"
        )
    return forced_prefix(translator, tokens)
