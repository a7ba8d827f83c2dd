"""Alignment: which source tokens and words each token and word of a translation attends to.

It is computed after the search, in one pass over source and translation, from the heads that align
best; for an ensemble it is the mean over its networks. A model directory keeps those heads::

    MODEL/alignment.json     {"heads": [[2, 1], [3, 0]], "row": "predicts", "agreement": 0.81, …}

Without that file, it is all heads of the second to last decoder layer, which others have found to
align best in networks that were not trained to align (Garg et al. 2019). `find_alignment_heads`
finds the heads on dev pairs.

Shapes: B batch, H heads, T target, S source, K links, A heads that are tried together.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypeAlias

import torch
from pydantic import Field, Strict
from torch import Tensor

from translucid.checksums import new_listed_file
from translucid.config import Config, ModelConfig
from translucid.decoding.hypothesis import Hypothesis, Tokens
from translucid.errors import ConfigError, DataError, InputError
from translucid.events import Emit, Progress, silent
from translucid.text.normalization import nfc
from translucid.text.placeholders import Protected
from translucid.text.sentences import is_unspaced
from translucid.text.tokenizer import BOS, EOS, FIRST_PIECE, UNK, Tokenizer
from translucid.text.word_alignment import SureLink, sure_links
from translucid.translator.member import Head, Member, pad, record_cross_attention
from translucid.translator.request import EncodedText
from translucid.translator.search import build_batches
from translucid.translator.segmentation import MAX_SOURCE_TOKENS, interleave
from translucid.translator.translation import Alignment, Block

if TYPE_CHECKING:
    from translucid.translator.translator import Translator

Span: TypeAlias = tuple[int, int]
Link: TypeAlias = tuple[int, int]


@torch.inference_mode()
def soft_alignments(
    members: Sequence[Member], sources: Sequence[Tokens], targets: Sequence[Tokens]
) -> list[Tensor]:
    """Return for each pair how much each target token attends to each source token, (T, S).

    A source is as the network reads it, with tag and end symbol; a target has neither start nor
    end symbol.
    """
    each_BTS = torch.stack([_member_weights(member, sources, targets) for member in members])
    mean_BTS = each_BTS.mean(dim=0).cpu()
    return [
        weights_TS[: len(target), : len(source)]
        for weights_TS, source, target in zip(mean_BTS, sources, targets, strict=True)
    ]


def _member_weights(member: Member, sources: Sequence[Tokens], targets: Sequence[Tokens]) -> Tensor:
    """Return weights_BTS of one network, one row per target token, padded."""
    model, record = member.attending_copy()
    source_BS = pad(sources, member.device)
    target_BT = pad([(BOS, *target) for target in targets], member.device)
    model.decoder_states(target_BT, model.encode(source_BS), source_BS)
    weights_BTS = record.mean(member.heads.chosen)
    # Row t reads token t of <s> + target, and predicts the one after it.
    return weights_BTS[:, :-1] if member.heads.row == "predicts" else weights_BTS[:, 1:]


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
    weights: Sequence[Tensor],
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


def link_words(source: TextSide, target: TextSide, weights: Sequence[Tensor]) -> tuple[Link, ...]:
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


ALIGNMENT = "alignment.json"

DecoderRow = Literal["predicts", "reads"]
_Number = Annotated[int, Field(ge=0)]
_Pair = Annotated[tuple[_Number, _Number], Strict(False)]  # JSON has lists, Python has tuples


class AlignmentHeads(Config):
    """The heads whose mean attention is the alignment, and which rows of the decoder to use.

    The decoder reads a token in one row and predicts it in the row before; either may attend to the
    source word.
    """

    heads: Annotated[tuple[_Pair, ...], Strict(False)] = Field(
        min_length=1, description="layer and head of the decoder's cross-attention, from 0"
    )
    row: DecoderRow = Field(
        description="whether a token's row is the one that predicts it or the one that reads it"
    )
    agreement: float | None = Field(
        default=None, description="share of lexically sure links that the heads find on dev pairs"
    )
    links: int = Field(default=0, ge=0, description="number of links that was measured on")

    @property
    def chosen(self) -> tuple[Head, ...]:
        """The heads, as `Head`."""
        return tuple(Head(layer, head) for layer, head in self.heads)


def default_heads(config: ModelConfig) -> AlignmentHeads:
    """Return all heads of the second to last decoder layer, or of the only one."""
    layer = max(0, config.decoder_layers - 2)
    return AlignmentHeads(
        heads=tuple((layer, head) for head in range(config.heads)), row="predicts"
    )


def save_alignment_heads(folder: Path, heads: AlignmentHeads) -> None:
    """Write the heads into a model directory, atomically replacing older ones."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a model directory: alignment heads are kept inside one")
    with new_listed_file(folder / ALIGNMENT) as file:
        file.write(heads.to_json().encode())


