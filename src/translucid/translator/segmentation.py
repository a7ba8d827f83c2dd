"""Divide a text into segments that are translated one by one, and join their translations.

::

    "Bonjour.\\n\\n  Où est l'eau ?\\n"   →   ""      "Bonjour."
                                             "\\n\\n  "  "Où est l'eau ?"
                                             "\\n"
                                           before    segment            …, after

Each line is translated separately; blank lines and white space around lines are copied. A line that
is too long is divided further.

Spans that are not translated (`translucid.text.spans`) are placeholders in a segment if the model
knows them. Marks and pairs of tags around a whole line are copied like white space::

    <p>Open {file} 😀</p>   →   "<p>"  "Open ⟨word0⟩"  " 😀</p>"

A model without placeholders translates the words between the spans, segment by segment. A segment
in capitals is read as an ordinary sentence, and its translation put in capitals.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from translucid.text.capitals import Encode, is_in_capitals
from translucid.text.normalization import nfc
from translucid.text.placeholders import (
    Protected,
    can_protect,
    count_placeholders,
    insert_placeholders,
    protect,
    replace_placeholders,
)
from translucid.text.sentences import is_unspaced, split_to_fit
from translucid.text.spans import Span, SpanFinder
from translucid.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from translucid.translator.request import Terminology

MAX_SOURCE_TOKENS = 256  # a longer line is divided; trained networks have hardly seen longer ones


@dataclass(frozen=True)
class Segment:
    """A part of a text that is translated at once.

    `before` is put before its translation; `start` is its position in the text.
    `inside_word`: it was cut off from the segment before it in the middle of a word.
    """

    before: str
    start: int
    protected: Protected
    tokens: tuple[int, ...]
    inside_word: bool

    @property
    def text(self) -> str:
        """What the network reads."""
        return self.protected.text


@dataclass(frozen=True)
class SegmentedText:
    """A text in segments; `after` is appended after the translation of the last one.

    `split`: a line was too long and was divided. `between_spans`: a line was divided because the
    model has no placeholders.
    """

    text: str
    segments: tuple[Segment, ...]
    after: str
    split: bool
    between_spans: bool

    def restore(self, tokens: Sequence[Sequence[int]], tokenizer: Tokenizer) -> list[str]:
        """Return the text of each segment's tokens, with the spans of its source."""
        return [
            segment.protected.restore(tokenizer.decode(each))
            for segment, each in zip(self.segments, tokens, strict=True)
        ]

    def join(self, translations: Sequence[str]) -> str:
        """Return the translations of all segments, joined with what is between them."""
        return "".join([*interleave(self.segments, translations), self.after])


@dataclass(frozen=True)
class Segmenter:
    """Divides texts into segments of at most `longest` tokens; spans become placeholders.

    What `terms` finds is translated, even where it would be a span.
    """

    encode: Encode
    longest: int
    finder: SpanFinder
    placeholders: bool
    terms: Terminology | None = None

    def find_spans(self, line: str) -> tuple[str, list[Span]]:
        """Return a line in composed form (NFC), except for its spans, and the spans."""
        composed = nfc(line)
        spans = self.finder.find(composed)
        capitals = is_in_capitals(composed)
        taken = [] if self.terms is None else self.terms.find_spans(composed, any_case=capitals)
        if taken:
            spans = [s for s in spans if all(s.end <= a or b <= s.start for a, b in taken)]
        if not spans or composed == line:
            return composed, spans
        return _restore_spans(line, composed, spans)

    def segment(self, text: str) -> SegmentedText:
        """Normalise a text and divide it into segments."""
        builder = _SegmentBuilder(self)
        lines: list[str] = []
        start = 0
        for number, given in enumerate(text.split("\n")):
            line, spans = self.find_spans(given)
            builder.gap += "\n" if number else ""
            builder.add_line(line, spans, start)
            lines.append(line)
            start += len(line) + 1
        return SegmentedText(
            text="\n".join(lines),
            segments=tuple(builder.segments),
            after=builder.gap,
            split=builder.split,
            between_spans=builder.between_spans,
        )

    def read_whole(self, line: str) -> tuple[Segment, str]:
        """Return a line as one segment, however long, and what is appended after it.

        If spans alone would divide it, it is read as it is, without placeholders.
        """
        segmented = replace(self, longest=sys.maxsize).segment(line)
        if len(segmented.segments) == 1 and not segmented.between_spans:
            return segmented.segments[0], segmented.after
        protected = Protected(line).read_capitals(self.encode)
        return Segment("", 0, protected, tuple(self.encode(protected.text)), inside_word=False), ""

    def hide_pair(self, source: str, translation: str) -> tuple[str, str]:
        """Return a text and its translation with placeholders for spans.

        A line whose translation lacks a span of its source is left alone on both sides.
        """
        lines = [nfc(text).split("\n") for text in (source, translation)]
        if len(lines[0]) != len(lines[1]):
            return source, translation
        hidden = [self._hide_line(*pair) for pair in zip(*lines, strict=True)]
        return "\n".join(one for one, _ in hidden), "\n".join(other for _, other in hidden)

    def _hide_line(self, source: str, translation: str) -> tuple[str, str]:
        segment, after = self.read_whole(source)
        core = translation.strip().removeprefix(segment.before.strip())
        written = segment.protected.hide(core.removesuffix(after.strip()).strip(), self.encode)
        return (source, translation) if written is None else (segment.text, written)


