"""Commands side by side, each on cores of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from translucid.machine import Machine

LOOKED_EVERY = 0.2  # seconds


def lanes(cores: int, *, at_most: int) -> list[list[int]]:
    """Cut the cores that this process may use into lanes of this many."""
    known = sorted(os.sched_getaffinity(0))[: Machine().cores()]
    if not 1 <= cores <= len(known):
        raise SystemExit(f"--cores {cores}: there are 1 to {len(known)} to choose")
    found = [known[at : at + cores] for at in range(0, len(known) - cores + 1, cores)]
    return found[:at_most]


def side_by_side(commands: Sequence[Sequence[str]], known: Sequence[Sequence[int]]) -> None:
    """Run commands to their end, each in a lane; where one fails, end the others and this."""
    running = []
    for words, lane in zip(commands, known, strict=False):
        print("$", *words, flush=True)
        threads = {"OMP_NUM_THREADS": str(len(lane))}
        running.append(subprocess.Popen(words, env=os.environ | threads))
        os.sched_setaffinity(running[-1].pid, lane)
    try:
        while any(process.poll() is None for process in running):
            if any(process.poll() for process in running):
                break
            time.sleep(LOOKED_EVERY)
    finally:
        for process in running:
            process.terminate()
            process.wait()
    if any(process.returncode for process in running):
        raise SystemExit(1)  # the one that failed has said why


@contextlib.contextmanager
def ended_by_signal() -> Iterator[None]:
    """Let SIGTERM raise, so that what this process has started ends with it."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