def read_alignment_heads(folder: Path, config: ModelConfig) -> AlignmentHeads:
    """Return the heads of a model directory, or the default ones if it has no such file."""
    path = folder / ALIGNMENT
    if not path.is_file():
        return default_heads(config)
    remedy = f"Delete {ALIGNMENT}, and find the heads again if alignments are wanted."
    try:
        found = AlignmentHeads.from_file(path)
    except (ConfigError, UnicodeDecodeError) as error:
        raise DataError(path, str(error), remedy=remedy) from error
    for layer, head in found.chosen:
        if layer >= config.decoder_layers or head >= config.heads:
            raise DataError(
                path,
                f"layer {layer}, head {head} does not exist: the network has "
                f"{config.decoder_layers} decoder layers of {config.heads} heads, from 0",
                remedy=remedy,
            )
    return found


MOST_PAIRS = 2000  # more do not change the choice
MOST_HEADS = 8
_BATCH = 64
# Row t of the decoder reads token t of <s> + target, and predicts token t of target + </s>.
_SHIFTS: dict[DecoderRow, int] = {"predicts": 0, "reads": 1}


class _TokenPair(NamedTuple):
    source: Tokens
    target: Tokens


@torch.inference_mode()
def find_alignment_heads(
    translator: Translator,
    pairs: Sequence[tuple[str, str]],
    *,
    target: str | None = None,
    on_event: Emit = silent,
) -> AlignmentHeads:
    """Return the heads that agree best with a lexical model of these pairs of sentences.

    The lexical model, which knows nothing of the network, says which tokens belong together. For
    each of these links, the source token that a head attends to most is compared: in the row that
    predicts the target token, and in the row that reads it. The share it gets right is its
    agreement. Then the mean of the best 1, 2, … 8 heads is tried, and the best number is taken.

    Give a few hundred pairs of the kind that the model is for, its dev set for example; at most the
    first 2,000 are used. `save_alignment_heads` stores the result in a model directory.
    """
    if len(translator.members) != 1:
        raise InputError(
            f"{translator.name} is an ensemble of {len(translator.members)} models: find the heads "
            "of each one separately"
        )
    tag = translator.tag(target)
    usable = _encode_pairs(translator, pairs, len(tag))
    links = sure_links([p.source for p in usable], [p.target for p in usable]) if usable else []
    if not links:
        raise InputError(
            f"{len(pairs)} pairs, {len(usable)} of them not blank and not too long, do not show "
            "which words belong together: give a few hundred pairs of sentences, source first"
        )
    return _choose_heads(_HeadMeasurement(translator.members[0], tag, usable, links, on_event))


def _encode_pairs(
    translator: Translator, pairs: Sequence[tuple[str, str]], tags: int
) -> list[_TokenPair]:
    """Return the tokens of the first pairs that are neither blank nor too long."""
    encoders = translator.tokenizer.encode, translator.target_tokenizer.encode
    longest = min(MAX_SOURCE_TOKENS, translator.members[0].positions - tags - 1)
    found: list[_TokenPair] = []
    for texts in pairs:
        source, target = (
            tuple(encode(nfc(text).strip())) for encode, text in zip(encoders, texts, strict=True)
        )
        if source and target and max(len(source), len(target)) <= longest:
            found.append(_TokenPair(source, target))
        if len(found) == MOST_PAIRS:
            break
    return found


