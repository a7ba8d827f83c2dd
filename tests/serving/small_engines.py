"""Engines on small models, and work that waits until it is told to go on."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from small_translators import write_random_model, write_taught_model
from translucid.serving.config import EngineSettings
from translucid.serving.engine.engine import Engine
from translucid.serving.engine.tasks import (
    BatchDone,
    EngineEvent,
    Kind,
    Report,
    RequestEnded,
    Task,
    check_cancelled,
)
from translucid.serving.served_models import ServedModel
from translucid.translator import load

Result = TypeVar("Result")
LIMIT = 60  # seconds after which a test that waits for something has failed


@cache
def taught() -> ServedModel:
    """A model that says twelve French words in English, in reverse."""
    with tempfile.TemporaryDirectory() as folder:
        return ServedModel(
            "taught", load(write_taught_model(Path(folder) / "taught"), engine="pytorch")
        )


@cache
def babbling() -> ServedModel:
    """A model that was never trained, into two languages by tags: it may write anything."""
    languages = {"directions": [("fr", "en"), ("en", "fr")], "tags": {"en": 4, "fr": 5}}
    with tempfile.TemporaryDirectory() as folder:
        path = write_random_model(Path(folder) / "babbling", generation=languages)
        return ServedModel("babbling", load(path, engine="pytorch"))


class RecordedEvents(list[EngineEvent]):
    """What an engine told."""

    @property
    def batches(self) -> list[BatchDone]:
        return [event for event in self if isinstance(event, BatchDone)]

    @property
    def outcomes(self) -> list[str]:
        return [event.outcome for event in self if isinstance(event, RequestEnded)]


@asynccontextmanager
async def running(told: RecordedEvents | None = None, **settings: Any) -> AsyncIterator[Engine]:
    """An engine that is drained at the end."""
    engine = Engine(EngineSettings(**settings), (RecordedEvents() if told is None else told).append)
    try:
        yield engine
    finally:
        await engine.drain()


def in_loop(test: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Run a test that awaits; one that hangs fails."""
    return asyncio.run(asyncio.wait_for(test(), LIMIT))


async def until(condition: Callable[[], bool]) -> None:
    """Let the event loop and the threads go on until something is so."""
    async with asyncio.timeout(LIMIT):
        while not condition():
            await asyncio.sleep(0.001)


async def ended(awaitable: Awaitable[object]) -> BaseException | None:
    """Return what some work ended with: an error, or none."""
    try:
        await awaitable
    except BaseException as error:
        return error
    return None


@dataclass(frozen=True)
class Gated:
    """Work that doubles numbers once its gate is open; 13 is no number it can double.

    Equal ones are done together. `seen` has the inputs of each batch.
    """

    name: str = "gated"
    gate: threading.Event = field(default_factory=threading.Event, compare=False)
    seen: list[list[int]] = field(default_factory=list, compare=False)
    kind: Kind = "search"

    def run(self, inputs: Sequence[int], report: Report) -> list[int]:
        del report
        self.seen.append(list(inputs))
        while not self.gate.wait(0.001):
            check_cancelled()
        if 13 in inputs:
            raise ZeroDivisionError("13")
        return [2 * number for number in inputs]

    def written(self, result: int) -> int:
        return result

    def tasks(self, *numbers: int, length: int = 5) -> list[Task]:
        return [Task(self, number, length, copies=1) for number in numbers]
