"""Placeholders in training pairs, so that a network learns where to put them.

A span that occurs on both sides, such as a URL, becomes a placeholder, as in the translator
(`translucid.text.spans`). But most corpora have few of them. So a share of the pairs gets synthetic
placeholders::

    words   Tom habite à Boston.      ⟨word3⟩ habite à ⟨word6⟩.     names, numbers and cognates
            Tom lives in Boston.      ⟨word3⟩ lives in ⟨word6⟩.
    pairs   un chat noir dort         un ⟨open2⟩chat noir⟨close2⟩ dort    around words that
            a black cat sleeps        a ⟨open2⟩black cat⟨close2⟩ sleeps   translate each other
    marks   Merci, au revoir          Merci, ⟨mark5⟩ au revoir       where what precedes translates
            Thanks, goodbye           Thanks, ⟨mark5⟩ goodbye        what precedes

A word alignment model of the training pairs says which words translate each other. The numbers of
placeholders are random, so that all of them are learned alike. Everything is a function of the pair
only.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from translucid.data.prepare.selection import PairStatus, SampledPairs, Selection
from translucid.data.prepare.workers import Workers
from translucid.data.prepare.workspace import Workspace, draft_path
from translucid.events import Emit, Progress
from translucid.text.normalization import plain_typography, strip_accents
from translucid.text.placeholders import get_placeholder
from translucid.text.spans import Family, Span, SpanFinder
from translucid.text.tokenizer import FAMILY_SIZE
from translucid.text.word_alignment import Lexicon, WordTable, train_lexicon

LEXICON_PAIRS = 60_000  # to learn word alignment from, at most
_LEXICON_WORDS = 20  # on each side of such a pair, at most
_WORD = re.compile(r"\w+(?:[-']\w+)*|[^\w\s]")
_COGNATE = 4  # common first letters of words in both languages

Texts = tuple[str, str]
Link = tuple[int, int]


class Word(NamedTuple):
    """A word or punctuation mark of a text and its offsets [start, end)."""

    text: str
    start: int
    end: int


class Edit(NamedTuple):
    """What replaces the text [start, end) of one side of a pair."""

    side: int
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class WordLexicon:
    """A word alignment model of numbered words; case does not count."""

    numbers: dict[str, int]
    lexicon: Lexicon

    @classmethod
    def train(cls, pairs: Iterable[Texts]) -> WordLexicon:
        """Learn which words translate each other from pairs of short sentences."""
        numbers: dict[str, int] = {}
        sides: tuple[list[list[int]], list[list[int]]] = ([], [])
        for pair in pairs:
            words = [[word.text.lower() for word in split_words(text)] for text in pair]
            if all(0 < len(one) <= _LEXICON_WORDS for one in words):
                for side, one in zip(sides, words, strict=True):
                    side.append([numbers.setdefault(word, len(numbers)) for word in one])
        if not sides[0]:
            sides = ([[0]], [[0]])
        return cls(numbers, train_lexicon(*sides))

    def links(self, source: Sequence[Word], target: Sequence[Word]) -> list[Link]:
        """Return the positions of words that surely translate each other."""
        unknown = len(self.numbers)
        numbers = (
            [self.numbers.get(word.text.lower(), unknown) for word in words]
            for words in (source, target)
        )
        return self.lexicon.sure_links(*numbers)

    def save(self, path: Path) -> None:
        """Write the model to a file."""
        tables = {"forward": self.lexicon.forward, "backward": self.lexicon.backward}
        arrays = {
            f"{name}_{part}": array
            for name, table in tables.items()
            for part, array in (("kinds", table.kinds), ("probability", table.probability))
        }
        words = np.frombuffer("\n".join(self.numbers).encode(), np.uint8)
        with path.open("wb") as file:
            np.savez(file, words=words, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> WordLexicon:
        """Read what `save` wrote."""
        with np.load(path) as arrays:
            tables = [
                WordTable(arrays[f"{name}_kinds"], arrays[f"{name}_probability"])
                for name in ("forward", "backward")
            ]
            words = arrays["words"].tobytes().decode().split("\n")
        return cls({word: number for number, word in enumerate(words)}, Lexicon(*tables))


@dataclass(frozen=True)
class PlaceholderInserter:
    """Put placeholders into pairs; a `share` of those without spans gets synthetic ones."""

    lexicon: WordLexicon
    share: float
    finders: tuple[SpanFinder, SpanFinder]

    @classmethod
    def for_languages(
        cls, lexicon: WordLexicon, share: float, languages: tuple[str, str]
    ) -> PlaceholderInserter:
        """Return the inserter for pairs of two languages."""
        source, target = languages
        finders = SpanFinder(source=source, target=target), SpanFinder(source=target)
        return cls(lexicon, share, finders)

    def __call__(self, pair: Texts) -> Texts:
        """Return the pair with placeholders, or as it is."""
        digest = hashlib.blake2b("\n".join(pair).encode(), digest_size=8).digest()
        draw = random.Random(digest)  # noqa: S311 - no secret
        chosen = draw.random() < self.share
        edits = self._replace_spans(pair, draw)
        if not edits and chosen:
            edits = self._invent_placeholders(pair, draw)
        return _apply_edits(pair, edits)

    def _replace_spans(self, pair: Texts, draw: random.Random) -> list[Edit]:
        """Replace the spans of a pair if both sides have the same ones."""
        source, target = (
            finder.find(text) for finder, text in zip(self.finders, pair, strict=True)
        )
        if not source or sorted(map(_key, source)) != sorted(map(_key, target)):
            return []
        remaining = list(target)
        edits: list[Edit] = []
        slots = _Slots(draw)
        numbers: dict[int | None, int] = {}
        for here in source:
            there = next(span for span in remaining if _key(span) == _key(here))
            remaining.remove(there)
            slot = numbers[here.pair] if here.family == "close" else slots.next(here.family)
            if slot is None:
                return []
            numbers[here.pair] = slot
            placeholder = get_placeholder(here.family, slot)
            edits += [
                Edit(0, here.start, here.end, placeholder),
                Edit(1, there.start, there.end, placeholder),
            ]
        return edits

    def _invent_placeholders(self, pair: Texts, draw: random.Random) -> list[Edit]:
        """Invent placeholders of one family, or of another if the pair does not allow it."""
        words = split_words(pair[0]), split_words(pair[1])
        if not all(words):
            return []
        links = self.lexicon.links(*words)
        ways = draw.choices((_words, _pairs, _marks), weights=(9, 8, 3), k=3)
        for way in (*ways, _words, _pairs, _marks):
            if edits := way(words, links, draw):
                return edits
        return []


def split_words(text: str) -> list[Word]:
    """Return the words and punctuation marks of a text."""
    return [Word(match[0], *match.span()) for match in _WORD.finditer(text)]


class _Slots:
    """Numbers of placeholders in random order; None when all are taken."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._left: dict[Family, list[int]] = {}

    def next(self, family: Family) -> int | None:
        left = self._left.setdefault(family, self._draw.sample(range(FAMILY_SIZE), FAMILY_SIZE))
        return left.pop() if left else None


