"""The distribution of the next token after a prefix, and what sampling makes of it.

::

    log P of the network ─▶ allowed tokens ─▶ temperature ─▶ top-k, top-p, min-p ─▶ probability

The truncation is that of `decoding.sampling`, by its own functions, so `probability` is what
sampling draws from at this point.

Shapes: S source, T target, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from translucid.decoding.candidates import argmax_tokens, top_tokens
from translucid.decoding.config import SearchConfig
from translucid.decoding.constraints import apply_filters, build_filters
from translucid.decoding.hypothesis import Tokens
from translucid.decoding.sampling import COLDEST, filter_logits
from translucid.engines.base import DecoderInput
from translucid.errors import InputError
from translucid.interpret.explain import check_prefix, check_sentence
from translucid.interpret.network import single_network
from translucid.text.tokenizer import BOS, EOS
from translucid.translator import Translator


@dataclass(frozen=True)
class NextToken:
    """A token that may come next.

    `log_prob` is the network's own; `probability` is after temperature and truncation, 0 for tokens
    that are not `kept`.
    """

    id: int
    piece: str
    log_prob: float
    probability: float
    kept: bool


@dataclass(frozen=True)
class Rest:
    """The tokens that are not listed: their number and total probability after truncation."""

    count: int
    probability: float


@dataclass(frozen=True)
class PrefixToken:
    """A token of the prefix."""

    id: int
    piece: str


@dataclass(frozen=True)
class NextTokens:
    """The distribution of the next token; `tokens` are the most probable, best first.

    `entropy` is that of the network's softmax in nats, as in a trace's step; `entropy_kept` is that
    of the truncated distribution, which has `kept` tokens.
    """

    prefix: tuple[PrefixToken, ...]
    entropy: float
    entropy_kept: float
    kept: int
    tokens: tuple[NextToken, ...]
    rest: Rest


def next_tokens(
    translator: Translator,
    text: str,
    *,
    prefix: Sequence[int] = (),
    target: str | None = None,
    sampling: SearchConfig | None = None,
    count: int = 20,
) -> NextTokens:
    """Return the distribution of the token after a prefix of the translation of one sentence.

    Of `sampling`, temperature, top_k, top_p and min_p count; without it, nothing is truncated.
    """
    forced = check_prefix(translator, prefix)
    if EOS in forced:
        raise InputError(f"prefix ends in the end symbol, {EOS}: nothing can come after it")
    if count < 1:
        raise InputError(f"count = {count}: must be at least 1")
    sentence = check_sentence("text", text)
    part, _ = translator.read_whole(target, sentence)
    source = (*translator.tag(target, [sentence]), *part.tokens, EOS)
    log_probs_V = predict_next(translator, source, forced)
    settings = sampling or SearchConfig(method="sampling")
    request = DecoderInput(source, prefix=(), terms=())
    logits_V = truncate(_allow(translator, request, forced, log_probs_V), settings)
    return _summarize(translator, forced, log_probs_V, logits_V, count)


def _summarize(
    translator: Translator, prefix: Tokens, log_probs_V: Tensor, logits_V: Tensor, count: int
) -> NextTokens:
    """Return the most probable tokens, and the rest together."""
    piece, kept_V = translator.tokenizer.piece, logits_V > -math.inf
    probs_V = logits_V.softmax(dim=-1)
    values, ids = top_tokens(log_probs_V[None], min(count, log_probs_V.numel()))
    shown = ids[0]
    tokens = tuple(
        NextToken(token, piece(token), log_prob, probability, is_kept)
        for token, log_prob, probability, is_kept in zip(
            *(t.tolist() for t in (shown, values[0], probs_V[shown], kept_V[shown])), strict=True
        )
    )
    others_V = probs_V.index_fill(0, shown, 0.0)
    return NextTokens(
        prefix=tuple(PrefixToken(token, piece(token)) for token in prefix),
        entropy=_entropy(log_probs_V.double().exp()),
        entropy_kept=_entropy(probs_V),
        kept=int(kept_V.sum()),
        tokens=tokens,
        rest=Rest(log_probs_V.numel() - len(tokens), float(others_V.sum())),
    )


@torch.inference_mode()
def predict_next(translator: Translator, source: Tokens, prefix: Tokens) -> Tensor:
    """Return log P of every token after a prefix, by the network, (V,)."""
    model, member = single_network(translator), translator.members[0]
    longest = max(len(source), len(prefix) + 1)
    if longest > member.positions:
        raise InputError(
            f"text and prefix have up to {longest} tokens with their symbols, and this network can "
            f"read {member.positions} (max_positions): shorten them"
        )
    source_1S = torch.tensor([source], device=member.device)
    read_1T = torch.tensor([[BOS, *prefix]], device=member.device)
    states_1TD = model.decoder_states(read_1T, model.encode(source_1S), source_1S)
    logits_V: Tensor = model.output_projection(states_1TD[0, -1]).to("cpu", torch.float32)
    return logits_V.log_softmax(dim=-1)


def _allow(
    translator: Translator, request: DecoderInput, prefix: Tokens, log_probs_V: Tensor
) -> Tensor:
    """Return log P with −∞ for tokens that no translation may have: symbols and line breaks."""
    job = translator.engines.pytorch.build_request([request], translator.searcher().options)
    filters = build_filters(job, SearchConfig(method="sampling"))
    device = job.limits_B.device
    source_1 = torch.zeros(1, dtype=torch.int64, device=device)
    written_1T = torch.tensor([prefix], dtype=torch.int64, device=device)
    return apply_filters(filters, log_probs_V.to(device, copy=True)[None], written_1T, source_1)[
        0
    ].cpu()


def truncate(log_probs_V: Tensor, settings: SearchConfig) -> Tensor:
    """Return the logits whose softmax sampling draws from, in float64; −∞ for truncated tokens.

    At temperature 0 only the most probable token is left; of equals the one with the lowest id.
    """
    if settings.temperature == 0:
        logits_1V = torch.full_like(log_probs_V, -math.inf)[None]
        return logits_1V.scatter(1, argmax_tokens(log_probs_V[None])[:, None], 0.0)[0].double()
    logits_V = (log_probs_V - log_probs_V.amax()) / max(settings.temperature, COLDEST)
    return filter_logits(logits_V[None], settings)[0].double()


def _entropy(probs_V: Tensor) -> float:
    return max(0.0, math.fsum(torch.special.entr(probs_V).tolist()))
