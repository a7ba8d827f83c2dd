"""A film strip: how one head's attention, and one translation, changed while a network learned.

A frame is a checkpoint. Every frame shows the attention over the *same* tokens, those of the last
frame's translation, so that frames can be compared; below each checkpoint's own translation.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from translucid.decoding.settings import SearchConfig
from translucid.events import Emit, silent
from translucid.interpret.explain import explain
from translucid.interpret.figures.cells import LEAST, WEIGHTS, cells, future, label_room, row_labels
from translucid.interpret.figures.drawing import MARGIN, Drawing, heading, number, text, written
from translucid.interpret.figures.lettering import text_width, token_labels
from translucid.interpret.figures.names import (
    checked_head,
    checked_layer,
    head_name,
    key_tokens,
    query_tokens,
)
from translucid.interpret.trace import Side, Trace
from translucid.text.tokenizer import EOS
from translucid.translator import Translator

LABEL = 90.0
TEXT_WIDTH = 760.0


@dataclass(frozen=True)
class Frame:
    """A checkpoint: what it wrote by itself, and a trace of it reading the last translation."""

    step: int
    translation: str
    log_prob: float
    trace: Trace


def frames_of(
    newest_first: Iterable[tuple[int, Translator]],
    source: str,
    *,
    target: str | None,
    search: SearchConfig | None = None,
    max_bytes: int | None = None,
    emit: Emit = silent,
) -> Iterator[Frame]:
    """Yield the frames of checkpoints (step, translator), the newest first.

    A checkpoint is needed only until its frame is there, so they can be loaded one after another.
    `max_bytes` bounds the trace of a frame; `emit` is told of every step of a search.
    """
    how = partial(explain, level="light", target=target, max_bytes=max_bytes, emit=emit)
    newest: Trace | None = None
    for step, translator in newest_first:
        own = how(translator, source, search=search)
        newest = newest or own
        read = how(translator, source, prefix=(*newest.written_ids, EOS))
        yield Frame(step, own.translation, own.log_prob, read)


def evenly_chosen(steps: Sequence[int], most: int) -> list[int]:
    """Return at most so many of the steps, evenly spread, the first and the last among them."""
    if len(steps) <= most:
        return list(steps)
    if most == 1:
        return [steps[-1]]
    return [steps[round(place * (len(steps) - 1) / (most - 1))] for place in range(most)]


def film_strip(frames: Sequence[Frame], side: Side, layer: int, head: int) -> Drawing:
    """Return one head's attention over the checkpoints, and each checkpoint's translation."""
    trace = frames[-1].trace
    checked_layer(trace, side, layer)
    checked_head(trace, head)
    rows = token_labels(query_tokens(trace, side))
    columns = len(key_tokens(trace, side))
    size = max(3.0, min(14.0, float(250 // max(len(rows), columns))))
    labelled = size >= LEAST
    left = MARGIN + (label_room(rows) + 8 if labelled else 0.0)
    across = max(columns * size, 84.0) + 18
    a_line = max(1, min(len(frames), int(1200 // across)))
    width = max(TEXT_WIDTH, left + a_line * across + MARGIN)
    title = f"{head_name(side, layer, head)}, checkpoint by checkpoint"
    note = f"All frames read the same words: “{trace.source}” → “{trace.translation}”."
    parts, y = heading(title, width, [note])
    for start in range(0, len(frames), a_line):
        if labelled:
            parts += row_labels(rows, (left, y + 20), size)
        for place, frame in enumerate(frames[start : start + a_line]):
            parts += _frame(frame, (side, layer, head), (left + place * across, y + 20), size)
        y += 20 + len(rows) * size + 18
    table, y = _translations(frames, y + 16, width)
    words = "; ".join(f"step {frame.step}: {frame.translation}" for frame in frames)
    return Drawing(width, y, title, words, "".join([*parts, *table]))


def _frame(
    frame: Frame, which: tuple[Side, int, int], at: tuple[float, float], size: float
) -> list[str]:
    side, layer, head = which
    weights_LM = frame.trace.attention(side, layer)[head]
    masked = future(weights_LM.size(0)) if side == "decoder" else ""
    return [
        text(at[0], at[1] - 6, f"step {frame.step:,}", "muted"),
        cells(weights_LM.tolist(), WEIGHTS, at, (size, size), masked),
    ]


def _translations(frames: Sequence[Frame], y: float, width: float) -> tuple[list[str], float]:
    """Write every checkpoint's translation; words that the last one has too are in ink."""
    parts = [
        text(MARGIN, y, "What each checkpoint wrote by itself", "strong"),
        text(MARGIN, y + 18, "In colour: words that the last one does not have there.", "muted"),
    ]
    y += 42
    width = min(width, TEXT_WIDTH)
    last = frames[-1].translation.split()
    for frame in frames:
        parts.append(text(MARGIN + LABEL - 14, y, f"{frame.step:,}", "muted", anchor="end"))
        value = f"{frame.log_prob:.2f}".replace("-", "−")
        parts.append(text(width - MARGIN, y, f"log P {value}", "small muted", anchor="end"))
        lines = _lines(_compared(frame.translation.split(), last), width - LABEL - 100)
        for words in lines:
            parts.append(_words(words, MARGIN + LABEL, y))
            y += 17
        y += 5 if lines else 22
    return parts, y + 4


def _compared(words: Sequence[str], last: Sequence[str]) -> list[tuple[str, bool]]:
    """Return words, each with whether the last translation has it at that place too."""
    same = [False] * len(words)
    for block in difflib.SequenceMatcher(None, words, last, autojunk=False).get_matching_blocks():
        same[block.a : block.a + block.size] = [True] * block.size
    return list(zip(words, same, strict=True))


def _lines(words: Iterable[tuple[str, bool]], room: float) -> list[list[tuple[str, bool]]]:
    lines: list[list[tuple[str, bool]]] = []
    used = room
    for word, same in words:
        wide = text_width(f"{word} ")
        if used + wide > room:
            lines.append([])
            used = 0.0
        lines[-1].append((word, same))
        used += wide
    return lines


def _words(words: Iterable[tuple[str, bool]], x: float, y: float) -> str:
    """Write a line of words as one text; those that differ from the last are in colour."""
    spans = " ".join(
        written(word) if same else f'<tspan class="differs">{written(word)}</tspan>'
        for word, same in words
    )
    return f'<text x="{number(x)}" y="{number(y)}">{spans}</text>'
