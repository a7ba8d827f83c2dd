"""A trace as the page reads it: the trace, and everything a picture says about it.

Head roles, rollout and other summaries are computed here, once: the page and the figures only draw
them. Two kinds of them travel with a trace::

    JSON        heads        what each head does on this sentence (see `head_roles`)
                words        which tokens make a word
                confidence   how far to trust the translation
    tensors     rollout.encoder (S, S)   rollout.decoder (T, T)   rollout.cross (T, S)
                {attention}.mean_weights (L, M): the mean of the heads of a layer

Both are computed from the attention weights, which every trace has, so they are there for trace
files of any version. With the network, a full trace also has (see `network_tensor`)::

    contributions (T, K, P)             what each part of the decoder adds to a token's logit
    space.{stack}.coordinates, …        the states of the tokens as points (see `state_space`)
    weights.{parameter}                 a parameter of the network, by its name

The confidence has signs of hallucination: fluent text that has little to do with its source.

No reference is needed. The signs are improbable tokens, attention that rests on the end symbol
instead of on words, source words that receive no attention (Berard et al. 2019), and repeated
phrases. This describes one trace; the calibrated probability that a translation is acceptable is
`translator.confidence`.

The thresholds are round numbers. On 150 sentences drawn from the dev sets of the lesson and of
Tatoeba, whose vocabulary the lesson's model does not know (none of which were used to choose the
threshold of probability), they warned of 46 of the 61 translations with chrF below 40 and of none
of the 76 with 80 or more. Probability found all of these, attention one of them, repetition none. A
network that is sure of nonsense goes unnoticed.

Shapes: S source, T target, H heads, N layers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

import torch
from torch import Tensor

from translucid.interpret.attribution import attention_rollout
from translucid.interpret.contributions import logit_contributions
from translucid.interpret.head_roles import KINDS, HeadStatistics
from translucid.interpret.head_statistics import trace_head_statistics
from translucid.interpret.network import SIDES, AttentionHead
from translucid.interpret.state_space import (
    Stack,
    explained_variance,
    nearest_entries,
    principal_coordinates,
    stack_states,
    state_distances,
    text_mask,
)
from translucid.interpret.trace import Trace
from translucid.interpret.word_attention import word_groups
from translucid.model import Transformer
from translucid.text.tokenizer import FIRST_PIECE, UNK

_MEAN = ".mean_weights"
_WEIGHTS = "weights."


def trace_json(
    trace: Trace, *, key: str | None, target: str, without: Sequence[AttentionHead]
) -> dict[str, Any]:
    """Return the body of a trace: `Trace.to_json`, its id, its words, its heads, its confidence.

    A trace that is not kept has no id.
    """
    signs = detect_hallucination(trace)
    return {
        **trace.to_json(),
        "id": key,
        "bytes": trace.bytes,
        "target": target,
        "without": [head._asdict() for head in without],
        "words": {
            "source": word_groups(trace.source, trace.source_tokens),
            "target": word_groups(trace.translation, trace.target_tokens),
        },
        "heads": [_head_json(one) for one in trace_head_statistics(trace)],
        "confidence": {
            **asdict(signs),
            "doubtful": signs.suspicious,
            "warnings": signs.warnings,
        },
    }


def _head_json(statistics: HeadStatistics) -> dict[str, Any]:
    """Return the numbers of one head; kinds of token that no query could look at are left out."""
    shares = {kind: statistics.share(kind) for kind in KINDS}
    return {
        **statistics.head._asdict(),
        "role": statistics.role,
        "rule": statistics.rule,
        "entropy": statistics.entropy,
        "evenness": statistics.evenness,
        "distance": statistics.distance,
        "queries": statistics.queries,
        "shares": {kind: share for kind, share in shares.items() if share is not None},
    }


def summary_names(trace: Trace) -> list[str]:
    """Return the names of all tensors that `summary_tensor` computes."""
    attentions = [
        trace.attention_name(side, layer) for side in SIDES for layer in range(trace.layers(side))
    ]
    return [f"rollout.{side}" for side in SIDES] + [f"{name}{_MEAN}" for name in attentions]


def summary_tensor(trace: Trace, name: str) -> Tensor | None:
    """Return a tensor that is computed from others, float32; None where none has this name."""
    if name not in summary_names(trace):
        return None
    if name.endswith(_MEAN):
        return trace.tensor(f"{name.removesuffix(_MEAN)}.weights").mean(dim=0)
    side = next(side for side in SIDES if name == f"rollout.{side}")
    return attention_rollout(trace, side).float()


_STACKS: tuple[Stack, ...] = get_args(Stack)


def network_names(model: Transformer) -> list[str]:
    """Return the names of all tensors of `network_tensor`, the network's parameters at the end."""
    shown = ("coordinates", "explained", "distances", "nearest")
    return [
        "contributions",
        *(f"space.{stack}.{what}" for stack in _STACKS for what in shown),
        *(f"{_WEIGHTS}{name}" for name, _ in model.named_parameters()),
    ]


