"""Attention as tables: one head, all heads, the alignment of words, and rollout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch import Tensor
from torch.nn.functional import max_pool2d

from translucid.errors import InputError
from translucid.interpret.attribution import attention_rollout
from translucid.interpret.figures.cells import (
    WEIGHTS,
    Scale,
    Table,
    cell_size,
    cells,
    column_labels,
    column_room,
    fits_values,
    future,
    label_room,
    row_labels,
    upwards,
    values_in,
)
from translucid.interpret.figures.drawing import (
    MARGIN,
    Drawing,
    colour_bar,
    group,
    heading,
    text,
    text_width,
    token_labels,
)
from translucid.interpret.trace import Side, Trace, TraceToken

ROOM = 620  # pixels for the columns of a matrix
NARROWEST = 420  # of a picture, so that its title has room
GAP = 14  # between small matrices


@dataclass(frozen=True)
class Matrix:
    """A labelled table to draw: rows, columns, what the axes are, and how values are coloured.

    `causal`: cells right of the diagonal are masked. `marked` are cells (row, column) to outline.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    table: Table
    scale: Scale
    row_axis: str
    column_axis: str
    ends: tuple[str, str]
    causal: bool = False
    marked: Sequence[tuple[int, int]] = ()


def head_matrix(trace: Trace, side: Side, layer: int, head: int) -> Drawing:
    """Return one head's attention: who looks at whom, and how much."""
    check_layer(trace, side, layer)
    weights_LM = trace.attention(side, layer)[check_head(trace, head)]
    title = head_name(side, layer, head)
    shown = attention_table(trace, side, weights_LM)
    return matrix(title, _notes(trace, side), shown)


def attention_table(trace: Trace, side: Side, weights_LM: Tensor) -> Matrix:
    """Return weights of an attention of a trace as a labelled table."""
    return Matrix(
        rows=token_labels(query_tokens(trace, side)),
        columns=token_labels(key_tokens(trace, side)),
        table=weights_LM.tolist(),
        scale=WEIGHTS,
        row_axis="looks",
        column_axis="is looked at",
        ends=("0", "1"),
        causal=side == "decoder",
    )


def _notes(trace: Trace, side: Side) -> list[str]:
    note = "Each row is a token that looks, each column a token it can look at; a row sums to 1."
    if side == "decoder":
        return [f"{note} Grey: the future, masked, exactly 0."]
    if side == "cross":
        return [f"{note} Row {token_labels(trace.target_tokens)[0]} writes the first word."]
    return [note]


def matrix(title: str, notes: Sequence[str], shown: Matrix) -> Drawing:
    """Return a labelled table as a picture."""
    size = cell_size(len(shown.columns), ROOM)
    left = MARGIN + 18 + label_room(shown.rows) + 6
    above, beyond = column_room(shown.columns, size)
    width = max(NARROWEST, left + len(shown.columns) * size + beyond + MARGIN)
    parts, top = heading(title, width, notes)
    axis_y = top + 12
    y = axis_y + 6 + above
    parts.append(text(left, axis_y, f"{shown.column_axis} →", "muted"))
    middle = y + len(shown.rows) * size / 2
    parts.append(
        text(MARGIN + 10, middle, f"← {shown.row_axis}", "muted", anchor="middle", turn=-90)
    )
    parts += row_labels(shown.rows, (left, y), size)
    parts += column_labels(shown.columns, (left, y), size)
    parts.append(_body(shown, (left, y), size))
    bar_y = y + len(shown.rows) * size + 24
    bar, _ = colour_bar(left, bar_y, *shown.ends, shown.scale.ramp)
    parts += bar
    return Drawing(width, bar_y + MARGIN, title, _describe(shown), "".join(parts))


def _body(shown: Matrix, at: tuple[float, float], size: float) -> str:
    """Draw the squares of a table, their values where they fit, and what is marked."""
    masked = future(len(shown.rows)) if shown.causal else ""
    parts = [cells(shown.table, shown.scale, at, (size, size), masked)]
    if shown.table and fits_values(size):
        parts.append(values_in(shown.table, shown.scale, at, size))
    parts += [
        f'<rect class="mark" x="{at[0] + column * size + 1:g}" y="{at[1] + row * size + 1:g}" '
        f'width="{size - 2:g}" height="{size - 2:g}"/>'
        for row, column in shown.marked
    ]
    return group(parts, attributes='class="matrix"')