def _restore_spans(line: str, composed: str, spans: Sequence[Span]) -> tuple[str, list[Span]]:
    """Return the composed line with its spans as written in the original line, and the spans."""
    clusters = re.findall(r".[\u0300-\u036f]*", line, re.DOTALL)
    lengths = [len(nfc(cluster)) for cluster in clusters]
    if sum(lengths) != len(composed):  # composed across clusters, as Hangul is
        return composed, list(spans)
    places = {0: 0}
    here = there = 0
    for cluster, length in zip(clusters, lengths, strict=True):
        here, there = here + length, there + len(cluster)
        places[here] = there
    if not all(span.start in places and span.end in places for span in spans):
        return composed, list(spans)  # a mark follows a picture, which is no letter for it
    pieces: list[str] = []
    found: list[Span] = []
    place = length = 0
    for span in spans:
        written = line[places[span.start] : places[span.end]]
        pieces += [composed[place : span.start], written]
        start = length + span.start - place
        length, place = start + len(written), span.end
        text = written if span.text == span.source else span.text
        found.append(replace(span, start=start, end=length, source=written, text=text))
    return "".join([*pieces, composed[place:]]), found


class _SegmentBuilder:
    """The segments of a text so far, and in `gap` what follows the last one."""

    def __init__(self, segmenter: Segmenter) -> None:
        self._segmenter = segmenter
        self.segments: list[Segment] = []
        self.gap = ""
        self.split = self.between_spans = False

    def add_line(self, line: str, spans: Sequence[Span], start: int) -> None:
        """Add a line with its spans; `start` is its position in the text."""
        beside = (
            _find_surrounding_spans(line, spans)
            if self._segmenter.placeholders
            else range(len(spans))
        )
        known = len(self.segments)
        place = first = 0
        for number in beside:
            span = spans[number]
            inside = spans[first:number]
            self._add(
                insert_placeholders(line, inside, place, span.start),
                inside,
                start + place,
                literal=True,
            )
            self.gap += span.text
            place, first = span.end, number + 1
        inside = spans[first:]
        self._add(
            insert_placeholders(line, inside, place), inside, start + place, literal=bool(spans)
        )
        if spans and not self._segmenter.placeholders and len(self.segments) > known:
            self.between_spans = True

    def _add(self, unnumbered: str, spans: Sequence[Span], place: int, *, literal: bool) -> None:
        """Add text, placeholders not yet numbered; `literal` without letters is not translated."""
        if not _has_words(unnumbered) or (literal and not any(map(str.isalpha, unnumbered))):
            self.gap += replace_placeholders(unnumbered, spans)
            return
        ending = ""
        fragment = literal and not self._segmenter.placeholders
        if fragment:
            begin, end = _find_words(unnumbered)
            self.gap, ending = self.gap + unnumbered[:begin], unnumbered[end:]
            unnumbered, place = unnumbered[begin:end], place + begin
        pieces, encode = self._pieces(unnumbered), self._segmenter.encode
        self.split = self.split or len(pieces) > 1
        last = ""
        for piece, here, tag in _split_at_half_tags(pieces, spans):
            if tag is not None:
                self.gap += tag.text
                place += len(tag.source)
                continue
            text = piece.strip()
            if not text or (len(pieces) > 1 and here and not any(map(str.isalpha, text))):
                self.gap += replace_placeholders(piece, here)
            else:
                lead = len(piece) - len(piece.lstrip())
                before = self.gap + piece[:lead]
                inside = bool(last) and not before and _is_inside_word(last, piece)
                protected = protect(text, here)
                assert protected is not None  # pieces are cut so that each can be protected
                protected = replace(protected, fragment=fragment).read_capitals(encode)
                tokens = tuple(encode(protected.text))
                self.segments.append(Segment(before, place + lead, protected, tokens, inside))
                self.gap = piece[lead + len(text) :]
            place += len(piece) - len(here) + sum(len(span.source) for span in here)
            last = piece
        self.gap += ending

    def _pieces(self, unnumbered: str) -> list[str]:
        """Return pieces that can be read at once; joined they are the text."""
        if self._fits(unnumbered):
            return [unnumbered]
        return _merge_blank(split_to_fit(unnumbered, self._fits))

    def _fits(self, unnumbered: str) -> bool:
        if not can_protect(unnumbered):
            return False
        encode, longest = self._segmenter.encode, self._segmenter.longest
        return len(encode(Protected(unnumbered.strip()).read_capitals(encode).text)) <= longest


