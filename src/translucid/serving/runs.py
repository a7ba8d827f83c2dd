"""Training runs that the server shows, during and after training: events, state, films.

A run is read from its directory, as it is at the moment (see `checkpoint.run_directory`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from translucid.checkpoint.run_directory import RunDirectory
from translucid.errors import DataError, InputError, nearest
from translucid.interpret.film import Frame, choose_evenly, load_checkpoint, record_frames
from translucid.interpret.network import AttentionHead
from translucid.serving.config import ServingConfig
from translucid.serving.engine.tasks import check_cancelled
from translucid.serving.problems import Problem
from translucid.serving.traces import BoundedStore
from translucid.translator import Translator, load

State = Literal["training", "finished", "stopped"]


@dataclass(frozen=True)
class Run:
    """The folder of a run, and the name that it has on this server."""

    name: str
    path: Path

    @property
    def directory(self) -> RunDirectory:
        """Where its files are."""
        return RunDirectory(self.path)

    def record(self) -> dict[str, Any]:
        """Return the settings of the run; resuming replaces them as a whole."""
        content: dict[str, Any] = json.loads(self.directory.record_path.read_bytes())
        return content

    def checkpoint_loader(self) -> Callable[[int], Translator]:
        """Return a function that loads the network of a step; a DataError if it is damaged."""
        if not self.directory.models:
            raise InputError(
                f"the run {self.name} has not saved a model yet, so it has no tokenizer: "
                "wait for its first validation"
            )
        like = load(self.path)
        return lambda step: load_checkpoint(self.directory, step, like)

    def state(self) -> State:
        """Return whether it is training, has finished, or has stopped before the end."""
        if self.directory.is_training():
            return "training"
        return "finished" if self.directory.is_finished(self.step()) else "stopped"

    def step(self) -> int:
        """Return the newest step in its events; 0 before the first."""
        return last_step(self.directory.metrics.path)

    def describe(self) -> dict[str, Any]:
        """Return its entry in a list of runs; `started`: when it began or was last resumed."""
        record = self.record()
        return {
            "name": self.name,
            "state": self.state(),
            "step": self.step(),
            "max_steps": record["training"]["max_steps"],
            "directions": self.directory.directions(),
            "started": self.directory.started().isoformat(timespec="seconds"),
            "settings": {"model": record["model"], "training": record["training"]},
        }


class Runs:
    """The runs of a server by name, which is that of the folder; of equals, name-2, name-3 …

    A folder without a run is refused.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._runs: dict[str, Run] = {}
        for folder in folders:
            if not folder.is_dir():
                raise InputError(f"--run {folder}: there is no such folder")
            RunDirectory(folder).read_record()
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
        """Return a run by name; raise a Problem that names a similar one if there is none."""
        run = self._runs.get(name)
        if run is not None and run.directory.exists():
            return run
        if run is not None:
            raise Problem("unknown-run", f"the folder of the run {name!r} no longer exists")
        hint = nearest(name[:80], self._runs) if self._runs else "start the server with --run RUN"
        raise Problem("unknown-run", f"no run is called {name[:80]!r}; {hint}")


CHUNK = 1_000_000  # bytes of an answer, about
_TAIL = 262_144  # bytes in which the newest step is looked for


@dataclass(frozen=True)
class EventChunk:
    """Events of a run, as its file has them, and where the next ones will be.

    `more` tells that there are more already. `restarted` that the place asked for is no end of a
    line any more, because a resumed run has dropped what came after its checkpoint: the events are
    those from the beginning. `unreadable` lines are no JSON objects and were left out.
    """

    events: tuple[dict[str, Any], ...]
    next: int
    more: bool
    restarted: bool
    unreadable: int


