"""Alignment: which source tokens each token of the translation looked at; and rollout."""

from __future__ import annotations

from dataclasses import replace

from translucid.interpret.figures.cells import WEIGHTS, upwards
from translucid.interpret.figures.drawing import Drawing
from translucid.interpret.figures.lettering import token_labels
from translucid.interpret.figures.matrix import Matrix, attention_table, matrix
from translucid.interpret.rollout import attention_rollout
from translucid.interpret.trace import Side, Trace

_SIDES: dict[Side, str] = {
    "encoder": "what of the source is in each encoder position",
    "decoder": "what of the target is in each decoder position",
    "cross": "what of the source is in each decoder position",
}


def alignment(trace: Trace) -> Drawing:
    """Return the alignment of a translation; the best source token of each row is outlined."""
    table = trace.alignment().tolist()
    shown = Matrix(
        rows=token_labels(trace.target_tokens)[1:],
        columns=token_labels(trace.source_tokens),
        table=table,
        scale=WEIGHTS,
        row_axis="translation",
        column_axis="source",
        ends=("0", "1"),
        marked=[(row, max(range(len(r)), key=r.__getitem__)) for row, r in enumerate(table)],
    )
    outlined = "Outlined: where each token looked most." if table else "Nothing was written."
    return matrix("Alignment", [_whose(trace), outlined], shown)


def _whose(trace: Trace) -> str:
    """Say which heads the alignment is of, and no more of them than is known."""
    heads = ", ".join(f"{layer}.{head}" for layer, head in trace.alignment_heads)
    if trace.alignment_found:
        return f"Mean of the cross-attention heads found to align best (layer.head: {heads})."
    return (
        f"Mean of all cross-attention heads of one layer (layer.head: {heads}): the usual choice "
        "where it was not measured which heads align best."
    )


def rollout(trace: Trace, side: Side) -> Drawing:
    """Return attention rollout: how much of each input is in each position after all layers."""
    mixed = attention_rollout(trace, side)
    scale = upwards(mixed.tolist())  # few weights are large after so many mixtures
    shown = replace(
        attention_table(trace, side, mixed), scale=scale, ends=("0", f"{scale.high:.2f}")
    )
    notes = [
        "The attention of all layers multiplied, half of each position staying where it is "
        "(Abnar and Zuidema 2020)."
    ]
    return matrix(f"Attention rollout: {_SIDES[side]}", notes, shown)
