"""A dot chart: names down the side, a dot for each value, and a line to compare with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from translucid.interpret.figures.charts import bounds, ticks
from translucid.interpret.figures.drawing import (
    MARGIN,
    Drawing,
    heading,
    line,
    rect,
    text,
    tooltip,
)
from translucid.interpret.figures.lettering import text_width

ROW = 22.0
PLOT = 420.0
GAP = 8.0  # between two groups


@dataclass(frozen=True)
class Dots:
    """A name, the group that it stands in, and its values."""

    name: str
    group: str
    values: tuple[float, ...]


def dot_chart(title: str, note: str, unit: str, rows: Sequence[Dots]) -> Drawing:
    """Return rows of dots; the mean of the first row is the line that all are compared with."""
    left = MARGIN + max(text_width(f"{row.group}  {row.name}") for row in rows) + 34
    width = left + PLOT + 70
    parts, top = heading(title, width, [note])
    low, high = bounds([value for row in rows for value in row.values])

    def x(value: float) -> float:
        return left + PLOT * (value - low) / (high - low)

    bottom = top + len(rows) * ROW + _breaks(rows, len(rows)) * GAP + 6
    for mark in ticks(low, high, 5):
        parts.append(line(x(mark), top, x(mark), bottom, "frame"))
        label = f"{mark:g}".replace("-", "−")
        parts.append(text(x(mark), bottom + 16, label, "muted", anchor="middle"))
    base = sum(rows[0].values) / len(rows[0].values)
    parts.append(line(x(base), top, x(base), bottom, "mark"))
    for place, row in enumerate(rows):
        y = top + (place + 0.5) * ROW + _breaks(rows, place) * GAP
        begins = place == 0 or rows[place - 1].group != row.group
        parts += _row(row, y, x, left, show_group=begins)
    parts.append(text(left + PLOT, bottom + 34, unit, "muted", anchor="end"))
    words = "; ".join(f"{row.name}: {sum(row.values) / len(row.values):.2f}" for row in rows)
    return Drawing(width, bottom + 34 + MARGIN, title, words, "".join(parts))


def _breaks(rows: Sequence[Dots], until: int) -> int:
    """Return how many groups have begun after the first, up to a row."""
    return sum(
        rows[place].group != rows[place - 1].group for place in range(1, min(until + 1, len(rows)))
    )


def _row(
    row: Dots, y: float, x: Callable[[float], float], left: float, *, show_group: bool
) -> list[str]:
    mean = sum(row.values) / len(row.values)
    parts = [text(left - 14, y + 4, row.name, anchor="end")]
    if show_group and row.group:
        parts.append(text(MARGIN, y + 4, row.group, "strong muted"))
    if len(row.values) > 1:
        parts.append(line(x(min(row.values)), y, x(max(row.values)), y, "axis"))
    for value in row.values:
        dot = rect(x(value) - 4, y - 4, 8, 8, "f0", round_by=4)
        parts.append(tooltip(dot, f"{row.name}: {value:.2f}"))
    label = f"{mean:.1f}".replace("-", "−")
    parts.append(text(left + PLOT + 12, y + 4, label, "muted"))
    return parts
