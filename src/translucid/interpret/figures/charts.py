"""Charts: axes, lines and dots; the curves of a training run; what a study found."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from translucid.events import Trained, Validated
from translucid.interpret.figures.drawing import (
    MARGIN,
    SIZE,
    Drawing,
    heading,
    line,
    number,
    path,
    rect,
    text,
    text_width,
    tooltip,
)


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
    """Return round numbers that span `low` to `high`, about this many at most.

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
    """Draw a line through values, one per place."""
    points = " ".join(
        f"{number(area.x(place))},{number(area.y(value))}" for place, value in enumerate(values)
    )
    return f'<polyline class="{kind}" points="{points}"/>'


def bounds(values: Sequence[float], most: int = 5) -> tuple[float, float]:
    """Return round numbers below and above all values."""
    marks = ticks(min(values), max(values), most)
    return marks[0], marks[-1]


def apart(places: Sequence[float], least: float) -> list[float]:
    """Return places moved so that neighbours are at least this far apart, in their order."""
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = list(places)
    for before, after in itertools.pairwise(order):
        moved[after] = max(moved[after], moved[before] + least)
    excess = moved[order[-1]] - places[order[-1]] if order else 0.0
    return [place - excess / 2 for place in moved]


Points = Sequence[tuple[int, float]]
WIDTH = 760.0
LEFT = MARGIN + 58.0
MOST_POINTS = 240  # of a line; more are put together by their mean


@dataclass(frozen=True)
class LearningCurves:
    """The losses of a run in nats per token, without label smoothing, and its learning rate."""

    name: str
    training: Points
    dev: Points
    learning_rate: Points

    @classmethod
    def from_events(cls, name: str, events: Iterable[object]) -> LearningCurves:
        """Return the curves that the events of a run's metrics give."""
        known = list(events)
        trained = [event for event in known if isinstance(event, Trained)]
        return cls(
            name,
            training=[(event.step, math.log(event.perplexity)) for event in trained],
            dev=[(event.step, event.loss) for event in known if isinstance(event, Validated)],
            learning_rate=[(event.step, event.learning_rate) for event in trained],
        )


def draw_learning_curves(curves: LearningCurves) -> Drawing:
    """Draw the losses and the learning rate of a run."""
    every = [*curves.training, *curves.dev, *curves.learning_rate]
    last = max((step for step, _ in every), default=1)
    title = f"Loss and learning rate of {curves.name}"
    note = "Loss in nats per token, without label smoothing; dots: the dev set, the best encircled."
    parts, top = heading(title, WIDTH, [note])
    losses = [value for _, value in (*curves.training, *curves.dev) if math.isfinite(value)]
    loss = Area(LEFT, top + 22, WIDTH - MARGIN - 4, top + 242, *_from_zero(losses), last + 1)
    rates = [value for _, value in curves.learning_rate]
    rate = Area(LEFT, loss.bottom + 40, loss.right, loss.bottom + 120, *_from_zero(rates), last + 1)
    parts += [text(LEFT, top + 12, "training", "t0"), text(LEFT + 66, top + 12, "dev", "t1")]
    parts += value_axis(loss)
    parts += value_axis(rate, "{:.3g}".format)
    parts.append(text(LEFT, rate.top - 10, "learning rate", "t2"))
    parts += [
        _line(loss, thin(curves.training), "s0"),
        _line(loss, curves.dev, "s1"),
        _line(rate, thin(curves.learning_rate), "s2"),
        *_best(loss, curves.dev),
    ]
    for step in ticks(0, last, 8):
        if step <= last:
            at = rate.x(step)
            parts.append(text(at, rate.bottom + 17, f"{step:,.0f}", "muted", anchor="middle"))
    middle = (rate.left + rate.right) / 2
    parts.append(text(middle, rate.bottom + 36, "step", "muted", anchor="middle"))
    return Drawing(WIDTH, rate.bottom + 36 + MARGIN, title, _describe(curves), "".join(parts))


def _from_zero(values: Sequence[float]) -> tuple[float, float]:
    return 0.0, bounds([0.0, *values])[1] if any(values) else 1.0


def thin(points: Points) -> list[tuple[int, float]]:
    """Return at most `MOST_POINTS` points: neighbours are put together by their mean."""
    size = max(1, -(-len(points) // MOST_POINTS))
    groups = [points[begin : begin + size] for begin in range(0, len(points), size)]
    return [(group[-1][0], sum(value for _, value in group) / len(group)) for group in groups]


def _line(area: Area, points: Points, kind: str) -> str:
    sound = [point for point in points if math.isfinite(point[1])]
    places = " ".join(f"{number(area.x(step))},{number(area.y(value))}" for step, value in sound)
    return f'<polyline class="{kind}" points="{places}"/>' if sound else ""


def _dot(x: float, y: float, size: float, kind: str) -> str:
    r = number(size)
    circle = f"a{r} {r} 0 1 0 {number(2 * size)} 0a{r} {r} 0 1 0 {number(-2 * size)} 0z"
    return path(f"M{number(x - size)} {number(y)}{circle}", kind)


def _best(area: Area, dev: Points) -> list[str]:
    """Mark the validations, and the best of them with its value; a loss of NaN has no place."""
    dev = [point for point in dev if math.isfinite(point[1])]
    parts = [_dot(area.x(step), area.y(value), 2.5, "f1") for step, value in dev]
    if dev:
        step, value = min(dev, key=lambda point: point[1])
        x, y = area.x(step), area.y(value)
        side = "end" if x > (area.left + area.right) / 2 else "start"
        parts.append(_dot(x, y, 6, "s1"))
        parts.append(text(x, y - 12, f"{value:.3f} at step {step:,}", "t1", anchor=side))
    return parts


def _describe(curves: LearningCurves) -> str:
    said = []
    for name, points in (("training loss", curves.training), ("dev loss", curves.dev)):
        if points:
            (first, high), (last, low) = points[0], points[-1]
            said.append(f"{name} from {high:.3f} at step {first:,} to {low:.3f} at step {last:,}")
    return "; ".join(said or ["nothing was trained"]) + "."


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
