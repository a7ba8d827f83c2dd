"""The six steps of attention for one query, with the real numbers of a trace (equation 1).

::

    ① q, k, v   ② q·k   ③ / √d_k   ④ + mask   ⑤ softmax   ⑥ Σ weight × v

A row is a token that can be looked at; below the table the formula is filled in for the token that
gets most of the attention.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from translucid.interpret.figures.cells import Scale, cells, evenly, label_room
from translucid.interpret.figures.drawing import (
    MARGIN,
    SIZE,
    Drawing,
    heading,
    line,
    path,
    rect,
    shorten,
    text,
    text_width,
    token_labels,
)
from translucid.interpret.figures.matrix import (
    check_head,
    check_layer,
    checked,
    head_name,
    key_tokens,
    query_tokens,
)
from translucid.interpret.trace import Side, Trace

ROW = 20
STRIP = 128  # most pixels of a vector
DIMENSIONS = 64  # most dimensions of a vector that are shown
NUMBER = 76  # pixels of a column of numbers
BAR = 110  # pixels of the column of weights
GAP = 18


@dataclass(frozen=True)
class Numbers:
    """All numbers of one query of one head; lists go over the M tokens that can be looked at.

    `positions` is the kind that acts in this attention: "rotary", "relative" or another.
    """

    query: str
    keys: Sequence[str]
    q: Sequence[float]
    k: Sequence[Sequence[float]]
    v: Sequence[Sequence[float]]
    raw: Sequence[float]
    scaled: Sequence[float]
    mask: Sequence[float]
    weights: Sequence[float]
    output: Sequence[float]
    positions: str

    @property
    def best(self) -> int:
        """The token that gets most of the attention."""
        return max(range(len(self.weights)), key=self.weights.__getitem__)

    @property
    def scores(self) -> list[float]:
        """What goes into the softmax: scaled scores and mask together."""
        return [score + mask for score, mask in zip(self.scaled, self.mask, strict=True)]

    @property
    def has_bias(self) -> bool:
        """Whether positions add a bias to the scores, not only a mask of 0 and −∞."""
        return self.positions == "relative" or any(m not in (0.0, -math.inf) for m in self.mask)

    @property
    def root(self) -> str:
        """√d_k as it is written."""
        return f"√{len(self.q)}"


def numbers(trace: Trace, side: Side, layer: int, head: int, query: int) -> Numbers:
    """Return the numbers of one query; the trace must be a full one."""
    check_layer(trace, side, layer)
    check_head(trace, head)
    looking = query_tokens(trace, side)
    checked("step", query, len(looking), "sentence")
    name = trace.attention_name(side, layer)
    mask = trace.tensor(f"{name}.mask")
    return Numbers(
        query=token_labels(looking)[query],
        keys=token_labels(key_tokens(trace, side)),
        q=trace.tensor(f"{name}.q")[head, query].tolist(),
        k=trace.tensor(f"{name}.k")[head].tolist(),
        v=trace.tensor(f"{name}.v")[head].tolist(),
        raw=trace.tensor(f"{name}.raw_scores")[head, query].tolist(),
        scaled=trace.tensor(f"{name}.scaled_scores")[head, query].tolist(),
        mask=(mask[head] if mask.dim() == 3 else mask)[query].tolist(),
        weights=trace.tensor(f"{name}.weights")[head, query].tolist(),
        output=trace.tensor(f"{name}.heads")[head, query].tolist(),
        positions="none" if side == "cross" else trace.model.positions,
    )


def attention_steps(trace: Trace, side: Side, layer: int, head: int, query: int) -> Drawing:
    """Return softmax(QKᵀ/√d_k)V for one token that looks, step by step."""
    found = numbers(trace, side, layer, head, query)
    return _Sheet(found).drawing(f"{head_name(side, layer, head)}: what “{found.query}” looks at")


class _Sheet:
    """Where the columns of the table are."""

    def __init__(self, found: Numbers) -> None:
        self.found = found
        self.keys_x = MARGIN + max(label_room(found.keys), text_width(_asking(found)) * 1.08) + 8
        self.raw_x = self.keys_x + STRIP + GAP + NUMBER  # right edge of numbers
        self.scaled_x = self.raw_x + NUMBER
        self.mask_x = self.scaled_x + NUMBER
        self.bar_x = self.mask_x + GAP + 6
        self.values_x = self.bar_x + BAR + GAP + 20
        self.sum_x = self.values_x + STRIP + GAP
        self.width = self.sum_x + STRIP + MARGIN

    def drawing(self, title: str) -> Drawing:
        """Return the whole sheet."""
        parts, top = heading(title, self.width, [_about(self.found)])
        parts += self._heads(top + 16)
        y = top + 74
        parts += self._query(y)
        y += ROW + 12
        parts += self._rows(y)
        y += len(self.found.keys) * ROW + 12
        parts += self._output(y)
        y += ROW + 26
        filled, y = self._formula(y)
        parts += filled
        return Drawing(self.width, y + MARGIN - 12, title, _describe(self.found), "".join(parts))

    def _heads(self, y: float) -> list[str]:
        """Write the six steps above their columns: number, name, formula."""
        turned = ", turned" if self.found.positions == "rotary" else ""
        biased = self.found.has_bias
        right = [
            ("2", "product", "q · kⱼ", self.raw_x),
            ("3", "scale", f"/ √dₖ = {self.found.root}", self.scaled_x),
            ("4", *(("bias", "+ b or −∞") if biased else ("mask", "+ 0 or −∞")), self.mask_x),
        ]
        left = [
            ("1", "queries, keys", f"q = x·W^Q, k = x·W^K{turned}", self.keys_x),
            ("5", "softmax", "eˢ / Σ eˢ", self.bar_x),
            ("1", "values", "v = x·W^V", self.values_x),
            ("6", "weighted sum", "wⱼ × vⱼ", self.sum_x),
        ]
        parts = []
        for figure, name, formula, x in left:
            parts += _badge(x + 8, y - 4, figure)
            parts.append(text(x + 22, y, name, "strong"))
            parts.append(text(x, y + 20, formula, "muted small"))
        for figure, name, formula, x in right:
            parts += _badge(x - text_width(name) * 1.08 - 14, y - 4, figure)
            parts.append(text(x, y, name, "strong", anchor="end"))
            parts.append(text(x, y + 20, formula, "muted small", anchor="end"))
        rule_y = y + 30
        return [*parts, line(MARGIN, rule_y, self.width - MARGIN, rule_y, "frame")]

    def _query(self, y: float) -> list[str]:
        shown = [_shown(self.found.q)]
        scale = evenly([self.found.q, *self.found.k])
        return [
            text(self.keys_x - 8, y + 13, _asking(self.found), "accent strong", anchor="end"),
            _strip(shown[0], scale, self.keys_x, y + 3),
            text(
                self.keys_x + STRIP + GAP,
                y + 13,
                f"{len(self.found.q)} numbers{_of_which(self.found.q)}; blue below 0, brown above",
                "muted",
            ),
        ]

    def _rows(self, y: float) -> list[str]:
        """Draw a row for each token that can be looked at."""
        found = self.found
        keys = evenly([found.q, *found.k])
        values = evenly(found.v)
        parts = []
        for row, label in enumerate(found.keys):
            kind = "strong" if row == found.best else ""
            base = y + row * ROW + 13
            parts += [
                text(self.keys_x - 8, base, shorten(label, 110), f"row {kind}", anchor="end"),
                _strip(_shown(found.k[row]), keys, self.keys_x, base - 10),
                text(self.raw_x, base, signed(found.raw[row]), kind, anchor="end"),
                text(self.scaled_x, base, signed(found.scaled[row]), kind, anchor="end"),
                text(
                    self.mask_x, base, signed(found.mask[row]), _mask_kind(found, row), anchor="end"
                ),
                *self._weight(row, base),
                _strip(_shown(found.v[row]), values, self.values_x, base - 10),
                _strip(_weighted(found, row), _sum_scale(found), self.sum_x, base - 10),
            ]
        return parts

    def _weight(self, row: int, base: float) -> list[str]:
        """Draw a weight as a bar with its value behind."""
        weight = self.found.weights[row]
        room = BAR - 44
        kind = "strong" if row == self.found.best else ""
        return [
            rect(self.bar_x, base - 10, room, 12, "track"),
            rect(self.bar_x, base - 10, room * weight, 12, "solid"),
            text(self.bar_x + BAR + 4, base, thousandths(weight), kind, anchor="end"),
        ]

    def _output(self, y: float) -> list[str]:
        """Draw the sum of the weighted values: what the head passes on."""
        base = y + 13
        rule_y = y - 6
        return [
            line(MARGIN, rule_y, self.width - MARGIN, rule_y, "frame"),
            text(self.bar_x + BAR + 4, base, "Σ = 1", "muted", anchor="end"),
            text(self.sum_x - 8, base, "sum: the head's output", "accent strong", anchor="end"),
            _strip(_shown(self.found.output), _sum_scale(self.found), self.sum_x, base - 10),
        ]

    def _formula(self, y: float) -> tuple[list[str], float]:
        """Write the formula with the numbers of the token that gets most filled in."""
        room = self.width - 2 * MARGIN
        parts = [rect(MARGIN, y - 18, room, 32 + 22 * 4, "panel", round_by=6)]
        x = MARGIN + 12
        parts.append(text(x, y, f"Filled in for “{self.found.keys[self.found.best]}”", "strong"))
        for number, words in enumerate(fill_in_formula(self.found), start=1):
            parts.append(text(x, y + 22 * number, shorten(words, room - 24)))
        return parts, y + 22 * 4 + 14


def fill_in_formula(found: Numbers) -> list[str]:
    """Return the lines of the formula with real numbers, for the token that gets most."""
    best = found.best
    pairs = sorted(zip(found.q, found.k[best], strict=True), key=lambda p: -abs(p[0] * p[1]))[:3]
    products = " + ".join(f"({signed(a)})({signed(b)})" for a, b in pairs)
    if len(found.q) > len(pairs):
        products += " + …"
    added = "bias" if found.has_bias else "mask"
    score = found.scores[best]
    total = math.fsum(math.exp(s) for s in found.scores)
    ranked = sorted(range(len(found.weights)), key=lambda j: -found.weights[j])
    terms = " + ".join(f"{found.weights[j]:.3f} v({found.keys[j]})" for j in ranked[:4])
    more = " + …" if len(ranked) > 4 else ""
    return [
        f"q · k = {products} = {signed(found.raw[best])} "
        f"(the {len(pairs)} largest of {len(found.q)} products)",
        f"{signed(found.raw[best])} / {found.root} = {signed(found.scaled[best])}, "
        f"then the {added}: {signed(found.scaled[best])} + ({signed(found.mask[best])}) = "
        f"{signed(score)}",
        f"softmax: e^({signed(score)}) / Σ = {math.exp(score):.3g} / {total:.3g} "
        f"= {found.weights[best]:.3f}",
        f"output = {terms}{more}",
    ]


def signed(value: float) -> str:
    """Return a number with two digits and a true minus.

    >>> signed(-1.5), signed(float("-inf")), signed(0.0)
    ('−1.50', '−∞', '0')
    """
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    if value == 0:
        return "0"
    return f"{value:.2f}".replace("-", "−")


def _about(found: Numbers) -> str:
    return (
        f"softmax(QKᵀ / √dₖ) V for one query and {len(found.keys)} keys: every number is the "
        "network's own."
    )


def _describe(found: Numbers) -> str:
    best = found.best
    return (
        f"{found.query} looks most at {found.keys[best]}: q·k = {found.raw[best]:.3f}, divided by "
        f"√{len(found.q)} {found.scaled[best]:.3f}, after softmax {found.weights[best]:.3f}."
    )


def _badge(x: float, y: float, figure: str) -> list[str]:
    circle = f"M{x - 8:g} {y:g}a8 8 0 1 0 16 0a8 8 0 1 0 -16 0z"
    return [path(circle, "solid"), text(x, y + 4, figure, "badge", anchor="middle")]


def _shown(vector: Sequence[float]) -> list[float]:
    return list(vector[:DIMENSIONS])


def _of_which(vector: Sequence[float]) -> str:
    return "" if len(vector) <= DIMENSIONS else f", the first {DIMENSIONS} shown"


def _asking(found: Numbers) -> str:
    return f"q of {shorten(found.query, 90)}"


def _sum_scale(found: Numbers) -> Scale:
    """Return the scale of weighted values and of their sum, which are smaller than values."""
    rows = [_weighted(found, row) for row in range(len(found.keys))]
    return evenly([*rows, _shown(found.output)])


def _weighted(found: Numbers, row: int) -> list[float]:
    return [found.weights[row] * value for value in _shown(found.v[row])]


def _strip(vector: Sequence[float], scale: Scale, x: float, y: float) -> str:
    """Draw a vector as a strip of coloured cells, as high as a line of text."""
    return cells([vector], scale, (x, y), (STRIP / len(vector), SIZE + 1))


def _mask_kind(found: Numbers, row: int) -> str:
    return "muted" if found.mask[row] == 0 else "strong"


def thousandths(share: float) -> str:
    """Return a share with three digits; one that they cannot show is not called 0.

    >>> thousandths(0.25), thousandths(0.0001), thousandths(0.0)
    ('0.250', '<.001', '0')
    """
    if share == 0:
        return "0"
    return f"{share:.3f}" if share >= 0.0005 else "<.001"
