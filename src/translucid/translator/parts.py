"""A text as parts that are translated by themselves, and the way back.

::

    "Bonjour.\\n\\n  Où est l'eau ?\\n"   →   ""      "Bonjour."
                                             "\\n\\n  "  "Où est l'eau ?"
                                             "\\n"
                                           before      part             …, after

Each line is translated by itself; blank lines and white space around lines are not translated, and
stand in the translation as they stood. A line that is too long is divided further.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from translucid.text.normalize import nfc
from translucid.translator.sentences import divide, is_unspaced

Encode: TypeAlias = Callable[[str], Sequence[int]]


@dataclass(frozen=True)
class Part:
    """What is translated at once.

    `before` is the white space in front of it. `inside_word`: it was cut off the part before it in
    the middle of a word.
    """

    before: str
    text: str
    tokens: tuple[int, ...]
    inside_word: bool


@dataclass(frozen=True)
class Divided:
    """A text in parts; `after` is the white space behind the last one.

    `split`: there is a line that was too long, and is in several parts.
    """

    text: str
    parts: tuple[Part, ...]
    after: str
    split: bool


def divided(text: str, encode: Encode, longest: int) -> Divided:
    """Divide a text into parts of at most `longest` tokens each; it is normalised first."""
    text = nfc(text)
    parts: list[Part] = []
    gap, split = "", False
    for number, line in enumerate(text.split("\n")):
        gap += "\n" if number else ""
        pieces = _pieces(line, encode, longest)
        split = split or len(pieces) > 1
        for place, (piece, tokens) in enumerate(pieces):
            before = gap + piece[: len(piece) - len(piece.lstrip())]
            inside = place > 0 and not before and _inside_word(pieces[place - 1][0], piece)
            parts.append(Part(before, piece.strip(), tuple(tokens), inside))
            gap = piece[len(piece.rstrip()) :]
        if not pieces:
            gap += line
    return Divided(text, tuple(parts), gap, split)


def _pieces(line: str, encode: Encode, longest: int) -> list[tuple[str, Sequence[int]]]:
    """Return the pieces of a line with their tokens; joined they are the line, if not blank."""
    core = line.strip()
    if not core:
        return []
    tokens = encode(core)
    if len(tokens) <= longest:
        return [(line, tokens)]
    pieces = divide(line, lambda text: len(encode(text.strip())) <= longest)
    return [(piece, encode(piece.strip())) for piece in _without_blank(pieces)]


def _without_blank(pieces: Sequence[str]) -> list[str]:
    """Give pieces of nothing but white space to the piece before them, or behind the first."""
    kept: list[str] = []
    pending = ""
    for piece in pieces:
        if piece.strip():
            kept.append(pending + piece)
            pending = ""
        elif kept:
            kept[-1] += piece
        else:
            pending += piece
    return kept


def _inside_word(before: str, after: str) -> bool:
    """Tell whether a cut without white space went through what spaces would have held apart."""
    return not (is_unspaced(before[-1]) or is_unspaced(after[0]))


def joint(part: Part, left: str, right: str) -> str:
    """Return what stands between the translations of two parts, `part` being the second's source.

    That is what stands between the parts, unless one language has spaces between words and the
    other has none: then what the language of the translation wants.
    """
    if not left or not right:
        return part.before
    wide = is_unspaced(left[-1]), is_unspaced(right[0])
    if part.before == " " and all(wide):
        return ""
    if not part.before and not part.inside_word and not any(wide):
        return " "
    return part.before
