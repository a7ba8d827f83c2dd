"""Positions: the encoding as a heat map, single dimensions as curves, and who is like whom.

Sinusoids are computed (section 3.5), so they are drawn for more positions than a sentence has;
learned vectors are taken from a full trace. Rotary positions turn queries and keys: drawn are the
sines and cosines they turn by. Relative positions add a bias to scores: drawn is the bias by
distance, a curve a head.

Shapes: L positions, D d_model, H heads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from translucid.errors import InputError
from translucid.interpret.figures.cells import Scale, cells, evenly
from translucid.interpret.figures.charts import (
    Area,
    apart,
    bounds,
    curve,
    ticks,
    value_axis,
)
from translucid.interpret.figures.colours import LIGHT
from translucid.interpret.figures.drawing import (
    MARGIN,
    SIZE,
    Drawing,
    colour_bar,
    heading,
    number,
    text,
)
from translucid.interpret.trace import Trace
from translucid.model.positional import sinusoids

SHOWN = 48  # positions, where they can be computed
WIDTH = 780
SHARES = (0, 0.06, 0.12, 0.25, 0.5, 0.9)  # of the dimensions: those drawn as curves


def position_table(trace: Trace) -> tuple[Tensor, str]:
    """Return the encodings of positions (L, D), and what they are."""
    kind, config = trace.model.positions, trace.model
    if kind.startswith("sinusoidal"):
        length = max(SHOWN, len(trace.source_tokens), len(trace.target_tokens))
        return sinusoids(0, length, config.d_model, kind).float(), f"{kind}, added to embeddings"
    if kind == "learned":
        return trace.tensor("source.positions"), "learned, added to the source's embeddings"
    if kind == "rotary":
        turns = sinusoids(0, SHOWN, config.d_k, "sinusoidal-halves").float()
        return turns, "rotary: sines and cosines that queries and keys are turned by"
    raise InputError(
        f"this network has {kind} positions, and so no encoding of positions to draw"
        + (
            ": the panel position-curves shows its bias by distance"
            if kind == "relative"
            else ": sinusoidal, learned and rotary ones have one"
        )
    )


def position_heat(trace: Trace) -> Drawing:
    """Return the encodings as a heat map: one row per position, one column per dimension."""
    table_LD, about = position_table(trace)
    positions, dimensions = table_LD.shape
    left = MARGIN + 44.0
    across = (WIDTH - left - MARGIN) / dimensions
    down = max(4.0, min(8.0, 420 / positions))
    title = "Positional encoding"
    parts, top = heading(
        title, WIDTH, [f"{_begun(about)}. A row is a position, a column a dimension."]
    )
    y = top + 26
    table = table_LD.tolist()
    scale = evenly(table)
    parts.append(cells(table, scale, (left, y), (across, down)))
    parts.append(text(left, y - 20, "dimension →", "muted"))
    for place in _round(dimensions):
        middle = left + (place + 0.5) * across
        parts.append(text(middle, y - 5, f"{place}", "muted small", anchor="middle"))
    for place in _round(positions):
        base = y + (place + 0.5) * down + SIZE * 0.35
        parts.append(text(left - 6, base, f"{place}", "muted small", anchor="end"))
    middle = y + positions * down / 2
    parts.append(text(MARGIN + 8, middle, "← position", "muted", anchor="middle", turn=-90))
    bar_y = y + positions * down + 22
    bar, _ = colour_bar(left, bar_y, _signed(scale.low), _signed(scale.high), "d")
    words = (
        f"{positions} positions by {dimensions} dimensions, from {scale.low:g} to {scale.high:g}."
    )
    return Drawing(WIDTH, bar_y + MARGIN, title, words, "".join([*parts, *bar]))


def _round(count: int) -> list[int]:
    """Return round numbers below a count, for the places of an axis."""
    return [int(place) for place in ticks(0, count - 1, 8) if place < count]


def _begun(words: str) -> str:
    return words[0].upper() + words[1:]


def _signed(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def position_curves(trace: Trace, dimensions: Sequence[int] | None = None) -> Drawing:
    """Return single dimensions of the encoding as curves over positions.

    Of relative positions, which have no encoding, the bias of each head by distance.
    """
    if trace.model.positions == "relative":
        return _bias_curves(trace)
    table_LD, about = position_table(trace)
    last = table_LD.size(1) - 1
    chosen = dimensions or sorted({round(last * share) for share in SHARES})
    if wrong := [one for one in chosen if not 0 <= one <= last]:
        raise InputError(f"dimension {wrong[0]} does not exist: they are 0 to {last}")
    lines = [(f"dim {one}", table_LD[:, one].tolist()) for one in chosen]
    title = "Positional encoding: single dimensions"
    note = f"{_begun(about)}. {_speeds(trace.model.positions)}".strip()
    return _curves(title, note, "position", lines, first=0)


def _speeds(kind: str) -> str:
    """Say which dimensions turn fast; of learned ones, this is not known."""
    if kind == "learned":
        return ""
    turn = "low dimensions turn fast and tell neighbours apart, high ones slowly."
    return _begun(turn) if kind == "sinusoidal" else f"First sines, then cosines; of both, {turn}"


def _bias_curves(trace: Trace) -> Drawing:
    """Draw the bias that relative positions add to scores, by distance."""
    mask_HSS = trace.tensor("encoder.0.self_attention.mask")
    length = mask_HSS.size(-1)
    lines = []
    for head, bias_SS in enumerate(mask_HSS):
        by_distance = [
            float(torch.diagonal(bias_SS, offset)[0]) for offset in range(1 - length, length)
        ]
        lines.append((f"head {head + 1}", by_distance))
    note = "Added to the encoder's scores; the distance is that from query to key, in tokens."
    return _curves("Relative positions: bias by distance", note, "distance", lines, 1 - length)


def _curves(
    title: str, note: str, axis: str, lines: Sequence[tuple[str, list[float]]], first: int
) -> Drawing:
    """Draw curves with their names at the right end."""
    parts, top = heading(title, WIDTH, [note])
    every = [value for _, values in lines for value in values]
    count = len(lines[0][1])
    area = Area(MARGIN + 44, top + 8, WIDTH - MARGIN - 70, top + 238, *bounds(every), count)
    parts += value_axis(area)
    for place in ticks(first, first + count - 1, 8):
        if first <= place <= first + count - 1:
            label = number(place).replace("-", "−")
            parts.append(
                text(area.x(place - first), area.bottom + 17, label, "muted", anchor="middle")
            )
    ends = apart([area.y(values[-1]) for _, values in lines], SIZE + 2)
    for order, ((name, values), y) in enumerate(zip(lines, ends, strict=True)):
        colour = order % len(LIGHT.series)
        parts.append(curve(area, values, f"s{colour}"))
        parts.append(text(area.right + 8, y + SIZE * 0.35, name, f"t{colour}"))
    middle = (area.left + area.right) / 2
    parts.append(text(middle, area.bottom + 36, axis, "muted", anchor="middle"))
    words = f"{len(lines)} curves over {count} places: {', '.join(name for name, _ in lines)}."
    return Drawing(WIDTH, area.bottom + 36 + MARGIN, title, words, "".join(parts))


def position_similarity(trace: Trace) -> Drawing:
    """Return how alike the encodings of any two positions are: the cosine of their angle."""
    table_LD, about = position_table(trace)
    unit_LD = torch.nn.functional.normalize(table_LD, dim=-1)
    table = (unit_LD @ unit_LD.T).tolist()
    count = len(table)
    size = max(4.0, min(10.0, float(420 // count)))
    left = MARGIN + 44.0
    width = max(460.0, left + count * size + MARGIN)
    title = "Similarity of positions"
    parts, top = heading(
        title, width, [f"Cosine of the encodings of two positions ({about}). 1: the same."]
    )
    y = top + 14
    low = math.floor(10 * min(map(min, table))) / 10
    scale = Scale("h", low, 1.0)
    parts.append(cells(table, scale, (left, y), (size, size)))
    for place in _round(count):
        at = (place + 0.5) * size
        parts.append(text(left + at, y - 5, f"{place}", "muted small", anchor="middle"))
        parts.append(text(left - 6, y + at + 3.5, f"{place}", "muted small", anchor="end"))
    bar_y = y + count * size + 22
    bar, _ = colour_bar(left, bar_y, _signed(low), "1", "h")
    words = (
        f"{count} × {count} cosines; neighbours {table[0][1]:.2f}, first and last "
        f"{table[0][-1]:.2f}."
    )
    return Drawing(width, bar_y + MARGIN, title, words, "".join([*parts, *bar]))
