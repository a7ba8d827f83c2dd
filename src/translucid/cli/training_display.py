"""Train with a display on stderr, and stop at a signal.

On a terminal a few lines at the bottom live, and validations stay above them. Anywhere else (a
pipe, a log file, CI) there is a plain line every few seconds, and one for each validation.
``NO_COLOR`` is honoured by rich itself.
"""

from __future__ import annotations

import os
import shlex
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from translucid.cli.display import format_clock, stderr_console, stop_on_signals
from translucid.events import (
    Notice,
    Resumed,
    Saved,
    Skipped,
    Started,
    Stopped,
    Trained,
    TrainingEvent,
    Validated,
)

if TYPE_CHECKING:
    from translucid.training.train import TrainedRun

SECONDS_BETWEEN_LINES = 10.0
SECONDS_OF_SPEED = 15.0  # speed is that of the last moments
LONGEST_SAMPLE = 160  # characters: a network that has just begun may repeat itself without end
STOPPING = "Stopping after this step, and saving."
AT_ONCE = " Ctrl-C again stops at once, without saving."


def train_with_display(data: Any, **arguments: Any) -> TrainedRun:
    """Call `translucid.training.train.train`, show what happens, and stop at Ctrl-C or SIGTERM."""
    from translucid.training.distributed import DistributedContext
    from translucid.training.train import train

    context = DistributedContext.from_environment(os.environ)
    stop = threading.Event()
    with ExitStack() as stack:
        display = TrainingDisplay(stack, stop, context.is_main, once=context.world_size > 1)
        command = shlex.join(["translucid", *sys.argv[1:]])
        return train(data, on_event=display.show, stop=stop, command=command, **arguments)


class TrainingDisplay:
    """A consumer of training's events that draws on stderr and, while training, hears signals.

    Under torchrun only the main process is `shown`; `once`: a second signal does nothing.
    """

    def __init__(self, stack: ExitStack, stop: threading.Event, shown: bool, *, once: bool) -> None:
        self._stack = stack
        self._signals = ExitStack()
        self._stop = stop
        self._shown = shown
        self._once = once
        self._course: Course | None = None
        self._draw: Callable[[TrainingEvent], None] | None = None

    def show(self, event: TrainingEvent) -> None:
        """Take the next event."""
        if isinstance(event, Started):
            if self._shown:
                self._course = Course(Plan.from_event(event), time.monotonic)
                self._draw = self._stack.enter_context(
                    show_training(stderr_console(), self._course)
                )
            self._stack.enter_context(self._signals)
            self._signals.enter_context(stop_on_signals(self.request_stop, once=self._once))
        if self._draw is not None:
            self._draw(event)
        if isinstance(event, Stopped):
            self._signals.close()

    def request_stop(self) -> None:
        """Ask training to stop, and say so."""
        self._stop.set()
        if self._course is not None:
            self._course.stopping = STOPPING if self._once else STOPPING + AT_ONCE


@dataclass(frozen=True)
class Plan:
    """How far a run is to go, and what its speed is measured against.

    `passes` tells how often sentences go through the network in the steps after one and up to
    another, `flops` those of a target token in a pass; `peak` is what the machine's matrix products
    reach in a second. `max_minutes` is 0 where time is not limited.
    """

    max_steps: int
    max_minutes: float
    passes: Callable[[int, int], int]
    flops: float
    peak: float

    @classmethod
    def from_event(cls, event: Started) -> Plan:
        """Return the plan of a run that is about to begin; the peak is measured now."""
        import torch

        from translucid.training.device import matrix_product_peak

        return cls(
            max_steps=event.max_steps,
            max_minutes=event.max_minutes,
            passes=event.passes,
            flops=event.flops,
            peak=event.processes * matrix_product_peak(torch.device(event.device)),
        )


