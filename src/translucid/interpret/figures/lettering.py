"""Lettering: how wide a text will be, how to shorten it, and how tokens are shown.

A picture does not know which font it will be read in, so widths are those of a wide one (DejaVu
Sans, in thousandths of the size); narrower fonts leave a little room.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from translucid.interpret.trace import TraceToken

SIZE = 12  # of plain text, in pixels
SMALL = 10
HEAD = 15

_WIDTHS = {
    **dict.fromkeys("ijlI'|", 300),
    **dict.fromkeys(" .,:;!·", 330),
    **dict.fromkeys('ftr()[]/-"', 410),
    **dict.fromkeys("scvxyzkJ", 580),
    **dict.fromkeys("ABCDEGHKNOPQRSUVXYZ&", 720),
    **dict.fromkeys("w+=<>~≤≥−×√→", 840),
    **dict.fromkeys("mMW@%…—", 990),
}
_PLAIN = 640


def text_width(text: str, size: float = SIZE) -> float:
    """Return about how wide a text is, in pixels; rather too wide than too narrow.

    >>> round(text_width("attention", 10))
    47
    """
    return size * sum(map(_width, text)) / 1000


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return 1000
    base = unicodedata.normalize("NFD", character)[0]
    return _WIDTHS.get(base, _PLAIN)


def shortened(text: str, width: float, size: float = SIZE) -> str:
    """Return the text, or as much of it as fits into a width with an ellipsis.

    >>> shortened("internationalisation", 60)
    'interna…'
    """
    if text_width(text, size) <= width:
        return text
    while text and text_width(f"{text}…", size) > width:
        text = text[:-1]
    return f"{text}…"


def wrapped(text: str, width: float, size: float = SIZE) -> list[str]:
    """Return the lines of a text that is broken at spaces to fit into a width.

    A word that is wider than a line, such as a sentence of a script without spaces, is broken too.
    """
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines += _broken(word, width, size)
    return lines


def _broken(word: str, width: float, size: float) -> list[str]:
    """Return a word in parts that fit into a width, each of a character or more."""
    parts = [""]
    for character in word:
        if parts[-1] and text_width(parts[-1] + character, size) > width:
            parts.append("")
        parts[-1] += character
    return parts


SPACES = ("▁", " ")  # how pieces spell the space before a word

_ILLEGAL = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def legal(text: str) -> str:
    """Return the text with a sign in place of characters that XML cannot hold.

    >>> legal("a\x07b")
    'a�b'
    """
    return _ILLEGAL.sub("�", text)


def token_labels(tokens: Sequence[TraceToken]) -> list[str]:
    """Return how tokens are shown: words as they are, what continues a word after a dot.

    ``▁tired`` is *tired*, ``ing`` after it is *·ing*. Where the pieces know no words, because each
    is a character, they are shown as they are.
    """
    return piece_labels([token.piece for token in tokens])


def piece_labels(pieces: Iterable[str]) -> list[str]:
    """Return how pieces of a vocabulary are shown (see `token_labels`).

    >>> piece_labels(["▁over", "ing", "</s>"])
    ['over', '·ing', '</s>']
    """
    pieces = list(pieces)
    spaced = marks_words(pieces)
    return [piece_label(piece, spaced) for piece in pieces]


def marks_words(pieces: Iterable[str]) -> bool:
    """Tell whether pieces have the space before a word in them, as words and subwords do."""
    return any(len(piece) > 1 and piece.startswith(SPACES) for piece in pieces)


def piece_label(piece: str, spaced: bool) -> str:
    """Return how one piece is shown; `spaced`: the vocabulary marks the space before a word."""
    shown = piece.replace("▁", " ")
    if not shown.strip():
        return "␣"
    if shown.startswith("<") and shown.endswith(">") and len(shown) > 2:
        return shown
    if spaced and not shown.startswith(" "):
        return "·" + shown
    return shown.removeprefix(" ").replace(" ", "␣")
