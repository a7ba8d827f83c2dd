"""Vectors of tokens as strips of colour: embeddings with their positions, feed-forward activations.

A row is a token, a column a dimension (or several together, by the one farthest from 0).

Shapes: L tokens, D d_model, F d_ff.
"""

from __future__ import annotations

import torch
from torch import Tensor

from translucid.interpret.figures.cells import (
    cell_size,
    cells,
    evenly,
    label_room,
    row_labels,
    upwards,
)
from translucid.interpret.figures.drawing import (
    MARGIN,
    Drawing,
    colour_bar,
    heading,
    text,
)
from translucid.interpret.figures.lettering import token_labels
from translucid.interpret.figures.names import checked
from translucid.interpret.trace import Trace

DIMENSIONS = 64  # columns of one strip in the picture of embeddings
UNITS = 512  # columns of the picture of feed-forward activations


def embeddings(trace: Trace, side: str = "source") -> Drawing:
    """Return what enters a stack: embeddings × √d_model, positions, and their sum."""
    tokens = trace.source_tokens if side == "source" else trace.target_tokens
    labels = token_labels(tokens)
    left = MARGIN + label_room(labels) + 8
    size = cell_size(len(labels), 520, most=20)
    strip, gap = 3.0 * DIMENSIONS, 34.0
    width = left + 3 * strip + 2 * gap + MARGIN
    title = f"What enters the {'encoder' if side == 'source' else 'decoder'}: words and places"
    parts, top = heading(title, width, [_dimensions(trace)])
    y = top + 20
    tables = [trace.tensor(f"{side}.{name}")[:, :DIMENSIONS].tolist() for name in _PARTS]
    scale = evenly([row for table in tables for row in table])
    for number, (table, name) in enumerate(zip(tables, _PARTS.values(), strict=True)):
        x = left + number * (strip + gap)
        parts.append(text(x, y - 7, name, "strong"))
        parts.append(cells(table, scale, (x, y), (strip / len(table[0]), size)))
        if number < 2:
            middle = y + len(labels) * size / 2 + 6
            parts.append(text(x + strip + gap / 2, middle, "+="[number], "head", anchor="middle"))
    parts += row_labels(labels, (left, y), size)
    bar_y = y + len(labels) * size + 24
    bar, _ = colour_bar(left, bar_y, _said(scale.low), _said(scale.high), "d")
    words = f"{len(labels)} tokens; values from {scale.low:.2f} to {scale.high:.2f}."
    return Drawing(width, bar_y + MARGIN, title, words, "".join([*parts, *bar]))


_PARTS = {"embedding": "embedding × √d_model", "positions": "positions", "sum": "sum"}


def _dimensions(trace: Trace) -> str:
    shown = min(DIMENSIONS, trace.model.d_model)
    return (
        f"Each row is a token, each column one of the first {shown} of {trace.model.d_model} "
        "dimensions."
    )


def _said(value: float) -> str:
    return f"{value:.2g}".replace("-", "−")


def feed_forward(trace: Trace, stack: str, layer: int) -> Drawing:
    """Return the inner activations of a feed-forward layer: which units each token sets off."""
    layers = trace.model.encoder_layers if stack == "encoder" else trace.model.decoder_layers
    checked("layer", layer, layers, stack)
    inner_LF = trace.tensor(f"{stack}.{layer}.feed_forward.inner")
    tokens = trace.source_tokens if stack == "encoder" else trace.target_tokens
    labels = token_labels(tokens)
    table_LU, together = _pooled(inner_LF)
    left = MARGIN + label_room(labels) + 8
    across = max(1.0, float(UNITS // table_LU.size(1)))
    size = cell_size(len(labels), 520, most=20)
    width = left + table_LU.size(1) * across + 90 + MARGIN
    active_L = (inner_LF > 0).float().mean(dim=1).tolist()
    title = f"Feed-forward of the {stack}, layer {layer}: inner activations"
    each = f"the strongest of {together} units" if together > 1 else "one unit"
    note = f"{inner_LF.size(1)} units; each column is {each}. Right: share of units above 0."
    parts, top = heading(title, width, [note])
    y = top + 10
    table = table_LU.tolist()
    scale = upwards(table) if float(inner_LF.min()) >= 0 else evenly(table)
    parts.append(cells(table, scale, (left, y), (across, size)))
    parts += row_labels(labels, (left, y), size)
    x = left + table_LU.size(1) * across + 56
    for row, share in enumerate(active_L):
        parts.append(text(x, y + (row + 0.5) * size + 4, f"{share:.0%}", "muted", anchor="end"))
    bar_y = y + len(labels) * size + 24
    bar, _ = colour_bar(left, bar_y, _said(scale.low), _said(scale.high), scale.ramp)
    mean = sum(active_L) / len(active_L)
    words = f"{len(labels)} tokens by {inner_LF.size(1)} units; on average {mean:.0%} are above 0."
    return Drawing(width, bar_y + MARGIN, title, words, "".join([*parts, *bar]))


def _pooled(inner_LF: Tensor) -> tuple[Tensor, int]:
    """Put neighbours together by the one that is farthest from 0, so that all fit the picture."""
    units = inner_LF.size(1)
    together = -(-units // UNITS)
    padding = torch.zeros(inner_LF.size(0), -units % together)
    groups_LUG = torch.cat([inner_LF, padding], dim=1).view(len(inner_LF), -1, together)
    strongest_LU1 = groups_LUG.abs().argmax(dim=-1, keepdim=True)
    return groups_LUG.gather(-1, strongest_LU1).squeeze(-1), together