def _key(span: Span) -> tuple[Family, str]:
    """Return what a span has in common in all languages."""
    return span.family, plain_typography(span.text) if span.kind == "amount" else span.text


Words = tuple[list[Word], list[Word]]


def _words(words: Words, links: Sequence[Link], draw: random.Random) -> list[Edit]:
    """Replace one to three words that occur on both sides, or begin alike and are linked."""
    places: tuple[dict[str, list[int]], dict[str, list[int]]] = ({}, {})
    for listed, where in zip(words, places, strict=True):
        for place, word in enumerate(listed):
            where.setdefault(word.text, []).append(place)
    same = [
        (places[0][text][0], places[1][text][0])
        for text in places[0]
        if len(text) > 1
        and (text != text.lower() or text.isdigit())
        and len(places[0][text]) == len(places[1].get(text, ())) == 1
    ]
    alike = [link for link in links if _are_cognates(words[0][link[0]], words[1][link[1]])]
    candidates = _keep_disjoint(draw.sample(same, len(same)) + draw.sample(alike, len(alike)))
    if not same:
        candidates = candidates[:1]
    slots = _Slots(draw)
    edits: list[Edit] = []
    for link in candidates[: draw.choice((1, 1, 1, 2, 2, 3))]:
        slot = slots.next("word")
        assert slot is not None, "there are more than three placeholders"
        for number, (listed, place) in enumerate(zip(words, link, strict=True)):
            word = listed[place]
            edits.append(Edit(number, word.start, word.end, get_placeholder("word", slot)))
    return edits


def _are_cognates(source: Word, target: Word) -> bool:
    texts = [strip_accents(word.text).lower() for word in (source, target)]
    same = texts[0][:_COGNATE] == texts[1][:_COGNATE]
    return same and all(len(text) > _COGNATE and text.isalpha() for text in texts)


def _keep_disjoint(links: Iterable[Link]) -> list[Link]:
    """Return links without those that share a word with an earlier one."""
    seen: tuple[set[int], set[int]] = (set(), set())
    kept = []
    for source, target in links:
        if source not in seen[0] and target not in seen[1]:
            seen[0].add(source)
            seen[1].add(target)
            kept.append((source, target))
    return kept