def _choose_heads(measure: _HeadMeasurement) -> AlignmentHeads:
    """Measure every head alone, then the best ones together."""
    config = measure.member.model.config
    heads = [Head(n, h) for n in range(config.decoder_layers) for h in range(config.heads)]
    alone = {row: measure.count_hits(row, heads, _separately) for row in _SHIFTS}
    row = max(_SHIFTS, key=lambda row: int(alone[row].max()))
    best = alone[row].argsort(descending=True, stable=True)[:MOST_HEADS].tolist()
    ranked = [heads[number] for number in best]
    together = measure.count_hits(row, ranked, _cumulatively)
    count = int(together.argmax()) + 1  # of equals, argmax takes the first: the fewest heads
    return AlignmentHeads(
        heads=tuple((head.layer, head.head) for head in ranked[:count]),
        row=row,
        agreement=int(together.max()) / len(measure.links),
        links=len(measure.links),
    )


def _separately(weights_KAS: Tensor) -> Tensor:
    """Return the weights of each head separately."""
    return weights_KAS


def _cumulatively(weights_KAS: Tensor) -> Tensor:
    """Return the summed weights of the first 1, 2, … heads."""
    return weights_KAS.cumsum(dim=1)


@dataclass(frozen=True)
class _HeadMeasurement:
    """Counts the links that heads find in pairs of sentences."""

    member: Member
    tag: Tokens
    pairs: Sequence[_TokenPair]
    links: Sequence[SureLink]
    emit: Emit

    def count_hits(
        self, row: DecoderRow, heads: Sequence[Head], combine: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Return the number of links found, by each head or combination of heads."""
        total_A = torch.zeros(len(heads), dtype=torch.int64)
        by_pair: dict[int, list[SureLink]] = {}
        for link in self.links:
            by_pair.setdefault(link.pair, []).append(link)
        numbers = sorted(by_pair)
        lengths = [len(self.pairs[number].source) for number in numbers]
        done = 0
        for places in build_batches(lengths, _BATCH):
            batch = [numbers[place] for place in places]
            links = [(b, link) for b, number in enumerate(batch) for link in by_pair[number]]
            weights_KAS = self._weights(row, heads, batch, links)
            attended_KA = combine(weights_KAS).argmax(dim=-1).cpu()
            right_K = torch.tensor([link.source + len(self.tag) for _, link in links])
            total_A += (attended_KA == right_K[:, None]).sum(dim=0)
            done += len(batch)
            self.emit(Progress("find alignment heads", done, len(numbers), "pairs"))
        return total_A

    def _weights(
        self,
        row: DecoderRow,
        heads: Sequence[Head],
        batch: Sequence[int],
        links: Sequence[tuple[int, SureLink]],
    ) -> Tensor:
        """Return the weights of heads in the target row of each link, symbols left out."""
        model, record = record_cross_attention(self.member.model, heads)
        rows = [(*self.tag, *self.pairs[number].source, EOS) for number in batch]
        source_BS = pad(rows, self.member.device)
        target_BT = pad([(BOS, *self.pairs[n].target) for n in batch], self.member.device)
        model.decoder_states(target_BT, model.encode(source_BS), source_BS)
        sentence_K = torch.tensor([number for number, _ in links], device=self.member.device)
        target_K = torch.tensor([link.target for _, link in links], device=self.member.device)
        at = (sentence_K, target_K + _SHIFTS[row])
        weights_KAS = torch.stack([record.weights_BLS[head][at] for head in heads], dim=1)
        text_BS = (source_BS >= FIRST_PIECE) | (source_BS == UNK)
        return weights_KAS * text_BS[sentence_K, None]