def read_events(path: Path, after: int, most: int = CHUNK) -> EventChunk:
    """Return the whole lines of a file after a place, about `most` bytes of them."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return EventChunk((), 0, more=False, restarted=after > 0, unreadable=0)
    with file:
        size = os.fstat(file.fileno()).st_size
        begin = after if _is_end_of_line(file, after, size) else 0
        file.seek(begin)
        data = file.read(most)
        if b"\n" not in data:
            data += file.readline()
        data = data[: data.rfind(b"\n") + 1]
        events = [_event(line) for line in data.splitlines()]
        end = begin + len(data)
        file.seek(end)
        return EventChunk(
            events=tuple(event for event in events if event is not None),
            next=end,
            more=file.readline().endswith(b"\n"),
            restarted=begin != after,
            unreadable=events.count(None),
        )


def last_step(path: Path) -> int:
    """Return the newest step in a metrics file; 0 if there is none."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return 0
    with file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - _TAIL))
        lines = file.read().split(b"\n")[:-1]  # after the last end of a line: being written
    for line in reversed(lines):
        step = (_event(line) or {}).get("step")
        if isinstance(step, int):
            return step
    return 0


def _is_end_of_line(file: BinaryIO, place: int, size: int) -> bool:
    if place == 0:
        return True
    if place > size:
        return False
    file.seek(place - 1)
    return file.read(1) == b"\n"


def _event(line: bytes) -> dict[str, Any] | None:
    """Return the object of a line; numbers that JSON does not have (NaN) become null."""
    try:
        event = json.loads(line, parse_constant=lambda _: None)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


_FILMS = 16  # kept at a time
_Key = tuple[str, str, str | None, tuple[int, ...]]


@dataclass(frozen=True)
class FilmRequest:
    """What a film shows: a text, its target language, and the number of checkpoints."""

    text: str
    target: str | None
    frames: int


class Films:
    """Make films of runs, and cache the newest.

    A film shows how one head's attention, and one translation, changed over the checkpoints of a
    run. All heads come out of the same pass, so another head of a cached film costs nothing.
    """

    def __init__(self, settings: ServingConfig) -> None:
        self._max_bytes = settings.max_trace_bytes
        self._kept: BoundedStore[_Key, tuple[Frame, ...]] = BoundedStore(
            max_bytes=settings.max_trace_bytes, max_count=_FILMS, seconds=settings.trace_seconds
        )

    def frames(self, run: Run, request: FilmRequest) -> tuple[Frame, ...]:
        """Return a frame for each of some checkpoints, evenly chosen, oldest first."""
        steps = choose_evenly(run.directory.checkpoints.steps(), request.frames)
        if not steps:
            raise InputError(
                f"the run {run.name} has no checkpoints yet: training writes one every "
                "training.checkpoint_every steps"
            )
        key = (run.name, request.text, request.target, tuple(steps))
        found = self._kept.get(key)
        if found is None:
            found = self._make(run, request, steps)
            self._kept.put(key, found, sum(frame.trace.bytes for frame in found))
        return found

    def expire(self) -> None:
        """Drop films that were not viewed for too long."""
        self._kept.expire()

    def _make(self, run: Run, request: FilmRequest, steps: list[int]) -> tuple[Frame, ...]:
        newest_first = record_frames(
            _load_networks(run, run.checkpoint_loader(), steps),
            request.text,
            target=request.target,
            max_bytes=self._max_bytes // len(steps),
            on_event=lambda _: check_cancelled(),
        )
        return tuple(newest_first)[::-1]


def _load_networks(
    run: Run, load_step: Callable[[int], Translator], steps: list[int]
) -> Iterator[tuple[int, Translator]]:
    """Yield the networks of steps, newest first, leaving out what training has deleted since."""
    for step in reversed(steps):
        check_cancelled()
        try:
            yield step, load_step(step)
        except DataError as error:
            if step in run.directory.checkpoints.steps():
                raise InputError(
                    f"the checkpoint of step {step} of the run {run.name} is damaged"
                ) from error


def film_json(frames: tuple[Frame, ...], head: AttentionHead) -> dict[str, Any]:
    """Return one head of a film as the page reads it; all frames read the same tokens."""
    trace = frames[-1].trace
    return {
        "source_tokens": [token.piece for token in trace.source_tokens],
        "target_tokens": [token.piece for token in trace.target_tokens],
        "frames": [
            {
                "step": frame.step,
                "translation": frame.translation,
                "log_prob": frame.log_prob,
                "weights": frame.trace.attention(head.side, head.layer)[head.head].tolist(),
            }
            for frame in frames
        ],
    }
