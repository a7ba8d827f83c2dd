"""What differs between two texts, to the character.

Words are matched first, so that the marks do not fall apart into single letters that happen to be
in both texts; where one word stands for another that is like it, its characters are matched::

    er lief [durch] den Park        er lief [in] den Park[s]
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_ALIKE = 0.6  # two words of which less is common are two different words
_MOST_WORK = 1_000_000  # pairs of words; matching takes about as many steps
_JOINERS = {"\u200d", "\u200c"}


class Span(NamedTuple):
    """A piece of a text, and whether the other text lacks it."""

    text: str
    differs: bool


def differences(first: str, second: str) -> tuple[list[Span], list[Span]]:
    """Return both texts in pieces; joined, the pieces are the texts again."""
    words = _words(first), _words(second)
    if len(words[0]) * len(words[1]) > _MOST_WORK:
        same = first == second
        return [Span(first, not same)], [Span(second, not same)]
    left: list[Span] = []
    right: list[Span] = []
    for tag, begin, end, begin2, end2 in _matched(*words):
        one, other = words[0][begin:end], words[1][begin2:end2]
        if tag == "replace":
            pieces = _inside("".join(one), "".join(other))
        else:
            pieces = [Span("".join(one), tag != "equal")], [Span("".join(other), tag != "equal")]
        left += pieces[0]
        right += pieces[1]
    return _merged(left), _merged(right)


def _matched(
    first: Sequence[str], second: Sequence[str]
) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, first, second, autojunk=False).get_opcodes()


def _inside(first: str, second: str) -> tuple[list[Span], list[Span]]:
    """Match the characters of two pieces, or mark them whole where they have little in common."""
    one, other = clusters(first), clusters(second)
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if len(one) * len(other) > _MOST_WORK or matcher.ratio() < _ALIKE:
        return [Span(first, True)], [Span(second, True)]
    left, right = [], []
    for tag, begin, end, begin2, end2 in matcher.get_opcodes():
        left.append(Span("".join(one[begin:end]), tag != "equal"))
        right.append(Span("".join(other[begin2:end2]), tag != "equal"))
    return left, right


def _words(text: str) -> list[str]:
    """Divide a text into runs of letters and digits, runs of white space, and single signs."""
    words: list[str] = []
    before = "sign"
    for cluster in clusters(text):
        kind = "word" if cluster[0].isalnum() else "space" if cluster.isspace() else "sign"
        if kind == before != "sign":
            words[-1] += cluster
        else:
            words.append(cluster)
        before = kind
    return words


def clusters(text: str) -> list[str]:
    """Divide a text into characters as people see them: a letter with its marks is one.

    >>> [len(cluster) for cluster in clusters("h" + "e" + chr(0x301) + "!")]
    [1, 2, 1]
    """
    found: list[str] = []
    for character in text:
        joins = character in _JOINERS or unicodedata.category(character)[0] == "M"
        if found and (joins or found[-1][-1] in _JOINERS):
            found[-1] += character
        else:
            found.append(character)
    return found


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Join neighbours of one kind, and leave out the empty ones."""
    merged: list[Span] = []
    for span in spans:
        if merged and merged[-1].differs == span.differs:
            merged[-1] = Span(merged[-1].text + span.text, span.differs)
        elif span.text:
            merged.append(span)
    return merged
