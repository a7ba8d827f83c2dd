"""Training runs that a server shows, while they train and afterwards.

A run is read from its directory, as it is at the moment (see `checkpoint.run_directory`).
Networks of checkpoints are loaded by what the command line brings: serving knows nothing of how
they are stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from translucid.checkpoint.run_directory import RunDirectory
from translucid.errors import nearest
from translucid.serving.problems import Problem
from translucid.serving.run_events import last_step
from translucid.translator import Translator

State = Literal["training", "finished", "stopped"]


class Checkpoints(Protocol):
    """Gives the networks of a run's checkpoints, one at a time."""

    def steps(self, run: Path) -> list[int]:
        """Return the steps of which there is a checkpoint, oldest first."""

    def reader(self, run: Path) -> Callable[[int], Translator]:
        """Return what loads the network of a step; a DataError where that is not sound."""


@dataclass(frozen=True)
class Run:
    """The folder of a run, and the name that it has on this server."""

    name: str
    path: Path

    @property
    def metrics(self) -> Path:
        """The course of the run."""
        return self.directory.metrics.path

    @property
    def directory(self) -> RunDirectory:
        """Where its files are."""
        return RunDirectory(self.path)

    def record(self) -> dict[str, Any]:
        """Return what the run was asked for; it is replaced as a whole when a run goes on."""
        content: dict[str, Any] = json.loads(self.directory.record_path.read_bytes())
        return content

    def is_there(self) -> bool:
        """Tell whether its folder is still what it was when the server started."""
        return self.directory.exists()

    def directions(self) -> list[tuple[str, str]]:
        """Return source and target languages of its models; none where there is none yet."""
        return self.directory.directions()

    def state(self) -> State:
        """Tell whether it trains now, has come to its end, or stands still before it."""
        if self.directory.is_training():
            return "training"
        return "finished" if self.directory.is_finished(self.step()) else "stopped"

    def step(self) -> int:
        """Return the newest step that the run has told of; 0 before the first."""
        return last_step(self.metrics)

    def describe(self) -> dict[str, Any]:
        """Return what a list of runs says of it; `started`: when it began or last went on."""
        record = self.record()
        return {
            "name": self.name,
            "state": self.state(),
            "step": self.step(),
            "max_steps": record["training"]["max_steps"],
            "directions": self.directions(),
            "started": self.directory.started().isoformat(timespec="seconds"),
            "settings": {"model": record["model"], "training": record["training"]},
        }


class Runs:
    """The runs of a server by name, which is that of the folder; of equals, name-2, name-3 …"""

    def __init__(
        self, folders: Sequence[Path] = (), checkpoints: Checkpoints | None = None
    ) -> None:
        self.checkpoints = checkpoints
        self._runs: dict[str, Run] = {}
        for folder in folders:
            name, number = folder.resolve().name, 1
            while name in self._runs:
                number += 1
                name = f"{folder.resolve().name}-{number}"
            self._runs[name] = Run(name, folder)

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs.values())

    def find(self, name: str) -> Run:
        """Return a run by its name; a Problem that names a near one where there is none."""
        run = self._runs.get(name)
        if run is not None and run.is_there():
            return run
        if run is not None:
            raise Problem("unknown-run", f"the folder of the run {name!r} is not there any more")
        hint = nearest(name[:80], self._runs) if self._runs else "start the server with --run RUN"
        raise Problem("unknown-run", f"no run is called {name[:80]!r}; {hint}")
