"""Replacing spans that are not translated by placeholders, and restoring them.

::

    source      Open {file} in <b>this</b> window 😀
    protected   Open ⟨word0⟩ in ⟨open0⟩this⟨close0⟩ window ⟨mark0⟩      what the network reads
    output      Ouvrez ⟨word0⟩ dans ⟨open0⟩cette⟨close0⟩ fenêtre ⟨mark0⟩  what it writes
    restored    Ouvrez {file} dans <b>cette</b> fenêtre 😀

Each ⟨…⟩ is one private-use character (`translucid.text.tokenizer.PLACEHOLDERS`), which is one
piece of a vocabulary that has placeholders. At first, each
span is replaced by the first placeholder of its family; placeholders are numbered only in the parts
into which the text is split, so that there are enough of them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from translucid.text.capitals import Encode, is_in_capitals, write_as_sentence
from translucid.text.spans import Family, Span, whole_word
from translucid.text.tokenizer import FAMILY_SIZE, PLACEHOLDER_FAMILIES, PLACEHOLDERS

_PLACEHOLDERS = frozenset(PLACEHOLDERS)
_SENTENCE_MARKS = ".,;:!?… "


@dataclass(frozen=True)
class Protected:
    """A text with placeholders instead of spans; `spans` has both, in the order of the source.

    A `fragment` is text between spans that is translated by itself: the punctuation with which a
    network ends a sentence does not belong to it. `capitals` is the text as it was, if it was in
    capitals and is read as an ordinary sentence. Then its translation is put in capitals.
    """

    text: str
    spans: tuple[tuple[str, Span], ...] = ()
    fragment: bool = False
    capitals: str | None = None

    def read_capitals(self, encode: Encode) -> Protected:
        """Return a text in capitals as an ordinary sentence, and every other text as it is."""
        if not is_in_capitals(self.text):
            return self
        text = write_as_sentence(self.text, encode)
        if list(encode(text)) == list(encode(self.text)):  # as those of a model of lower case are
            return self
        return replace(self, text=text, capitals=self.text)

    def as_written(self) -> Protected:
        """Return the text as it was, to be read in capitals if it was in capitals."""
        return replace(self, text=self.capitals or self.text, capitals=None)

    def put_in_case(self, text: str) -> str:
        """Return what the network wrote, in capitals if the source was."""
        return text if self.capitals is None else text.upper()

    def restore(self, text: str) -> str:
        """Return a translation with the spans instead of their placeholders.

        Spans that are missing, as in a translation that was cut off, come at the end.
        """
        lacking = [
            (placeholder, span) for placeholder, span in self.spans if placeholder not in text
        ]
        pairs = [span.pair for _, span in lacking]
        still_open = [
            (placeholder, span)
            for placeholder, span in reversed(lacking)
            if span.family == "close" and pairs.count(span.pair) == 1
        ]
        ending = still_open + [one for one in lacking if one not in still_open]
        return self.restore_beginning(text + "".join(placeholder for placeholder, _ in ending))

    def restore_beginning(self, text: str) -> str:
        """Return the beginning of a translation with the spans instead of placeholders.

        A word does not touch a span that it did not touch in the source: no ``%sfichiers`` for
        ``%s files``.
        """
        text = self.put_in_case(text)
        if self.fragment:
            return text.rstrip(_SENTENCE_MARKS) or text
        for placeholder, span in self.spans:
            if span.family == "word" and placeholder in text:
                text = _separate(self.text, text, placeholder)
        return text.translate({ord(placeholder): span.text for placeholder, span in self.spans})

    def hide(self, translation: str, encode: Encode) -> str | None:
        """Return a given translation as the network would write it; None if it lacks a span.

        Use `hide_beginning` for the beginning of a translation, which lacks some.
        """
        hidden = self.hide_beginning(translation, encode)
        return hidden if is_intact(self.text, hidden) else None

    def hide_beginning(self, translation: str, encode: Encode) -> str:
        """Return the beginning of a translation as the network would write it.

        It has placeholders for the spans in it and, if it is in capitals as the source was, it is
        an ordinary sentence.
        """
        hidden = self._hide_spans(translation)
        if self.capitals is not None and is_in_capitals(hidden):
            return write_as_sentence(hidden, encode)
        return hidden

    def may_begin(self, prefix: str) -> bool:
        """Tell whether the case of the translation allows it to begin like this."""
        hidden = self._hide_spans(prefix)
        return self.put_in_case(hidden) == hidden

    def _hide_spans(self, translation: str) -> str:
        """Return a translation with placeholders for the spans in it."""
        longest_first = sorted(self.spans, key=lambda one: -len(one[1].text))
        for placeholder, span in longest_first:
            translation = re.sub(whole_word(span.text), placeholder, translation, count=1)
        return translation

    @property
    def source(self) -> str:
        """The text with its spans, as in the source."""
        return (self.capitals or self.text).translate(
            {ord(placeholder): span.source for placeholder, span in self.spans}
        )

    @property
    def places(self) -> list[int]:
        """Where each character of the text begins in the source, and where the last one ends."""
        lengths = {placeholder: len(span.source) for placeholder, span in self.spans}
        return list(itertools.accumulate((lengths.get(c, 1) for c in self.text), initial=0))


def _separate(source: str, text: str, placeholder: str) -> str:
    """Put spaces beside a placeholder where the source has no letters."""
    _, before, behind = _neighbours(source, placeholder)
    place, left, right = _neighbours(text, placeholder)
    if _is_letter(right) and not _is_letter(behind):
        text = f"{text[: place + 1]} {text[place + 1 :]}"
    if _is_letter(left) and not _is_letter(before):
        text = f"{text[:place]} {text[place:]}"
    return text


def _neighbours(text: str, placeholder: str) -> tuple[int, str, str]:
    place = text.index(placeholder)
    return place, text[max(0, place - 1) : place], text[place + 1 : place + 2]


def _is_letter(character: str) -> bool:
    """Return whether a character is a letter or digit of a script with spaces between words."""
    return character.isalnum() and character < "\u2e80"


def remove_spans(text: str, spans: Iterable[Span]) -> str:
    """Return the text with a space instead of each span."""
    return "".join(" " if c in _PLACEHOLDERS else c for c in insert_placeholders(text, spans))


def insert_placeholders(
    text: str, spans: Iterable[Span], start: int = 0, end: int | None = None
) -> str:
    """Return text[start:end] with each span replaced by the first placeholder of its family."""
    pieces: list[str] = []
    for span in spans:
        pieces += [text[start : span.start], get_placeholder(span.family, 0)]
        start = span.end
    return "".join([*pieces, text[start:end]])


def replace_placeholders(unnumbered: str, spans: Iterable[Span]) -> str:
    """Return a text with what the translation has for each span instead of its placeholder."""
    each = iter(spans)
    return "".join(next(each).text if c in _PLACEHOLDERS else c for c in unnumbered)


def can_protect(unnumbered: str) -> bool:
    """Return whether there are enough placeholders for all spans of a text."""
    counts = dict.fromkeys(PLACEHOLDER_FAMILIES, 0)
    opened = 0
    for character in filter(_PLACEHOLDERS.__contains__, unnumbered):
        family, _ = parse_placeholder(character)
        opened += family == "open"
        if family == "close":
            family = "close" if opened else "mark"
            opened -= family == "close"
        counts[family] += 1
    alone = min(opened, counts["open"])  # tags that close elsewhere count as the family "mark"
    counts["open"], counts["mark"] = counts["open"] - alone, counts["mark"] + alone
    return max(counts.values()) <= FAMILY_SIZE


def protect(unnumbered: str, spans: Sequence[Span]) -> Protected | None:
    """Number the placeholders of a text; None if it has too many spans.

    The opening and the closing tag of a pair share their number; the family of other tags
    is "mark".
    """
    if not spans:
        return Protected(unnumbered)
    if not can_protect(unnumbered):
        return None
    pairs = [span.pair for span in spans]
    used = dict.fromkeys(PLACEHOLDER_FAMILIES, 0)
    slots: dict[int | None, int] = {}
    numbered: list[tuple[str, Span]] = []
    for span in spans:
        family: Family = span.family
        if span.pair is not None and pairs.count(span.pair) == 1:
            family = "mark"
        slot = slots[span.pair] if family == "close" else used[family]
        used[family] += 1
        slots[span.pair] = slot
        numbered.append((get_placeholder(family, slot), span))
    each = iter(numbered)
    text = "".join(next(each)[0] if c in _PLACEHOLDERS else c for c in unnumbered)
    return Protected(text, tuple(numbered))


def get_placeholder(family: Family, slot: int) -> str:
    """Return the character of a placeholder."""
    return PLACEHOLDERS[PLACEHOLDER_FAMILIES.index(family) * FAMILY_SIZE + slot]


def parse_placeholder(placeholder: str) -> tuple[Family, int]:
    """Return family and number of a placeholder's character."""
    family, slot = divmod(PLACEHOLDERS.index(placeholder), FAMILY_SIZE)
    families: tuple[Family, ...] = get_args(Family)
    return families[family], slot


def is_intact(source: str, translation: str) -> bool:
    """Return whether each placeholder of the source occurs once, and pairs are nested."""
    wanted = [character for character in source if character in _PLACEHOLDERS]
    found = [character for character in translation if character in _PLACEHOLDERS]
    if sorted(wanted) != sorted(found):
        return False
    paired = {slot for family, slot in map(parse_placeholder, found) if family == "close"}
    opened: list[int] = []
    for family, slot in map(parse_placeholder, found):
        if family == "open" and slot in paired:
            opened.append(slot)
        elif family == "close" and (not opened or opened.pop() != slot):
            return False
    return True


def count_placeholders(text: str) -> int:
    """Return how many placeholders a text has."""
    return sum(map(_PLACEHOLDERS.__contains__, text))
