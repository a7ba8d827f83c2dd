"""The table of heads: every head of the three attentions, measured over a corpus.

The sentences are read in batches by a twin of the network whose attention tells its weights; what
is kept are sums, so a corpus may be of any size.

Shapes: B batch, L queries, M keys, H heads, K kinds of token, S source, T target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from translucid.decoding.job import Tokens
from translucid.errors import InputError
from translucid.events import Emit, Notice, Progress, silent
from translucid.interpret.attention_head import SIDES, AttentionHead, heads_of
from translucid.interpret.head_kinds import Looks, looks_of
from translucid.interpret.head_roles import KINDS, HeadMeasures, HeadStatistics, with_role
from translucid.interpret.network import network_of, with_kernels
from translucid.interpret.trace import Side, Trace
from translucid.model import Transformer, spelled_out
from translucid.model.attention import PLAIN, Kernel
from translucid.text.interface import BOS, EOS
from translucid.text.lexical import sure_links
from translucid.text.normalize import nfc
from translucid.translator import Translator
from translucid.translator.alignment_heads import Row
from translucid.translator.asking import check_batch_size, checked_pairs, checked_texts
from translucid.translator.batches import batches
from translucid.translator.member import padded
from translucid.translator.translator import MAX_SOURCE_TOKENS

MOST_LINKED = 2000  # pairs that the lexical model is made from
ROWS: tuple[Row, ...] = ("predicts", "reads")

Hear = Callable[[Side, int, Tensor], None]


@torch.inference_mode()
def head_statistics(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str] | None = None,
    *,
    target: str | None = None,
    batch_size: int = 32,
    emit: Emit = silent,
) -> tuple[HeadStatistics, ...]:
    """Return what every head does over some sentences, encoder, decoder and cross in turn.

    `targets` are their translations; without them the translator's own are taken. `target` is the
    language, needed where the model has several. Blank and very long lines are left out, and told.
    The more sentences, the more is known of alignment: it needs some hundreds.
    """
    model = network_of(translator)
    sources = checked_texts("sources", sources)
    translator.tag(target)  # a language that is missing is to be told before all is translated
    check_batch_size(batch_size)
    if targets is None:
        found = translator.translate(sources, target=target, batch_size=batch_size, emit=emit)
        targets = [translation.text for translation in found]
    sources, targets = checked_pairs(sources, targets)
    pairs = measurable_pairs(translator, sources, targets, target=target, emit=emit)
    sentences = _encoded(translator, pairs, target)
    tally = _Tally()
    lengths = [max(len(one.source), len(one.target)) for one in sentences]
    done = 0
    for numbers in batches(lengths, batch_size):
        _measure(model, [sentences[number] for number in numbers], tally)
        done += len(numbers)
        emit(Progress("watching heads", done, len(sentences), "sentences"))
    return tuple(with_role(tally.measures(head)) for head in heads_of(model.config))


def trace_head_statistics(trace: Trace) -> tuple[HeadStatistics, ...]:
    """Return what every head does on the one sentence of a trace, in the order of `heads_of`.

    Which heads align words is not measured: that takes a corpus.
    """
    ids = ([token.id for token in tokens] for tokens in (trace.source_tokens, trace.target_tokens))
    looks = looks_of(*(torch.tensor([row]) for row in ids))
    tally = _Tally()
    for side in SIDES:
        for layer in range(trace.layers(side)):
            tally.add(side, layer, trace.attention(side, layer)[None], looks[side])
    return tuple(with_role(tally.measures(head)) for head in heads_of(trace.model))


class _Sentence(NamedTuple):
    """A source as the encoder reads it, a target as the decoder does, and their sure links.

    A link is (place in the source, place in the target without <s>).
    """

    source: Tokens
    target: Tokens
    links: tuple[tuple[int, int], ...]


def measurable_pairs(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    target: str | None = None,
    emit: Emit = silent,
) -> list[tuple[str, str]]:
    """Return the pairs that heads can be measured on, without white space around them.

    Blank and very long lines are left out, and told; that nothing is left is an error.
    """
    read, write = translator.tokenizer.encode, translator.writer.encode
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
            f"{longest} tokens are left out. Give sentences, one a line"
        )
    if len(usable) < len(pairs):
        emit(
            Notice(
                f"{len(pairs) - len(usable)} of {len(pairs)} lines are left out: blank, or more "
                f"than {longest} tokens"
            )
        )
    return usable


def _encoded(
    translator: Translator, pairs: Sequence[tuple[str, str]], language: str | None
) -> list[_Sentence]:
    """Return the tokens of pairs, with the links between them."""
    read, write = translator.tokenizer.encode, translator.writer.encode
    tag = translator.tag(language)
    usable = [(tuple(read(source)), tuple(write(written))) for source, written in pairs]
    links: list[list[tuple[int, int]]] = [[] for _ in usable]
    some = usable[:MOST_LINKED]
    for link in sure_links([source for source, _ in some], [written for _, written in some]):
        links[link.pair].append((link.source + len(tag), link.target))
    return [
        _Sentence((*tag, *source, EOS), (BOS, *written), tuple(found))
        for (source, written), found in zip(usable, links, strict=True)
    ]


def _measure(model: Transformer, sentences: Sequence[_Sentence], tally: _Tally) -> None:
    """Let the network read some sentences, and add what its heads look at."""
    device = model.output_projection.weight.device
    source_BS = padded([one.source for one in sentences], device)
    target_BT = padded([one.target for one in sentences], device)
    looks = looks_of(source_BS, target_BT)
    links = _Links.of(sentences, device)

    def hear(side: Side, layer: int, weights_BHLM: Tensor) -> None:
        tally.add(side, layer, weights_BHLM, looks[side])
        if side == "cross":
            tally.add_links(layer, weights_BHLM * looks[side].text_BM[:, None, None], links)

    model = listening(model, hear)
    model.decoder_states(target_BT, model.encode(source_BS), source_BS)


@dataclass(frozen=True)
class _Heard:
    """Attention step by step that tells its weights; what `inner` changes goes on."""

    side: Side
    layer: int
    hear: Hear
    inner: Kernel

    def __call__(
        self, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMW: Tensor, mask: Tensor | None, dropout: float
    ) -> tuple[Tensor, Tensor]:
        output_BHLW, weights_BHLM = spelled_out(q_BHLK, k_BHMK, v_BHMW, mask, dropout)
        if self.inner not in PLAIN:
            output_BHLW, _ = self.inner(q_BHLK, k_BHMK, v_BHMW, mask, dropout)
        self.hear(self.side, self.layer, weights_BHLM)
        return output_BHLW, weights_BHLM


def listening(model: Transformer, hear: Hear) -> Transformer:
    """Return a twin of a network that tells the weights of every attention as it computes them."""

    def new(side: Side, layer: int, kernel: Kernel) -> Kernel:
        return _Heard(side, layer, hear, kernel)

    return with_kernels(model, new)


class _Links(NamedTuple):
    """The links of a batch: sentence, place in the source, place in the target without <s>."""

    sentence: Tensor
    source: Tensor
    target: Tensor

    @classmethod
    def of(cls, sentences: Sequence[_Sentence], device: torch.device) -> _Links:
        rows = [(b, s, t) for b, one in enumerate(sentences) for s, t in one.links]
        return cls(*torch.tensor(rows, dtype=torch.int64, device=device).reshape(-1, 3).T)


@dataclass
class _Sums:
    """Sums of one attention layer over all queries so far; H numbers each, or H by kind."""

    entropy_H: Tensor
    even: float
    distance_H: Tensor
    shares_KH: Tensor
    counts_K: Tensor
    queries: int


@dataclass
class _Tally:
    """What has been heard so far, attention by attention."""

    sums: dict[tuple[Side, int], _Sums] = field(default_factory=dict)
    hits_H: dict[tuple[int, Row], Tensor] = field(default_factory=dict)
    links: dict[int, int] = field(default_factory=dict)

    def add(self, side: Side, layer: int, weights_BHLM: Tensor, looks: Looks) -> None:
        """Add the weights of one attention layer in one batch."""
        weights_BHLM = weights_BHLM.double() * looks.queries_BL[:, None, :, None]
        logs_BHLM = weights_BHLM.clamp(min=torch.finfo(torch.float64).tiny).log()
        kinds_KBLM = looks.kinds_KBLM.double()
        new = _Sums(
            entropy_H=-(weights_BHLM * logs_BHLM).sum(dim=(0, 2, 3)),
            even=float((looks.visible_BL.log() * looks.queries_BL).sum()),
            distance_H=torch.einsum("bhlm,blm->h", weights_BHLM, looks.distance_BLM),
            shares_KH=torch.einsum("bhlm,kblm->kh", weights_BHLM, kinds_KBLM),
            counts_K=(looks.kinds_KBLM.any(dim=-1) & looks.queries_BL.bool()).sum(dim=(1, 2)),
            queries=int(looks.queries_BL.sum()),
        )
        old = self.sums.get((side, layer))
        self.sums[side, layer] = new if old is None else _added(old, new)

    def add_links(self, layer: int, weights_BHTS: Tensor, links: _Links) -> None:
        """Count the links that each head finds, in the row that predicts and that reads."""
        self.links[layer] = self.links.get(layer, 0) + len(links.sentence)
        for shift, row in enumerate(ROWS):
            looked_KHS = weights_BHTS[links.sentence, :, links.target + shift]
            hits_H = (looked_KHS.argmax(dim=-1) == links.source[:, None]).sum(dim=0)
            self.hits_H[layer, row] = self.hits_H.get((layer, row), 0) + hits_H

    def measures(self, head: AttentionHead) -> HeadMeasures:
        """Return the numbers of one head."""
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

    def _alignment(self, head: AttentionHead) -> tuple[float | None, Row | None]:
        links = self.links.get(head.layer, 0)
        if head.side != "cross" or not links:
            return None, None
        hits = {row: int(self.hits_H[head.layer, row][head.head]) for row in ROWS}
        best = max(ROWS, key=hits.__getitem__)
        return hits[best] / links, best


def _added(old: _Sums, new: _Sums) -> _Sums:
    return _Sums(**{name: value + getattr(new, name) for name, value in vars(old).items()})
