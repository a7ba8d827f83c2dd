"""Normalising text: Unicode, typography, case; and the key by which two sentences are compared.

`NormalizingTokenizer` normalises every text as the training text was (`translucid prepare
--lowercase`, `--plain-typography`), so that the rest of the program need not know about it.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from translucid.text.tokenizer import Encoding, Tokenizer

_BREAK = re.compile(r"\r\n|\r|\n")
_GUILLEMETS = re.compile(r"«[ \u00a0\u202f]?|[ \u00a0\u202f]?»")
_TYPOGRAPHIC = re.compile("[‘’‚‛ʼ“”„‟‹›…\u00a0\u2007\u2009\u202f\u2010\u2011«»]")
_TYPOGRAPHIC_RUN = re.compile(f"{_GUILLEMETS.pattern}|{_TYPOGRAPHIC.pattern}")
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛ʼ‹›", "'"),
        **dict.fromkeys("“”„‟", '"'),
        **dict.fromkeys("\u00a0\u2007\u2009\u202f", " "),  # spaces that do not break, thin ones
        **dict.fromkeys("\u2010\u2011", "-"),  # hyphens
        "…": "...",
    }
)


def nfc(text: str) -> str:
    """Return the text in Unicode's composed form (NFC), so that é is always one character."""
    return unicodedata.normalize("NFC", text)


def has_typography(text: str) -> bool:
    """Return whether `plain_typography` would change the text."""
    return not text.isascii() and _TYPOGRAPHIC.search(text) is not None


def plain_typography(text: str) -> str:
    """Return the text with the apostrophes, quotes, ellipses and spaces of a keyboard.

    >>> plain_typography("« L’été… » dit-elle\u00a0: “oui”")
    '"L\'été..." dit-elle : "oui"'
    """
    if not has_typography(text):
        return text
    return _GUILLEMETS.sub('"', text).translate(_PLAIN)


def plain_typography_offsets(text: str) -> list[int]:
    """Return where each character of the plain text begins in `text`, and where the last one ends.

    >>> plain_typography_offsets("« A… »")
    [0, 2, 3, 3, 3, 4, 6]
    """
    offsets: list[int] = []
    position = 0
    for match in _TYPOGRAPHIC_RUN.finditer(text):
        offsets += range(position, match.start())
        offsets += [match.start()] * len(plain_typography(match[0]))
        position = match.end()
    return [*offsets, *range(position, len(text) + 1)]


def strip_accents(text: str) -> str:
    """Return the text without the accents of its letters: ``étés`` is ``etes``."""
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFD", text)
    return nfc("".join(part for part in parts if unicodedata.category(part) != "Mn"))


def lowercase(text: str) -> str:
    """Return the text in lower case, character by character, so that offsets stay valid.

    >>> lowercase("ÉTÉ İzmir")
    'été izmir'
    """
    return text.replace("\u0130", "i").lower()  # İ, the only one that would become two characters


def join_lines(text: str) -> str:
    """Return the text on one line: line breaks become spaces.

    >>> join_lines("a\\r\\nb\\rc")
    'a b c'
    """
    return _BREAK.sub(" ", text)


class _Erasure(dict[int, int | None]):
    """A table for ``str.translate`` that removes punctuation, symbols and invisible characters."""

    def __missing__(self, code: int) -> int | None:
        character = chr(code)
        category = unicodedata.category(character)
        erased = category[0] in "PS" or (category in {"Cc", "Cf"} and not character.isspace())
        self[code] = None if erased else code
        return self[code]


_ERASURE = _Erasure()


def comparison_key(text: str) -> str:
    """Return what two sentences must share to count as the same, to keep held-out data apart.

    Case, punctuation, symbols and the amount of white space do not count: ``"Well, who  is it?"``
    and ``"well who is it"`` have one key. A text without letters or digits, such as ``"?!"``, is
    its own key, or all such texts would be the same sentence.
    """
    folded = nfc(nfc(text).casefold()).translate(_ERASURE)
    key = nfc(" ".join(folded.split()))
    if any(character.isalnum() for character in key):
        return key
    return nfc(text).strip()


def normalization_table(*, lower: bool, plain: bool) -> dict[str, str]:
    """Return what becomes of sequences of characters, where the longest match is replaced.

    That is `nfc`, and `plain_typography` and `lowercase` if asked for, for programs that know
    nothing of Unicode; only a letter with its marks in an unusual order stays as it is.

    >>> normalization_table(lower=True, plain=False)["E\u0301"]
    'é'
    """
    return {
        key: found for key in _sequences() if (found := _rewrite(nfc(key), lower, plain)) != key
    }


def _sequences() -> Iterator[str]:
    """Yield what normalising may change: characters, and all that they can be composed of."""
    for code in (*range(0xD800), *range(0xE000, sys.maxunicode + 1)):  # all but surrogates
        character = chr(code)
        yield character
        if parts := unicodedata.decomposition(character):
            if not parts.startswith("<"):
                yield "".join(chr(int(part, 16)) for part in parts.split())
                yield unicodedata.normalize("NFD", character)
        elif not unicodedata.is_normalized("NFD", character):  # Hangul
            yield unicodedata.normalize("NFD", character)
    for space in " \u00a0\u202f":
        yield from (f"«{space}", f"{space}»")


def _rewrite(text: str, lower: bool, plain: bool) -> str:
    text = plain_typography(text) if plain else text
    return lowercase(text) if lower else text


class NormalizingTokenizer(Tokenizer):
    """A tokenizer that normalises every text first; offsets refer to the original text."""

    def __init__(self, inner: Tokenizer, *, lowercase: bool, plain_typography: bool) -> None:
        super().__init__(inner._data, inner._pieces)
        self.kind = inner.kind
        self._inner = inner
        self._lowercase, self._plain = lowercase, plain_typography

    def __reduce__(self) -> tuple[object, ...]:
        return _make_normalizing, (self._inner, self._lowercase, self._plain)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        return self._inner.encode(self._normalize(text))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text."""
        return self._inner.encode_batch([self._normalize(text) for text in texts])

    def encode_with_offsets(self, text: str) -> Encoding:
        """Return ids, pieces and the span of the text that each piece covers."""
        encoding = self._inner.encode_with_offsets(self._normalize(text))
        if not self._plain:
            return encoding
        starts = plain_typography_offsets(text)
        offsets = [(starts[start], starts[end]) for start, end in encoding.offsets]
        return encoding._replace(offsets=offsets)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids."""
        return self._inner.decode(ids)

    def within(self, size: int) -> Tokenizer:
        """Return a tokenizer that normalises alike and uses only the first `size` ids."""
        return _make_normalizing(self._inner.within(size), self._lowercase, self._plain)

    def sample(self, text: str, *, seed: int, strength: float) -> list[int]:
        """Return the ids of one random segmentation of a text."""
        return self._inner.sample(self._normalize(text), seed=seed, strength=strength)

    def _normalize(self, text: str) -> str:
        return _rewrite(text, self._lowercase, self._plain)


def _make_normalizing(inner: Tokenizer, lowercase: bool, plain: bool) -> NormalizingTokenizer:
    return NormalizingTokenizer(inner, lowercase=lowercase, plain_typography=plain)
