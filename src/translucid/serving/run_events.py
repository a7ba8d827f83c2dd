"""The course of a run as it grows: what was added to metrics.jsonl after a place in it.

::

    {"event": "trained", …}⏎{"event": "validated", …}⏎{"event": "tra
                           ↑ after                   ↑ next          still being written

A place is a number of bytes, always the end of a line.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

CHUNK = 1_000_000  # bytes of an answer, about
_TAIL = 262_144  # bytes in which the newest step is looked for


@dataclass(frozen=True)
class Chunk:
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


def read_events(path: Path, after: int, most: int = CHUNK) -> Chunk:
    """Return the whole lines of a file after a place, about `most` bytes of them."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return Chunk((), 0, more=False, restarted=after > 0, unreadable=0)
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
        return Chunk(
            events=tuple(event for event in events if event is not None),
            next=end,
            more=file.readline().endswith(b"\n"),
            restarted=begin != after,
            unreadable=events.count(None),
        )


def last_step(path: Path) -> int:
    """Return the newest step that a file of metrics tells of; 0 where there is none."""
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
