"""Protected spans: the parts of a text that a translation must bring back unchanged.

::

    source      Open {file} in <b>this</b> window 😀
    protected   Open ⟨word0⟩ in ⟨open0⟩this⟨close0⟩ window ⟨mark0⟩      what the network reads
    output      Ouvrez ⟨word0⟩ dans ⟨open0⟩cette⟨close0⟩ fenêtre ⟨mark0⟩  what it writes
    restored    Ouvrez {file} dans <b>cette</b> fenêtre 😀

Each ⟨…⟩ is one private-use character (`translucid.text.interface.PLACEHOLDERS`), which is one
piece of a vocabulary that has placeholders.

Everything is restored to the letter but for one kind: an amount such as ``1 234,56``, whose
separators are those of its language, gets the separators of the target language (``1,234.56``).
Phone numbers, dates, versions and the like are no amounts.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, cast, get_args

from translucid.text.interface import FAMILY_SIZE, PLACEHOLDER_FAMILIES, PLACEHOLDERS

SpanKind = Literal[
    "kept",
    "code",
    "url",
    "email",
    "path",
    "variable",
    "tag",
    "emoji",
    "number",
    "amount",
    "private",
]
Family = Literal["word", "open", "close", "mark"]

_EXTENSIONS = (
    "avi bak bat bin bz2 cfg cmd conf cpp css csv deb dll doc docx epub exe gif gz h5 hpp htm html "
    "ico ini iso jar java jpeg jpg js json jsonl jsx lock log lua md mjs mkv mov mp3 mp4 mpg odp "
    "ods odt ogg pdf php pickle png po pot ppt pptx ps1 py pyc rar rb rpm rs rst rtf scss sh so "
    "sql sqlite srt svg tar tex tgz tiff tmx toml ts tsv tsx txt vtt wav webm webp whl wmv xlf xls "
    "xlsx xml xz yaml yml zip zst"
).replace(" ", "|")
_DOMAINS = (
    "com org net edu gov int info biz io dev app ai co eu fr de uk us ca ch be es it nl pt pl se "
    "no dk fi at ie ru cn jp in br au nz"
).replace(" ", "|")

_PATTERNS: dict[SpanKind, str] = {
    "code": r"(?P<ticks>`{1,3})(?!`)[^\n]{1,2000}?(?<!`)(?P=ticks)(?!`)"
    r"|<(?P<element>code|kbd|pre|samp|script|style|tt|var)\b[^<>\n]{0,500}>"
    r"[^\n]{0,2000}?</(?P=element)>",
    "email": r"(?<![\w.+-])(?:mailto:)?[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}",
    "url": r"(?<![A-Za-z])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s<>\"`{}|\\^«»“”]{1,2000}"
    r"|(?<![\w.@/-])www\.[^\s<>\"`{}|\\^«»“”]{2,2000}"
    r"|(?<![\w.@/-])(?:[a-z0-9-]{1,63}\.){1,5}"
    rf"(?:{_DOMAINS})(?![\w.@-]*\w)(?:[/?#][^\s<>\"`{{}}|\\^«»“”]{{0,2000}})?",
    "path": r"(?<![\w:/\\.<>~-])(?:~|\.{1,2})?(?:/[\w.@+~-]{1,255}){1,40}/?"
    r"|(?<![\w:/\\.-])[\w.-]{1,100}(?:/[\w.-]{1,100}){1,40}\.\w{1,5}(?!\w)"
    r"|(?<!\w)[A-Za-z]:\\(?:[\w .()-]{1,255}\\){0,40}[\w.-]{0,255}"
    r"|\\\\[\w.-]{1,100}(?:\\[\w.$-]{1,255}){1,40}"
    rf"|(?<![\w/\\-])[\w-]{{1,100}}(?:\.[\w-]{{1,40}}){{0,3}}\.(?:{_EXTENSIONS})(?![\w.]*\w)",
    "variable": r"\{\{[^{}\n]{0,200}\}\}|[$\#@%]\{[^{}\n]{1,200}\}|<%[^\n]{1,200}?%>"
    r"|\{\w{1,50},\s{0,3}(?:plural|select|selectordinal|number|date|time)\b"
    r"(?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]{0,200}\}){0,500}\}){0,500}\}"
    r"|\{[\w.:!\#$@\[\]<>=^+,%*-]{0,80}\}"
    r"|%%|(?<!\d)(?<!\d[ \u00a0\u202f])%(?:\(\w{1,50}\)|\d{1,2}\$|<\w{1,50}>)?[-+0\#]{0,5}"
    r"(?:\d{1,4}|\*)?(?:\.(?:\d{1,3}|\*))?(?:hh|h|ll|l|z|j|t|L|q)?"
    r"(?:[sdiu]|[A-Za-z@](?![^\W\d_]{2}))|(?<=\d)%[sdiu](?![\w'’])"
    r"|%[A-Za-z_]\w{0,50}%|(?<!\d)(?<!\d[ \u00a0\u202f])%L?[1-9]\d?(?!\w)"
    r"|\$[A-Za-z_]\w{0,50}(?!\w)|(?<![\w&])[@\#]\w{0,50}[^\W\d]\w{0,50}"
    r"|&(?:\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});",
    "tag": r"<!--[^\n]{0,2000}?-->|<!\[CDATA\[|\]\]>|<[!?][A-Za-z][^<>\n]{0,500}>"
    r"|</?[A-Za-z][\w:.-]{0,60}"
    r"(?:\s(?:\"[^\"\n]{0,2000}\"|'[^'\n]{0,2000}'|[^'\"<>\n]){0,500})?/?>",
    "emoji": r"(?:(?:[\U0001F1E6-\U0001F1FF]{2}|[0-9\#*]\ufe0f?\u20e3"
    r"|[\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d"
    r"\u3297\u3299\U0001f000-\U0001faff\u203c\u2049\u2122\u2139\u00a9\u00ae]"
    r"[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]{0,10})"
    r"(?:\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff]))?){1,200}"
    r"|(?<!\S)[:;]-?[)(DP](?!\w)",
    "number": r"(?<![\w.,-])(?:"
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"|\d{1,2}/\d{1,2}/\d{2,4}|\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,6})?"
    r"|[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}|0[xX][0-9A-Fa-f]{1,64}"
    r"|[0-9A-Fa-f]{1,2}(?::[0-9A-Fa-f]{2}){5}"
    r"|[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,3})?"
    r"|v?\d{1,9}(?:\.\d{1,9}){2,10}(?:-[\w.]{1,30})?"
    r"|0\d(?:[ .\u00a0\u202f-]\d{2}){4}|\d{4}(?:[ -]\d{4}){2,4}|\(\d{3}\)[ ]?\d{3}[-. ]\d{4}"
    r"|\d{1,20}(?:-\d{1,20}){2,10}(?:-[Xx])?"
    r"|\d{7,40})(?![\w]|[.,-]\d)"
    r"|(?<![\w+])\+\d{1,3}(?:[ .()/\u00a0\u202f-]{1,2}\d{1,5}){1,8}(?!\w)"
    r"|(?<![\w+])\+\d{8,15}(?!\w)",
    "private": f"[{PLACEHOLDERS[0]}-{PLACEHOLDERS[-1]}]",
}
_SPACES = " \u00a0\u202f"
_AMOUNTS = {  # by the decimal mark of a language
    ",": rf"(?<![\w.,-])\d{{1,3}}(?:(?:[{_SPACES}]\d{{3}}){{1,5}}|(?:\.\d{{3}}){{2,5}})"
    r"(?:,\d{1,9})?(?![\w]|[.,-]\d)"
    r"|(?<![\w.,-])\d{1,3}(?:\.\d{3}){1,5},\d{1,9}(?![\w]|[.,-]\d)"
    r"|(?<![\w.,-])\d{4,12},\d{1,9}(?![\w]|[.,-]\d)",
    ".": r"(?<![\w.,-])\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,9})?(?![\w]|[.,-]\d)"
    r"|(?<![\w.,-])\d{4,12}\.\d{1,9}(?![\w]|[.,-]\d)",
}
_DECIMAL_POINT = re.compile("en|zh|ja|ko|th|he|hi|bn|ur|ms|tl|ga|mt|sw")
_GROUPED_BY_SPACE = re.compile("fr|pl|ru|uk|cs|sk|bg|fi|sv|no|nb|nn|da|et|lv|lt|hu")

_SENTENCE_MARKS = ".,;:!?… "
_MARKS_AT_END = ".,;:!?…'’\"”"
_BRACKETS = {")": "(", "]": "["}
_SIGNS = re.compile(
    r"[`@/\\%{}$\#<>&:0-9*\u00a9\u00ae\u203c-\u303d\u3297\u3299\U0001f000-\U0001faff"
    rf"{PLACEHOLDERS[0]}-{PLACEHOLDERS[-1]}]|\.\w"
)
_TAG_NAME = re.compile(r"<(/?)([A-Za-z][\w:.-]*)")
_ALONE = re.compile("area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr")


@dataclass(frozen=True)
class Span:
    """A part of a text, [start, end), that is not translated.

    `source` is what stands there, `text` what stands for it in the translation. Tags that open and
    close around something have the same `pair`: the number of the opening one among the spans.
    """

    start: int
    end: int
    kind: SpanKind
    family: Family
    source: str
    text: str
    pair: int | None = None


@dataclass(frozen=True)
class Protected:
    """A text whose spans are placeholders; `spans` has both, in the order of the source.

    A `fragment` is what stands between spans and is translated by itself: marks with which a
    network ends a sentence do not belong to it.
    """

    text: str
    spans: tuple[tuple[str, Span], ...] = ()
    fragment: bool = False

    def restore(self, text: str) -> str:
        """Return a translation with the spans in the place of their placeholders.

        Those that it lacks, as one that was ended in the middle may, come at its end.
        """
        if self.fragment:
            return text.rstrip(_SENTENCE_MARKS) or text
        lacking = [(mark, span) for mark, span in self.spans if mark not in text]
        pairs = [span.pair for _, span in lacking]
        still_open = [
            (mark, span)
            for mark, span in reversed(lacking)
            if span.family == "close" and pairs.count(span.pair) == 1
        ]
        ending = still_open + [one for one in lacking if one not in still_open]
        return self.restore_beginning(text + "".join(mark for mark, _ in ending))

    def restore_beginning(self, text: str) -> str:
        """Return the beginning of a translation with the spans in the place of placeholders.

        Words do not touch what they did not touch in the source: no ``%sfichiers`` of ``%s files``.
        """
        for mark, span in self.spans:
            if span.family == "word" and mark in text:
                text = _held_apart(self.text, text, mark)
        return text.translate({ord(mark): span.text for mark, span in self.spans})

    def hide(self, translation: str) -> str | None:
        """Return a given translation with placeholders; None where it lacks a span.

        A beginning of a translation lacks some, and is hidden by `hide_beginning`.
        """
        hidden = self.hide_beginning(translation)
        return hidden if is_intact(self.text, hidden) else None

    def hide_beginning(self, translation: str) -> str:
        """Return the beginning of a translation with placeholders for the spans that it has."""
        longest_first = sorted(self.spans, key=lambda one: -len(one[1].text))
        for mark, span in longest_first:
            translation = translation.replace(span.text, mark, 1)
        return translation

    @property
    def source(self) -> str:
        """The text with its spans, as it stood in the source."""
        return self.text.translate({ord(mark): span.source for mark, span in self.spans})

    @property
    def places(self) -> list[int]:
        """Where each character of the text begins in the source, and where the last one ends."""
        lengths = {mark: len(span.source) for mark, span in self.spans}
        return list(itertools.accumulate((lengths.get(c, 1) for c in self.text), initial=0))


def _held_apart(source: str, text: str, mark: str) -> str:
    """Return a translation with spaces beside a placeholder where the source has no letters."""
    _, before, behind = _beside(source, mark)
    place, left, right = _beside(text, mark)
    if _is_letter(right) and not _is_letter(behind):
        text = f"{text[: place + 1]} {text[place + 1 :]}"
    if _is_letter(left) and not _is_letter(before):
        text = f"{text[:place]} {text[place:]}"
    return text


def _beside(text: str, mark: str) -> tuple[int, str, str]:
    place = text.index(mark)
    return place, text[max(0, place - 1) : place], text[place + 1 : place + 2]


def _is_letter(character: str) -> bool:
    """Tell whether a character is a letter or digit of a script that has spaces between words."""
    return character.isalnum() and character < "\u2e80"


class SpanFinder:
    """Finds the spans of texts that are translated from one language into another.

    `keep` are words and phrases that are never translated, found as they are written. Languages may
    be unknown (None): then an amount is kept as it is.
    """

    def __init__(
        self, keep: Iterable[str] = (), source: str | None = None, target: str | None = None
    ) -> None:
        phrases = sorted({phrase.strip() for phrase in keep} - {""}, key=lambda p: (-len(p), p))
        self.source, self.target = source, target
        self._keep = tuple(phrases)
        marks = [_decimal_mark(source)] if source else list(_AMOUNTS)
        patterns: dict[SpanKind, str] = {
            "kept": "|".join(map(_whole_word, phrases)) or "(?!)",
            **_PATTERNS,
            "amount": "|".join(_AMOUNTS[mark] for mark in marks),
        }
        self._any = re.compile("|".join(f"(?P<{kind}>{p})" for kind, p in patterns.items()))

    def find(self, text: str) -> list[Span]:
        """Return the spans of a text in their order; they do not overlap."""
        if not self._keep and not _SIGNS.search(text):
            return []
        found: list[Span] = []
        position = 0
        while match := self._any.search(text, position):
            kind = cast(SpanKind, match.lastgroup)  # a group inside another one ends before it
            end = _trimmed(match) if kind in ("url", "path", "email") else match.end()
            source = text[match.start() : end]
            written = self._localized(source) if kind == "amount" else source
            family: Family = "mark" if kind in ("emoji", "private", "tag") else "word"
            found.append(Span(match.start(), end, kind, family, source, written))
            position = max(end, match.start() + 1)
        return _paired(found)

    def protect(self, text: str) -> Protected | None:
        """Return the text with placeholders; None where it has more spans than there are."""
        spans = self.find(text)
        return protect(mask(text, spans), spans)

    def _localized(self, amount: str) -> str:
        """Return an amount with the separators of the target language."""
        if self.source is None or self.target is None:
            return amount
        return localize_amount(amount, self.source, self.target)


@lru_cache(maxsize=64)
def span_finder(
    keep: tuple[str, ...] = (), source: str | None = None, target: str | None = None
) -> SpanFinder:
    """Return a finder of spans; one that was made before is not made again."""
    return SpanFinder(keep, source, target)


def without_spans(text: str, spans: Iterable[Span]) -> str:
    """Return what is left of a text between its spans."""
    return "".join(" " if c in _PLACEHOLDERS else c for c in mask(text, spans))


def mask(text: str, spans: Iterable[Span], start: int = 0, end: int | None = None) -> str:
    """Return text[start:end], the first placeholder of its family standing for each span in it."""
    pieces: list[str] = []
    for span in spans:
        pieces += [text[start : span.start], placeholder_of(span.family, 0)]
        start = span.end
    return "".join([*pieces, text[start:end]])


def unmask(masked: str, spans: Iterable[Span]) -> str:
    """Return a masked text with what stands for its spans in the translation."""
    each = iter(spans)
    return "".join(next(each).text if c in _PLACEHOLDERS else c for c in masked)


def can_protect(masked: str) -> bool:
    """Tell whether there are placeholders enough for all spans of a masked text."""
    counts = dict.fromkeys(PLACEHOLDER_FAMILIES, 0)
    opened = 0
    for character in filter(_PLACEHOLDERS.__contains__, masked):
        family, _ = family_of_placeholder(character)
        opened += family == "open"
        if family == "close":
            family = "close" if opened else "mark"
            opened -= family == "close"
        counts[family] += 1
    alone = min(opened, counts["open"])  # they close elsewhere, and stand for themselves here
    counts["open"], counts["mark"] = counts["open"] - alone, counts["mark"] + alone
    return max(counts.values()) <= FAMILY_SIZE


def protect(masked: str, spans: Sequence[Span]) -> Protected | None:
    """Number the placeholders of a masked text; None where it has more spans than there are.

    Tags that open and close around something share their number; all other ones stand alone.
    """
    if not spans:
        return Protected(masked)
    if not can_protect(masked):
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
        numbered.append((placeholder_of(family, slot), span))
    marks = iter(numbered)
    text = "".join(next(marks)[0] if c in _PLACEHOLDERS else c for c in masked)
    return Protected(text, tuple(numbered))


def placeholder_of(family: Family, slot: int) -> str:
    """Return the character of a placeholder."""
    return PLACEHOLDERS[PLACEHOLDER_FAMILIES.index(family) * FAMILY_SIZE + slot]


def family_of_placeholder(placeholder: str) -> tuple[Family, int]:
    """Return family and number of a placeholder's character."""
    family, slot = divmod(PLACEHOLDERS.index(placeholder), FAMILY_SIZE)
    families: tuple[Family, ...] = get_args(Family)
    return families[family], slot


