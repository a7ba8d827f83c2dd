"""The one spelling of a text, and the key by which two sentences count as the same."""

from __future__ import annotations

import re
import unicodedata

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
    """Tell whether `plain_typography` would change the text."""
    return not text.isascii() and _TYPOGRAPHIC.search(text) is not None


def plain_typography(text: str) -> str:
    """Return the text with the apostrophes, quotes, ellipses and spaces of a keyboard.

    >>> plain_typography("« L’été… » dit-elle\u00a0: “oui”")
    '"L\'été..." dit-elle : "oui"'
    """
    if not has_typography(text):
        return text
    return _GUILLEMETS.sub('"', text).translate(_PLAIN)


def plain_places(text: str) -> list[int]:
    """Return where each character of the plain text begins in this one, and where the last ends.

    >>> plain_places("« A… »")
    [0, 2, 3, 3, 3, 4, 6]
    """
    places: list[int] = []
    position = 0
    for match in _TYPOGRAPHIC_RUN.finditer(text):
        places += range(position, match.start())
        places += [match.start()] * len(plain_typography(match[0]))
        position = match.end()
    return [*places, *range(position, len(text) + 1)]


def without_accents(text: str) -> str:
    """Return the text without the accents of its letters: ``étés`` is ``etes``."""
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFD", text)
    return nfc("".join(part for part in parts if unicodedata.category(part) != "Mn"))


def lower_cased(text: str) -> str:
    """Return the text in lower case, character by character, so that places in it stay the same.

    >>> lower_cased("ÉTÉ İzmir")
    'été izmir'
    """
    return text.replace("\u0130", "i").lower()  # İ, the only one that would become two characters


def one_line(text: str) -> str:
    """Return a text that a line of a file holds: its breaks, if it has any, are spaces.

    >>> one_line("a\\r\\nb\\rc")
    'a b c'
    """
    return _BREAK.sub(" ", text)


class _Erasure(dict[int, int | None]):
    """A table for ``str.translate`` that erases punctuation, symbols and invisible characters."""

    def __missing__(self, code: int) -> int | None:
        character = chr(code)
        category = unicodedata.category(character)
        erased = category[0] in "PS" or (category in {"Cc", "Cf"} and not character.isspace())
        self[code] = None if erased else code
        return self[code]


_ERASURE = _Erasure()


def comparison_key(text: str) -> str:
    """Return what of a sentence counts when held-out data is kept apart from training data.

    Case, punctuation, symbols and the amount of white space do not count: ``"Well, who  is it?"``
    and ``"well who is it"`` have one key. A text without letters or digits, such as ``"?!"``, is
    its own key, or all such texts would be the same sentence.
    """
    folded = nfc(nfc(text).casefold()).translate(_ERASURE)
    key = nfc(" ".join(folded.split()))
    if any(character.isalnum() for character in key):
        return key
    return nfc(text).strip()