Ranges = tuple[tuple[int, int], tuple[int, int]]  # positions of words on both sides, ends included


def _pairs(words: Words, links: Sequence[Link], draw: random.Random) -> list[Edit]:
    """Put one or two pairs of tags around words that translate each other."""
    chosen: list[Ranges] = []
    for _ in range(draw.choice((1, 1, 2))):
        found = _draw_phrase(links, draw)
        if found and all(_is_nested(found, other) for other in chosen):
            chosen.append(found)
    slots = _Slots(draw)
    edits: list[Edit] = []
    for found in sorted(chosen, key=lambda ranges: ranges[0][0] - ranges[0][1]):  # outer ones first
        slot = slots.next("open")
        assert slot is not None, "there are more than two placeholders"
        for side, (first, last) in enumerate(found):
            start, end = words[side][first].start, words[side][last].end
            edits.append(Edit(side, start, start, get_placeholder("open", slot)))
            edits.insert(0, Edit(side, end, end, get_placeholder("close", slot)))
    return edits


def _draw_phrase(links: Sequence[Link], draw: random.Random) -> Ranges | None:
    """Return ranges whose words are linked only with each other; try a few times."""
    if not links:
        return None
    for _ in range(8):
        first = draw.choice(links)[0]
        last = first + draw.choice((0, 0, 1, 1, 2, 3, 5))
        inside = [link for link in links if first <= link[0] <= last]
        begin, end = min(t for _, t in inside), max(t for _, t in inside)
        tight = {first, last} <= {s for s, _ in inside}
        closed = all(first <= s <= last for s, t in links if begin <= t <= end)
        if tight and closed and end - begin <= 2 * (last - first) + 2:
            return (first, last), (begin, end)
    return None


def _is_nested(one: Ranges, other: Ranges) -> bool:
    """Return whether two phrases are apart on both sides, or one inside the other on both."""
    each = [_compare_ranges(a, b) for a, b in zip(one, other, strict=True)]
    return each[0] is not None and each[0] == each[1]


def _compare_ranges(one: tuple[int, int], other: tuple[int, int]) -> str | None:
    if one[1] < other[0] or other[1] < one[0]:
        return "apart"
    if one == other:
        return None
    if other[0] <= one[0] and one[1] <= other[1]:
        return "inside"
    return "around" if one[0] <= other[0] and other[1] <= one[1] else None


def _marks(words: Words, links: Sequence[Link], draw: random.Random) -> list[Edit]:
    """Put a mark where the words before it translate each other on both sides."""
    borders = [
        (source, target)
        for source, target in links
        if all((s <= source) == (t <= target) for s, t in links)
    ]
    slot = _Slots(draw).next("mark")
    assert slot is not None, "there is a placeholder"
    placeholder = get_placeholder("mark", slot)
    if borders and draw.random() < 0.5:
        border = draw.choice(borders)
        ends = [side[place].end for side, place in zip(words, border, strict=True)]
    else:
        ends = [side[-1].end for side in words]
    form = draw.choice((" {}", " {}", "{}"))
    return [Edit(side, ends[side], ends[side], form.format(placeholder)) for side in (0, 1)]


def _apply_edits(pair: Texts, edits: Sequence[Edit]) -> Texts:
    """Return a pair with its edits applied, several at one position in their order."""
    texts = []
    for side, text in enumerate(pair):
        mine = [edit for edit in edits if edit.side == side]
        mine.sort(key=lambda edit: edit.start)
        pieces: list[str] = []
        position = 0
        for edit in mine:
            pieces += [text[position : edit.start], edit.text]
            position = edit.end
        texts.append("".join([*pieces, text[position:]]))
    return texts[0], texts[1]


def learn_lexicon(selection: Selection, work: Workspace, *, workers: Workers, emit: Emit) -> None:
    """Learn which words translate each other from training pairs, unless that was done."""
    if not work.lexicon.is_file():
        emit(Progress("learning word alignment", 0, None, "words"))
        pairs = SampledPairs.from_selection(
            selection, work, LEXICON_PAIRS / selection.count(PairStatus.TRAIN)
        )
        workers.run_in_process(_learn_lexicon, (pairs, work.lexicon, work.drafts))


def _learn_lexicon(task: tuple[SampledPairs, Path, Path]) -> None:
    pairs, path, drafts = task
    draft = draft_path(drafts)
    WordLexicon.train(pairs).save(draft)
    draft.replace(path)