def _describe(shown: Matrix) -> str:
    """Say what the strongest cell of each row is, for those who cannot see the picture."""
    said = []
    for label, row in zip(shown.rows, shown.table, strict=True):
        best = max(range(len(row)), key=row.__getitem__)
        said.append(f"{label} → {shown.columns[best]} ({row[best]:.2f})")
    return f"Largest value of each row: {', '.join(said) or 'there are no rows'}."


MOST_CELLS = 100  # rows or columns of a small matrix; more are put together


def head_grid(trace: Trace, side: Side, layer: int | None = None) -> Drawing:
    """Draw all heads of an attention as small matrices: one row per layer, one column per head."""
    layers = range(trace.layers(side)) if layer is None else [check_layer(trace, side, layer)]
    grid = _Grid.of(trace, side)
    width = max(NARROWEST, grid.left + grid.heads * grid.across - GAP + MARGIN)
    title = f"{ATTENTIONS[side]}: all heads" + ("" if layer is None else f" of layer {layer + 1}")
    parts, top = heading(title, width, [grid.note])
    y = top + 20
    for head in range(grid.heads):
        middle = grid.left + head * grid.across + grid.columns * grid.size / 2
        parts.append(text(middle, y - 6, f"head {head + 1}", "muted", anchor="middle"))
    for place, one in enumerate(layers):
        parts += grid.layer(one, y + place * grid.down)
    height = y + len(layers) * grid.down - GAP + MARGIN
    words = (
        f"{len(layers)} × {grid.heads} matrices of {len(query_tokens(trace, side))} × "
        f"{len(key_tokens(trace, side))} attention weights."
    )
    return Drawing(width, height, title, words, "".join(parts))


