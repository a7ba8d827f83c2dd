"""How large a micro-batch may be: as large as memory allows, and such that all workers have some.

The tokens of an optimiser step belong to the recipe and are never changed; what is chosen is into
how many micro-batches they are cut. A child process computes whole steps on the longest sentences
there are, in growing numbers, and tells how much memory each took at most. That grows linearly, so
the size that just fits is read off the line::

    bytes │ - - - - - - - - - - - - - - - - -╱-  what is free, less a reserve
          │                              ╱ ·│
          │                   ●     ╱   ·   │
          │         ●    ╱                  │
          │    ● ╱   measured               │
          └──────────────────────────────── ▼ ─▶ tokens
"""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from translucid.config import ModelConfig
from translucid.data.loader import Batch
from translucid.errors import InputError, TranslucidError
from translucid.machine import Machine, keep_freed_memory
from translucid.training.config import TrainingConfig
from translucid.training.device import choose_device
from translucid.training.distributed import Distribution
from translucid.training.learner import Learner, initial_model

_RESERVE = {"cpu": 0.25, "cuda": 0.1, "mps": 0.25}  # of what is free, for all that is not measured
_FIRST = 256  # tokens: fewer do not stand out from what the process takes anyway
_FEWEST = 3  # measurements, however slow the machine
_ENOUGH = 5.0  # seconds of measuring after which a line needs no more
_STATUS = Path("/proc/self/status")


class Measurement(NamedTuple):
    """The peak memory in bytes of steps with this many tokens per side, all computed at once."""

    tokens: int
    peak: int


class Fit(NamedTuple):
    """The memory that may be used, and what steps took of it."""

    budget: int
    points: tuple[Measurement, ...]


def split_batch(
    settings: TrainingConfig, *, workers: int, at_most: int, longest: int
) -> TrainingConfig:
    """Split a step into micro-batches of at most `at_most` tokens, equally many for every worker.

    Workers are processes, or the threads of one. No micro-batch is smaller than the `longest`
    sentence. The tokens of the step stay what they are, and so does all else where every worker has
    as much work already.
    """
    if settings.micro_batch_tokens == at_most and settings.micro_batches % workers == 0:
        return settings
    tokens = settings.batch_tokens
    count = workers * math.ceil(math.ceil(tokens / at_most) / workers)
    size = min(tokens, max(math.ceil(tokens / count), longest))
    return settings.replace(micro_batch_tokens=size)


def largest_micro_batch(fit: Fit, *, cap: int, longest: int) -> int:
    """Return how many tokens per side fit into memory at once, at most `cap`.

    InputError says so where not even the longest sentence fits.
    """
    fitting = [point for point in fit.points if point.peak <= fit.budget]
    if not fitting:
        raise InputError(
            f"a step of the {longest:,} tokens of the longest sentence does not fit into the "
            f"{fit.budget / 1e9:.1f} GB of memory that may be used: choose a smaller network, or "
            "prepare the data again with a lower limit of length"
        )
    last = fitting[-1]
    if len(fit.points) == 1:
        return min(cap, last.tokens)
    before, after = fit.points[-2:]
    slope = (after.peak - before.peak) / (after.tokens - before.tokens)
    if slope <= 0:  # too little to be seen beside all else, so only what was tried is known
        return min(cap, last.tokens)
    return max(longest, min(cap, last.tokens + int((fit.budget - last.peak) / slope)))


def measure_memory(
    model: ModelConfig,
    settings: TrainingConfig,
    *,
    device: torch.device,
    bf16: bool,
    longest: int,
    processes: int,
) -> Fit:
    """Measure in a child process, which may run out of memory; `processes` share this machine's."""
    job = {
        "model": model.model_dump(mode="json"),
        "training": settings.model_dump(mode="json"),
        "device": device.type,
        "index": device.index or 0,
        "bf16": bf16,
        "longest": longest,
        "processes": processes,
    }
    command = [sys.executable, "-m", __name__]
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True)  # noqa: S603
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode > 0 or not lines:  # below 0 it was killed, for lack of memory as a rule
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise TranslucidError(
            f"could not measure how much memory a step takes ({last[0]}): give --batch-tokens a "
            "number, and training.micro_batch_tokens too if necessary"
        )
    budget, *points = lines  # of a child that was killed, those that it had written
    return Fit(budget, tuple(itertools.starmap(Measurement, points)))


def _main(job: dict[str, Any]) -> None:
    """Be the child: write the budget, and then each measurement as it is made."""
    device = choose_device(job["device"], job["index"])
    if device.type == "cpu":
        keep_freed_memory()  # as the run itself does
    budget = int(_free(device, job["processes"]) * (1 - _RESERVE[device.type]))
    _write(budget)
    settings = TrainingConfig(**{**job["training"], "compile": False})
    model = initial_model(ModelConfig(**job["model"]), settings.seed)
    learner = Learner(model, settings, Distribution(), device=device, bf16=job["bf16"])
    points: list[Measurement] = []
    end = time.monotonic() + _ENOUGH
    try:
        _step(learner, 1, job["longest"])  # gives the optimiser its memory
        for rows in _row_counts(job["longest"], settings.batch_tokens, learner.parallel):
            late = len(points) >= _FEWEST and time.monotonic() > end
            if late or _expected(points, rows * job["longest"]) > budget:
                return
            points.append(_step(learner, rows, job["longest"]))
            _write(points[-1])
    except torch.OutOfMemoryError:
        return


def _row_counts(longest: int, cap: int, parts: int) -> Iterator[int]:
    """Yield how many of the longest sentences to try: twice as many each time, up to `cap`.

    Each of the `parts` that are computed in parallel takes its own memory, so all but a single
    sentence, which must fit in any case, are cut into as many.
    """
    rows = max(1, parts, min(_FIRST, cap) // longest)
    if parts > 1:
        yield 1
    while rows == 1 or rows * longest <= cap:
        yield rows
        rows *= 2


def _expected(points: Sequence[Measurement], tokens: int) -> float:
    """Return the memory that a step should take, extrapolated from the last two."""
    if len(points) < 2:
        return 0.0
    before, after = points[-2:]
    slope = (after.peak - before.peak) / (after.tokens - before.tokens)
    return after.peak + slope * (tokens - after.tokens)


def _step(learner: Learner, rows: int, length: int) -> Measurement:
    """Train a step on sentences without padding, and return its peak memory.

    It is split into the micro-batches that are computed in parallel.
    """
    highest = learner.model.config.target_vocab_size
    ids = torch.randint(1, highest, (rows, length)) if highest > 2 else torch.ones(rows, length)
    batches = [
        Batch(part, part, part, part.numel(), *np.zeros((2, len(part)), np.int64))
        for part in ids.long().chunk(learner.parallel)
    ]
    learner.try_step(batches, learner.settings.rdrop_start)  # from which on steps need more
    return Measurement(rows * length, _peak(learner.device))


def _free(device: torch.device, processes: int) -> int:
    """Return how many bytes each of the processes of this machine may take."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    if device.type == "mps":
        return int(torch.mps.recommended_max_memory())
    return Machine().free_memory() // processes


def _peak(device: torch.device) -> int:
    """Return the most memory that this process has held so far, on its device."""
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device)
    if device.type == "mps":
        return int(torch.mps.driver_allocated_memory())
    if _STATUS.is_file():  # what getrusage says may be that of the parent, which became this one
        line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    import resource  # which Windows has not

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _write(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main(json.load(sys.stdin))
