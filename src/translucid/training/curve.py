"""The learning curves of a run as a picture: loss above, learning rate below, one axis of steps.

The SVG is written by hand, so that drawing needs no package. Its colours are readable on white and
on black, and it has no background.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT = 72, 740  # of both panels
MOST_POINTS = 240  # of a line; more are put together by their mean

_TRAINING, _DEV, _RATE = "#3b82c4", "#c2691c", "#4d9a5f"
_STYLE = """\
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #7a7a7a; }
.title { font-weight: 600; }
.grid { stroke: #7a7a7a; stroke-opacity: .25; }
.axis { stroke: #7a7a7a; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }"""


class Point(NamedTuple):
    """A value after a step."""

    step: int
    value: float


@dataclass(frozen=True)
class Curves:
    """What is drawn: losses without label smoothing, in nats per token, and the learning rate."""

    training: Sequence[Point]
    dev: Sequence[Point]
    learning_rate: Sequence[Point]


class Panel(NamedTuple):
    """A part of the picture: where it is, and the range of steps and values that it shows."""

    top: float
    bottom: float
    last_step: int
    low: float
    high: float

    def x(self, step: float) -> float:
        """Return the horizontal place of a step."""
        return LEFT + (RIGHT - LEFT) * step / self.last_step

    def y(self, value: float) -> float:
        """Return the vertical place of a value; what lies beyond is drawn at the edge."""
        share = (min(value, self.high) - self.low) / (self.high - self.low)
        return self.bottom - (self.bottom - self.top) * share


def curve_svg(curves: Curves, title: str) -> str:
    """Return the picture as the text of an SVG file."""
    every = [*curves.training, *curves.dev, *curves.learning_rate]
    last_step = max((point.step for point in every), default=1)
    loss = _panel(52, 276, last_step, [*curves.training, *curves.dev])
    rate = _panel(318, 386, last_step, curves.learning_rate)
    parts = [
        f'<text class="title" x="{LEFT}" y="20">{escape(title)}</text>',
        *_legend(curves),
        *_frame(loss, "loss (nats per token)", steps=False),
        *_line(loss, thin(curves.training), _TRAINING),
        *_line(loss, curves.dev, _DEV),
        *_lowest(loss, curves.dev),
        *_frame(rate, "learning rate", steps=True),
        *_line(rate, thin(curves.learning_rate), _RATE),
        f'<text x="{(LEFT + RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">step</text>',
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(_describe(curves))}</desc>",
            f"<style>{_STYLE}</style>",
            *parts,
            "</svg>\n",
        ]
    )


def thin(points: Sequence[Point]) -> list[Point]:
    """Return at most `MOST_POINTS` points: neighbours are put together by their mean."""
    size = math.ceil(len(points) / MOST_POINTS)
    groups = [points[begin : begin + size] for begin in range(0, len(points), max(1, size))]
    return [
        Point(group[-1].step, sum(point.value for point in group) / len(group)) for group in groups
    ]


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers from `low` to beyond `high`, about `most` of them at most.

    >>> ticks(0, 7.2, 5)
    [0, 2, 4, 6, 8]
    """
    wide = (high - low) / most
    power = 10.0 ** math.floor(math.log10(wide))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= wide * 0.999)
    first = math.floor(low / step)
    last = math.ceil(high / step - 1e-9)
    return [float(f"{number * step:.10g}") for number in range(first, last + 1)]


def _panel(top: float, bottom: float, last_step: int, points: Sequence[Point]) -> Panel:
    values = [point.value for point in points if math.isfinite(point.value)]
    marks = ticks(0.0, max(values, default=1.0) or 1.0, 5)
    return Panel(top, bottom, max(1, last_step), marks[0], marks[-1])


def _frame(panel: Panel, name: str, *, steps: bool) -> Iterator[str]:
    """Draw the axes of a panel with their numbers; those of steps only where they are wanted."""
    count = 5 if panel.bottom - panel.top > 100 else 2
    for value in ticks(panel.low, panel.high, count):
        if value > panel.high:
            continue
        y = panel.y(value)
        yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
    for step in ticks(0, panel.last_step, 8):
        if step > panel.last_step:
            continue
        x = panel.x(step)
        yield f'<line class="grid" x1="{x:.1f}" y1="{panel.top}" x2="{x:.1f}" y2="{panel.bottom}"/>'
        if steps:
            yield (
                f'<text x="{x:.1f}" y="{panel.bottom + 18}" text-anchor="middle">{step:,.0f}</text>'
            )
    yield (
        f'<path class="axis" fill="none" d="M{LEFT} {panel.top}V{panel.bottom}H{RIGHT}"/>'
        f'<text x="{LEFT}" y="{panel.top - 8}">{name}</text>'
    )


def _line(panel: Panel, points: Sequence[Point], colour: str) -> Iterator[str]:
    sound = [point for point in points if math.isfinite(point.value)]
    if sound:
        places = " ".join(f"{panel.x(p.step):.1f},{panel.y(p.value):.1f}" for p in sound)
        yield f'<polyline class="line" stroke="{colour}" points="{places}"/>'


def _lowest(panel: Panel, dev: Sequence[Point]) -> Iterator[str]:
    """Mark the validations, and the best of them with its value."""
    for point in dev:
        x, y = panel.x(point.step), panel.y(point.value)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{_DEV}"/>'
    if dev:
        best = min(dev, key=lambda point: point.value)
        x, y = panel.x(best.step), panel.y(best.value)
        side = "end" if x > (LEFT + RIGHT) / 2 else "start"
        yield (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="none" stroke="{_DEV}"/>'
            f'<text x="{x:.1f}" y="{y - 12:.1f}" text-anchor="{side}" style="fill:{_DEV}">'
            f"{best.value:.3f}</text>"
        )


def _legend(curves: Curves) -> Iterator[str]:
    x = RIGHT
    for name, colour, points in (
        ("dev", _DEV, curves.dev),
        ("training", _TRAINING, curves.training),
    ):
        if points:
            yield f'<text x="{x}" y="44" text-anchor="end">{name}</text>'
            x -= 7 * len(name) + 8
            yield f'<path d="M{x - 18} 40H{x}" stroke="{colour}" stroke-width="3"/>'
            x -= 36


def _describe(curves: Curves) -> str:
    """Say what the picture shows, for those who cannot see it."""
    said = []
    for name, points in (("training loss", curves.training), ("dev loss", curves.dev)):
        if points:
            first, last = points[0], points[-1]
            said.append(
                f"{name} from {first.value:.3f} at step {first.step:,} "
                f"to {last.value:.3f} at step {last.step:,}"
            )
    return "; ".join(said) or "nothing was trained"
