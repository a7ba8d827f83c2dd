"""Terminology: these words of the source must become those words of the translation.

A term is found where it stands as a whole word. One that is written in lower case is found in any
case, so that it may begin a sentence; one with capitals only as it is written. Where two terms
overlap, the longer one counts. A term that stands twice in the source must come twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from translucid.errors import InputError
from translucid.text.normalization import nfc
from translucid.text.sentences import is_unspaced
from translucid.text.tokenizer import UNK

Tokens = tuple[int, ...]


class Terminology:
    """Finds the terms that a source has, and what they must become, as tokens."""

    def __init__(self, terms: Mapping[str, str], encode: Callable[[str], Sequence[int]]) -> None:
        self._targets = {
            _clean(s, s, t): _tokens(s, _clean(t, s, t), encode) for s, t in terms.items()
        }
        # The longest first, for of several alternatives a regular expression takes the first.
        longest_first = sorted(self._targets, key=lambda term: (-len(term), term))
        self._terms = [(term, _pattern(term)) for term in longest_first]
        self._any = re.compile("|".join(f"({pattern})" for _, pattern in self._terms) or r"(?!)")

    def places(self, source: str) -> list[tuple[int, int]]:
        """Return where terms stand in a source, [start, end)."""
        return [match.span() for match in self._any.finditer(source)]

    def of(self, source: str) -> tuple[Tokens, ...]:
        """Return the token sequences that a translation of the source must have."""
        found = (match.lastindex for match in self._any.finditer(source))
        return tuple(self._targets[self._terms[number - 1][0]] for number in found if number)


def _clean(text: str, source: str, target: str) -> str:
    text = nfc(text).strip()
    if not text or "\n" in text:
        raise InputError(
            f"the term {source!r} → {target!r} has an empty side or one of several lines: give a "
            "word or a few, on both sides"
        )
    return text


def _tokens(source: str, target: str, encode: Callable[[str], Sequence[int]]) -> Tokens:
    tokens = tuple(encode(target))
    if UNK in tokens:
        raise InputError(
            f"the term {source!r} → {target!r} cannot be written: the model's vocabulary has no "
            f"pieces for all of {target!r}"
        )
    return tokens


def _pattern(term: str) -> str:
    """Return a regular expression that finds a term as a whole word."""
    before = r"(?<!\w)" if _is_letter(term[0]) else ""
    behind = r"(?!\w)" if _is_letter(term[-1]) else ""
    body = re.escape(term)
    return f"{before}(?i:{body}){behind}" if term == term.lower() else f"{before}{body}{behind}"


def _is_letter(character: str) -> bool:
    """Tell whether a word goes on beside this character, in a script that has spaces."""
    return (character.isalnum() or character == "_") and not is_unspaced(character)
