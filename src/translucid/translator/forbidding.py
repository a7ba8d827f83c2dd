"""Words that a translation must not have.

Forbidden are the tokens that are such a word by themselves. A network that insists may still spell
the word with other tokens, letter by letter if need be.
"""

from __future__ import annotations

from collections.abc import Sequence

from translucid.decoding.job import Tokens
from translucid.errors import InputError
from translucid.text.normalization import nfc
from translucid.text.tokenizer import FIRST_PIECE, Tokenizer


def forbidden_tokens(words: Sequence[str], tokenizer: Tokenizer) -> Tokens:
    """Return the tokens that are one of these words, with a space before it or without."""
    wanted = {nfc(word).strip().removeprefix("▁"): word for word in words}
    if not wanted:
        return ()
    found: dict[str, list[int]] = {word: [] for word in wanted}
    for token in range(FIRST_PIECE, tokenizer.vocab_size):
        text = tokenizer.decode([token]).strip()
        if text and text in found:
            found[text].append(token)
    for word, tokens in found.items():
        if not tokens:
            pieces = " ".join(tokenizer.piece(token) for token in tokenizer.encode(word))
            raise InputError(
                f"{wanted[word]!r} cannot be forbidden: no token of the vocabulary is this word by "
                "itself" + (f"; it is written as {pieces}: forbid one of these" if pieces else "")
            )
    return tuple(token for tokens in found.values() for token in tokens)
