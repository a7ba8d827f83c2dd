"""Cells: a table of numbers as coloured squares, and the labels of its rows and columns.

Squares of one colour are one path in units of cells, neighbours joined to runs, so that a matrix of
60 × 60 takes a few kilobytes; a page can put the same path into a frame of another size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from translucid.interpret.figures.colours import ramp_level
from translucid.interpret.figures.drawing import (
    SIZE,
    SMALL,
    group,
    path,
    rect,
    shorten,
    text,
    text_width,
)

Ramp = Literal["h", "d"]
Table = Sequence[Sequence[float]]
LABEL = 110  # most pixels of a label
LEAST = 13.0  # pixels a row that has a label


class Scale(NamedTuple):
    """Which values the ends of a ramp stand for."""

    ramp: Ramp
    low: float
    high: float

    def level(self, value: float) -> int:
        """Return the level of a value."""
        return ramp_level(value, self.low, self.high)


WEIGHTS = Scale("h", 0.0, 1.0)


def evenly(table: Table) -> Scale:
    """Return a scale for values of both signs: 0 in the middle, the largest at an end."""
    largest = max((abs(v) for row in table for v in row if math.isfinite(v)), default=0.0)
    return Scale("d", -largest, largest) if largest else Scale("d", -1.0, 1.0)


def upwards(table: Table) -> Scale:
    """Return a scale from 0 to the largest value."""
    largest = max((v for row in table for v in row if math.isfinite(v)), default=0.0)
    return Scale("h", 0.0, largest or 1.0)


def cell_paths(table: Table, scale: Scale) -> str:
    """Return the squares of a table, one unit each: a path a level."""
    strokes: dict[int, list[str]] = {}
    for y, row in enumerate(table):
        for x, length, level in _runs([scale.level(value) for value in row]):
            strokes.setdefault(level, []).append(f"M{x} {y}h{length}v1h-{length}z")
    return "".join(
        path("".join(parts), f"{scale.ramp}{level}") for level, parts in sorted(strokes.items())
    )


def _runs(levels: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield (start, length, level) of neighbours with the same level."""
    start = 0
    for x in range(1, len(levels) + 1):
        if x == len(levels) or levels[x] != levels[start]:
            yield start, x - start, levels[start]
            start = x


def cells(
    table: Table, scale: Scale, at: tuple[float, float], size: tuple[float, float], more: str = ""
) -> str:
    """Draw a table of squares of a size at a place, in a frame; `more` goes inside the squares."""
    rows, columns = len(table), len(table[0]) if table else 0
    x, y = at
    width, height = size
    inner = (
        f'<g class="cells" transform="translate({x:g} {y:g}) scale({width:g} {height:g})" '
        f'shape-rendering="crispEdges">{cell_paths(table, scale)}{more}</g>'
    )
    return inner + rect(x, y, columns * width, rows * height, "frame")


def future(count: int) -> str:
    """Return the squares that a causal mask forbids, in units of cells, for `cells`."""
    steps = "".join(f"M{row + 1} {row}H{count}V{row + 1}H{row + 1}z" for row in range(count - 1))
    return path(steps, "masked")


def values_in(table: Table, scale: Scale, at: tuple[float, float], size: float) -> str:
    """Write the values into the squares, in hundredths; those that round to 0 are left out."""
    letter = "k" if scale.ramp == "h" else "e"
    parts = [
        text(
            at[0] + (x + 0.5) * size,
            at[1] + (y + 0.5) * size + 3.5,
            hundredths(value),
            f"small value {letter}{scale.level(value)}",
            anchor="middle",
        )
        for y, row in enumerate(table)
        for x, value in enumerate(row)
        if abs(value) >= 0.005
    ]
    return group(parts, attributes=f'class="values" data-columns="{len(table[0])}"')


def hundredths(value: float) -> str:
    """Return a share in as few characters as two digits take.

    >>> hundredths(0.617), hundredths(0.999), hundredths(-0.5)
    ('.62', '1', '−.50')
    """
    digits = f"{abs(value):.2f}"
    said = digits.removesuffix(".00") if digits.endswith(".00") else digits.removeprefix("0")
    return ("−" if value < 0 else "") + said


def cell_size(count: int, room: float, least: float = LEAST, most: float = 30.0) -> float:
    """Return the size of a square so that `count` of them fill the room, within bounds."""
    return float(min(most, max(least, math.floor(room / max(1, count)))))


def row_labels(
    labels: Sequence[str], at: tuple[float, float], size: float, kind: str = ""
) -> list[str]:
    """Write labels to the left of rows, the first beginning at a place."""
    x, y = at
    return [
        text(
            x - 6,
            y + (row + 0.5) * size + SIZE * 0.35,
            shorten(label, LABEL),
            f"row {kind}".strip(),
            anchor="end",
        )
        for row, label in enumerate(labels)
    ]


def column_labels(labels: Sequence[str], at: tuple[float, float], size: float) -> list[str]:
    """Write labels above columns, aslant where there is room, upright where there is not."""
    x, y = at
    turn = column_turn(size)
    back = 4.0 if turn == -90 else 1.0
    return [
        text(
            x + (column + 0.5) * size + back,
            y - 6,
            shorten(label, LABEL),
            "column",
            turn=turn,
        )
        for column, label in enumerate(labels)
    ]


def column_turn(size: float) -> float:
    """Return by how much the labels of columns are turned: aslant only if lines keep apart."""
    return -45.0 if size * math.sin(math.radians(45)) >= SIZE + 2 else -90.0


def label_room(labels: Sequence[str]) -> float:
    """Return how wide the widest label is, as it is shown."""
    return max((min(LABEL, text_width(label)) for label in labels), default=0.0)


def column_room(labels: Sequence[str], size: float) -> tuple[float, float]:
    """Return how much room labels above columns take: above, and to the right of the last."""
    length = label_room(labels)
    if column_turn(size) == -90:
        return length + 8, 0.0
    return length * 0.71 + 16, max(0.0, length * 0.71 + 8 - size / 2)


def fits_values(size: float) -> bool:
    """Tell whether a value can be written into a square."""
    return size >= 2.4 * SMALL
