"""Does it hold? The same decision in other sentences, made by exchanging the same words.

::

    The animal didn't cross the street because it was too │tired│.    the pair that was measured
                                                          │wide │

    The dog didn't follow the river because it was too    │tired│.    a sentence of the lesson, and
                                                          │wide │     itself with the other word

A pair counts if the network decides there between the same two tokens. Sentences come from the
built-in lesson, unless others are given; those that say the same before the words come first.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from translucid.data.readers.built_in import Split, lesson_pairs
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.events import Emit, Progress, silent
from translucid.interpret.decision import Contrast, Decision
from translucid.interpret.explain import explain
from translucid.interpret.network import all_heads, single_network
from translucid.interpret.patched_runs import Cell
from translucid.interpret.patching import (
    PatchablePair,
    Patching,
    check_models,
    measure_patching,
)
from translucid.interpret.trace import Trace
from translucid.text.tokenizer import EOS
from translucid.translator import Translator

PAIRS = 10  # to measure, unless another number is asked for
MAX_PAIRS = 100
_TRIED_PER_PAIR = 20  # pairs translated for each that is wanted, at most
_BATCH = 32  # pairs translated at once
_CONTEXT = 4  # words before the exchanged ones by which sentences are ordered
_GREEDY = SearchConfig(method="greedy")


class MinimalPair(NamedTuple):
    """Two sentences that differ in a few neighbouring words."""

    first: str
    second: str


@dataclass(frozen=True)
class RepeatedPair:
    """The decision in another pair of sentences.

    `changed` is the share of the flip that the final encoder states of the exchanged words make
    together, `heads` that of each head, each the mean of both directions.
    """

    first: str
    second: str
    first_translation: str
    second_translation: str
    margins: tuple[float, float]
    changed: float
    heads: tuple[float, ...]


@dataclass(frozen=True)
class HeadSummary:
    """The share of the flip that one head makes over all pairs, and in how many it is the most."""

    cell: Cell
    mean: float
    least: float
    most: float
    leads: int


@dataclass(frozen=True)
class Repetition:
    """A decision measured in several pairs of sentences; `tried` were translated to find them."""

    pieces: tuple[str, str]
    exchanged: tuple[str, str]
    tried: int
    pairs: tuple[RepeatedPair, ...]
    heads: tuple[HeadSummary, ...]


def repeat_patching(
    translator: Translator,
    first: str,
    second: str,
    decision: Decision,
    *,
    target: str | None = None,
    count: int = PAIRS,
    sentences: Sequence[str] | None = None,
    on_event: Emit = silent,
) -> Repetition:
    """Find pairs of sentences with the same decision, and measure what every head does there.

    `first` and `second` are the pair that was measured. Fewer than `count` pairs are found where
    `sentences` (the lesson's, unless given) have no more.
    """
    if not 1 <= count <= MAX_PAIRS:
        raise InputError(f"count = {count}: must be from 1 to {MAX_PAIRS} pairs")
    exchanged = find_exchange(first, second)
    material = lesson_sentences(first) if sentences is None else sentences
    candidates = make_pairs(first, second, material)
    limit = min(len(candidates), _TRIED_PER_PAIR * count)
    measured: list[RepeatedPair] = []
    tried = 0
    while len(measured) < count and tried < limit:
        batch = candidates[tried : min(limit, tried + _BATCH)]
        texts = [text for pair in batch for text in pair]
        found = translator.translate(texts, target=target, method="greedy")
        for number, pair in enumerate(batch):
            tried += 1
            pieces = [one.tokens for one in found[2 * number : 2 * number + 2]]
            if not _decides(pieces, decision, translator.tokenizer.piece(EOS)):
                continue
            measured.append(_measure(translator, pair, target, decision))
            on_event(Progress("pairs", len(measured), count, "pairs"))
            if len(measured) == count:
                break
    heads = [Cell(*head) for head in all_heads(single_network(translator).config)]
    return Repetition(
        decision.pieces, exchanged, tried, tuple(measured), tuple(_summarize(heads, measured))
    )


def _decides(pieces: Sequence[Sequence[str]], decision: Decision, end: str) -> bool:
    """Tell whether two translations part with the two tokens of a decision, in either order."""
    for both in itertools.zip_longest(*pieces, fillvalue=end):
        if both[0] != both[1]:
            return set(both) == set(decision.pieces)
    return False


def _measure(
    translator: Translator, pair: MinimalPair, target: str | None, decision: Decision
) -> RepeatedPair:
    first, second = (
        explain(translator, text, target=target, search=_GREEDY, level="light") for text in pair
    )
    runs = PatchablePair.of(translator, first, second)
    config = single_network(translator).config
    words = frozenset(
        Cell("source", config.encoder_layers, index)
        for index, column in enumerate(runs.columns)
        if column.differs
    )
    heads = [frozenset([Cell(*head)]) for head in all_heads(config)]
    forward, backward = runs.shares([words, *heads])
    changed, *shares = ((forward + backward) / 2).tolist()
    margins = runs.margins
    if runs.contrast.first != decision.first:
        margins = -margins[0], -margins[1]
    return RepeatedPair(
        first.source,
        second.source,
        first.translation,
        second.translation,
        margins,
        changed,
        tuple(shares),
    )


def _summarize(heads: Sequence[Cell], pairs: Sequence[RepeatedPair]) -> Iterator[HeadSummary]:
    """Yield every head, those that lead in most pairs first."""
    if not pairs:
        return
    leading = [max(range(len(heads)), key=pair.heads.__getitem__) for pair in pairs]
    rows = [
        HeadSummary(
            cell,
            math.fsum(shares) / len(pairs),
            min(shares),
            max(shares),
            leading.count(number),
        )
        for number, cell in enumerate(heads)
        for shares in [[pair.heads[number] for pair in pairs]]
    ]
    yield from sorted(rows, key=lambda row: (-row.leads, -row.mean))


# ---- one pair -----------------------------------------------------------------------------------


def explain_against(
    translator: Translator,
    first: Trace,
    against: str | None,
    *,
    target: str | None = None,
    other: Translator | None = None,
    on_event: Emit = silent,
) -> Trace:
    """Return the trace of the sentence that another is compared with, by the same search.

    Without `against` it is the same sentence, read by the `other` model.
    """
    if other is not None:
        check_models(translator, other)
    return explain(
        other or translator,
        first.source if against is None else against,
        target=target,
        search=first.search,
        level="light",
        on_event=on_event,
    )


def measure_against(
    translator: Translator,
    first: Trace,
    second: Trace,
    *,
    target: str | None = None,
    other: Translator | None = None,
    contrast: Contrast | None = None,
    control: str | None = None,
    on_event: Emit = silent,
) -> Patching:
    """Patch every cell of two runs (see `patching`), with a control from an unrelated sentence.

    The control is a sentence of the lesson that shares no word, unless one is given; there is none
    where the lesson is in another language.
    """
    text = control or find_control(first.source, second.source)
    unrelated = None
    if text is not None:  # its translation does not matter
        unrelated = explain(translator, text, target=target, prefix=[EOS], level="light")
    return measure_patching(
        translator,
        first,
        second,
        other=other,
        contrast=contrast,
        control=unrelated,
        on_event=on_event,
    )


# ---- sentences ----------------------------------------------------------------------------------

_WORD = re.compile(r"\w+|[^\w\s]|\s+")


def find_exchange(first: str, second: str) -> tuple[str, str]:
    """Return the words in which two sentences differ.

    >>> find_exchange("It was too tired.", "It was too wide.")
    ('tired', 'wide')
    """
    begin, end = _shared_ends(_WORD.findall(first), _WORD.findall(second))
    words = [
        "".join(text[begin : len(text) - end]).strip()
        for text in (_WORD.findall(first), _WORD.findall(second))
    ]
    if not all(words):
        raise InputError(
            f"{first!r} and {second!r} do not differ by words that could be exchanged in other "
            "sentences: give two sentences in which one word stands for another"
        )
    return words[0], words[1]


def _shared_ends(first: Sequence[str], second: Sequence[str]) -> tuple[int, int]:
    """Return how many words two sentences share at their beginnings and at their ends."""
    shortest = min(len(first), len(second))
    begin = next((at for at in range(shortest) if first[at] != second[at]), shortest)
    most = shortest - begin
    end = next((at for at in range(most) if first[-1 - at] != second[-1 - at]), most)
    return begin, end


def make_pairs(first: str, second: str, sentences: Sequence[str]) -> list[MinimalPair]:
    """Return pairs that differ as two sentences do, those with the same words before them first.

    The pair itself is left out. Those that are equally alike come in an order that looks random and
    is always the same.
    """
    one, other = find_exchange(first, second)
    pattern = re.compile(rf"(?<!\w)(?:{re.escape(one)}|{re.escape(other)})(?!\w)")
    before = first[: first.index(one, len("".join(_begin(first, second))))].split()[-_CONTEXT:]
    found: dict[MinimalPair, int] = {}
    for sentence in sentences:
        places = list(pattern.finditer(sentence))
        if len(places) != 1:
            continue
        start, stop = places[0].span()
        pair = MinimalPair(*(sentence[:start] + word + sentence[stop:] for word in (one, other)))
        if pair != (first, second):
            found[pair] = _same_before(sentence[:start].split(), before)
    pairs = sorted(found)
    random.Random(0).shuffle(pairs)  # noqa: S311 - nothing secret
    return sorted(pairs, key=lambda pair: -found[pair])


def _begin(first: str, second: str) -> list[str]:
    words = _WORD.findall(first)
    return words[: _shared_ends(words, _WORD.findall(second))[0]]


def _same_before(words: Sequence[str], context: Sequence[str]) -> int:
    """Return how many of the last words are those of a context."""
    pairs = zip(reversed(words), reversed(context), strict=False)
    return len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))


def lesson_sentences(text: str, split: Split = "train") -> tuple[str, ...]:
    """Return the lesson's sentences in the language of a text; none where it is in another.

    The language is the one in which the lesson has more of the text's words, at least half.
    """
    words = set(_words(text))
    known = [
        len(words.intersection(word for pair in lesson_pairs("dev") for word in _words(pair[side])))
        for side in (0, 1)
    ]
    side = known.index(max(known))
    if not words or 2 * known[side] < len(words):
        return ()
    return tuple(dict.fromkeys(pair[side] for pair in lesson_pairs(split)))


def find_control(*texts: str) -> str | None:
    """Return a sentence of the lesson that shares as few words as possible with some texts.

    Among those it is the one that comes nearest in length; None where the lesson is in another
    language.
    """
    words = {word for text in texts for word in _words(text)}
    length = len(texts[0].split())
    return min(
        lesson_sentences(texts[0], "test"),
        key=lambda one: (len(words.intersection(_words(one))), abs(len(one.split()) - length), one),
        default=None,
    )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
