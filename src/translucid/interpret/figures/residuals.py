"""The residual stream: how long its vectors are after every sublayer, and what each one changes.

The upper chart has the length ‖x‖ of the vectors after each Add & Norm: the mean over tokens, and
the band from the shortest to the longest. The lower one has the length of what the sublayer adds,
beside that of what it is added to.

Shapes: L positions, D d_model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from translucid.interpret.figures.charts import Area, bounds, value_axis
from translucid.interpret.figures.drawing import (
    MARGIN,
    Drawing,
    heading,
    line,
    number,
    path,
    rect,
    text,
)
from translucid.interpret.figures.lettering import text_width
from translucid.interpret.trace import Trace

PLACE = 26  # pixels a sublayer
HEIGHT = 130


@dataclass(frozen=True)
class Sublayer:
    """One sublayer: its name, the lengths after it, and how much it added for each token."""

    stack: str
    layer: int
    name: str
    lengths: list[float]
    added: list[float]


_NAMES = {
    "self_attention": "self-attention",
    "cross_attention": "cross-attention",
    "feed_forward": "feed-forward",
}
_COLOURS = {"self_attention": 0, "cross_attention": 1, "feed_forward": 2}


def sublayers(trace: Trace) -> list[Sublayer]:
    """Return all sublayers in the order of the network; the trace must be a full one."""
    found = []
    for stack, kinds, layers in (
        ("encoder", ("self_attention", "feed_forward"), trace.model.encoder_layers),
        (
            "decoder",
            ("self_attention", "cross_attention", "feed_forward"),
            trace.model.decoder_layers,
        ),
    ):
        for layer in range(layers):
            for kind in kinds:
                stem = f"{stack}.{layer}.{kind}"
                before = trace.tensor(f"{stem}.residual_before").norm(dim=-1)
                output = trace.tensor(f"{stem}.output").norm(dim=-1)
                after = trace.tensor(f"{stem}.residual_after").norm(dim=-1)
                found.append(Sublayer(stack, layer, kind, after.tolist(), _ratio(output, before)))
    return found


def _ratio(output_L: Tensor, before_L: Tensor) -> list[float]:
    ratio: list[float] = (output_L / before_L.clamp(min=1e-9)).tolist()
    return ratio


def residual_norms(trace: Trace) -> Drawing:
    """Return the lengths of the residual stream through both stacks."""
    found = sublayers(trace)
    left = MARGIN + 52.0
    width = max(560.0, left + len(found) * PLACE + MARGIN + 20)
    title = "Residual stream"
    parts, top = heading(
        title,
        width,
        [
            "Each mark is a sublayer: the mean over tokens, and a bar from the least to the "
            f"greatest. LayerNorm stands {_where(trace)}."
        ],
    )
    legend, y = _legend(top)
    parts += legend
    for name, values in (
        ("length ‖x‖ after Add & Norm", [one.lengths for one in found]),
        ("length of what a sublayer adds, over ‖x‖ before it", [one.added for one in found]),
    ):
        parts.append(text(left, y + 12, name, "strong"))
        parts += _chart(found, values, left, y + 22)
        y += 22 + HEIGHT + 18
    parts += _layers(found, left, y)
    words = f"{len(found)} sublayers; {_told(found[0])}; {_told(found[-1])}."
    return Drawing(width, y + 34 + MARGIN, title, words, "".join(parts))


def _chart(
    found: Sequence[Sublayer], values: Sequence[list[float]], left: float, top: float
) -> list[str]:
    """Draw a range for each sublayer, and a line where the decoder begins."""
    high = bounds([0.0, *(value for place in values for value in place)])[1]
    right, count = left + len(found) * PLACE, len(found) + 1
    area = Area(left, top, right, top + HEIGHT, 0.0, high, count)
    parts = value_axis(area)
    for place, (one, lengths) in enumerate(zip(found, values, strict=True)):
        parts += _range(area, place, lengths, _COLOURS[one.name])
    first = next(place for place, one in enumerate(found) if one.stack == "decoder")
    return [*parts, line(area.x(first), area.top, area.x(first), area.bottom + 6, "gone")]


def _where(trace: Trace) -> str:
    return (
        "after the sum (post-norm), so the length says little there"
        if trace.model.norm == "post"
        else "inside each sublayer (pre-norm), so the stream grows"
    )


def _told(one: Sublayer) -> str:
    mean = sum(one.lengths) / len(one.lengths)
    return f"after {one.stack} {one.layer} {_NAMES[one.name]} the mean length is {mean:.2f}"


def _legend(top: float) -> tuple[list[str], float]:
    parts, x, y = [], float(MARGIN), top + 8
    for kind, name in _NAMES.items():
        parts.append(rect(x, y - 9, 10, 10, f"f{_COLOURS[kind]}"))
        parts.append(text(x + 15, y, name, "muted"))
        x += 15 + text_width(name) + 22
    return parts, y + 14


def _range(area: Area, place: int, lengths: Sequence[float], colour: int) -> list[str]:
    """Draw the range of one sublayer and its mean."""
    x = area.x(place + 0.5)
    mean = sum(lengths) / len(lengths)
    high, low = area.y(max(lengths)), area.y(min(lengths))
    dot = f"M{number(x - 4)} {number(area.y(mean))}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"
    return [
        path(f"M{number(x)} {number(high)}V{number(low)}", f"s{colour}"),
        path(dot, f"f{colour}"),
    ]


def _layers(found: Sequence[Sublayer], left: float, y: float) -> list[str]:
    """Write which layer and stack the sublayers belong to."""
    parts = []
    for stack in ("encoder", "decoder"):
        members = [place for place, one in enumerate(found) if one.stack == stack]
        middle = left + (members[0] + members[-1] + 1) / 2 * PLACE
        parts.append(text(middle, y + 22, stack, "strong", anchor="middle"))
        for layer in sorted({found[place].layer for place in members}):
            inside = [place for place in members if found[place].layer == layer]
            x = left + (inside[0] + inside[-1] + 1) / 2 * PLACE
            parts.append(text(x, y + 4, f"layer {layer}", "muted small", anchor="middle"))
    return parts