@dataclass(frozen=True)
class _Grid:
    """How the small matrices of one attention are laid out."""

    trace: Trace
    side: Side
    heads: int
    together: int  # tokens that a square stands for, each way
    rows: int
    columns: int
    size: float

    @classmethod
    def of(cls, trace: Trace, side: Side) -> _Grid:
        """Return the layout for the tokens of a trace."""
        heads = trace.model.heads
        counts = len(query_tokens(trace, side)), len(key_tokens(trace, side))
        together = -(-max(counts) // MOST_CELLS)
        rows, columns = (-(-count // together) for count in counts)
        size = max(2.0, min(12.0, float(900 // (heads * (max(rows, columns) + 2)))))
        return cls(trace, side, heads, together, rows, columns, size)

    @property
    def left(self) -> float:
        """Where the first matrix begins."""
        return MARGIN + text_width("layer 00") + 8

    @property
    def across(self) -> float:
        """From one matrix to the next."""
        return max(self.columns * self.size, text_width("head 00")) + GAP

    @property
    def down(self) -> float:
        """From one layer to the next."""
        return self.rows * self.size + GAP

    @property
    def note(self) -> str:
        """What a square is."""
        if self.together == 1:
            return "Rows look at columns; the stronger the colour, the more."
        return (
            "Rows look at columns; the stronger the colour, the more. A square is the largest "
            f"weight of {self.together} × {self.together} tokens."
        )

    def layer(self, layer: int, y: float) -> list[str]:
        """Draw the heads of a layer."""
        label_y = y + self.rows * self.size / 2 + 4
        parts = [text(self.left - 8, label_y, f"layer {layer + 1}", "muted", anchor="end")]
        masked = future(self.rows) if self.side == "decoder" and self.together == 1 else ""
        pooled_HLM = max_pool2d(
            self.trace.attention(self.side, layer), self.together, ceil_mode=True
        )
        for head, weights_LM in enumerate(pooled_HLM):
            at = self.left + head * self.across, y
            drawn = cells(weights_LM.tolist(), WEIGHTS, at, (self.size, self.size), masked)
            name = head_name(self.side, layer, head)
            parts.append(
                group([f"<title>{name}</title>", drawn], attributes=self._data(layer, head))
            )
        return parts

    def _data(self, layer: int, head: int) -> str:
        """Return what a page needs to show this head in the large frame, where squares agree."""
        if self.together > 1:
            return 'class="small-matrix"'
        values = ""
        if fits_values(cell_size(self.columns, ROOM)):
            weights_LM = self.trace.attention(self.side, layer)[head]
            whole = (weights_LM * 100).round().int().flatten().tolist()
            values = f' data-values="{" ".join(str(value or "") for value in whole)}"'
        return f'class="small-matrix" data-side="{self.side}"{values}'


ATTENTIONS: dict[Side, str] = {
    "encoder": "Self-attention of the encoder",
    "decoder": "Masked self-attention of the decoder",
    "cross": "Cross-attention",
}


def head_name(side: Side, layer: int, head: int) -> str:
    """Return what a head is called in a title."""
    return f"{ATTENTIONS[side]}, layer {layer + 1}, head {head + 1}"


def query_tokens(trace: Trace, side: Side) -> tuple[TraceToken, ...]:
    """Return the tokens that look: the rows of an attention."""
    return trace.source_tokens if side == "encoder" else trace.target_tokens


def key_tokens(trace: Trace, side: Side) -> tuple[TraceToken, ...]:
    """Return the tokens that are looked at: the columns of an attention."""
    return trace.target_tokens if side == "decoder" else trace.source_tokens


def checked(name: str, value: int, count: int, what: str) -> int:
    """Return a number that counts from 0, or raise InputError that says which there are."""
    if not 0 <= value < count:
        allowed = "only 0" if count == 1 else f"0 to {count - 1}"
        raise InputError(
            f"there is no {name} number {value + 1}: this {what} has {count} (in Python, {allowed})"
        )
    return value


def check_layer(trace: Trace, side: Side, layer: int) -> int:
    """Return the number of a layer that has this attention, or raise InputError."""
    stack = "encoder" if side == "encoder" else "decoder"
    return checked("layer", layer, trace.layers(side), stack)


def check_head(trace: Trace, head: int) -> int:
    """Return the number of a head, or raise InputError."""
    return checked("head", head, trace.model.heads, "network")


_SIDES: dict[Side, str] = {
    "encoder": "what of the source is in each encoder position",
    "decoder": "what of the target is in each decoder position",
    "cross": "what of the source is in each decoder position",
}


def alignment(trace: Trace) -> Drawing:
    """Return the alignment of a translation; the best source token of each row is outlined."""
    table = trace.alignment().tolist()
    shown = Matrix(
        rows=token_labels(trace.target_tokens)[1:],
        columns=token_labels(trace.source_tokens),
        table=table,
        scale=WEIGHTS,
        row_axis="translation",
        column_axis="source",
        ends=("0", "1"),
        marked=[(row, max(range(len(r)), key=r.__getitem__)) for row, r in enumerate(table)],
    )
    outlined = "Outlined: where each token looked most." if table else "Nothing was written."
    return matrix("Alignment", [_whose(trace), outlined], shown)


def _whose(trace: Trace) -> str:
    """Say which heads the alignment comes from, as far as that is known."""
    heads = ", ".join(f"{layer + 1}.{head + 1}" for layer, head in trace.alignment_heads)
    if trace.alignment_found:
        return f"Mean of the cross-attention heads found to align best (layer.head: {heads})."
    return (
        f"Mean of all cross-attention heads of one layer (layer.head: {heads}): the usual choice "
        "where it was not measured which heads align best."
    )


def rollout(trace: Trace, side: Side) -> Drawing:
    """Return attention rollout: how much of each input is in each position after all layers."""
    mixed = attention_rollout(trace, side)
    scale = upwards(mixed.tolist())  # few weights are large after so many mixtures
    shown = replace(
        attention_table(trace, side, mixed), scale=scale, ends=("0", f"{scale.high:.2f}")
    )
    notes = [
        "The attention of all layers multiplied, half of each position staying where it is "
        "(Abnar and Zuidema 2020)."
    ]
    return matrix(f"Attention rollout: {_SIDES[side]}", notes, shown)
