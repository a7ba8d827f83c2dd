"""Sentences as people type them: no capitals, no final mark, no accents, or CAPITALS ONLY.

Corpora are written with care, and a network that has read nothing else is lost without the capital
that begins a sentence and the mark that ends it, with the apostrophe that telephones write, or in
a headline.
"""

from __future__ import annotations

import re

FORMS = 7  # all that is not "none of the three"

_MARKS = ".!?…。！？"


def as_typed(text: str, form: int) -> str:
    """Return a sentence in one of seven forms.

    The bits of 1 + `form` say which: 1 lower case, 2 no mark at the end, 4 curly apostrophes.

    >>> [as_typed("Où est l'eau ?", form) for form in (0, 1, 2, 6)]
    ["où est l'eau ?", "Où est l'eau", "où est l'eau", 'où est l’eau']

    A sentence that is nothing but marks keeps them.
    """
    changes = 1 + form
    if changes & 1:
        text = text.lower()
    if changes & 2:
        text = _without_end(text) or text
    return text.replace("'", "’") if changes & 4 else text


_WORD_START = re.compile(r"(?<![\w'’-])[^\W\d_]")


def upper_case(text: str) -> str:
    """Return the text in capitals; placeholders are no letters."""
    return text.upper()


def title_case(text: str) -> str:
    """Return the text with a capital at the beginning of every word.

    >>> title_case("l'animal n'est pas là, Tom")
    "L'animal N'est Pas Là, Tom"
    """
    return _WORD_START.sub(lambda match: match[0].upper(), text)


def _without_end(text: str) -> str:
    """Return a text without the marks that end it, and the white space around them."""
    if not text.endswith(tuple(_MARKS)):
        return text
    end = len(text)
    while end and (text[end - 1] in _MARKS or text[end - 1].isspace()):
        end -= 1
    return text[:end]
