"""Find the heads of a network that align best, by a lexical model of pairs of sentences.

The lexical model, which knows nothing of the network, says which tokens belong together. For each
of these links, the source token that a head attends to most is compared: in the row that predicts
the target token, and in the row that reads it. The share it gets right is its agreement.

Shapes: B batch, T target, S source, K links, A heads that are tried together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from translucid.decoding.hypothesis import Tokens
from translucid.engines.heads import AlignmentHeads, DecoderRow, Head
from translucid.engines.pytorch import Member, pad, record_cross_attention
from translucid.errors import InputError
from translucid.events import Emit, Progress, silent
from translucid.text.normalization import nfc
from translucid.text.tokenizer import BOS, EOS, FIRST_PIECE, UNK
from translucid.text.word_alignment import SureLink, sure_links
from translucid.translator.search import build_batches
from translucid.translator.segmentation import MAX_SOURCE_TOKENS
from translucid.translator.translator import Translator

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
    order = alone[row].argsort(descending=True, stable=True).tolist()
    layer = heads[order[0]].layer  # CTranslate2 reports the attention of one layer
    ranked = [heads[number] for number in order if heads[number].layer == layer][:MOST_HEADS]
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