def _paired(spans: Sequence[Span]) -> list[Span]:
    """Return spans whose tags know what they belong to; those in pairs are properly nested."""
    found = list(spans)
    open_tags: list[tuple[str, int]] = []
    for number, span in enumerate(spans):
        match = _TAG_NAME.match(span.source) if span.kind == "tag" else None
        if match is None or span.source.endswith("/>"):
            continue
        name = match[2].lower()
        if not match[1]:
            if not _ALONE.fullmatch(name):
                open_tags.append((name, number))
        elif name in (known for known, _ in open_tags):
            while open_tags[-1][0] != name:
                open_tags.pop()
            first = open_tags.pop()[1]
            found[first] = replace(found[first], family="open", pair=first)
            found[number] = replace(span, family="close", pair=first)
    return found


def is_intact(source: str, translation: str) -> bool:
    """Tell whether a translation has each placeholder of the source once, and pairs well nested."""
    wanted = [character for character in source if character in _PLACEHOLDERS]
    found = [character for character in translation if character in _PLACEHOLDERS]
    if sorted(wanted) != sorted(found):
        return False
    paired = {slot for family, slot in map(family_of_placeholder, found) if family == "close"}
    opened: list[int] = []
    for family, slot in map(family_of_placeholder, found):
        if family == "open" and slot in paired:
            opened.append(slot)
        elif family == "close" and (not opened or opened.pop() != slot):
            return False
    return True