def _split_at_half_tags(
    pieces: Sequence[str], spans: Sequence[Span]
) -> Iterator[tuple[str, Sequence[Span], Span | None]]:
    """Yield pieces of a text with their spans, and by itself each tag whose partner is elsewhere.

    A network may put such a tag anywhere, even inside another pair, so it is not shown to it.
    """
    first = 0
    for piece in pieces:
        here = spans[first : first + count_placeholders(piece)]
        pairs = Counter(span.pair for span in here)
        begin = number = 0
        for place in (place for place, c in enumerate(piece) if count_placeholders(c)):
            if here[number].pair is not None and pairs[here[number].pair] == 1:
                yield piece[begin:place], spans[first : first + number], None
                yield "", (), here[number]
                begin, first, here, number = place + 1, first + number + 1, here[number + 1 :], 0
            else:
                number += 1
        yield piece[begin:], here, None
        first += len(here)


def _has_words(text: str) -> bool:
    """Tell whether there is anything to translate: a letter, number, mark or sign.

    White space, combining marks without a letter, invisible characters and pictures are none.
    """
    return any(
        category[0] in "LNP" or category in ("Sm", "Sc")
        for category in map(unicodedata.category, text)
    )


def _find_words(text: str) -> tuple[int, int]:
    """Return the start and end of the words in a text, without marks around them."""
    match = re.search(r"\w.*[\w'’]|\w", text, re.DOTALL)
    return (0, len(text)) if match is None else match.span()


def _find_surrounding_spans(line: str, spans: Sequence[Span]) -> list[int]:
    """Return the numbers of the spans around a whole line: marks, and tags in pairs."""
    around: list[int] = []
    first, last = 0, len(spans)
    begin, end = 0, len(line)
    while first < last:
        left = spans[first] if not line[begin : spans[first].start].strip() else None
        right = spans[last - 1] if not line[spans[last - 1].end : end].strip() else None
        if left and right and left.family == "open" and left.pair == right.pair:
            around += [first, last - 1]
            first, last, begin, end = first + 1, last - 1, left.end, right.start
        elif left and left.family == "mark":
            around.append(first)
            first, begin = first + 1, left.end
        elif right and right.family == "mark":
            around.append(last - 1)
            last, end = last - 1, right.start
        else:
            break
    return sorted(around)


def _merge_blank(pieces: Sequence[str]) -> list[str]:
    """Join blank pieces to the piece before them, or to the first one that is not blank."""
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


def _is_inside_word(before: str, after: str) -> bool:
    """Tell whether a cut without white space divided a word."""
    return not (is_unspaced(before[-1]) or is_unspaced(after[0]))


def interleave(segments: Iterable[Segment], translations: Iterable[str]) -> list[str]:
    """Return, in turn, what comes before the translation of each segment, and the translation."""
    pieces: list[str] = []
    last = ""  # the last translation that is not empty
    for segment, text in zip(segments, translations, strict=False):
        pieces += [gap_before(segment, last, text), text]
        last = text or last
    return pieces


def gap_before(segment: Segment, left: str, right: str) -> str:
    """Return what separates the translation of a segment, `right`, from the one before, `left`.

    That is what separates the segments in the source, unless one language has spaces between words
    and the other has none: then what the language of the translation needs.
    """
    if not left or not right:
        return segment.before
    wide = is_unspaced(left[-1]), is_unspaced(right[0])
    if segment.before == " " and all(wide):
        return ""
    if not segment.before and not segment.inside_word and not any(wide):
        return " "
    return segment.before
