"""metrics.jsonl: the course of a run, a JSON object a line.

The lines are the events of training that decide or describe its course, with their kind::

    {"event": "trained", "step": 120, "loss": 4.1, "perplexity": 31.2, …}
    {"event": "validated", "step": 200, "loss": 3.2, "bleu": 12.5, …}
    {"event": "skipped", "step": 207, "reason": …}

A run that is resumed first drops the lines after its checkpoint, so that the file always tells the
story of an uninterrupted run.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from translucid.checkpoint.writing import full_disk_explained
from translucid.errors import DataError
from translucid.events import Skipped, Trained, Validated

Recorded = Trained | Validated | Skipped

_KINDS: dict[str, type[Recorded]] = {
    "trained": Trained,
    "validated": Validated,
    "skipped": Skipped,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_ADAPTERS: dict[str, TypeAdapter[Any]] = {name: TypeAdapter(kind) for name, kind in _KINDS.items()}
_REMEDY = "Delete the line, or the file: training goes on without it."


class MetricsFile:
    """The file to which a run adds a line an event."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, event: Recorded) -> None:
        """Add an event; it is with the operating system when this returns."""
        values = {"event": _NAMES[type(event)], **dataclasses.asdict(event)}
        line = (json.dumps(values, ensure_ascii=False) + "\n").encode()
        remedy = "The last checkpoint is kept. Free some space, and resume."
        with (
            full_disk_explained(self.path, "a line of metrics", needed=len(line), remedy=remedy),
            self.path.open("ab") as file,
        ):
            file.write(line)

    def sync(self) -> None:
        """Wait until all lines are on the disk."""
        with self.path.open("ab") as file:
            os.fsync(file.fileno())

    def cut(self, step: int) -> None:
        """Drop what came after a step, and a last line that was not finished."""
        if not self.path.exists():
            return
        with self.path.open("r+b") as file:
            end = 0
            for line in file:
                if not line.endswith(b"\n") or _step_of(line) > step:
                    break
                end += len(line)
            file.truncate(end)
            file.flush()
            os.fsync(file.fileno())


def _step_of(line: bytes) -> float:
    """Return the step of a line; one that cannot be read comes after all others."""
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")


def read_metrics(path: Path) -> Iterator[Recorded]:
    """Yield the events of a metrics.jsonl in order; a last line that was not finished is left."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                values = json.loads(line)
                yield _ADAPTERS[values.pop("event")].validate_python(values)
            except (ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
                problem = f"not a line of metrics: {error}"
                raise DataError(path, problem, line=number, remedy=_REMEDY) from error
