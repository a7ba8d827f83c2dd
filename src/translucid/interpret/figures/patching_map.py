"""Where one decision is made: the share of the flip of every state and head, as three tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from translucid.errors import InputError
from translucid.interpret.figures.cells import (
    Scale,
    cell_size,
    cells,
    column_labels,
    column_room,
    fits_values,
    label_room,
    row_labels,
    values_in,
)
from translucid.interpret.figures.drawing import (
    MARGIN,
    Drawing,
    colour_bar,
    group,
    heading,
    path,
    text,
    token_labels,
)
from translucid.interpret.patched_runs import Part
from translucid.interpret.patching import Patching
from translucid.interpret.trace import Trace

SHARES = Scale("d", -1.0, 1.0)
ROOM = 620  # pixels for the columns of a table
HEAD_SIZE = 30.0
GAP = 26.0
_TITLES: dict[Part, str] = {
    "encoder": "heads: encoder",
    "decoder": "heads: decoder, itself",
    "cross": "heads: decoder to source",
    "source": "states of the encoder, by source token",
    "target": "states of the decoder, by position",
}


@dataclass(frozen=True)
class _Table:
    """The cells of one part: shares, and which of them differ between the two directions."""

    part: Part
    rows: Sequence[str]
    columns: Sequence[str]
    shares: Sequence[Sequence[float]]
    hatched: Sequence[tuple[int, int]]

    @property
    def left(self) -> float:
        """The room that the labels of rows take."""
        return label_room(self.rows) + 8


def patching_map(trace: Trace) -> Drawing:
    """Return what every cell does to the decision between a trace and the other sentence."""
    patching = trace.patching
    if patching is None:
        raise InputError(
            "the panel patching compares two sentences, and this trace has one: give the other "
            "with --against TEXT (in Python: explain(translator, text, against=…))"
        )
    tables = {part: _table(patching, part) for part in _TITLES}
    size = cell_size(max(len(tables[part].columns) for part in ("source", "target")), ROOM)
    heads = [tables[part] for part in ("encoder", "decoder", "cross")]
    width = max(
        2 * MARGIN + sum(one.left + HEAD_SIZE * len(one.columns) + GAP for one in heads),
        *(
            2 * MARGIN + one.left + size * len(one.columns) + column_room(one.columns, size)[1]
            for one in (tables["source"], tables["target"])
        ),
    )
    title, notes = _words(patching)
    parts, y = heading(title, width, notes)
    y += 12
    x: float = MARGIN
    for one in heads:
        parts += _draw(one, (x + one.left, y), HEAD_SIZE)
        x += one.left + HEAD_SIZE * len(one.columns) + GAP
    y += 2 * HEAD_SIZE + HEAD_SIZE * max(len(one.rows) for one in heads)
    for part in ("source", "target"):
        parts += _draw(tables[part], (MARGIN + tables[part].left, y), size)
        above = column_room(tables[part].columns, size)[0]
        y += above + size * len(tables[part].rows) + 2 * GAP
    bar, _ = colour_bar(MARGIN, y, "−1", "1", "d")
    return Drawing(width, y + MARGIN, title, _describe(patching), "".join([*parts, *bar]))


def _words(patching: Patching) -> tuple[str, list[str]]:
    """Return the title of the picture, and what stands below it."""
    one, other = decision_labels(patching)
    first, second = patching.decision.margins
    two_models = patching.models[0] != patching.models[1]
    notes = [
        f"1: {patching.first} → {patching.first_translation}",
        f"2: {patching.second} → {patching.second_translation}",
        f"Margin of {one} over {other}: {signed(first)} in 1, {signed(second)} in 2. A cell is the "
        "share of this difference that moves with it, the mean of both directions; hatched where "
        "the two directions differ by more than a fifth.",
    ]
    if two_models:
        notes.insert(2, f"1 is read by {patching.models[0]}, 2 by {patching.models[1]}.")
    return f"Where is “{one}” or “{other}” decided?", notes


def decision_labels(patching: Patching) -> tuple[str, str]:
    """Return the two competing tokens as they are shown."""
    one, other = (piece.replace("▁", " ").strip() or piece for piece in patching.decision.pieces)
    return one, other


def signed(value: float) -> str:
    """Return a number with its sign, a true minus if need be."""
    return f"{value:+.2f}".replace("-", "−")


def column_names(patching: Patching) -> list[str]:
    """Return what the columns of the source are called: a token, or both where they differ."""
    sides = [token_labels(tokens) for tokens in (patching.first_tokens, patching.second_tokens)]
    names = []
    for column in patching.columns:
        one, other = (
            " ".join(labels[slice(*span)]) or "–"
            for labels, span in zip(sides, (column.first, column.second), strict=True)
        )
        names.append(f"{one} / {other}" if column.differs else one)
    return names


def _table(patching: Patching, part: Part) -> _Table:
    found = {
        (one.cell.layer, one.cell.index): one for one in patching.cells if one.cell.part == part
    }
    layers = sorted({layer for layer, _ in found})
    count = 1 + max(index for _, index in found)
    if part == "source":
        columns = column_names(patching)
        rows = ["embedding" if layer == 0 else f"layer {layer}" for layer in layers]
    elif part == "target":
        columns = token_labels(patching.target_tokens)
        rows = [f"layer {layer}" for layer in layers]
    else:
        columns = [str(head + 1) for head in range(count)]
        rows = [f"layer {layer + 1}" for layer in layers]
    return _Table(
        part,
        rows,
        columns,
        [
            [found[layer, index].share if (layer, index) in found else math.nan
             for index in range(count)]
            for layer in layers
        ],
        [
            (row, index)
            for row, layer in enumerate(layers)
            for index in range(count)
            if (layer, index) in found and not found[layer, index].agrees
        ],
    )  # fmt: skip


def _draw(table: _Table, at: tuple[float, float], size: float) -> list[str]:
    """Draw a table below its title and the labels of its columns."""
    x, y = at
    heads = table.part not in ("source", "target")
    above = size * 0.6 if heads else column_room(table.columns, size)[0]
    top = y + 6 + above
    parts = [text(x - table.left, y, _TITLES[table.part], "strong")]
    if heads:
        parts += [
            text(x + (number + 0.5) * size, top - 5, label, "muted", anchor="middle")
            for number, label in enumerate(table.columns)
        ]
    else:
        parts += column_labels(table.columns, (x, top), size)
    parts += row_labels(table.rows, (x, top), size)
    parts.append(cells(table.shares, SHARES, (x, top), (size, size)))
    if fits_values(size):
        parts.append(values_in(table.shares, SHARES, (x, top), size))
    parts += [
        path(_hatching(x + column * size, top + row * size, size), "axis hatch")
        for row, column in table.hatched
    ]
    return [group(parts, attributes=f'class="part-{table.part}"')]


def _hatching(x: float, y: float, size: float) -> str:
    """Return diagonal strokes across a square."""
    third = size / 3
    strokes = [
        (x, y + third, x + third, y), (x, y + 2 * third, x + 2 * third, y),
        (x, y + size, x + size, y), (x + third, y + size, x + size, y + third),
        (x + 2 * third, y + size, x + size, y + 2 * third),
    ]  # fmt: skip
    return "".join(f"M{a:g} {b:g}L{c:g} {d:g}" for a, b, c, d in strokes)


def _describe(patching: Patching) -> str:
    """Say which cells have the largest shares, for those who cannot see the picture."""
    best = [
        f"{part}: {patching.part(part)[0].cell} ({patching.part(part)[0].share:.2f})"
        for part in _TITLES
    ]
    return f"Largest share of the flip of each part: {', '.join(best)}."
