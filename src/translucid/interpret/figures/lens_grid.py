"""Lenses as a grid: what each layer would say at each step, if the network stopped there."""

from __future__ import annotations

import math
from collections.abc import Sequence

from translucid.interpret.figures.cells import WEIGHTS
from translucid.interpret.figures.drawing import (
    MARGIN,
    Drawing,
    colour_bar,
    heading,
    rect,
    text,
    tooltip,
)
from translucid.interpret.figures.lettering import piece_label, shortened, wrapped
from translucid.interpret.figures.softmax import spaced
from translucid.interpret.lens import EncoderReading, LensCell, LogitLens
from translucid.interpret.trace import Trace

CELL = 84
HEIGHT = 30
LABEL = 76


def logit_lens_grid(trace: Trace, lens: LogitLens) -> Drawing:
    """Return what each decoder layer would write at each step, the last layer at the top."""
    rows = [(f"layer {n}", cells) for n, cells in reversed(list(enumerate(lens.layers)))]
    note = (
        "Each decoder layer read as if it were the last: its likeliest token; the stronger the "
        "colour, the more probable; bold: what was written, which is the bottom row."
    )
    parts, width, bottom = _grid(trace, "Logit lens", note, rows)
    words = f"{len(rows)} layers by {len(trace.steps)} steps; {_when(trace, lens)}."
    return Drawing(width, bottom + MARGIN, "Logit lens", words, "".join(parts))


def decoder_lens_grid(trace: Trace, readings: Sequence[EncoderReading]) -> Drawing:
    """Return what the decoder would say reading each encoder layer in place of the last."""
    rows = [(f"layer {one.layer}", one.cells) for one in reversed(readings)]
    title = "Decoder lens"
    note = (
        "The whole decoder reading an earlier encoder layer: its likeliest token after each part "
        "of the translation. Below: what it writes when left alone."
    )
    parts, width, y = _grid(trace, title, note, rows)
    y += 28
    for one in reversed(readings):
        parts.append(text(MARGIN, y, f"layer {one.layer}", "muted"))
        value = f"log P of the translation {one.log_prob:.2f}".replace("-", "−")
        for line in wrapped(one.translation or "(nothing)", width - LABEL - 2 * MARGIN):
            parts.append(text(MARGIN + LABEL, y, line))
            y += 17
        parts.append(text(MARGIN + LABEL, y, value, "small muted"))
        y += 22
    words = "; ".join(f"layer {one.layer}: {one.translation}" for one in readings)
    return Drawing(width, y + MARGIN - 16, title, words, "".join(parts))


def _grid(
    trace: Trace, title: str, note: str, rows: Sequence[tuple[str, Sequence[LensCell]]]
) -> tuple[list[str], float, float]:
    """Draw a grid of cells; return its strokes, the width, and where it ends."""
    mark = spaced(trace)
    left = MARGIN + LABEL
    width = max(520.0, left + len(trace.steps) * CELL + MARGIN)
    parts, top = heading(title, width, [note])
    y = top + 6
    for row, (name, found) in enumerate(rows):
        base = y + row * HEIGHT + 19
        parts.append(text(left - 8, base, name, "row muted", anchor="end"))
        for column, cell in enumerate(found):
            right = cell.top[0].id == trace.steps[column].token.id
            parts.append(_cell(cell, (left + column * CELL, y + row * HEIGHT), mark, right=right))
    y += len(rows) * HEIGHT + 20
    parts.append(text(left - 8, y, "written", "row strong", anchor="end"))
    for column, step in enumerate(trace.steps):
        said = shortened(piece_label(step.token.piece, mark), CELL - 8)
        parts.append(text(left + column * CELL + 6, y, said, "strong"))
    bar, _ = colour_bar(left, y + 26, "0", "probability 1", "h")
    return [*parts, *bar], width, y + 30


def _cell(cell: LensCell, at: tuple[float, float], mark: bool, *, right: bool) -> str:
    """Draw one cell: the likeliest token on the colour of its probability."""
    best = cell.top[0]
    level = WEIGHTS.level(math.exp(best.log_prob))
    label = shortened(piece_label(best.piece, mark), CELL - 14)
    words = ", ".join(f"{token.piece} {math.exp(token.log_prob):.3f}" for token in cell.top)
    weight = " strong" if right else ""
    drawn = rect(at[0], at[1], CELL - 2, HEIGHT - 2, f"h{level}", round_by=3) + text(
        at[0] + 6, at[1] + 19, label, f"value k{level}{weight}"
    )
    return tooltip(drawn, f"{words}; the written token has rank {cell.rank}")


def _when(trace: Trace, lens: LogitLens) -> str:
    """Say from which layer on the written token is the likeliest, on average of those that are."""
    last, firsts = len(lens.layers) - 1, []
    for step in range(len(trace.steps)):
        wrong = [number for number, row in enumerate(lens.layers) if row[step].rank > 1]
        if last not in wrong:
            firsts.append(max(wrong, default=-1) + 1)
    said = f"the last one holds {len(firsts)} of the written tokens for the likeliest"
    if not firsts:
        return said
    return f"{said}, which they are from layer {sum(firsts) / len(firsts):.1f} on, on average"