@dataclass
class Course:
    """What has been seen of a run so far.

    `steps_before` and `seconds_before` are those of earlier sessions. `stopping` is what to say
    once the user has asked for an end, while the step under way is finished.
    """

    plan: Plan
    clock: Callable[[], float]
    steps_before: int = 0
    seconds_before: float = 0.0
    stopping: str = ""
    latest: Trained | None = None
    best: Validated | None = None
    peak: float = 0.0
    _recent: deque[Trained] = field(default_factory=deque)
    _started: float | None = None

    def resume(self, step: int, seconds: float) -> None:
        """Count from here: these steps and seconds are those of earlier sessions."""
        self.steps_before, self.seconds_before = step, seconds
        self._started = self.clock()

    def take(self, event: TrainingEvent) -> None:
        """Remember what an event says."""
        if isinstance(event, Trained):
            if self._started is None:
                self._started = self.clock() - event.seconds
            self.latest = event
            self._recent.append(event)
            while sum(e.seconds for e in self._recent) > SECONDS_OF_SPEED and len(self._recent) > 1:
                self._recent.popleft()
            self.peak = max(self.peak, self.plan.peak, self._flops_per_second)
        elif isinstance(event, Resumed):
            self.resume(event.step, event.seconds)
        elif isinstance(event, Validated) and event.best:
            self.best = event

    @property
    def tokens_per_second(self) -> float:
        """Target tokens per second of the last moments, without validation and saving."""
        seconds = sum(event.seconds for event in self._recent)
        return sum(event.tokens for event in self._recent) / seconds if seconds else 0.0

    @property
    def share_of_peak(self) -> float:
        """The share of the machine's peak that training's matrix products reach.

        The peak is what was measured when the run began or, if the machine was busy then, the most
        that training itself has reached.
        """
        return self._flops_per_second / (self.peak or self.plan.peak)

    @property
    def _flops_per_second(self) -> float:
        step = self.latest.step if self.latest else 1
        return self.tokens_per_second * self.plan.flops * self.plan.passes(step - 1, step)

    @property
    def elapsed(self) -> float:
        """Seconds since this session began to train."""
        return 0.0 if self._started is None else self.clock() - self._started

    @property
    def left(self) -> float | None:
        """Seconds until the limit of steps or minutes that comes first, all stops included."""
        if self.latest is None:
            return None
        done = self.plan.passes(self.steps_before, self.latest.step)
        by_steps = self.plan.passes(self.latest.step, self.plan.max_steps) * self.elapsed / done
        by_minutes = 60 * self.plan.max_minutes - self.seconds_before - self.elapsed
        return max(0.0, min(by_steps, by_minutes) if self.plan.max_minutes else by_steps)

    @property
    def share_done(self) -> float:
        """How much of the way is behind, by steps or by minutes."""
        if self.latest is None:
            return 0.0
        by_steps = self.latest.step / self.plan.max_steps
        minutes = (self.seconds_before + self.elapsed) / 60
        by_minutes = minutes / self.plan.max_minutes if self.plan.max_minutes else 0.0
        return min(1.0, max(by_steps, by_minutes))


@contextmanager
def show_training(console: Console, course: Course) -> Iterator[Callable[[TrainingEvent], None]]:
    """Give a consumer of training events that draws on `console` until the block is left."""
    if console.is_terminal:
        screen = _Screen(console, course)
        with screen.live:
            yield screen.show
    else:
        yield Lines(lambda text: console.print(text, soft_wrap=True), course).show


class Lines:
    """Plain lines: one every few seconds of training, one for everything else."""

    def __init__(self, write: Callable[[str], None], course: Course) -> None:
        self._write = write
        self._course = course
        self._spoke: float | None = None
        self._told = False

    def show(self, event: TrainingEvent) -> None:
        """Write the event, or leave it out when the last line is only seconds old."""
        self._course.take(event)
        if self._course.stopping and not self._told:
            self._told = True
            self._write(self._course.stopping)
        if not isinstance(event, Trained):
            self._write(describe_event(event))
            return
        now = self._course.clock()
        if self._spoke is None or now - self._spoke >= SECONDS_BETWEEN_LINES:
            self._spoke = now
            self._write(f"{_position(self._course)}: {' · '.join(_figures(self._course))}")


class _Screen:
    """A few lines that live at the bottom of a terminal, and lasting ones above them."""

    def __init__(self, console: Console, course: Course) -> None:
        self._console = console
        self._course = course
        self.live = Live(
            console=console, get_renderable=lambda: _picture(course), refresh_per_second=5
        )

    def show(self, event: TrainingEvent) -> None:
        """Redraw, and let all but mere steps and checkpoints stay on the screen."""
        self._course.take(event)
        match event:
            case Trained() | Saved():
                return
            case Validated():
                self._console.print(_validation(event))
            case Skipped():
                self._console.print(describe_event(event), style="yellow")
            case _:
                self._console.print(describe_event(event))