_PLACEHOLDERS = frozenset(PLACEHOLDERS)


def count_placeholders(text: str) -> int:
    """Return how many placeholders a text has."""
    return sum(map(_PLACEHOLDERS.__contains__, text))


def localize_amount(amount: str, source: str, target: str) -> str:
    """Return an amount written with the separators of another language.

    >>> localize_amount("1 234,56", "fr", "en"), localize_amount("1,234.56", "en", "de")
    ('1,234.56', '1.234,56')
    """
    decimal = _decimal_mark(source)
    whole, mark, fraction = amount.partition(decimal)
    digits = re.sub(r"\D", "", whole)
    if digits == whole:  # not grouped in the source: not grouped in the target
        return digits + (_decimal_mark(target) + fraction if mark else "")
    groups = [digits[max(0, end - 3) : end] for end in range(len(digits), 0, -3)]
    joined = _group_mark(target).join(reversed(groups))
    return joined + (_decimal_mark(target) + fraction if mark else "")


def _base(language: str) -> str:
    return re.split("[-_]", language.lower())[0]


def _decimal_mark(language: str) -> str:
    return "." if _DECIMAL_POINT.fullmatch(_base(language)) else ","


def _group_mark(language: str) -> str:
    if _decimal_mark(language) == ".":
        return ","
    return "\u202f" if _GROUPED_BY_SPACE.fullmatch(_base(language)) else "."


def _whole_word(phrase: str) -> str:
    before = r"(?<!\w)" if re.match(r"\w", phrase) else ""
    behind = r"(?!\w)" if re.search(r"\w$", phrase) else ""
    return f"{before}{re.escape(phrase)}{behind}"


def _trimmed(match: re.Match[str]) -> int:
    """Return the end of an address without the marks of the sentence around it."""
    text = match[0]
    end = len(text)
    while end > 1:
        last = text[end - 1]
        unbalanced = last in _BRACKETS and text.count(last, 0, end) > text.count(
            _BRACKETS[last], 0, end
        )
        if last not in _MARKS_AT_END and not unbalanced:
            break
        end -= 1
    return match.start() + end
