"""The engine that can do everything: our own search over our own network, in PyTorch.

The served network uses fused attention, which does not show its weights. A copy shares all tensors,
and only its cross-attention is computed step by step: so the weights are those of the served
network.

A network that would leave out a placeholder is forced to write it before it ends. Then a second
search follows hypotheses with every number of placeholders in parallel, and so finds a better
position if there is one.

Shapes: B batch, S source, T target, P positions of a batch that hold a token, N rows (B × copies),
D d_model, V vocabulary, H heads, L queries.
"""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias, cast

import torch
from torch import Tensor

from translucid.checkpoint.model_directory import build_network, hash_network
from translucid.config import ModelConfig
from translucid.decoding.hypothesis import Hypothesis, Tokens
from translucid.decoding.request import OnceOnly, SearchRequest
from translucid.decoding.search import search
from translucid.decoding.stepper import Ensemble, Stepper, log_mean
from translucid.decoding.tree import Recorder
from translucid.engines.base import (
    PLACEHOLDER_PAIRS,
    Array,
    DecoderInput,
    Engine,
    OnFinished,
    Pair,
    SearchOptions,
    count_positions,
    find_forced_tokens,
)
from translucid.engines.heads import AlignmentHeads, Head
from translucid.errors import InputError
from translucid.model import Transformer, eager
from translucid.model.attention import EQUATION_1_KERNELS, Kernel
from translucid.model.transformer import share_weights
from translucid.text.placeholders import is_intact
from translucid.text.tokenizer import BOS, EOS, PAD

if TYPE_CHECKING:
    from translucid.model.decoder import DecoderLayer
    from translucid.model.session import DecodingSession

Wrap: TypeAlias = Callable[[Stepper], Stepper]

_WeightVersions: TypeAlias = tuple[tuple[int, int], ...]
_hashes: weakref.WeakKeyDictionary[Transformer, tuple[_WeightVersions, str]] = (
    weakref.WeakKeyDictionary()
)
_SECOND_BEAM = 4  # at least, for the second search
_MOST_FORCED = 6  # placeholders for which a second search is worth its time
_POSITIONS_PER_CHUNK = 1024  # as logits of a whole vocabulary


@dataclass(frozen=True)
class Member:
    """A network, and its heads that align best."""

    model: Transformer
    heads: AlignmentHeads
    _copies: threading.local = field(default_factory=threading.local, compare=False, repr=False)

    @property
    def device(self) -> torch.device:
        """Where the network computes."""
        return next(self.model.parameters()).device

    @property
    def positions(self) -> int:
        """The most tokens that the network can read or write at once."""
        return count_positions(self.model.config)

    def hash(self) -> str:
        """Return the SHA-256 of settings and weights; computed again only if a weight changed."""
        versions = tuple(
            (p.data_ptr(), 0 if p.is_inference() else p._version) for p in self.model.parameters()
        )
        cached = _hashes.get(self.model)
        if cached is not None and cached[0] == versions:
            return cached[1]
        named = self.model.named_parameters()
        found = hash_network(self.model.config, {n: p.detach().cpu().numpy() for n, p in named})
        _hashes[self.model] = (versions, found)
        return found

    def attending_copy(self) -> tuple[Transformer, CrossAttentionRecord]:
        """Return a weight-sharing copy that records the attention of those heads, one per thread.

        Making it takes about as long as one step of the search.
        """
        if not hasattr(self._copies, "copy"):
            self._copies.copy = record_cross_attention(self.model, self.heads.chosen)
        copy: tuple[Transformer, CrossAttentionRecord] = self._copies.copy
        return copy

    def start(self, sources: Sequence[Sequence[int]], *, copies: int, attending: bool) -> Stepper:
        """Return a decoding session of sources, with `attention_NS` if it is `attending`."""
        source_BS = pad(sources, self.device)
        if not attending:
            return self.model.start(source_BS, copies)
        model, record = self.attending_copy()
        return AttendingSession(model.start(source_BS, copies), record, self.heads.chosen)


