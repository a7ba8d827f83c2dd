"""Tokens that a translator is told never to write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from translucid.errors import InputError
from translucid.text.interface import FIRST_PIECE, Tokenizer
from translucid.translator import Translator

if TYPE_CHECKING:
    from translucid.decoding.settings import SearchConfig
    from translucid.translator.searching import Searcher


class ForbiddingTranslator(Translator):
    """A translator like another, that never writes some tokens."""

    def __init__(self, other: Translator, forbidden: Sequence[int]) -> None:
        super().__init__(other.name, other.tokenizer, other.members, other.generation)
        self._forbidden = tuple(forbidden)

    def searcher(self, settings: SearchConfig | None) -> Searcher:
        """Return the search of the other translator, to which more is forbidden."""
        searcher = super().searcher(settings)
        return replace(searcher, forbidden=(*searcher.forbidden, *self._forbidden))


def forbidding(translator: Translator, words: Sequence[str]) -> Translator:
    """Return a translator that never writes the tokens that are one of these words by themselves.

    The network may still spell such a word with other tokens, letter by letter if need be.
    """
    if not words:
        return translator
    tokens = [token for word in words for token in tokens_of(word, translator.tokenizer)]
    return ForbiddingTranslator(translator, tokens)


def tokens_of(word: str, tokenizer: Tokenizer) -> list[int]:
    """Return the tokens that are a word by themselves, with a space before it or without."""
    spelled = word.strip().removeprefix("▁")
    found = [
        token
        for token in range(FIRST_PIECE, tokenizer.vocab_size)
        if tokenizer.decode([token]).strip() == spelled
    ]
    if not spelled or not found:
        pieces = " ".join(tokenizer.piece(token) for token in tokenizer.encode(spelled))
        raise InputError(
            f"--forbid {word}: no token of the model's vocabulary is this word by itself"
            + (f"; it is written as {pieces}: forbid one of these" if pieces else "")
        )
    return found
