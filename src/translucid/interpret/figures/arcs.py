"""Attention as lines between two columns of tokens: the thicker, the more attention."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from translucid.interpret.figures.colours import LIGHT
from translucid.interpret.figures.drawing import (
    MARGIN,
    SIZE,
    Drawing,
    heading,
    number,
    path,
    rect,
    shorten,
    text,
    text_width,
    token_labels,
)
from translucid.interpret.figures.matrix import (
    ATTENTIONS,
    check_head,
    check_layer,
    checked,
    head_name,
    key_tokens,
    query_tokens,
)
from translucid.interpret.trace import Side, Trace

ROW = 20  # pixels a token
BETWEEN = 260  # pixels that the lines cross
LABEL = 130
FAINTEST = 0.02  # less attention than this is not drawn; of all heads together:
FAINTEST_OF_ALL = 0.1


def arcs(
    trace: Trace, side: Side, layer: int, head: int | None = None, token: int | None = None
) -> Drawing:
    """Return the attention of a head, or of all heads of a layer in colours, as lines.

    With `token`, only the lines of this row of the attention are drawn.
    """
    check_layer(trace, side, layer)
    weights_HLM = trace.attention(side, layer)
    heads = range(trace.model.heads) if head is None else [check_head(trace, head)]
    looking = token_labels(query_tokens(trace, side))
    seen = token_labels(key_tokens(trace, side))
    width = 2 * MARGIN + 2 * LABEL + BETWEEN
    every = f"{ATTENTIONS[side]}, layer {layer + 1}, all heads"
    title = every if head is None else head_name(side, layer, head)
    parts, top = heading(title, width, ["Left looks at right; the thicker a line, the more."])
    if head is None:
        legend, top = _legend(heads, width, top)
        parts += legend
    left, right = MARGIN + LABEL, MARGIN + LABEL + BETWEEN
    rows = max(len(looking), len(seen))
    starts = _places(len(looking), rows, top)
    ends = _places(len(seen), rows, top)
    chosen = (
        range(len(looking)) if token is None else [checked("step", token, len(looking), "sentence")]
    )
    least = FAINTEST_OF_ALL if len(heads) > 1 else FAINTEST
    for one in heads:
        strong = _strong(weights_HLM[one], chosen, least)
        parts += _lines(strong, (left, starts), (right, ends), one)
    parts += _column(looking, left - 8, starts, "end", chosen if token is not None else ())
    parts += _column(seen, right + 8, ends, "start", ())
    words = _describe(weights_HLM[list(heads)].mean(dim=0), looking, seen)
    return Drawing(width, top + rows * ROW + MARGIN, title, words, "".join(parts))


def _places(count: int, rows: int, top: float) -> list[float]:
    """Return the middle of each token's row; the shorter column is centred."""
    first = top + (rows - count) * ROW / 2
    return [first + (row + 0.5) * ROW for row in range(count)]


Line = tuple[float, int, int]  # weight, row, column


def _strong(weights_LM: Tensor, chosen: Sequence[int], least: float) -> list[Line]:
    """Return the weights worth a line; weak ones first, so that strong ones lie on top."""
    return sorted(
        (weight, row, column)
        for row in chosen
        for column, weight in enumerate(weights_LM[row].tolist())
        if weight >= least
    )


def _lines(
    strong: Sequence[Line],
    start: tuple[float, Sequence[float]],
    end: tuple[float, Sequence[float]],
    head: int,
) -> list[str]:
    """Draw the lines of one head from left to right."""
    (left, starts), (right, ends) = start, end
    bend = (right - left) * 0.45
    return [
        path(
            f"M{number(left)} {number(starts[row])}"
            f"C{number(left + bend)} {number(starts[row])} "
            f"{number(right - bend)} {number(ends[column])} {number(right)} {number(ends[column])}",
            f"s{head % len(LIGHT.series)}",
            style=f"stroke-width:{number(0.6 + 5 * weight)};opacity:{0.15 + 0.75 * weight:.2f}",
        )
        for weight, row, column in strong
    ]


def _column(
    labels: Sequence[str], x: float, places: Sequence[float], anchor: str, chosen: Sequence[int]
) -> list[str]:
    return [
        text(
            x,
            place + SIZE * 0.35,
            shorten(label, LABEL - 8),
            "row strong" if row in chosen else "row",
            anchor=anchor,
        )
        for row, (label, place) in enumerate(zip(labels, places, strict=True))
    ]


def _legend(heads: Sequence[int], width: float, top: float) -> tuple[list[str], float]:
    """Name the colours of heads, in as many lines as they need."""
    parts, x, y = [], float(MARGIN), top + 8
    for head in heads:
        name = f"head {head + 1}"
        if x + 24 + text_width(name) > width - MARGIN:
            x, y = float(MARGIN), y + 18
        parts.append(rect(x, y - 6, 14, 4, f"f{head % len(LIGHT.series)}"))
        parts.append(text(x + 19, y, name, "muted"))
        x += 19 + text_width(name) + 16
    return parts, y + 14


def _describe(weights_LM: Tensor, looking: Sequence[str], seen: Sequence[str]) -> str:
    best = weights_LM.argmax(dim=-1).tolist()
    said = [f"{label} → {seen[column]}" for label, column in zip(looking, best, strict=True)]
    return f"Each token looks most at: {', '.join(said)}."