def pad(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return rows of different lengths as one tensor, padded on the right."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows], device=device)


@dataclass
class CrossAttentionRecord:
    """What heads of the cross-attention attended to in the newest pass."""

    weights_BLS: dict[Head, Tensor] = field(default_factory=dict)

    def mean(self, heads: Sequence[Head]) -> Tensor:
        """Return the mean weights_BLS of some heads."""
        return torch.stack([self.weights_BLS[head] for head in heads]).mean(dim=0)


def attend_with_weights(
    kernel: Kernel,
    q_BHLK: Tensor,
    k_BHMK: Tensor,
    v_BHMU: Tensor,
    mask: Tensor | None,
    dropout: float,
) -> tuple[Tensor, Tensor]:
    """Return a kernel's output and weights; those of equation 1 if it does not show its own."""
    output_BHLU, weights_BHLM = eager(q_BHLK, k_BHMK, v_BHMU, mask, dropout)
    if kernel not in EQUATION_1_KERNELS:
        output_BHLU, own_BHLM = kernel(q_BHLK, k_BHMK, v_BHMU, mask, dropout)
        weights_BHLM = weights_BHLM if own_BHLM is None else own_BHLM
    return output_BHLU, weights_BHLM


@dataclass(frozen=True)
class _RecordingKernel:
    """Attention by the kernel `inner` that stores the weights of a layer's heads in a record."""

    record: CrossAttentionRecord
    heads: tuple[Head, ...]
    inner: Kernel

    def __call__(
        self, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMU: Tensor, mask: Tensor | None, dropout: float
    ) -> tuple[Tensor, Tensor]:
        output_BHLU, weights_BHLM = attend_with_weights(
            self.inner, q_BHLK, k_BHMK, v_BHMU, mask, dropout
        )
        for head in self.heads:
            self.record.weights_BLS[head] = weights_BHLM[:, head.head]
        return output_BHLU, weights_BHLM


def record_cross_attention(
    model: Transformer, heads: Sequence[Head]
) -> tuple[Transformer, CrossAttentionRecord]:
    """Return a weight-sharing copy of a network, and the record of what these heads attend to."""
    copy, record = share_weights(model), CrossAttentionRecord()
    for number, layer in enumerate(cast("list[DecoderLayer]", copy.decoder.layers)):
        mine = tuple(head for head in heads if head.layer == number)
        if mine:
            attention = layer.cross_attention
            attention.kernel = _RecordingKernel(record, mine, attention.kernel)
    return copy, record


class AttendingSession:
    """A decoding session that shows what each row attended to in the newest step.

    It is an `AttendingStepper`: `attention_NS` is the mean of the chosen heads; each row sums to 1,
    padding has 0.
    """

    attention_NS: Tensor

    def __init__(
        self, session: DecodingSession, record: CrossAttentionRecord, heads: Sequence[Head]
    ) -> None:
        self._session, self._record, self._heads = session, record, heads

    def step(self, last_ids_N: Tensor) -> Tensor:
        """Feed the newest token of every row; return log P(next token) as (N, V)."""
        log_probs_NV = self._session.step(last_ids_N)
        self.attention_NS = self._record.mean(self._heads).flatten(0, 1)
        return log_probs_NV

    def reorder(self, rows_N: Tensor) -> None:
        """Continue with these rows, in this order."""
        self._session.reorder(rows_N)


@dataclass(frozen=True)
class PyTorchEngine(Engine):
    """One network, or several whose probabilities are averaged."""

    members: tuple[Member, ...]
    name: ClassVar[str] = "pytorch"

    @property
    def positions(self) -> int:
        """The most tokens that all networks can read or write at once."""
        return min(member.positions for member in self.members)

    def find_obstacle(self, options: SearchOptions, item: DecoderInput) -> None:
        """Return nothing: every search can be done."""

    @torch.inference_mode()
    def search(
        self,
        inputs: Sequence[DecoderInput],
        options: SearchOptions,
        on_finished: OnFinished | None = None,
        *,
        recorder: Recorder | None = None,
        wrap: Wrap | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each input, best first.

        A recorder builds the search trees; `wrap` puts something between search and network;
        `on_finished` is called with the hypotheses of an input as soon as they are certain (see
        :class:`SearchRequest`). With a recorder there is no second search.
        """

        def report_unless_forced(number: int, hypotheses: list[Hypothesis]) -> None:
            required = options.required_placeholders(inputs[number])
            if on_finished is not None and not find_forced_tokens(hypotheses[0], required):
                on_finished(number, hypotheses)

        request = replace(self.build_request(inputs, options), on_finished=report_unless_forced)
        start = partial(self._start, inputs, options, wrap)
        found = search(start, request, options.settings, recorder)
        if recorder is None:
            for number, hypotheses in self._search_again(inputs, options, wrap, found).items():
                found[number] = hypotheses
                if on_finished is not None:
                    on_finished(number, hypotheses)
        return found

    def _search_again(
        self,
        inputs: Sequence[DecoderInput],
        options: SearchOptions,
        wrap: Wrap | None,
        found: Sequence[list[Hypothesis]],
    ) -> dict[int, list[Hypothesis]]:
        """Search again for inputs with a forced placeholder; return the better hypotheses."""
        forced = {
            number: replace(item, terms=(*item.terms, *((token,) for token in tokens)))
            for number, item in enumerate(inputs)
            if (tokens := find_forced_tokens(found[number][0], options.required_placeholders(item)))
        }
        again = [
            item
            for number, item in forced.items()
            if len(item.terms) - len(inputs[number].terms) <= _MOST_FORCED
            and options.has_room(item, self.positions)
        ]
        if not again or options.settings.method not in ("greedy", "beam"):
            return {number: found[number] for number in forced}
        beam = max(options.settings.beam, _SECOND_BEAM)
        wide = replace(options, settings=options.settings.replace(method="beam", beam=beam))
        start = partial(self._start, again, wide, wrap)
        second = search(start, self.build_request(again, wide), wide.settings, None)
        better = dict(zip(again, second, strict=True))
        return {
            number: _choose_better(item, options, found[number], better.get(item, []))
            for number, item in forced.items()
        }

    def _start(
        self,
        inputs: Sequence[DecoderInput],
        options: SearchOptions,
        wrap: Wrap | None,
        copies: int,
    ) -> Stepper:
        """Return the stepper of some inputs, with `copies` rows each."""
        sources = [item.source for item in inputs]
        attending = options.settings.coverage_penalty > 0
        steppers = [
            member.start(sources, copies=copies, attending=attending) for member in self.members
        ]
        stepper = steppers[0] if len(steppers) == 1 else Ensemble(steppers)
        return stepper if wrap is None else wrap(stepper)

    def build_request(
        self, inputs: Sequence[DecoderInput], options: SearchOptions
    ) -> SearchRequest:
        """Return the search request for a batch of inputs."""
        limits = [options.limit(item, self.positions) for item in inputs]
        required = tuple(map(options.required_placeholders, inputs))
        placeholders = options.placeholders
        never = (*options.unwritable, *options.forbidden)
        return SearchRequest(
            limits_B=torch.tensor(limits, device=self.members[0].device),
            begin=BOS,
            end=EOS,
            prefixes=tuple(item.prefix for item in inputs),
            terms=tuple(item.terms for item in inputs),
            forbidden=never if any(required) else (*never, *placeholders),
            once=OnceOnly(placeholders, PLACEHOLDER_PAIRS, required) if any(required) else None,
            keys=tuple(map(sampling_key, inputs)),
            decode=options.decode,
        )

    @torch.inference_mode()
    def score(self, pairs: Sequence[Pair]) -> list[list[float]]:
        """Return log P of every token of each target, and last that of its end."""
        if not pairs:
            return []
        labels_BT = pad([(*pair.target, EOS) for pair in pairs], torch.device("cpu"))
        places_BT = labels_BT != PAD
        labels_P = labels_BT[places_BT]
        states = [_states(member, pairs)[places_BT.to(member.device)] for member in self.members]
        found = []
        for begin in range(0, labels_P.numel(), _POSITIONS_PER_CHUNK):
            chunk = slice(begin, begin + _POSITIONS_PER_CHUNK)
            each_PV = [
                member.model.output_projection(states_PD[chunk]).log_softmax(dim=-1).cpu()
                for member, states_PD in zip(self.members, states, strict=True)
            ]
            found.append(log_mean(each_PV).gather(1, labels_P[chunk, None])[:, 0])
        values = iter(torch.cat(found).tolist())
        return [[next(values) for _ in (*pair.target, EOS)] for pair in pairs]

    def align(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> list[Array]:
        """Return how much each target token attends to each source token, the mean of networks."""
        sources, targets = zip(*pairs, strict=True)
        # A view would keep the whole batch in memory.
        return [w_TS.clone().numpy() for w_TS in soft_alignments(self.members, sources, targets)]


def _choose_better(
    item: DecoderInput,
    options: SearchOptions,
    first: list[Hypothesis],
    second: list[Hypothesis],
) -> list[Hypothesis]:
    """Return the hypotheses of the second search if its best is intact and more probable."""
    source = options.decode(item.source)
    intact = [one for one in second if is_intact(source, options.decode(one.tokens))]
    if not intact or intact[0].score <= first[0].score:
        return first
    known = {one.tokens for one in intact}
    others = [one for one in first if one.tokens not in known]
    ranked = sorted([*intact, *others], key=lambda one: (not one.finished, -one.score))
    return ranked[: options.settings.n_best]


def sampling_key(item: DecoderInput) -> int:
    """Return a number that depends on the input alone: samples are the same in any batch."""
    content = repr((item.source, item.prefix, item.terms)).encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def _states(member: Member, pairs: Sequence[Pair]) -> Tensor:
    """Return the decoder's states_BTD, from which the tokens of the targets are predicted."""
    source_BS = pad([pair.source for pair in pairs], member.device)
    target_BT = pad([(BOS, *pair.target) for pair in pairs], member.device)
    memory_BSD = member.model.encode(source_BS)
    return member.model.decoder_states(target_BT, memory_BSD, source_BS)


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


def load_networks(
    configs: Sequence[ModelConfig],
    weights: Iterable[tuple[Path, Mapping[str, Tensor]]],
    heads: Sequence[AlignmentHeads],
    device: str,
) -> PyTorchEngine:
    """Return the engine of networks, an ensemble if there are several; weights come from files."""
    torch_device = _find_device(device)
    networks = [
        build_network(config, tensors, path).eval().to(torch_device)
        for config, (path, tensors) in zip(configs, weights, strict=True)
    ]
    return PyTorchEngine(tuple(map(Member, networks, heads)))


def _find_device(name: str) -> torch.device:
    """Return a device of PyTorch; refuse one that it does not know or find here."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"device = {name!r} cannot be used: {str(error).splitlines()[0]}. Give 'cpu', or "
            "'cuda' or 'mps' where PyTorch finds one"
        ) from error
    return device
