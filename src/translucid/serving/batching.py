"""The micro-batcher: sentences of many requests, decoded together by a few threads.

::

    request ─┐                                    ┌─ thread: a batch ─┐
    request ─┼─ line of sentences ─ similar ones ─┤                   ├─ results, each to its place
    request ─┘       (event loop)     together    └─ thread: a batch ─┘

A thread that is free takes what there is at once: nothing waits for company. Batches form because
sentences arrive while all threads are busy. All state belongs to the event loop; a thread is given
a batch and returns results, so nothing here is locked.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeAlias

import torch

from translucid.serving.abandoning import Ticket
from translucid.serving.admission import Full
from translucid.serving.engine_events import BatchDone, EmitEngineEvent
from translucid.serving.tasks import Task
from translucid.serving.waiting_line import Budget, Gathering, Line, Waiting
from translucid.serving.worker import Failed, Result, work_on

Done: TypeAlias = Future[tuple[list[Result], BatchDone]]

LONGEST_RETRY = 60  # seconds; a longer estimate is not worth much
_MEMORY = 0.9  # weight of what was before in the running mean of the pace


class Batcher:
    """Does the tasks of many requests in batches, in threads of its own."""

    def __init__(
        self, workers: int, budget: Budget, queue_size: int, emit: EmitEngineEvent
    ) -> None:
        each = max(1, torch.get_num_threads() // workers)
        self._budget, self._queue_size, self._emit = budget, queue_size, emit
        self._loop = asyncio.get_running_loop()
        self._line = Line()
        self._pace = Pace(workers)
        self._free = workers
        self._futures: dict[Gathering, asyncio.Future[list[Any]]] = {}
        self._planned = False
        self._threads = ThreadPoolExecutor(
            workers, "decode", initializer=torch.set_num_threads, initargs=(each,)
        )

    @property
    def waiting(self) -> int:
        """Number of sentences that wait."""
        return len(self._line)

    def refuse(self) -> None:
        """Raise :class:`Full` if as many sentences wait as may."""
        if len(self._line) >= self._queue_size:
            seconds = self._pace.seconds(self._line.tokens)
            raise Full("sentences", len(self._line), self._queue_size, seconds)

    async def do(self, ticket: Ticket, tasks: Sequence[Task]) -> list[Any]:
        """Return the results of some tasks; when it is cancelled, those that wait are dropped."""
        if not tasks:
            return []
        gathering = self._line.add(ticket, tasks)
        future: asyncio.Future[list[Any]] = self._loop.create_future()
        self._futures[gathering] = future
        self._plan()
        try:
            return await future
        finally:
            del self._futures[gathering]
            if gathering.missing:
                self._line.drop(ticket)

    async def close(self) -> None:
        """Stop the threads; what they still work on ends first."""
        await asyncio.to_thread(self._threads.shutdown)

    def _plan(self) -> None:
        """Give free threads work as soon as all that has arrived with this request is in line."""
        if not self._planned:
            self._planned = True
            self._loop.call_soon(self._give_work)

    def _give_work(self) -> None:
        self._planned = False
        while self._free and len(self._line):
            batch = self._line.take(self._budget)
            self._free -= 1
            future = self._threads.submit(work_on, batch, self._tell)
            future.add_done_callback(partial(self._tell_done, batch))

    def _tell(self, one: Waiting, result: Result) -> None:
        """Hand a result over, from a thread, while the rest of its batch is under way."""
        self._loop.call_soon_threadsafe(self._deliver, one, result)

    def _tell_done(self, batch: list[Waiting], done: Done) -> None:
        """Tell the event loop, from a thread, that a batch is done."""
        self._loop.call_soon_threadsafe(self._done, batch, done)

    def _done(self, batch: list[Waiting], done: Done) -> None:
        """Take the results of a batch; the thread has its next batch before they are looked at."""
        self._free += 1
        self._give_work()
        results, told = done.result()
        for one, result in zip(batch, results, strict=True):
            self._deliver(one, result)
        self._pace.note(sum(one.task.length * one.task.copies for one in batch), told.seconds)
        self._emit(told)

    def _deliver(self, one: Waiting, result: Result) -> None:
        """Put a result at its place; the last one of a request ends its waiting."""
        future = self._futures.get(one.gathering)
        if future is None or future.done():  # its owner has gone, or another sentence has failed
            return
        if isinstance(result, Failed):
            future.set_exception(result.error)
        elif one.gathering.put(one.place, result):
            future.set_result(one.gathering.results)


class Pace:
    """How fast work has been done lately, and so how long what waits will take."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._tokens = 0.0
        self._seconds = 0.0

    def note(self, tokens: int, seconds: float) -> None:
        """Note a batch: its source tokens times the rows of each, and the time it took."""
        self._tokens = _MEMORY * self._tokens + tokens
        self._seconds = _MEMORY * self._seconds + seconds

    def seconds(self, tokens: int) -> int:
        """Return in how many whole seconds so much will be done, from 1 to a minute."""
        if not self._tokens:
            return 1
        expected = tokens * self._seconds / self._tokens / self._workers
        return min(LONGEST_RETRY, max(1, math.ceil(expected)))
