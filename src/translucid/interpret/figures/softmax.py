"""Softmax: what might come next, and how a temperature sharpens or flattens it (section 3.4).

Logits divided by a temperature: below 1 the likeliest gains, above 1 the others do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from translucid.errors import InputError
from translucid.interpret.figures.drawing import MARGIN, Drawing, heading, rect, text
from translucid.interpret.figures.lettering import (
    marks_words,
    piece_label,
    shortened,
    text_width,
    token_labels,
)
from translucid.interpret.figures.names import checked
from translucid.interpret.trace import Step, Trace

TEMPERATURES = (0.5, 1.0, 1.5, 2.0)
ROW = 22
COLUMN = 150
LABEL = 110
LOGIT = 60


def spaced(trace: Trace) -> bool:
    """Tell whether the vocabulary of a trace marks the space before a word."""
    return marks_words(token.piece for token in (*trace.source_tokens, *trace.target_tokens))


def softmax_temperatures(
    trace: Trace, step: int, temperatures: Sequence[float] = TEMPERATURES
) -> Drawing:
    """Return the likeliest tokens of one step at several temperatures; needs a full trace."""
    checked("step", step, len(trace.steps), "translation")
    if wrong := [t for t in temperatures if not (t > 0 and math.isfinite(t))]:
        raise InputError(f"temperature {wrong[0]:g}: must be above 0")
    chosen = trace.steps[step]
    logits_V = trace.tensor("logits")[step].double()
    tokens = [token.id for token in chosen.top]
    columns = [torch.softmax(logits_V / t, dim=-1)[tokens].tolist() for t in temperatures]
    logits = logits_V[tokens].tolist()
    width = 2 * MARGIN + LABEL + LOGIT + len(temperatures) * COLUMN
    title = f"Softmax of step {step} at {len(temperatures)} temperatures"
    parts, top = heading(title, width, [_about(trace, step)])
    y = top + 14
    parts.append(text(MARGIN + LABEL + LOGIT, y, "logit", "strong", anchor="end"))
    for place, temperature in enumerate(temperatures):
        x = MARGIN + LABEL + LOGIT + place * COLUMN + 24
        parts.append(text(x, y, f"temperature {temperature:g}", "strong"))
    for row, token in enumerate(chosen.top):
        base = y + (row + 1) * ROW
        written = "strong accent" if token.id == chosen.token.id else ""
        label = shortened(piece_label(token.piece, spaced(trace)), LABEL - 10)
        parts.append(text(MARGIN + LABEL, base, label, f"row {written}", anchor="end"))
        said = f"{logits[row]:.2f}".replace("-", "−")
        parts.append(text(MARGIN + LABEL + LOGIT, base, said, "muted", anchor="end"))
        for place, column in enumerate(columns):
            x = MARGIN + LABEL + LOGIT + place * COLUMN + 24
            parts += share_bar(column[row], x, base, COLUMN - 30)
    base = y + (len(tokens) + 1) * ROW + 4
    parts.append(text(MARGIN + LABEL, base, "all others", "muted", anchor="end"))
    for place, column in enumerate(columns):
        x = MARGIN + LABEL + LOGIT + place * COLUMN + 24
        parts += share_bar(max(0.0, 1 - math.fsum(column)), x, base, COLUMN - 30)
    words = ", ".join(
        f"at {t:g} the likeliest has {column[0]:.3f}"
        for t, column in zip(temperatures, columns, strict=True)
    )
    return Drawing(width, base + MARGIN, title, f"{words}.", "".join(parts))


def _about(trace: Trace, step: int) -> str:
    so_far = " ".join(token_labels(trace.target_tokens)[: step + 1])
    formula, chosen = f"softmax(logits / temperature) after “{so_far}”.", trace.steps[step]
    if chosen.token.id in {token.id for token in chosen.top}:
        return f"{formula} In blue: what was written."
    label = piece_label(chosen.token.piece, spaced(trace))
    return f"{formula} What was written, “{label}”, is among all others: number {chosen.rank}."


def share_bar(share: float, x: float, base: float, width: float) -> list[str]:
    """Draw a share of 1 as a bar with its value behind."""
    room = width - 44
    return [
        rect(x, base - 10, room, 12, "track"),
        rect(x, base - 10, room * share, 12, "solid"),
        text(x + width, base, thousandths(share), anchor="end"),
    ]


def thousandths(share: float) -> str:
    """Return a share with three digits; one that they cannot show is not called 0.

    >>> thousandths(0.25), thousandths(0.0001), thousandths(0.0)
    ('0.250', '<.001', '0')
    """
    if share == 0:
        return "0"
    return f"{share:.3f}" if share >= 0.0005 else "<.001"


def steps(trace: Trace) -> Drawing:
    """Return every step of a translation: what was written, how probable, and what else might be.

    Each step is a row: its probability as a bar, its entropy, and the next best tokens.
    """
    mark = spaced(trace)
    width = 2 * MARGIN + 30 + LABEL + 160 + 70 + 420
    title = "Steps: what was written, and what else might have been"
    note = (
        "Bar: probability of the written token. Entropy in nats: 0 is certain. Then the likeliest."
    )
    parts, top = heading(title, width, [note])
    left = MARGIN + 30 + LABEL
    y = top + 14
    for x, name in ((left + 14, "probability"), (left + 250, "likeliest instead")):
        parts.append(text(x, y, name, "strong"))
    parts.append(text(left + 226, y, "entropy", "strong", anchor="end"))
    for row, step in enumerate(trace.steps):
        base = y + (row + 1) * ROW
        label = shortened(piece_label(step.token.piece, mark), LABEL - 10)
        parts.append(text(MARGIN + 18, base, f"{row}", "muted", anchor="end"))
        parts.append(text(left, base, label, "row strong", anchor="end"))
        parts += share_bar(math.exp(step.log_prob), left + 14, base, 150)
        parts.append(text(left + 226, base, f"{step.entropy:.2f}", "muted", anchor="end"))
        parts.append(text(left + 250, base, _others(step, mark, width - left - 260), "muted"))
    worst = min(trace.steps, key=lambda step: step.log_prob)
    words = (
        f"{len(trace.steps)} steps; the least probable token is {worst.token.piece} with "
        f"{math.exp(worst.log_prob):.3f}."
    )
    return Drawing(width, y + (len(trace.steps) + 1) * ROW, title, words, "".join(parts))


def _others(step: Step, mark: bool, width: float) -> str:
    """Return the likeliest tokens that were not written, as many as fit."""
    said = ""
    for token in step.top:
        if token.id == step.token.id or math.exp(token.log_prob) < 0.0005:
            continue
        more = f"{piece_label(token.piece, mark)} {math.exp(token.log_prob):.3f}"
        longer = f"{said},  {more}" if said else more
        if text_width(longer) > width:
            break
        said = longer
    return said