def network_tensor(model: Transformer, trace: Trace, name: str) -> Tensor | None:
    """Return what only the network and a full trace of it together give; None: no such name."""
    if name.startswith(_WEIGHTS):
        parameters = dict(model.named_parameters(remove_duplicate=False))
        found = parameters.get(name.removeprefix(_WEIGHTS))
        return None if found is None else found.detach().cpu().float()
    if name == "contributions":
        return logit_contributions(model, trace).float()
    first, _, what = name.rpartition(".")
    stack = next((stack for stack in _STACKS if first == f"space.{stack}"), None)
    if stack is None:
        return None
    if what == "nearest":
        return nearest_entries(model, trace, stack)
    if what == "distances":
        return state_distances(stack_states(trace, stack))
    drawn = {"coordinates": principal_coordinates, "explained": explained_variance}.get(what)
    if drawn is None:
        return None
    return drawn(stack_states(trace, stack), text_mask(trace, stack))


MIN_SOURCE_SHARE = 0.25  # of attention on source words, averaged over steps
MIN_RECEIVED = 0.2  # attention over all steps below which a source token counts as unseen
MAX_UNSEEN = 0.5  # share of source tokens
MIN_PROBABILITY = 0.5  # geometric mean over the tokens
PHRASE = 3  # tokens of a phrase whose repetition is counted
MAX_REPEATED = 0.3  # share of tokens that end a repeated phrase


@dataclass(frozen=True)
class HallucinationSigns:
    """Numbers and warnings about one translation.

    `probability` is the geometric mean over its tokens, including the end symbol; `least` is the
    lowest and `least_step` its step. `source_share` is, for each step, the share of cross-attention
    on words of the source rather than symbols, averaged over all heads; `unseen` is the share of
    source tokens that receive hardly any attention in all steps together; `repeated` is the share
    of written tokens that end a phrase of three that occurred before.
    """

    probability: float
    least: float
    least_step: int
    source_share: tuple[float, ...]
    unseen: float
    repeated: float
    improbable: bool
    ignores_source: bool
    loops: bool

    @property
    def suspicious(self) -> bool:
        """Whether there is any warning."""
        return self.improbable or self.ignores_source or self.loops

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings as text, each with the number behind it."""
        share = math.fsum(self.source_share) / len(self.source_share)
        warnings = (
            (self.improbable, f"its tokens have a mean probability of only {self.probability:.2f}"),
            (
                self.ignores_source,
                f"it hardly looks at the source: {share:.2f} of the attention lies on its words, "
                f"and {self.unseen:.0%} of its tokens are not looked at",
            ),
            (self.loops, f"it goes in circles: {self.repeated:.0%} of it was said before"),
        )
        return tuple(text for found, text in warnings if found)


def detect_hallucination(trace: Trace) -> HallucinationSigns:
    """Look for signs of hallucination in the probabilities, attention and tokens of a trace."""
    log_probs = [step.log_prob for step in trace.steps]
    probability = math.exp(math.fsum(log_probs) / len(log_probs))
    least_step = min(range(len(log_probs)), key=log_probs.__getitem__)
    shares = source_shares(trace)
    unseen = unseen_share(trace)
    repeated = repeated_share(trace.written_ids)
    little = math.fsum(shares) / len(shares) < MIN_SOURCE_SHARE
    return HallucinationSigns(
        probability=probability,
        least=math.exp(log_probs[least_step]),
        least_step=least_step,
        source_share=shares,
        unseen=unseen,
        repeated=repeated,
        improbable=probability < MIN_PROBABILITY,
        ignores_source=little or unseen > MAX_UNSEEN,
        loops=trace.flags.looped or repeated > MAX_REPEATED,
    )


def source_shares(trace: Trace) -> tuple[float, ...]:
    """Return for each step the share of its cross-attention on words rather than symbols."""
    words_S = _words(trace)
    return tuple((_mean_cross(trace) * words_S).sum(dim=1).tolist())


def unseen_share(trace: Trace) -> float:
    """Return the share of source tokens that receive hardly any attention in all steps together.

    Only attention on words counts, however much rests on the end symbol. Where a translation is
    shorter than its source, each source token is expected to receive less.
    """
    words_S = _words(trace).bool()
    if not words_S.any():
        return 0.0
    attention_TS = _mean_cross(trace)[:, words_S]
    divided_TS = attention_TS / attention_TS.sum(dim=1, keepdim=True).clamp(min=1e-9)
    received_S = divided_TS.sum(dim=0)
    fair = min(1.0, attention_TS.size(0) / attention_TS.size(1))
    return float((received_S < MIN_RECEIVED * fair).double().mean())


def repeated_share(tokens: Sequence[int]) -> float:
    """Return the share of tokens that end a phrase of three tokens that occurred before.

    >>> repeated_share([5, 6, 7, 8, 5, 6, 7, 8])
    0.25
    """
    seen: set[tuple[int, ...]] = set()
    again = 0
    for end in range(PHRASE, len(tokens) + 1):
        phrase = tuple(tokens[end - PHRASE : end])
        again += phrase in seen
        seen.add(phrase)
    return again / len(tokens) if tokens else 0.0


def _mean_cross(trace: Trace) -> Tensor:
    """Return the cross-attention averaged over layers and heads, (T, S) in float64."""
    layers = [trace.attention("cross", layer) for layer in range(trace.model.decoder_layers)]
    return torch.stack(layers).double().mean(dim=(0, 1))


def _words(trace: Trace) -> Tensor:
    """Return 1 for each source token that is text, 0 for symbols: tag and end."""
    return torch.tensor(
        [float(token.id >= FIRST_PIECE or token.id == UNK) for token in trace.source_tokens],
        dtype=torch.float64,
    )
