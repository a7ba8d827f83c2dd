"""Spans: the parts of a text that are not translated, such as addresses, tags and ``%s``.

They are restored exactly (`translucid.text.placeholders`), with one exception: an amount such as
``1 234,56`` gets the separators of the target language (``1,234.56``). Phone numbers, dates,
versions and the like are not amounts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, cast

from translucid.text.tokenizer import PLACEHOLDERS

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
    "ods odt ogg pdf php pickle png po pot ppt pptx ps1 py pyc rar rb rpm rs rst rtf scss sh "
    "sql sqlite srt svg tar tex tgz tiff tmx toml ts tsv tsx txt vtt wav webm webp whl wmv xlf xls "
    "xlsx xml xz yaml yml zip zst"
).replace(" ", "|")
_DOMAINS = "com org net edu gov int info biz io dev app eu fr uk ch nl pt pl dk ru cn jp br au nz"
_DOMAINS = _DOMAINS.replace(" ", "|")

_PATTERNS: dict[SpanKind, str] = {
    "code": r"(?P<ticks>`{1,3})(?!`)[^\n]{1,2000}?(?<!`)(?P=ticks)(?!`)"
    r"|<(?P<element>code|kbd|pre|samp|script|style|tt|var)\b[^<>\n]{0,500}>"
    r"[^\n]{0,2000}?</(?P=element)>",
    "email": r"(?<![\w.+-])(?:mailto:)?[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}",
    "url": r"(?<![A-Za-z])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s<>\"`{}|\\^«»“”]{1,2000}"
    r"|(?<![\w.@/-])www\.[^\s<>\"`{}|\\^«»“”]{2,2000}"
    r"|(?<![\w.@/-])(?:[A-Za-z0-9-]{1,63}\.){1,5}"
    rf"(?:(?:{_DOMAINS})(?![\w@-]|\.\w)(?:[/?#][^\s<>\"`{{}}|\\^«»“”]{{0,2000}})?"
    r"|[a-z]{2,10}/[^\s<>\"`{}|\\^«»“”]{1,2000})",
    "path": r"(?<![\w:/\\.<>~)}\]-])(?:~|\.{1,2})?(?:/[\w.@+~-]{1,255}){1,40}/?"
    rf"|(?<![\w:/\\.-])[\w.-]{{1,100}}(?:/[\w.-]{{1,100}}){{1,40}}\.(?i:{_EXTENSIONS})(?!\w)"
    r"|(?<!\w)[A-Za-z]:\\(?:[\w .()-]{1,255}\\){0,40}[\w.-]{0,255}"
    r"|\\\\[\w.-]{1,100}(?:\\[\w.$-]{1,255}){1,40}"
    rf"|(?<![\w./\\-])[\w-]{{1,100}}(?:\.[\w-]{{1,40}}){{0,3}}\.(?i:{_EXTENSIONS})(?!\w|\.\w)",
    "variable": r"\{\{[^{}\n]{0,200}\}\}|[$\#@%]\{[^{}\n]{1,200}\}|<%[^\n]{1,200}?%>"
    r"|\{\w{1,50},\s{0,3}(?:plural|select|selectordinal|number|date|time)\b"
    r"(?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]{0,200}\}){0,500}\}){0,500}\}"
    r"|\{[\w.:!\#$@\[\]<>=^+,%*-]{0,80}\}"
    r"|%%|(?<!\d)(?<!\d[ \u00a0\u202f])%(?:\(\w{1,50}\)|\d{1,2}\$|<\w{1,50}>)?[-+0\#]{0,5}"
    r"(?:\d{1,4}|\*)?(?:\.(?:\d{1,3}|\*))?(?:hh|h|ll|l|z|j|t|L|q)?"
    r"(?:[sdiu](?=[A-Z])|d(?!(?:e|es|u)\b)(?![^\W\d_]{2})|[A-Za-ce-z@](?![^\W\d_]{2}))"
    r"|(?<=\d)%[sdiu](?![\w'’])"
    r"|(?<!\d)%[-+0\#]{0,5}(?:\d{1,4}(?:hh|h|ll|l|z|j|t|L)?[sdiufxXoc]|(?:hh|h|ll|l|z|j|t)[diuxXo])"
    r"|%[A-Za-z_]\w{0,50}%|(?<!\d)(?<!\d[ \u00a0\u202f])%L?[1-9]\d?(?!\w)"
    r"|\$[A-Za-z_]\w{0,50}(?!\w)|(?<![\w&])[@\#]\w{0,50}[^\W\d]\w{0,50}"
    r"|&(?:\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});",
    "tag": r"<!--[^\n]{0,2000}?-->|<!\[CDATA\[|\]\]>|<[!?][A-Za-z][^<>\n]{0,500}>"
    r"|</?[A-Za-z][\w:.-]{0,60}"
    r"(?:\s(?=[^<>\n]{0,200}=|/>|>)"
    r"(?:\"[^\"\n]{0,2000}\"|'[^'\n]{0,2000}'|[^'\"<>\n]){0,500})?/?>",
    "emoji": r"[€£¥₩₹₽]|(?:(?:[\U0001F1E6-\U0001F1FF]{2}|[0-9\#*]\ufe0f?\u20e3"
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
    r"|[A-Z]{2}\d{2}[ ]?[A-Z0-9]{4}(?:[ ]?\d{4}){1,6}(?:[ ]?[A-Z0-9]{1,3})?"
    r"|v?\d{1,9}(?:\.\d{1,9}){2,10}(?:-[\w.]{1,30})?"
    r"|0[ ]\d{3}(?:[ ]\d{3}){2}|0\d(?:[ .\u00a0\u202f-]\d{2}){4}|\d{4}(?:[ -]\d{4}){2,4}"
    r"|\(\d{3}\)[ ]?\d{3}[-. ]\d{4}"
    r"|\d{1,20}(?:-\d{1,20}){2,10}(?:-[Xx])?"
    r"|\d{7,40})(?![\w]|[.,-]\d)"
    r"|(?<![\w+])\+(?=(?:[ .()/\u00a0\u202f-]{0,2}\d){7})"
    r"\d{1,3}(?:[ .()/\u00a0\u202f-]{1,2}\d{1,5}){1,8}(?!\w|,\d)"
    r"|(?<![\w+])\+\d{8,15}(?!\w)",
    "private": f"[{PLACEHOLDERS[0]}-{PLACEHOLDERS[-1]}]",
}
_SPACES = " \u00a0\u202f"
_BEFORE, _BEHIND = r"(?<![\w.,:/])(?<!\w-)", r"(?![\w]|[.,-]\d)"
_CURRENCY = rf"(?=[{_SPACES}]?(?:[€$£¥]|euros?\b|EUR\b|USD\b|dollars?\b))"
_AMOUNTS = {  # by the decimal mark of a language
    ",": rf"{_BEFORE}[1-9]\d{{0,2}}(?:(?:[{_SPACES}]\d{{3}}){{1,5}}|(?:\.\d{{3}}){{2,5}})"
    rf"(?:,\d{{1,9}})?{_BEHIND}"
    rf"|{_BEFORE}[1-9]\d{{0,2}}(?:\.\d{{3}}){{1,5}},\d{{1,9}}{_BEHIND}"
    rf"|{_BEFORE}\d{{4,12}},\d{{1,9}}{_BEHIND}{_CURRENCY}",
    ".": rf"{_BEFORE}[1-9]\d{{0,2}}(?:,\d{{3}}){{1,5}}(?:\.\d{{1,9}})?{_BEHIND}"
    rf"|{_BEFORE}\d{{4,12}}\.\d{{1,9}}{_BEHIND}{_CURRENCY}",
}
_DECIMAL_POINT = re.compile("en|zh|ja|ko|th|he|hi|bn|ur|ms|tl|ga|mt|sw")
_GROUPED_BY_SPACE = re.compile("fr|pl|ru|uk|cs|sk|bg|fi|sv|no|nb|nn|da|et|lv|lt|hu")

_MARKS_AT_END = ".,;:!?…'’\"”"
_BRACKETS = {")": "(", "]": "["}
_SIGNS = re.compile(
    r"[`@/\\%{}$\#<>&:;0-9*\u00a9\u00ae\u203c-\u303d\u3297\u3299\U0001f000-\U0001faff"
    rf"{PLACEHOLDERS[0]}-{PLACEHOLDERS[-1]}]|\.\w"
)
_JOINT = re.compile(r"[/\\:.=_&?#+-]?")  # what may be between two spans that belong together
_EXTENSION = re.compile(rf"\.(?i:{_EXTENSIONS})(?!\w|\.\w)")
_TAILED = ("variable", "url", "path")  # what follows these without a space may belong to them
_TAILS: dict[SpanKind, re.Pattern[str]] = {
    "url": re.compile(r"[/?#&=][^\s<>\"`{}|\\^«»“”]*[\w/]"),
    "path": re.compile(rf"(?:[/\\][\w.@+~-]*)*[/\\](?:[\w.@+~-]*\w)?|{_EXTENSION.pattern}"),
}
_TAG_NAME = re.compile(r"<(/?)([A-Za-z][\w:.-]*)")
_ALONE = re.compile("area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr")


@dataclass(frozen=True)
class Span:
    """A part of a text, [start, end), that is not translated.

    `source` is its text in the source, `text` that in the translation. The opening and the closing
    tag of a pair have the same `pair`: the number of the opening one among the spans.
    """

    start: int
    end: int
    kind: SpanKind
    family: Family
    source: str
    text: str
    pair: int | None = None


class SpanFinder:
    """Find the spans of texts that are translated from one language into another.

    `keep` are words and phrases that are never translated, in their exact spelling. If a language
    is unknown (None), amounts stay as they are.
    """

    def __init__(
        self, keep: Iterable[str] = (), source: str | None = None, target: str | None = None
    ) -> None:
        phrases = sorted({phrase.strip() for phrase in keep} - {""}, key=lambda p: (-len(p), p))
        self.source, self.target = source, target
        self._keep = tuple(phrases)
        marks = [_decimal_mark(source)] if source else list(_AMOUNTS)
        amount: dict[SpanKind, str] = {"amount": "|".join(_AMOUNTS[mark] for mark in marks)}
        kept: dict[SpanKind, str] = {"kept": "|".join(map(whole_word, phrases)) or "(?!)"}
        first = source is not None and _group_mark(source) == "."  # 1.234.567 is not a version then
        patterns = {**amount, **_PATTERNS, **kept} if first else {**_PATTERNS, **amount, **kept}
        self._any = re.compile("|".join(f"(?P<{kind}>{p})" for kind, p in patterns.items()))
        self._kept = re.compile(kept["kept"])

    def find(self, text: str) -> list[Span]:
        """Return the spans of a text in order; they do not overlap."""
        if not self._keep and not _SIGNS.search(text):
            return []
        found: list[Span] = []
        position = 0
        while match := self._any.search(text, position):
            kind = cast(SpanKind, match.lastgroup)  # the last group to end is the outer one
            start = match.start()
            end = _trim_end(match) if kind in ("url", "path", "email") else match.end()
            if (kept := self._kept.match(text, start)) and kept.end() > end:
                kind, end = "kept", kept.end()
            source = text[start:end]
            written = source
            if kind == "amount" and self.source is not None and self.target is not None:
                written = localize_amount(source, self.source, self.target)
            family: Family = "mark" if kind in ("emoji", "private", "tag") else "word"
            found.append(Span(start, end, kind, family, source, written))
            position = max(end, start + 1)
        return _pair_tags(_join_touching(text, found))


@lru_cache(maxsize=64)
def span_finder(
    keep: tuple[str, ...] = (), source: str | None = None, target: str | None = None
) -> SpanFinder:
    """Return a `SpanFinder`, cached."""
    return SpanFinder(keep, source, target)


def _join_touching(text: str, spans: Sequence[Span]) -> list[Span]:
    """Join spans that touch each other: ``${HOME}/bin/{name}.txt``."""
    found: list[Span] = []
    for span in spans:
        last = found[-1] if found else None
        if last and span.start < last.end:  # inside the tail of the span before
            continue
        if last and _belong_together(last, span, text[last.end : span.start]):
            found.pop()
            whole = text[last.start : span.end]
            span = replace(span, start=last.start, kind=last.kind, source=whole, text=whole)
        tail = _TAILS.get(span.kind, _EXTENSION)
        if span.source.startswith("$") or (span.source.endswith("%") and len(span.source) > 2):
            tail = _TAILS["path"]
        if span.kind in _TAILED and (rest := tail.match(text, span.end)):
            whole = span.source + rest[0]
            span = replace(span, end=rest.end(), source=whole, text=whole)
        found.append(span)
    return found


def _belong_together(one: Span, other: Span, gap: str) -> bool:
    kinds = {one.kind, other.kind}
    joined = kinds <= {"variable", "url", "path", "code", "kept", "email"}
    return joined and one.end <= other.start and _JOINT.fullmatch(gap) is not None


def _pair_tags(spans: Sequence[Span]) -> list[Span]:
    """Find pairs of opening and closing tags, properly nested."""
    found = list(spans)
    open_tags: list[tuple[str, int]] = []
    names: Counter[str] = Counter()
    for number, span in enumerate(spans):
        match = _TAG_NAME.match(span.source) if span.kind == "tag" else None
        if match is None or span.source.endswith("/>"):
            continue
        name = match[2].lower()
        if not match[1]:
            if not _ALONE.fullmatch(name):
                open_tags.append((name, number))
                names[name] += 1
        elif names[name]:
            while open_tags[-1][0] != name:
                names[open_tags.pop()[0]] -= 1
            names[name] -= 1
            first = open_tags.pop()[1]
            found[first] = replace(found[first], family="open", pair=first)
            found[number] = replace(span, family="close", pair=first)
    return found


def localize_amount(amount: str, source: str, target: str) -> str:
    """Return an amount written with the separators of another language.

    >>> localize_amount("1 234,56", "fr", "en"), localize_amount("1,234.56", "en", "de")
    ('1,234.56', '1.234,56')
    """
    decimal = _decimal_mark(source)
    whole, mark, fraction = amount.partition(decimal)
    digits = re.sub(r"\D", "", whole)
    if digits == whole:  # digits that were not grouped stay so
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


def whole_word(phrase: str) -> str:
    """Return a regular expression that finds a phrase, but not inside a word."""
    before = r"(?<!\w)" if re.match(r"\w", phrase) else ""
    behind = r"(?!\w)" if re.search(r"\w$", phrase) else ""
    return f"{before}{re.escape(phrase)}{behind}"


def _trim_end(match: re.Match[str]) -> int:
    """Return the end of a URL or path without the punctuation of the sentence around it."""
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
