"""The alignment of a translation: which source tokens and words each of its own attends to.

It is computed after the search, in one pass over source and translation, by the heads that align
best; of an ensemble, it is the mean over its networks.

Shapes: B batch, T target, S source.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from translucid.decoding.hypothesis import Hypothesis, Tokens
from translucid.text.placeholders import Protected
from translucid.text.sentences import is_unspaced
from translucid.text.tokenizer import BOS, Tokenizer
from translucid.translator.member import Member, padded
from translucid.translator.request import EncodedText
from translucid.translator.segmentation import interleave
from translucid.translator.translation import Alignment, Block

Span: TypeAlias = tuple[int, int]
Link: TypeAlias = tuple[int, int]


@torch.inference_mode()
def soft_alignments(
    members: Sequence[Member], sources: Sequence[Tokens], targets: Sequence[Tokens]
) -> list[Tensor]:
    """Return for each pair how much each target token looked at each source token, (T, S).

    A source is as the network reads it, with tag and end symbol; a target has neither start nor
    end symbol.
    """
    each_BTS = torch.stack([_of_member(member, sources, targets) for member in members])
    mean_BTS = each_BTS.mean(dim=0).cpu()
    return [
        weights_TS[: len(target), : len(source)]
        for weights_TS, source, target in zip(mean_BTS, sources, targets, strict=True)
    ]


def _of_member(member: Member, sources: Sequence[Tokens], targets: Sequence[Tokens]) -> Tensor:
    """Return weights_BTS of one network, the row of each target token, padded."""
    model, watch = member.watched()
    source_BS = padded(sources, member.device)
    target_BT = padded([(BOS, *target) for target in targets], member.device)
    model.decoder_states(target_BT, model.encode(source_BS), source_BS)
    weights_BTS = watch.of(member.heads.chosen)
    # Row t reads token t of <s> + target, and predicts the one after it.
    return weights_BTS[:, :-1] if member.heads.row == "predicts" else weights_BTS[:, 1:]


@dataclass(frozen=True)
class Side:
    """One side of a text in segments: the text, each segment's tokens, and where each stands.

    A token that stands for no text has no span.
    """

    text: str
    tokens: tuple[Tokens, ...]
    spans: tuple[tuple[Span | None, ...], ...]


def build_alignment(
    encoded: EncodedText,
    chosen: Sequence[Hypothesis],
    weights: Sequence[Tensor],
    tokenizer: Tokenizer,
) -> Alignment:
    """Return the alignment of a text with its translation, given the weights_TS per segment."""
    source = _source_side(encoded, tokenizer)
    target = _target_side(encoded, [hypothesis.tokens for hypothesis in chosen], tokenizer)
    return Alignment(
        source_tokens=_pieces(source, tokenizer),
        target_tokens=_pieces(target, tokenizer),
        blocks=tuple(
            Block(source_start, target_start, tuple(map(tuple, weights_TS.tolist())))
            for source_start, target_start, weights_TS in zip(
                _starts(source), _starts(target), weights, strict=False
            )
        ),
        links=links(source, target, weights),
    )


def _pieces(side: Side, tokenizer: Tokenizer) -> tuple[str, ...]:
    return tuple(tokenizer.piece(token) for tokens in side.tokens for token in tokens)


def _starts(side: Side) -> list[int]:
    """Return the number of the first token of each segment."""
    return list(itertools.accumulate(map(len, side.tokens[:-1]), initial=0))


def _source_side(encoded: EncodedText, tokenizer: Tokenizer) -> Side:
    """Return the text with the tokens that the network read."""
    spans: list[tuple[Span | None, ...]] = []
    for segment, item in zip(encoded.segmented.segments, encoded.inputs, strict=True):
        places = [segment.start + place for place in segment.protected.places]
        offsets = tokenizer.encode_with_offsets(segment.text).offsets
        tag: list[Span | None] = [None] * (len(item.source) - len(offsets) - 1)
        spans.append((*tag, *((places[a], places[b]) for a, b in offsets), None))
    rows = tuple(item.source for item in encoded.inputs)
    return Side(encoded.segmented.text, rows, tuple(spans))


def _target_side(encoded: EncodedText, tokens: Sequence[Tokens], tokenizer: Tokenizer) -> Side:
    """Return the translation with the tokens of its segments."""
    segments = encoded.segmented.segments
    pieces = interleave(segments, encoded.segmented.restore(tokens, tokenizer))
    places = list(itertools.accumulate(map(len, pieces)))[::2]
    spans = tuple(
        tuple(_written(place, each, segment.protected, tokenizer))
        for place, each, segment in zip(places, tokens, segments, strict=True)
    )
    return Side("".join(pieces), tuple(tokens), spans)


def _written(
    place: int, tokens: Tokens, protected: Protected, tokenizer: Tokenizer
) -> Iterator[Span]:
    """Yield what each token adds to the text, found by decoding one more each time.

    The later bytes of a character add nothing, and share its span.
    """
    end = 0
    for count in range(1, len(tokens) + 1):
        text = protected.restore_beginning(tokenizer.decode(tokens[:count]))
        start, end = end, max(end, len(text))
        yield (place + min(start, max(0, end - 1)), place + end)


def links(source: Side, target: Side, weights: Sequence[Tensor]) -> tuple[Link, ...]:
    """Return for each target word the source word that its tokens looked at most."""
    source_words, target_words = words(source), words(target)
    best: dict[int, tuple[float, int]] = {}
    for source_spans, target_spans, weights_TS in zip(
        source.spans, target.spans, weights, strict=True
    ):
        columns = [_word_at(span, source_words) for span in source_spans]
        rows = [_word_at(span, target_words) for span in target_spans]
        for row, column, weight in _between_words(weights_TS, rows, columns):
            if row not in best or weight > best[row][0]:
                best[row] = (weight, column)
    return tuple(sorted((column, row) for row, (_, column) in best.items()))


def _between_words(
    weights_TS: Tensor, rows: Sequence[int | None], columns: Sequence[int | None]
) -> Iterator[tuple[int, int, float]]:
    """Yield (target word, source word, weight) for each target word and its best source word."""
    target_words = sorted({row for row in rows if row is not None})
    source_words = sorted({column for column in columns if column is not None})
    if not target_words or not source_words:
        return
    from_T = torch.tensor([[row == word for row in rows] for word in target_words])
    from_S = torch.tensor([[column == word for column in columns] for word in source_words])
    between_words = from_T.to(weights_TS) @ weights_TS @ from_S.to(weights_TS).T
    weights, places = between_words.max(dim=1)
    for word, weight, place in zip(target_words, weights.tolist(), places.tolist(), strict=True):
        yield word, source_words[place], weight


def words(side: Side) -> list[Span]:
    """Return the words of a text as spaces divide them; without spaces, each token is a word."""
    starts = sorted({span[0] for spans in side.spans for span in spans if span is not None})
    found: list[Span] = []
    for match in re.finditer(r"\S+", side.text):
        begin, end = match.span()
        inside = []
        if any(map(is_unspaced, match[0])):
            inside = starts[bisect.bisect_right(starts, begin) : bisect.bisect_left(starts, end)]
        found += itertools.pairwise([begin, *inside, end])
    return found


def _word_at(span: Span | None, words: Sequence[Span]) -> int | None:
    """Return the number of the word that a token stands in, none where it is white space."""
    if span is None:
        return None
    start, end = span
    number = bisect.bisect_right(words, start, key=lambda word: word[1])
    return number if number < len(words) and words[number][0] < end else None
