"""Ablation: turn heads off, and measure what a translation and its score lose.

A disabled head gives zeros to W^O, as if the rows of W^O that read it were zero. The network itself
does not change: a weight-sharing copy has other attention kernels.

Shapes: B batch, H heads, L queries, M keys, K size of a key, W size of a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from translucid.errors import InputError
from translucid.events import Emit, Progress, silent
from translucid.interpret.decision import Contrast, check_contrast
from translucid.interpret.network import (
    AttentionHead,
    all_heads,
    check_heads,
    gather_written,
    replace_kernels,
    replace_network,
    rescore,
    retranslate,
    single_network,
)
from translucid.interpret.patched_runs import Cell, Run
from translucid.interpret.patching import Direction
from translucid.interpret.trace import Side, Trace
from translucid.model.attention import Kernel
from translucid.translator import Translator


@dataclass(frozen=True)
class Ablation:
    """A translation with and without some heads.

    `log_prob` is log P of the trace's translation by the network, `log_prob_without` by the network
    without the heads. `translation` is the network's own (not one that was given),
    `translation_without` what it writes without the heads.
    """

    heads: tuple[AttentionHead, ...]
    translation: str
    translation_without: str
    log_prob: float
    log_prob_without: float

    @property
    def changed(self) -> bool:
        """Whether the translation differs without the heads."""
        return self.translation != self.translation_without


@dataclass(frozen=True)
class HeadImportance:
    """The loss in log P without one head, in nats per target token, over some pairs.

    Below 0 the network is better without it. `tokens` is the number of tokens measured.
    """

    head: AttentionHead
    loss: float
    tokens: int


@dataclass(frozen=True)
class _AblatedKernel:
    """Attention in which some heads output zeros."""

    kernel: Kernel
    heads: tuple[int, ...]

    def __call__(
        self, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMU: Tensor, mask: Tensor | None, dropout: float
    ) -> tuple[Tensor, Tensor | None]:
        output_BHLU, weights_BHLM = self.kernel(q_BHLK, k_BHMK, v_BHMU, mask, dropout)
        off = torch.tensor(self.heads, device=output_BHLU.device)
        return output_BHLU.index_fill(1, off, 0.0), weights_BHLM


def disable_heads(translator: Translator, heads: Iterable[AttentionHead]) -> Translator:
    """Return a translator without these heads that shares everything else."""
    model = single_network(translator)
    off = check_heads(heads, model.config)

    def new(side: Side, layer: int, kernel: Kernel) -> Kernel:
        here = tuple(head.head for head in off if (head.side, head.layer) == (side, layer))
        return _AblatedKernel(kernel, here) if here else kernel

    name = f"{translator.name} without {', '.join(map(str, off)) or 'nothing'}"
    return replace_network(translator, replace_kernels(model, new), name)


def ablate(translator: Translator, trace: Trace, heads: Iterable[AttentionHead]) -> Ablation:
    """Translate the sentence of a trace again without some heads, by the same search."""
    heads = tuple(heads)
    other = disable_heads(translator, heads)
    return Ablation(
        heads=heads,
        translation=(
            retranslate(translator, trace) if trace.origin == "given" else trace.translation
        ),
        translation_without=retranslate(other, trace),
        log_prob=_log_prob(translator, trace),
        log_prob_without=_log_prob(other, trace),
    )


def measure_head_importance(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    target: str | None = None,
    batch_size: int = 64,
    on_event: Emit = silent,
) -> tuple[HeadImportance, ...]:
    """Turn off each head separately and return how much log P of given translations drops.

    `target` is the language, needed where the model has several.
    """
    heads = all_heads(single_network(translator).config)

    def mean_log_prob(scorer: Translator) -> tuple[float, int]:
        scored = scorer.score(sources, targets, target=target, batch_size=batch_size)
        tokens = sum(len(one.log_probs) for one in scored)
        if tokens == 0:
            raise InputError(
                f"{len(sources)} pairs have no text in them: give pairs of sentences to measure on"
            )
        return sum(one.log_prob for one in scored) / tokens, tokens

    whole, tokens = mean_log_prob(translator)
    losses = []
    for number, head in enumerate(heads, start=1):
        without, _ = mean_log_prob(disable_heads(translator, [head]))
        losses.append(HeadImportance(head, whole - without, tokens))
        on_event(Progress("turning heads off", number, len(heads), "heads"))
    return tuple(losses)


@dataclass(frozen=True)
class HeadMargin:
    """The margin of a decision without one head; `flips`: it has the other sign then."""

    side: Side
    layer: int
    head: int
    margin: float
    flips: bool


@dataclass(frozen=True)
class HeadMargins:
    """The margin of a decision in one sentence, with all heads and with each turned off."""

    step: int
    first: int
    second: int
    pieces: tuple[str, str]
    margin: float
    heads: tuple[HeadMargin, ...]


def measure_head_margins(translator: Translator, trace: Trace, contrast: Contrast) -> HeadMargins:
    """Turn off each head by itself and return the margin of one decision, all in one batch."""
    contrast = check_contrast(translator, contrast, trace, trace)
    network = single_network(translator)
    source = tuple(token.id for token in trace.source_tokens)
    prefix = tuple(step.token.id for step in trace.steps[: contrast.step])
    run = Run.record(network, source, prefix)
    own = tuple(((at, at + 1), (at, at + 1)) for at in range(len(source)))
    direction = Direction(translator, trace, run, run.zeros(), own, contrast)
    heads = all_heads(network.config)
    patches = [frozenset[Cell](), *(frozenset([Cell(*head)]) for head in heads)]
    whole, *margins = direction.margins(patches).tolist()
    piece = translator.target_tokenizer.piece
    return HeadMargins(
        *contrast,
        pieces=(piece(contrast.first), piece(contrast.second)),
        margin=whole,
        heads=tuple(
            HeadMargin(*head, margin=margin, flips=margin * whole < 0)
            for head, margin in zip(heads, margins, strict=True)
        ),
    )


def _log_prob(translator: Translator, trace: Trace) -> float:
    """Return log P of the trace's translation."""
    return float(gather_written(rescore(translator, trace), trace).double().sum())
