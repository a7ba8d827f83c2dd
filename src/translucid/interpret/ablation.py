"""Turning heads off: what a translation, and its score, owe to each of them.

A head that is off gives zeros to W^O, as if the rows of W^O that read it were zero. The network is
not changed: a twin that shares its tensors has other kernels.

Shapes: B batch, H heads, L queries, M keys, K size of a key, W size of a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from translucid.errors import InputError
from translucid.events import Emit, Progress, silent
from translucid.interpret.network import (
    AttentionHead,
    checked_heads,
    heads_of,
    log_probs_again,
    network_of,
    of_written,
    translation_again,
    with_kernels,
    with_network,
)
from translucid.interpret.trace import Side, Trace
from translucid.model.attention import Kernel
from translucid.translator import Translator


@dataclass(frozen=True)
class Ablation:
    """What became of a translation without some heads.

    `log_prob` is log P that the network gave the translation of the trace, `log_prob_without` what
    it gives the same translation without the heads. `translation` is what it writes by itself,
    which a given translation need not be, `translation_without` what it writes without the heads.
    """

    heads: tuple[AttentionHead, ...]
    translation: str
    translation_without: str
    log_prob: float
    log_prob_without: float

    @property
    def changed(self) -> bool:
        """Whether it translates otherwise without the heads."""
        return self.translation != self.translation_without


@dataclass(frozen=True)
class HeadImportance:
    """What the network loses with one head: nats a target token, over some pairs.

    Below 0 the network is better without it. `tokens` is how many were measured on.
    """

    head: AttentionHead
    loss: float
    tokens: int


@dataclass(frozen=True)
class _Silenced:
    """Attention in which some heads say nothing."""

    kernel: Kernel
    heads: tuple[int, ...]

    def __call__(
        self, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMW: Tensor, mask: Tensor | None, dropout: float
    ) -> tuple[Tensor, Tensor | None]:
        output_BHLW, weights_BHLM = self.kernel(q_BHLK, k_BHMK, v_BHMW, mask, dropout)
        off = torch.tensor(self.heads, device=output_BHLW.device)
        return output_BHLW.index_fill(1, off, 0.0), weights_BHLM


def without_heads(translator: Translator, heads: Iterable[AttentionHead]) -> Translator:
    """Return a translator that works without these heads and shares everything else."""
    model = network_of(translator)
    off = checked_heads(heads, model.config)

    def new(side: Side, layer: int, kernel: Kernel) -> Kernel:
        here = tuple(head.head for head in off if (head.side, head.layer) == (side, layer))
        return _Silenced(kernel, here) if here else kernel

    name = f"{translator.name} without {', '.join(map(str, off)) or 'nothing'}"
    return with_network(translator, with_kernels(model, new), name)


def ablate(translator: Translator, trace: Trace, heads: Iterable[AttentionHead]) -> Ablation:
    """Translate the sentence of a trace once more without some heads, by the trace's search."""
    heads = tuple(heads)
    other = without_heads(translator, heads)
    return Ablation(
        heads=heads,
        translation=(
            translation_again(translator, trace) if trace.origin == "given" else trace.translation
        ),
        translation_without=translation_again(other, trace),
        log_prob=_log_prob(translator, trace),
        log_prob_without=_log_prob(other, trace),
    )


def head_importance(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    target: str | None = None,
    batch_size: int = 64,
    emit: Emit = silent,
) -> tuple[HeadImportance, ...]:
    """Return how much log P of given translations sinks without each head, in the heads' order.

    Every head of the network is turned off by itself and all pairs are scored; `target` is the
    language, needed where the model has several.
    """
    heads = heads_of(network_of(translator).config)

    def mean_log_prob(judge: Translator) -> tuple[float, int]:
        scored = judge.score(sources, targets, target=target, batch_size=batch_size)
        tokens = sum(len(one.log_probs) for one in scored)
        if tokens == 0:
            raise InputError(
                f"{len(sources)} pairs have no text in them: give pairs of sentences to measure on"
            )
        return sum(one.log_prob for one in scored) / tokens, tokens

    whole, tokens = mean_log_prob(translator)
    found = []
    for number, head in enumerate(heads, start=1):
        without, _ = mean_log_prob(without_heads(translator, [head]))
        found.append(HeadImportance(head, whole - without, tokens))
        emit(Progress("turning heads off", number, len(heads), "heads"))
    return tuple(found)


def _log_prob(translator: Translator, trace: Trace) -> float:
    """Return log P of all that the trace wrote."""
    return float(of_written(log_probs_again(translator, trace), trace).double().sum())
