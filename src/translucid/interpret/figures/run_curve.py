"""The course of a training run: loss above, learning rate below, one axis of steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from translucid.errors import InputError
from translucid.interpret.figures.charts import Area, bounds, ticks, value_axis
from translucid.interpret.figures.drawing import (
    MARGIN,
    Drawing,
    heading,
    number,
    path,
    text,
)

Points = Sequence[tuple[int, float]]
WIDTH = 760.0
LEFT = MARGIN + 58.0
MOST_POINTS = 240  # of a line; more are put together by their mean


@dataclass(frozen=True)
class Course:
    """What a run was: losses in nats a token, without label smoothing, and the learning rate."""

    name: str
    training: Points
    dev: Points
    rate: Points


def run_curve(course: Course) -> Drawing:
    """Return the losses and the learning rate of a run."""
    every = [*course.training, *course.dev, *course.rate]
    if not every:
        raise InputError(f"{course.name} has no metrics yet: nothing was trained")
    last = max(step for step, _ in every)
    title = f"Loss and learning rate of {course.name}"
    note = "Loss in nats a token, without label smoothing; dots: the dev set, the best encircled."
    parts, top = heading(title, WIDTH, [note])
    losses = [value for _, value in (*course.training, *course.dev) if math.isfinite(value)]
    loss = Area(LEFT, top + 22, WIDTH - MARGIN - 4, top + 242, *_from_zero(losses), last + 1)
    rates = [value for _, value in course.rate]
    rate = Area(LEFT, loss.bottom + 40, loss.right, loss.bottom + 120, *_from_zero(rates), last + 1)
    parts += [text(LEFT, top + 12, "training", "t0"), text(LEFT + 66, top + 12, "dev", "t1")]
    parts += value_axis(loss)
    parts += value_axis(rate, "{:.3g}".format)
    parts.append(text(LEFT, rate.top - 10, "learning rate", "t2"))
    parts += [
        _line(loss, thinned(course.training), "s0"),
        _line(loss, course.dev, "s1"),
        _line(rate, thinned(course.rate), "s2"),
        *_best(loss, course.dev),
    ]
    for step in ticks(0, last, 8):
        if step <= last:
            at = rate.x(step)
            parts.append(text(at, rate.bottom + 17, f"{step:,.0f}", "muted", anchor="middle"))
    middle = (rate.left + rate.right) / 2
    parts.append(text(middle, rate.bottom + 36, "step", "muted", anchor="middle"))
    return Drawing(WIDTH, rate.bottom + 36 + MARGIN, title, _in_words(course), "".join(parts))


def _from_zero(values: Sequence[float]) -> tuple[float, float]:
    return 0.0, bounds([0.0, *values])[1] if any(values) else 1.0


def thinned(points: Points) -> list[tuple[int, float]]:
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


def _in_words(course: Course) -> str:
    said = []
    for name, points in (("training loss", course.training), ("dev loss", course.dev)):
        if points:
            (first, high), (last, low) = points[0], points[-1]
            said.append(f"{name} from {high:.3f} at step {first:,} to {low:.3f} at step {last:,}")
    return "; ".join(said) + "."
