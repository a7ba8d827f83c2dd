"""A trace as the page reads it: all but the tensors, and what can be read from it at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from translucid.interpret.hallucination import detect_hallucination
from translucid.interpret.network import AttentionHead
from translucid.interpret.trace import Trace
from translucid.interpret.word_attention import word_groups


def trace_json(
    trace: Trace, *, key: str | None, target: str, without: Sequence[AttentionHead]
) -> dict[str, Any]:
    """Return the body of a trace: `Trace.to_json`, its id, its words and how far to trust it.

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
        "confidence": {
            **asdict(signs),
            "doubtful": signs.suspicious,
            "warnings": signs.warnings,
        },
    }
