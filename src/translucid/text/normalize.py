"""The one spelling of a text, and the key by which two sentences count as the same."""

from __future__ import annotations

import re
import unicodedata

_BREAK = re.compile(r"\r\n|\r|\n")


def nfc(text: str) -> str:
    """Return the text in Unicode's composed form (NFC), so that é is always one character."""
    return unicodedata.normalize("NFC", text)


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