def describe_event(event: TrainingEvent) -> str:
    """Put an event into plain lines."""
    match event:
        case Trained():
            return (
                f"step {event.step:,}: loss {event.loss:.3f}, perplexity "
                f"{_number(event.perplexity)}, learning rate {event.learning_rate:.3g}, gradient "
                f"norm {event.gradient_norm:.2f}"
            )
        case Validated():
            lines = [f"step {event.step:,}, dev: {_scores(event)}{' (best)' if event.best else ''}"]
            for sample in event.samples:
                lines += [f"  {_short(sample.source)}", f"    → {_short(sample.translation)}"]
                if sample.translation != sample.reference:
                    lines += [f"    = {_short(sample.reference)}"]
            return "\n".join(lines)
        case Saved():
            return f"step {event.step:,}: saved {event.path}"
        case Skipped():
            return f"step {event.step:,} skipped: {event.reason}"
        case Stopped():
            return f"stopped after step {event.step:,}: {event.reason}"
        case Started():
            return event.description
        case Resumed():
            return f"Resumed after step {event.step:,}."
        case Notice():
            return event.message


def _picture(course: Course) -> RenderableType:
    """Return what lives at the bottom: a bar, the figures, the best dev score."""
    if course.latest is None:
        return Text("preparing the first step …", style="dim")
    bar = Table.grid(padding=(0, 1), expand=True)
    bar.add_column(no_wrap=True)
    bar.add_column(ratio=1)
    bar.add_column(no_wrap=True)
    bar.add_row(
        f"step {course.latest.step:,}/{course.plan.max_steps:,}",
        ProgressBar(total=1.0, completed=course.share_done, complete_style="cyan"),
        f"{100 * course.share_done:.0f} %  {_clock(course.elapsed)}, {_clock(course.left)} left",
    )
    lines: list[RenderableType] = [bar, *map(Text, _figures(course))]
    if course.best is not None:
        lines.append(
            Text(f"best dev: {_scores(course.best)}, step {course.best.step:,}", style="green")
        )
    if course.stopping:
        lines.append(Text(course.stopping, style="yellow"))
    return Group(*lines)


def _validation(event: Validated) -> RenderableType:
    """Return a validation with its translations, references beside those that differ."""
    title = Text(f"step {event.step:,}, dev: {_scores(event)}", style="bold")
    if event.best:
        title.append("  best", style="green")
    table = Table.grid(padding=(0, 1))
    for sample in event.samples:
        table.add_row("  ", Text(_short(sample.source), style="dim"))
        right = sample.translation == sample.reference
        table.add_row("  →", Text(_short(sample.translation), style="green" if right else ""))
        if not right:
            table.add_row("  =", Text(_short(sample.reference), style="dim"))
    return Group(title, table)


def _position(course: Course) -> str:
    assert course.latest is not None
    return (
        f"step {course.latest.step:,} of {course.plan.max_steps:,} "
        f"({100 * course.share_done:.0f} %), {_clock(course.left)} left"
    )


def _figures(course: Course) -> tuple[str, str]:
    """Return how well and how fast it learns, one line each."""
    latest = course.latest
    assert latest is not None
    return (
        f"loss {latest.loss:.3f} · perplexity {_number(latest.perplexity)} · learning rate "
        f"{latest.learning_rate:.3g} · gradient norm {latest.gradient_norm:.2f}",
        f"{course.tokens_per_second:,.0f} tokens/s · {100 * course.share_of_peak:.0f} % of peak "
        f"({course.peak / 1e9:,.0f} GFLOP/s) · epoch {latest.epoch}",
    )


def _scores(event: Validated) -> str:
    return (
        f"loss {event.loss:.3f} · perplexity {_number(event.perplexity)} · BLEU {event.bleu:.1f} · "
        f"chrF {event.chrf:.1f}"
    )


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_SAMPLE else f"{text[:LONGEST_SAMPLE]} …"


def _number(value: float) -> str:
    """Write a perplexity, which may be small or enormous."""
    if value < 100:
        return f"{value:.2f}"
    return f"{value:,.0f}" if value < 1e6 else f"{value:.2g}"


def _clock(seconds: float | None) -> str:
    return "?" if seconds is None else format_clock(seconds)
