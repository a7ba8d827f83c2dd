"""Statistics of heads: every head of the three attentions, measured over a corpus.

A weight-sharing copy of the network whose attention reports its weights reads the sentences in
batches. Only sums are kept, so a corpus may be of any size.

Shapes: B batch, L queries, M keys, H heads, K kinds of token, S source, T target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from translucid.decoding.hypothesis import Tokens
from translucid.engines.heads import DecoderRow
from translucid.engines.pytorch import attend_with_weights, pad
from translucid.errors import InputError
from translucid.events import Emit, Notice, Progress, silent
from translucid.interpret.ablation import HeadImportance, measure_head_importance
from translucid.interpret.head_roles import (
    KINDS,
    HeadMeasures,
    HeadStatistics,
    VisibleKeys,
    assign_role,
    classify_keys,
)
from translucid.interpret.network import (
    SIDES,
    AttentionHead,
    all_heads,
    replace_kernels,
    single_network,
)
from translucid.interpret.trace import Side, Trace
from translucid.model import Transformer
from translucid.model.attention import Kernel
from translucid.text.normalization import nfc
from translucid.text.tokenizer import BOS, EOS
from translucid.text.word_alignment import sure_links
from translucid.translator import Translator
from translucid.translator.request import check_batch_size, check_pairs, check_texts
from translucid.translator.search import build_batches
from translucid.translator.segmentation import MAX_SOURCE_TOKENS

MAX_LEXICAL_PAIRS = 2000  # pairs that the lexical model is made from
ROWS: tuple[DecoderRow, ...] = ("predicts", "reads")

OnWeights = Callable[[Side, int, Tensor], None]


@dataclass(frozen=True)
class HeadReport:
    """The statistics of all heads over some sentences; `importance` only where requested."""

    sentences: int
    heads: tuple[HeadStatistics, ...]
    importance: tuple[HeadImportance, ...] | None


@torch.inference_mode()
def measure_heads(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str] | None = None,
    *,
    target: str | None = None,
    importance: bool = False,
    batch_size: int = 32,
    on_event: Emit = silent,
) -> HeadReport:
    """Measure what every head does over some sentences: encoder, decoder and cross in turn.

    `targets` are the translations, by default the translator's own. `target` is the language,
    needed where the model has several. With `importance`, each head is also turned off by itself to
    measure the loss in log P. Blank and very long lines are left out, with a notice. Alignment
    needs some hundred sentences.
    """
    model = single_network(translator)
    sources = check_texts("sources", sources)
    translator.tag(target)  # refuses an unclear language before anything is translated
    check_batch_size(batch_size)
    if targets is None:
        found = translator.translate(
            sources, target=target, batch_size=batch_size, on_event=on_event
        )
        targets = [translation.text for translation in found]
    sources, targets = check_pairs(sources, targets)
    pairs = filter_pairs(translator, sources, targets, target=target, on_event=on_event)
    sentences = _encode(translator, pairs, target)
    sums = _HeadSums()
    lengths = [max(len(one.source), len(one.target)) for one in sentences]
    done = 0
    for numbers in build_batches(lengths, batch_size):
        _measure_batch(model, [sentences[number] for number in numbers], sums)
        done += len(numbers)
        on_event(Progress("measuring heads", done, len(sentences), "sentences"))
    heads = tuple(assign_role(sums.measures(head)) for head in all_heads(model.config))
    losses = None
    if importance:
        usable, written = zip(*pairs, strict=True)
        losses = measure_head_importance(
            translator, usable, written, target=target, batch_size=batch_size, on_event=on_event
        )
    return HeadReport(len(sentences), heads, losses)


def trace_head_statistics(trace: Trace) -> tuple[HeadStatistics, ...]:
    """Return what every head does on the one sentence of a trace, in the order of `all_heads`.

    Which heads align words is not measured: that takes a corpus.
    """
    ids = ([token.id for token in tokens] for tokens in (trace.source_tokens, trace.target_tokens))
    keys = classify_keys(*(torch.tensor([row]) for row in ids))
    sums = _HeadSums()
    for side in SIDES:
        for layer in range(trace.layers(side)):
            sums.add(side, layer, trace.attention(side, layer)[None], keys[side])
    return tuple(assign_role(sums.measures(head)) for head in all_heads(trace.model))


class _Sentence(NamedTuple):
    """A source as the encoder reads it, a target as the decoder does, and their sure links.

    A link is (position in the source, position in the target without <s>).
    """

    source: Tokens
    target: Tokens
    links: tuple[tuple[int, int], ...]


def filter_pairs(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    target: str | None = None,
    on_event: Emit = silent,
) -> list[tuple[str, str]]:
    """Return the pairs that heads can be measured on, without surrounding white space.

    Blank and very long lines are left out, with a notice; if nothing is left, raise InputError.
    """
    read, write = translator.tokenizer.encode, translator.target_tokenizer.encode
    tag = translator.tag(target)
    longest = min(MAX_SOURCE_TOKENS, translator.members[0].positions - len(tag) - 1)
    pairs = [(nfc(s).strip(), nfc(t).strip()) for s, t in zip(sources, targets, strict=True)]
    usable = [
        (source, written)
        for source, written in pairs
        if all(0 < len(ids) <= longest for ids in (read(source), write(written)))
    ]
    if not usable:
        raise InputError(
            f"none of {len(pairs)} lines can be measured: blank ones and those of more than "
            f"{longest} tokens are left out. Give sentences, one per line"
        )
    if len(usable) < len(pairs):
        on_event(
            Notice(
                f"{len(pairs) - len(usable)} of {len(pairs)} lines are left out: blank, or more "
                f"than {longest} tokens"
            )
        )
    return usable


def _encode(
    translator: Translator, pairs: Sequence[tuple[str, str]], language: str | None
) -> list[_Sentence]:
    """Return the tokens of pairs and the links between them."""
    read, write = translator.tokenizer.encode, translator.target_tokenizer.encode
    tag = translator.tag(language)
    usable = [(tuple(read(source)), tuple(write(written))) for source, written in pairs]
    links: list[list[tuple[int, int]]] = [[] for _ in usable]
    some = usable[:MAX_LEXICAL_PAIRS]
    for link in sure_links([source for source, _ in some], [written for _, written in some]):
        links[link.pair].append((link.source + len(tag), link.target))
    return [
        _Sentence((*tag, *source, EOS), (BOS, *written), tuple(found))
        for (source, written), found in zip(usable, links, strict=True)
    ]


def _measure_batch(model: Transformer, sentences: Sequence[_Sentence], sums: _HeadSums) -> None:
    """Let the network read some sentences, and add the attention of its heads to the sums."""
    device = model.output_projection.weight.device
    source_BS = pad([one.source for one in sentences], device)
    target_BT = pad([one.target for one in sentences], device)
    keys = classify_keys(source_BS, target_BT)
    links = _Links.of(sentences, device)

    def add(side: Side, layer: int, weights_BHLM: Tensor) -> None:
        sums.add(side, layer, weights_BHLM, keys[side])
        if side == "cross":
            sums.add_links(layer, weights_BHLM * keys[side].text_BM[:, None, None], links)

    model = observe_attention(model, add)
    model.decoder_states(target_BT, model.encode(source_BS), source_BS)


@dataclass(frozen=True)
class _ObservedKernel:
    """Attention that reports its weights; where `inner` changes the output, its output counts."""

    side: Side
    layer: int
    on_weights: OnWeights
    inner: Kernel

    def __call__(
        self, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMU: Tensor, mask: Tensor | None, dropout: float
    ) -> tuple[Tensor, Tensor]:
        output_BHLU, weights_BHLM = attend_with_weights(
            self.inner, q_BHLK, k_BHMK, v_BHMU, mask, dropout
        )
        self.on_weights(self.side, self.layer, weights_BHLM)
        return output_BHLU, weights_BHLM


def observe_attention(model: Transformer, on_weights: OnWeights) -> Transformer:
    """Return a weight-sharing copy that calls `on_weights` with the weights of every attention."""

    def new(side: Side, layer: int, kernel: Kernel) -> Kernel:
        return _ObservedKernel(side, layer, on_weights, kernel)

    return replace_kernels(model, new)


class _Links(NamedTuple):
    """The links of a batch: sentence, position in the source, in the target without <s>."""

    sentence: Tensor
    source: Tensor
    target: Tensor

    @classmethod
    def of(cls, sentences: Sequence[_Sentence], device: torch.device) -> _Links:
        rows = [(b, s, t) for b, one in enumerate(sentences) for s, t in one.links]
        return cls(*torch.tensor(rows, dtype=torch.int64, device=device).reshape(-1, 3).T)


@dataclass
class _LayerSums:
    """Sums of one attention layer over all queries so far; one per head, or per kind and head."""

    entropy_H: Tensor
    even: float
    distance_H: Tensor
    shares_KH: Tensor
    counts_K: Tensor
    queries: int


@dataclass
class _HeadSums:
    """The sums of every attention layer so far."""

    sums: dict[tuple[Side, int], _LayerSums] = field(default_factory=dict)
    hits_H: dict[tuple[int, DecoderRow], Tensor] = field(default_factory=dict)
    links: dict[int, int] = field(default_factory=dict)

    def add(self, side: Side, layer: int, weights_BHLM: Tensor, keys: VisibleKeys) -> None:
        """Add the weights of one attention layer in one batch."""
        weights_BHLM = weights_BHLM.double() * keys.queries_BL[:, None, :, None]
        logs_BHLM = weights_BHLM.clamp(min=torch.finfo(torch.float64).tiny).log()
        kinds_KBLM = keys.kinds_KBLM.double()
        new = _LayerSums(
            entropy_H=-(weights_BHLM * logs_BHLM).sum(dim=(0, 2, 3)),
            even=float((keys.visible_BL.log() * keys.queries_BL).sum()),
            distance_H=torch.einsum("bhlm,blm->h", weights_BHLM, keys.distance_BLM),
            shares_KH=torch.einsum("bhlm,kblm->kh", weights_BHLM, kinds_KBLM),
            counts_K=(keys.kinds_KBLM.any(dim=-1) & keys.queries_BL.bool()).sum(dim=(1, 2)),
            queries=int(keys.queries_BL.sum()),
        )
        old = self.sums.get((side, layer))
        self.sums[side, layer] = new if old is None else _add_sums(old, new)

    def add_links(self, layer: int, weights_BHTS: Tensor, links: _Links) -> None:
        """Count the links that each head finds, in the row that predicts and the one that reads."""
        self.links[layer] = self.links.get(layer, 0) + len(links.sentence)
        for shift, row in enumerate(ROWS):
            looked_KHS = weights_BHTS[links.sentence, :, links.target + shift]
            hits_H = (looked_KHS.argmax(dim=-1) == links.source[:, None]).sum(dim=0)
            self.hits_H[layer, row] = self.hits_H.get((layer, row), 0) + hits_H

    def measures(self, head: AttentionHead) -> HeadMeasures:
        """Return the measures of one head."""
        side, layer, number = head
        sums = self.sums[side, layer]
        queries = max(1, sums.queries)  # a translation of no token has none of its own
        shares = {
            kind: float(total_H[number]) / int(count) if count else None
            for kind, total_H, count in zip(KINDS, sums.shares_KH, sums.counts_K, strict=True)
        }
        alignment, row = self._alignment(head)
        return HeadMeasures(
            head=head,
            entropy=float(sums.entropy_H[number]) / queries,
            evenness=float(sums.entropy_H[number]) / sums.even if sums.even else 1.0,
            distance=float(sums.distance_H[number]) / queries,
            **shares,
            alignment=alignment,
            alignment_row=row,
            queries=sums.queries,
            links=self.links.get(layer, 0) if side == "cross" else 0,
        )

    def _alignment(self, head: AttentionHead) -> tuple[float | None, DecoderRow | None]:
        links = self.links.get(head.layer, 0)
        if head.side != "cross" or not links:
            return None, None
        hits = {row: int(self.hits_H[head.layer, row][head.head]) for row in ROWS}
        best = max(ROWS, key=hits.__getitem__)
        return hits[best] / links, best


def _add_sums(old: _LayerSums, new: _LayerSums) -> _LayerSums:
    return _LayerSums(**{name: value + getattr(new, name) for name, value in vars(old).items()})
