"""What a long job says about itself while it runs.

A function that takes long accepts ``on_event`` and calls it with an event whenever
there is something to report. It never prints: a progress bar, a log file and a test are all just
consumers. This module holds plain values only, so that every area may import it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class Progress:
    """How far a stage has come: ``done`` of ``total`` units (``None``: the total is not known).

    A stage starts with its first event and ends when ``done`` reaches ``total`` or when an event
    of another stage arrives.
    """

    stage: str
    done: int
    total: int | None
    unit: str


@dataclass(frozen=True)
class Notice:
    """Something that a person should know, in one or a few lines of plain text."""

    message: str


Event: TypeAlias = Progress | Notice
Emit: TypeAlias = Callable[[Event], None]


def silent(event: Event) -> None:
    """Take an event and do nothing: the consumer for callers that do not care."""
    del event


@dataclass(frozen=True)
class Started:
    """Training is about to begin: what is trained, how far, and how much work a step is.

    `max_minutes` is 0 where time is not limited. `flops` are those of one target token in one pass
    through the network; `passes` tells the number of passes per sentence in the steps after one and
    up to another. `processes` of them share the work on `device`.
    """

    description: str
    max_steps: int
    max_minutes: float
    flops: float
    device: str
    processes: int
    passes: Callable[[int, int], int] = field(repr=False, compare=False)


@dataclass(frozen=True)
class Resumed:
    """Training continues after `step`; `seconds` is the time of earlier sessions."""

    step: int
    seconds: float


@dataclass(frozen=True)
class Trained:
    """What one or a few optimiser steps did, the last of them being `step`.

    `loss` is what is minimised, label smoothing included, per token; `perplexity` comes from the
    unsmoothed loss. `tokens` are the target tokens of these steps, `seconds` the time they took.
    `gradient_norm` is that of the last step, before clipping.
    """

    step: int
    loss: float
    perplexity: float
    tokens: int
    seconds: float
    learning_rate: float
    gradient_norm: float
    epoch: int


@dataclass(frozen=True)
class Sample:
    """A sentence of the dev set, its reference, and what the network makes of it."""

    source: str
    reference: str
    translation: str


@dataclass(frozen=True)
class Validated:
    """The scores on the dev set after `step`; `best`: none was better before."""

    step: int
    loss: float
    perplexity: float
    bleu: float
    chrf: float
    signatures: tuple[str, ...]
    samples: tuple[Sample, ...]
    best: bool


@dataclass(frozen=True)
class Saved:
    """A checkpoint or a model directory is on disk, under this path, as it was after `step`."""

    step: int
    path: str


@dataclass(frozen=True)
class Skipped:
    """The optimiser did nothing in this step, and why."""

    step: int
    reason: str


Cause: TypeAlias = Literal["steps", "minutes", "patience", "interrupted"]


@dataclass(frozen=True)
class Stopped:
    """Training has ended after `step`, everything saved: why, for a program and for people."""

    step: int
    reason: str
    cause: Cause


TrainingEvent: TypeAlias = (
    Notice | Started | Resumed | Trained | Validated | Saved | Skipped | Stopped
)
