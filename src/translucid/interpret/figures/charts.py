"""Charts: lines over an axis of numbers or of names, with round ticks and direct labels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from translucid.interpret.figures.drawing import line, number, path, text
from translucid.interpret.figures.lettering import SIZE


@dataclass(frozen=True)
class Area:
    """A rectangle of a picture, and the range of values that its height stands for."""

    left: float
    top: float
    right: float
    bottom: float
    low: float
    high: float
    count: int  # places along the x axis

    def x(self, place: float) -> float:
        """Return where a place of the x axis is, counted from 0."""
        return self.left + (self.right - self.left) * place / max(1, self.count - 1)

    def y(self, value: float) -> float:
        """Return where a value is; what lies beyond is drawn at the edge."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.bottom - (self.bottom - self.top) * share


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers that span `low` to `high`, about so many at most.

    >>> ticks(0, 7.2, 5)
    [0.0, 2.0, 4.0, 6.0, 8.0]
    """
    wide = (high - low) / most if high > low else 1.0
    power = 10.0 ** math.floor(math.log10(wide))
    step = next(power * f for f in (1, 2, 5, 10) if power * f >= wide * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{place * step:.10g}") for place in range(first, max(last, first + 1) + 1)]


def value_axis(area: Area, said: Callable[[float], str] = "{:g}".format) -> list[str]:
    """Draw the lines of round values with their numbers, and the axis itself."""
    parts = []
    for value in ticks(area.low, area.high, 5 if area.bottom - area.top > 110 else 3):
        if area.low - 1e-9 <= value <= area.high + 1e-9:
            y = area.y(value)
            parts.append(line(area.left, y, area.right, y, "frame"))
            label = said(value).replace("-", "−")
            parts.append(text(area.left - 8, y + SIZE * 0.35, label, "muted", anchor="end"))
    corner = f"M{number(area.left)} {number(area.top)}V{number(area.bottom)}H{number(area.right)}"
    return [*parts, path(corner, "axis")]


def curve(area: Area, values: Sequence[float], kind: str) -> str:
    """Draw a line through values, one a place."""
    points = " ".join(
        f"{number(area.x(place))},{number(area.y(value))}" for place, value in enumerate(values)
    )
    return f'<polyline class="{kind}" points="{points}"/>'


def bounds(values: Sequence[float], most: int = 5) -> tuple[float, float]:
    """Return round numbers below and above all values."""
    marks = ticks(min(values), max(values), most)
    return marks[0], marks[-1]


def apart(places: Sequence[float], least: float) -> list[float]:
    """Return places moved so that neighbours are at least so far apart, in their order."""
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = list(places)
    for before, after in itertools.pairwise(order):
        moved[after] = max(moved[after], moved[before] + least)
    excess = moved[order[-1]] - places[order[-1]] if order else 0.0
    return [place - excess / 2 for place in moved]
