"""What a decoding thread does: one batch, from its inputs to its results.

A sentence with which something is wrong must not harm those that happen to be in its batch: when
a batch fails, each of its sentences is tried alone, and only those that fail again have failed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from translucid.serving.abandoning import Abandoned, check_wanted, working_for
from translucid.serving.engine_events import BatchDone
from translucid.serving.waiting_line import Waiting, padding


@dataclass(frozen=True)
class Failed:
    """Takes the place of a result where there is none, and says why."""

    error: Exception


Result: TypeAlias = Any | Failed
Tell: TypeAlias = Callable[[Waiting, Any], None]


def work_on(batch: Sequence[Waiting], tell: Tell) -> tuple[list[Result], BatchDone]:
    """Return the result of each task of a batch, and what to note of the whole.

    Results that are certain before the batch is done are told at once.
    """
    begin = time.perf_counter()
    work = batch[0].task.work
    try:
        with working_for([one.ticket for one in batch]):
            results = _results(batch, tell)
    except Abandoned as abandoned:
        results = [Failed(abandoned)] * len(batch)
    told = BatchDone(
        kind=work.kind,
        rows=len(batch),
        tokens=sum(one.task.length for one in batch),
        padding=padding(batch),
        written=sum(work.written(r) for r in results if not isinstance(r, Failed)),
        seconds=time.perf_counter() - begin,
        abandoned=all(one.ticket.gone for one in batch),
    )
    return results, told


def _results(batch: Sequence[Waiting], tell: Tell) -> list[Result]:
    check_wanted()
    inputs = [one.task.input for one in batch]
    try:
        return list(batch[0].task.work.do(inputs, lambda place, result: tell(batch[place], result)))
    except Abandoned:
        raise
    except Exception as error:  # whatever it is: it belongs to one sentence, not to its neighbours
        if len(batch) == 1:
            return [Failed(error)]
    return [result for one in batch for result in _results([one], tell)]
