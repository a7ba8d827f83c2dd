"""Translate lines as they come and write them in their order, a window of lines at a time.

A window is translated as a whole, so that sentences of like length share a batch, and written at
once. The first is one batch, so that the first results come soon; each is twice the one before up
to a few batches, so that a long file goes at full speed. For a file, the windows are always the
same, whether it is translated at one go or in several.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from translucid.cli.line_files import Line, LineSource
from translucid.cli.resumable_output import Output
from translucid.cli.translation_output import Form, rendered
from translucid.cli.translation_summary import Tally
from translucid.errors import InputError
from translucid.events import Emit, Event, Notice, Progress

if TYPE_CHECKING:
    from translucid.translator import Translation

MOST_BATCHES = 8

Translate: TypeAlias = "Callable[[Sequence[str], Emit], Sequence[Translation]]"


def windows(batch_size: int) -> Iterator[int]:
    """Yield how many lines each window has: one batch, two, four, and so on up to eight."""
    batches = 1
    while True:
        yield batches * batch_size
        batches = min(2 * batches, MOST_BATCHES)


def windows_after(lines: int, batch_size: int) -> Iterator[int]:
    """Yield the windows that follow on so many lines, which are whole windows themselves."""
    sizes = windows(batch_size)
    while lines > 0:
        lines -= next(sizes)
    return sizes


@dataclass(frozen=True)
class Way:
    """From where lines come, how they are translated and written, and to where."""

    source: LineSource
    translate: Translate
    form: Form
    output: Output
    sizes: Iterator[int]
    total: int | None  # lines that there are, if that is known


def translate_lines(way: Way, emit: Emit) -> Tally:
    """Translate all lines; return the count of them."""
    tally = Tally()

    def tell(done: int) -> None:
        emit(Progress("translating", done, way.total, "lines"))

    if way.total is not None:
        tell(0)
    for size in way.sizes:
        lines = way.source.take(size)
        if not lines:
            break
        begin = time.monotonic()
        consume = _in_lines(tell, tally, lines)
        with _placed(lines[0].number, lines[-1].number):
            translations = way.translate([line.text for line in lines], consume)
        tally.seconds += time.monotonic() - begin
        results = [
            rendered(line, translation, way.form)
            for line, translation in zip(lines, translations, strict=True)
        ]
        way.output.write(b"".join(results), len(lines))
        tally.add(lines, translations)
        tell(tally.lines)
    return tally


@contextmanager
def _placed(first: int, last: int) -> Iterator[None]:
    """Say of an error that counts the texts of a window which lines these are."""
    try:
        yield
    except InputError as error:
        raise InputError(
            f"lines {first:,} to {last:,}, of which {first:,} is text 1: {error}"
        ) from error


def _in_lines(tell: Callable[[int], None], tally: Tally, window: Sequence[Line]) -> Emit:
    """Return a consumer that tells how far a window has come in lines, as a share of its work.

    What follows when all are translated, such as reading back, is not counted. Notices are kept
    for the end.
    """
    before = tally.lines

    def consume(event: Event) -> None:
        if isinstance(event, Notice):
            place = f"lines {window[0].number:,} to {window[-1].number:,}"
            tally.notices.append(f"{place}: {event.message}")
        elif isinstance(event, Progress) and event.stage == "translate" and event.total:
            tell(before + len(window) * event.done // event.total)

    return consume
