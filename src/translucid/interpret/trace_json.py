"""A trace as the page reads it: the trace, and everything a picture says about it.

Head roles, rollout and other summaries are computed here, once: the page and the figures only draw
them. Two kinds of them travel with a trace::

    JSON        heads        what each head does on this sentence (see `head_roles`)
                words        which tokens make a word
                confidence   how far to trust the translation
    tensors     rollout.encoder (S, S)   rollout.decoder (T, T)   rollout.cross (T, S)
                {attention}.mean_weights (L, M): the mean of the heads of a layer

Both are computed from the attention weights, which every trace has, so they are there for trace
files of any version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from torch import Tensor

from translucid.interpret.hallucination import detect_hallucination
from translucid.interpret.head_roles import KINDS, HeadStatistics
from translucid.interpret.head_statistics import trace_head_statistics
from translucid.interpret.network import SIDES, AttentionHead
from translucid.interpret.rollout import attention_rollout
from translucid.interpret.trace import Trace
from translucid.interpret.word_attention import word_groups

_MEAN = ".mean_weights"


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
