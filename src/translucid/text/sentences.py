"""Splitting a text into sentences, and a text that is too long into parts.

A sentence that is too long is cut at the clause mark nearest to its middle, or at the space nearest
to it, or in the middle of a word. The parts, joined, are exactly the text: white space stays with
the part before it.

The rules know the punctuation of many scripts and a few abbreviations, but no language.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterator

from translucid.text.word_and_character import UNSPACED

_CLOSING = "\"'”’»›)\\]}」』）】》"
# These end a sentence only if white space follows, and then no lower-case letter.
_SPACED_ENDS = ".!?…‽؟۔।॥։።"
# These always end a sentence.
_WIDE_ENDS = "。！？｡។။"
_SENTENCE_END = re.compile(
    rf"(?<![{_SPACED_ENDS}])[{_SPACED_ENDS}]++(?:[{_CLOSING}]|\s»)*\s+"
    rf"|[{_WIDE_ENDS}]+[{_CLOSING}]*\s*"
)
_CLAUSE_END = re.compile(rf"[,;:،؛—–][{_CLOSING}]*\s+|[、，；：][{_CLOSING}]*\s*")
_SPACES = re.compile(r"\s+")
_LAST_WORD = re.compile(r"(\w[\w.]*)\.$")
# Words that a full stop follows inside a sentence, in upper or lower case; in addition, single
# letters ("J. S. Bach") and numbers of one or two digits ("am 3. Mai").
_ABBREVIATIONS = re.compile(
    "abs al approx apt art av ave bd bzw ca cf ch chap co corp dept dr dres ed eds e.g etc evtl ex "
    "fig ff fr gen gov hon hr hrsg i.e inc inkl jr lt ltd max mgr min mio mlle mm mme mr mrs ms "
    "mrd mt nr no op p.ex p.ej pp prof resp rev s.a sen sgt sig sr sra srta st ste str s.u u.a usw "
    "v.a vgl vol vs z.b".replace(".", r"\.").replace(" ", "|"),
    re.IGNORECASE,
)


def split_to_fit(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Return the parts of a text, each of which fits; joined, they are the text."""
    if fits(text):
        return [text]
    return [piece for sentence in split_sentences(text) for piece in _halve(sentence, fits)]


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, each with the white space after it.

    >>> split_sentences("Dr. Who came. He saw! Then?")
    ['Dr. Who came. ', 'He saw! ', 'Then?']
    """
    places = [0, *_sentence_ends(text), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(places) if a < b]


def _sentence_ends(text: str) -> Iterator[int]:
    begin = 0
    for match in _SENTENCE_END.finditer(text):
        end = match.end()
        if end == len(text) or (match[0][0] in _SPACED_ENDS and _continues(text, begin, match)):
            continue
        begin = end
        yield end


def _continues(text: str, begin: int, match: re.Match[str]) -> bool:
    """Return whether a sentence continues after a mark and white space."""
    if text[match.end()].islower():
        return True
    if match[0].rstrip() != ".":
        return False
    word = _LAST_WORD.search(text, max(begin, match.start() - 20), match.start() + 1)
    if word is None:
        return False
    written = word[1]
    return (
        (len(written) == 1 and written.isalpha())
        or (len(written) <= 2 and written.isdecimal())
        or _ABBREVIATIONS.fullmatch(written) is not None
    )


def _halve(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Cut a text in two until every part fits; a single character is never cut."""
    waiting, pieces = [text], []
    while waiting:
        piece = waiting.pop()
        if len(piece) <= 1 or fits(piece):
            pieces.append(piece)
        else:
            cut = _cut(piece)
            waiting += [piece[cut:], piece[:cut]]
    return [piece for piece in pieces if piece]


def _cut(text: str) -> int:
    """Return where to cut a text that is too long."""
    middle = len(text) / 2

    def nearest(ends: Iterator[int]) -> int | None:
        inside = (end for end in ends if 0 < end < len(text))
        return min(inside, key=lambda end: abs(end - middle), default=None)

    clause = nearest(match.end() for match in _CLAUSE_END.finditer(text))
    if clause is not None and abs(clause - middle) <= middle / 2:
        return clause
    space = nearest(match.end() for match in _SPACES.finditer(text.rstrip()))
    return space if space is not None else _middle_character(text)


def _middle_character(text: str) -> int:
    """Return the position nearest to the middle where a character begins, with its marks.

    A text of only combining marks is cut in the middle: at its end, it would need one cut per mark.
    """
    middle = len(text) // 2
    near = (place for way in range(middle) for place in (middle + way, middle - way))
    return next((place for place in near if _is_boundary(text, place)), max(1, middle))


def _is_boundary(text: str, place: int) -> bool:
    """Return whether a character begins at a position and is not joined to the one before it."""
    return (
        unicodedata.category(text[place])[0] != "M" and "\u200d" not in text[place - 1 : place + 1]
    )


def is_unspaced(character: str) -> bool:
    """Return whether a character belongs to a script without spaces between words.

    >>> [is_unspaced(character) for character in "語。aअ"]
    [True, True, False, False]
    """
    name, category = unicodedata.name(character, ""), unicodedata.category(character)
    if name.startswith("HANGUL") or category[0] not in "LPM":
        return False
    return name.startswith(UNSPACED) or unicodedata.east_asian_width(character) in "WF"
