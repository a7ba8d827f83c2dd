"""Alignment: which source tokens and words each token and word of a translation attends to.

It is computed after the search, in one pass over source and translation, from the heads that align
best (`engines/heads.py`); for an ensemble it is the mean over its networks.

Shapes: T target, S source.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from translucid.decoding.hypothesis import Hypothesis, Tokens
from translucid.engines.base import Array
from translucid.text.placeholders import Protected
from translucid.text.sentences import is_unspaced
from translucid.text.tokenizer import Tokenizer
from translucid.translator.request import EncodedText
from translucid.translator.segmentation import interleave
from translucid.translator.translation import Alignment, Block

Span: TypeAlias = tuple[int, int]
Link: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class TextSide:
    """Source or translation: the text, the tokens of each segment, and the span of each token.

    A token that stands for no text has no span.
    """

    text: str
    tokens: tuple[Tokens, ...]
    spans: tuple[tuple[Span | None, ...], ...]


def build_alignment(
    encoded: EncodedText,
    chosen: Sequence[Hypothesis],
    weights: Sequence[Array],
    tokenizer: Tokenizer,
) -> Alignment:
    """Return the alignment of a text with its translation, given weights_TS for each segment."""
    source = _build_source_side(encoded, tokenizer)
    target = _build_target_side(encoded, [hypothesis.tokens for hypothesis in chosen], tokenizer)
    return Alignment(
        source_tokens=_pieces(source, tokenizer),
        target_tokens=_pieces(target, tokenizer),
        blocks=tuple(
            Block(source_start, target_start, tuple(map(tuple, weights_TS.tolist())))
            for source_start, target_start, weights_TS in zip(
                _starts(source), _starts(target), weights, strict=False
            )
        ),
        links=link_words(source, target, weights),
    )


def _pieces(side: TextSide, tokenizer: Tokenizer) -> tuple[str, ...]:
    return tuple(tokenizer.piece(token) for tokens in side.tokens for token in tokens)


def _starts(side: TextSide) -> list[int]:
    """Return the number of the first token of each segment."""
    return list(itertools.accumulate(map(len, side.tokens[:-1]), initial=0))


def _build_source_side(encoded: EncodedText, tokenizer: Tokenizer) -> TextSide:
    """Return the text with the tokens that the network read."""
    spans: list[tuple[Span | None, ...]] = []
    for segment, item in zip(encoded.segmented.segments, encoded.inputs, strict=True):
        places = [segment.start + place for place in segment.protected.places]
        offsets = tokenizer.encode_with_offsets(segment.text).offsets
        tag: list[Span | None] = [None] * (len(item.source) - len(offsets) - 1)
        spans.append((*tag, *((places[a], places[b]) for a, b in offsets), None))
    rows = tuple(item.source for item in encoded.inputs)
    return TextSide(encoded.segmented.text, rows, tuple(spans))


def _build_target_side(
    encoded: EncodedText, tokens: Sequence[Tokens], tokenizer: Tokenizer
) -> TextSide:
    """Return the translation with the tokens of its segments."""
    segments = encoded.segmented.segments
    pieces = interleave(segments, encoded.segmented.restore(tokens, tokenizer))
    places = list(itertools.accumulate(map(len, pieces)))[::2]
    spans = tuple(
        tuple(_find_written_spans(place, each, segment.protected, tokenizer))
        for place, each, segment in zip(places, tokens, segments, strict=True)
    )
    return TextSide("".join(pieces), tuple(tokens), spans)


def _find_written_spans(
    place: int, tokens: Tokens, protected: Protected, tokenizer: Tokenizer
) -> Iterator[Span]:
    """Yield the span that each token adds to the text, found by decoding one more each time.

    The later bytes of a character add nothing, and share its span.
    """
    end = 0
    for count in range(1, len(tokens) + 1):
        text = protected.restore_beginning(tokenizer.decode(tokens[:count]))
        start, end = end, max(end, len(text))
        yield (place + min(start, max(0, end - 1)), place + end)


def link_words(source: TextSide, target: TextSide, weights: Sequence[Array]) -> tuple[Link, ...]:
    """Return for each target word the source word that its tokens attend to most."""
    source_words, target_words = find_words(source), find_words(target)
    best: dict[int, tuple[float, int]] = {}
    for source_spans, target_spans, weights_TS in zip(
        source.spans, target.spans, weights, strict=True
    ):
        columns = [_find_word(span, source_words) for span in source_spans]
        rows = [_find_word(span, target_words) for span in target_spans]
        for row, column, weight in _best_word_pairs(weights_TS, rows, columns):
            if row not in best or weight > best[row][0]:
                best[row] = (weight, column)
    return tuple(sorted((column, row) for row, (_, column) in best.items()))


def _best_word_pairs(
    weights_TS: Array, rows: Sequence[int | None], columns: Sequence[int | None]
) -> Iterator[tuple[int, int, float]]:
    """Yield (target word, source word, weight) for each target word and its best source word."""
    target_words = sorted({row for row in rows if row is not None})
    source_words = sorted({column for column in columns if column is not None})
    if not target_words or not source_words:
        return
    from_T = np.array([[row == word for row in rows] for word in target_words], np.float32)
    from_S = np.array([[column == word for column in columns] for word in source_words], np.float32)
    between_words = from_T @ weights_TS @ from_S.T
    places = between_words.argmax(axis=1).tolist()
    for row, (word, place) in enumerate(zip(target_words, places, strict=True)):
        yield word, source_words[place], float(between_words[row, place])


def find_words(side: TextSide) -> list[Span]:
    """Return the words of a text; in a script without spaces, each token is a word."""
    starts = sorted({span[0] for spans in side.spans for span in spans if span is not None})
    found: list[Span] = []
    for match in re.finditer(r"\S+", side.text):
        begin, end = match.span()
        inside = []
        if any(map(is_unspaced, match[0])):
            inside = starts[bisect.bisect_right(starts, begin) : bisect.bisect_left(starts, end)]
        found += itertools.pairwise([begin, *inside, end])
    return found


def _find_word(span: Span | None, words: Sequence[Span]) -> int | None:
    """Return the number of the word that contains a token, None for white space."""
    if span is None:
        return None
    start, end = span
    number = bisect.bisect_right(words, start, key=lambda word: word[1])
    return number if number < len(words) and words[number][0] < end else None
