"""Consoles, tables, progress on stderr, signals and closed pipes.

On a terminal a stage is a bar with speed and time left. Anywhere else (a pipe, a log file, CI) a
stage is a plain line at its start, one every few seconds, and one at its end. Standard output is
never touched, because it belongs to results. ``NO_COLOR`` is honoured by rich itself.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import IO, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.table import Table
from rich.text import Text

from translucid.events import Emit, Event, Notice, Progress

SECONDS_BETWEEN_LINES = 5.0
_PLAIN_WIDTH = 120


def stderr_console() -> Console:
    """Return a console on stderr that wraps nothing when stderr is not a terminal."""
    console = Console(stderr=True, highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(stderr=True, highlight=False, markup=False, width=200, no_color=True)
    return console


def stdout_console() -> Console:
    """Return a console on stdout that is plain when stdout is not a terminal."""
    if sys.stdout.isatty():
        return Console(highlight=False, markup=False)
    return Console(highlight=False, markup=False, width=_PLAIN_WIDTH, no_color=True)


def build_table(*columns: str) -> Table:
    """Make a table of names at the left and numbers at the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", overflow="fold")
    return table


def print_whole_table(console: Console, table: Table) -> None:
    """Print a table whole: a narrow terminal wraps its lines instead of hiding digits."""
    unbounded = console.options.update_width(10_000)
    console.width = max(console.width, console.measure(table, options=unbounded).maximum)
    console.print(table)


@contextmanager
def show_progress(console: Console) -> Iterator[Emit]:
    """Give a consumer of events that draws on ``console`` until the block ends."""
    if console.is_terminal:
        bars = _Bars(console)
        with bars.progress:
            yield bars.show
        return
    lines = _Lines(lambda text: console.print(text, soft_wrap=True), time.monotonic)
    try:
        yield lines.show
    finally:
        lines.finish()


class _Lines:
    """Plain lines: when a stage starts, at most every few seconds, and when it ends."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._write = write
        self._clock = clock
        self._latest: Progress | None = None
        self._written: Progress | None = None
        self._started = 0.0
        self._before = 0
        self._spoke = 0.0

    def show(self, event: Event) -> None:
        """Write the event, or leave it out when the last line is only seconds old."""
        if isinstance(event, Notice):
            self._write(event.message)
            return
        now = self._clock()
        if self._latest is None or self._latest.stage != event.stage:
            self.finish()
            self._started = self._spoke = now
            self._before = event.done
            self._latest = event
            self._say(event, now)
            return
        self._latest = event
        if event == self._written:
            return
        if event.done == event.total or now - self._spoke >= SECONDS_BETWEEN_LINES:
            self._say(event, now)

    def finish(self) -> None:
        """Write the last state of a stage, unless its latest line already says it."""
        if self._latest is not None and self._latest != self._written:
            self._say(self._latest, self._clock())
        self._latest = None

    def _say(self, event: Progress, now: float) -> None:
        self._spoke = now
        self._written = event
        self._write(describe(event, now - self._started, self._before))


def describe(event: Progress, seconds: float, before: int = 0) -> str:
    """Describe the state of a stage after some seconds in one plain line.

    `before` is what an earlier run had done already, which does not count for the speed.

    >>> describe(Progress("encoding", 50_000, 200_000, "pairs"), 5.0)
    'encoding: 50,000 of 200,000 pairs (25 %), 10,000 pairs/s, 0:00:15 left'
    >>> describe(Progress("encoding", 50_000, 200_000, "pairs"), 5.0, before=40_000)
    'encoding: 50,000 of 200,000 pairs (25 %), 2,000 pairs/s, 0:01:15 left'
    """
    if event.total is None:
        text = f"{event.stage}: {event.done:,} {event.unit}"
    else:
        text = f"{event.stage}: {event.done:,} of {event.total:,} {event.unit}"
        if event.total:
            text += f" ({100 * event.done // event.total} %)"
    if event.done > before and seconds > 0:
        speed = (event.done - before) / seconds
        text += f", {speed:,.0f} {event.unit}/s"
        if event.total is not None and event.done < event.total:
            text += f", {format_clock((event.total - event.done) / speed)} left"
    return text


def format_clock(seconds: float) -> str:
    """Return a time as hours, minutes and seconds."""
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02}:{second:02}"


class _Bars:
    """Bars with speed and time left; a stage that is over stays as one line."""

    def __init__(self, console: Console) -> None:
        self.progress = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            _CountColumn(),
            _SpeedColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=console,
        )
        self._tasks: dict[str, TaskID] = {}
        self._current: str | None = None

    def show(self, event: Event) -> None:
        """Move the stage's bar, or write the notice above the bars."""
        if isinstance(event, Notice):
            self.progress.console.print(event.message, highlight=False)
            return
        if self._current is not None and self._current != event.stage:
            self._close(self._current)
        self._current = event.stage
        if event.stage not in self._tasks:
            self._tasks[event.stage] = self.progress.add_task(
                event.stage, total=event.total, completed=event.done, unit=event.unit
            )
        self.progress.update(self._tasks[event.stage], completed=event.done, total=event.total)

    def _close(self, stage: str) -> None:
        """End a stage whose total was not known: it is what has been done."""
        task = self.progress.tasks[self.progress.task_ids.index(self._tasks[stage])]
        if task.total is None:
            self.progress.update(task.id, total=task.completed)


class _CountColumn(ProgressColumn):
    """``50,000/200,000 pairs``, or without the total where it is not known."""

    def render(self, task: Task) -> Text:
        """Return the count of one stage."""
        total = "" if task.total is None else f"/{int(task.total):,}"
        return Text(f"{int(task.completed):,}{total} {task.fields['unit']}")


class _SpeedColumn(ProgressColumn):
    """``10,000/s`` over the last moments, or over the whole stage once it is over."""

    def render(self, task: Task) -> Text:
        """Return the speed of one stage."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s", style="dim")


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_on_signals(stop: Callable[[], None], *, once: bool) -> Iterator[None]:
    """Call `stop` at the first Ctrl-C or SIGTERM; a second one interrupts at once.

    With `once` a second one does nothing: under torchrun a Ctrl-C reaches a process twice, from the
    terminal and from torchrun, which itself ends processes that take too long.
    """

    def first(number: int, frame: FrameType | None) -> None:
        del number, frame
        signal.signal(signal.SIGINT, signal.SIG_IGN if once else signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_IGN if once else signal.SIG_DFL)
        stop()

    before = {number: signal.signal(number, first) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


CLOSED_PIPE = 141  # 128 + SIGPIPE: what a shell says of other programs that end so


@contextmanager
def exit_on_closed_pipe() -> Iterator[None]:
    """Exit silently, with the usual code, if the block writes to a closed pipe (``| head``)."""
    try:
        yield
    except BrokenPipeError:
        for stream in (sys.stdout, sys.stderr):
            discard_buffer(stream)
        raise typer.Exit(CLOSED_PIPE) from None


def discard_buffer(stream: IO[Any]) -> None:
    """Send what is still in the buffer to nowhere, or closing the stream would fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
