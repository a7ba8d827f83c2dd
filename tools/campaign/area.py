"""What every area of the campaign gets, and what it tells."""

from __future__ import annotations

import contextlib
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_FAILURES = 50  # that are described
START_SECONDS = 120.0


@dataclass
class Area:
    """One area: its name, its random numbers, its folder, its end, and what was found."""

    name: str
    seed: int
    folder: Path
    seconds: float
    tried: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    failed: int = 0
    numbers: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.draw = random.Random(f"{self.seed} {self.name}")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.start_clock()

    def start_clock(self) -> None:
        """Begin to count the area's time, when what it needs is there."""
        self._end = time.monotonic() + self.seconds

    @property
    def has_time(self) -> bool:
        return time.monotonic() < self._end

    def check(self, is_sound: bool, what: str) -> bool:
        """Note a failure unless something is as it must be."""
        if not is_sound:
            self.failed += 1
            if len(self.failures) < MOST_FAILURES:
                self.failures.append(what)
        return is_sound

    def to_json(self) -> dict[str, Any]:
        return {
            "area": self.name,
            "seed": self.seed,
            "seconds": self.seconds,
            "tried": dict(self.tried),
            "failed": self.failed,
            "failures": self.failures,
            **self.numbers,
        }


def command(*words: str | Path) -> list[str]:
    """Return the command line of the package that this interpreter has."""
    return [sys.executable, "-m", "translucid", *map(str, words)]


@dataclass
class Server:
    """A server process: its number and its port on loopback."""

    process: subprocess.Popen[bytes]
    port: int

    def memory(self) -> int:
        """Return the bytes of the process that are in memory."""
        status = Path(f"/proc/{self.process.pid}/statm").read_text()
        return int(status.split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def threads(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))


@contextlib.contextmanager
def serving(area: Area, *words: str) -> Iterator[Server]:
    """Run a server on a free port of loopback while the block lasts; it must end at SIGTERM."""
    log = (area.folder / "server.log").open("w+b")
    process = subprocess.Popen(
        command("serve", "--port", "0", "--quiet", *words), stderr=log, stdin=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + START_SECONDS
        found, text = None, ""
        while found is None and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
            text = (area.folder / "server.log").read_text(errors="replace")
            found = re.search(r"Serving .* at http://127\.0\.0\.1:(\d+)", text)
        if found is None:
            raise RuntimeError(f"the server did not start: {text}")
        yield Server(process, int(found[1]))
        area.check(process.poll() is None, "the server ended before it was told to")
        process.terminate()
        area.check(process.wait(90) == 0, f"at SIGTERM the server ended with {process.returncode}")
    finally:
        process.kill()
        process.wait()
        log.close()
