"""Contenders that take turns: each lives in a process of its own, and works when it is asked to.

So each has its own memory, whose peak can be told, and noise of the machine meets all alike.
"""

from __future__ import annotations

import multiprocessing as mp
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

Make = Callable[..., Callable[[], float]]
"""Made in the contender's process; the result does one round and returns how much it did."""


class Round(NamedTuple):
    """How much a contender did a second in one round, and its peak memory so far in MB."""

    speed: float
    memory: float


def take_turns(
    make: Make, arguments: Mapping[str, tuple[Any, ...]], rounds: int
) -> Iterator[dict[str, Round]]:
    """Yield what each contender did, round after round."""
    context = mp.get_context("spawn")
    pipes, processes = {}, []
    for name, values in arguments.items():
        pipes[name], theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, make, values), daemon=True)
        process.start()
        theirs.close()  # so that a contender that fails is seen
        processes.append(process)
    for pipe in pipes.values():
        pipe.recv()
    for _ in range(rounds):
        found = {}
        for name, pipe in pipes.items():
            pipe.send(True)
            found[name] = Round(*pipe.recv())
        yield found
    for pipe in pipes.values():
        pipe.send(False)
    for process in processes:
        process.join()


def _serve(pipe: Connection, make: Make, values: tuple[Any, ...]) -> None:
    work = make(*values)
    pipe.send("ready")
    while pipe.recv():
        began = time.perf_counter()
        done = work()
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        pipe.send((done / seconds, peak))
