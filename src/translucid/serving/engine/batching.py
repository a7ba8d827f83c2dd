"""The micro-batcher: decode sentences of many requests together, in a few threads.

::

    request ─┐                                     ┌─ thread: a batch ─┐
    request ─┼─ queue of sentences ─ similar ones ─┤                   ├─ results, per request
    request ─┘     (event loop)        together    └─ thread: a batch ─┘

A free thread takes what is there at once; no sentence waits for others. Batches form because
sentences arrive while all threads are busy. All state belongs to the event loop; a thread receives
a batch and returns results, so nothing here needs a lock.

Which sentences form a batch::

    rank      3    4    4    5    6    6          the first one is always taken;
    work      a    a    b    a    a    b          those of the same work and the most similar
    length    9   30    8   11    7   40          length join it: 9, 11, 7
              ▲              ▲    ▲

The queue is in order of arrival, but a request of many sentences takes turns with those behind it:
each sixteen of its sentences rank like one more request.

No single request holds all threads for long. Long sentences, and those of requests of many, are
heavy, and share batches only with their like. While heavy batches of a request run, it gets the
last free thread in small portions only, and when nobody else wants it. And a batch of long
sentences lends its thread to short ones between two of its steps, if its engine takes steps
(CTranslate2 does not).

One bad sentence must not harm the others in its batch: when a batch fails, each of its sentences is
tried alone, and only those that fail again have failed.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from translucid.machine import limit_own_threads, thread_count
from translucid.serving.engine.tasks import (
    LONG_WORK,
    BatchDone,
    EmitEngineEvent,
    Full,
    Task,
    Ticket,
    WorkCancelled,
    cancellable_by,
    check_cancelled,
)


@dataclass(frozen=True)
class Failed:
    """The result of a task that failed."""

    error: Exception


Result: TypeAlias = Any | Failed
Done: TypeAlias = Future[tuple[list[Result], BatchDone]]

MAX_RETRY_SECONDS = 60  # longer estimates are unreliable
_LEND_SECONDS = 1.0  # to wait for the event loop
_DECAY = 0.9  # weight of the past in the running mean of the throughput


class Batcher:
    """Run the tasks of many requests in batches, in a pool of threads."""

    def __init__(
        self, workers: int, limits: BatchLimits, queue_size: int, emit: EmitEngineEvent
    ) -> None:
        each = max(1, thread_count() // workers)
        self._limits, self._queue_size, self._emit = limits, queue_size, emit
        self._loop = asyncio.get_running_loop()
        self._queue = TaskQueue()
        self._throughput = Throughput(workers)
        self._free_workers = workers
        self._workers = workers
        self._heavy_batches: Counter[Ticket] = Counter()  # those that run, by request
        self._futures: dict[PendingResults, asyncio.Future[list[Any]]] = {}
        self._is_dispatch_scheduled = False
        self._short_wait = False  # written on the event loop, read by threads
        self._threads = ThreadPoolExecutor(
            workers, "decode", initializer=limit_own_threads, initargs=(each,)
        )

    @property
    def waiting(self) -> int:
        """Number of sentences in the queue."""
        return len(self._queue)

    def refuse(self) -> None:
        """Raise :class:`Full` if the queue is full."""
        if len(self._queue) >= self._queue_size:
            seconds = self._throughput.seconds(self._queue.tokens)
            raise Full("sentences", len(self._queue), self._queue_size, seconds)

    async def run(self, ticket: Ticket, tasks: Sequence[Task]) -> list[Any]:
        """Return the results of some tasks; on cancellation, drop those still in the queue."""
        if not tasks:
            return []
        pending = self._queue.add(ticket, tasks)
        future: asyncio.Future[list[Any]] = self._loop.create_future()
        self._futures[pending] = future
        self._schedule_dispatch()
        try:
            return await future
        finally:
            del self._futures[pending]
            if pending.missing:
                self._queue.drop(ticket)

    async def close(self) -> None:
        """Stop the threads after the batches in progress."""
        await asyncio.to_thread(self._threads.shutdown)

    def _schedule_dispatch(self) -> None:
        """Dispatch once all tasks that arrived together with this request are in the queue."""
        if not self._is_dispatch_scheduled:
            self._is_dispatch_scheduled = True
            self._loop.call_soon(self._dispatch)

    def _dispatch(self) -> None:
        self._is_dispatch_scheduled = False
        while self._free_workers:
            is_last = self._free_workers == 1 < self._workers
            batch = self._queue.take(self._limits, self._heavy_batches if is_last else ())
            if not batch:
                break
            self._free_workers -= 1
            if takes_long(batch):
                self._heavy_batches.update({one.ticket for one in batch})
            lend = self._lend_thread if batch[0].task.is_long else None
            future = self._threads.submit(run_batch, batch, self._report_result, lend)
            future.add_done_callback(partial(self._report_done, batch))
        self._short_wait = self._queue.has_short

    def _lend_thread(self) -> None:
        """Run a batch of short tasks, if some wait, in a thread that works on long ones."""
        if self._short_wait:
            lent: Future[list[QueuedTask]] = Future()
            self._loop.call_soon_threadsafe(self._take_short, lent)
            try:
                batch = lent.result(_LEND_SECONDS)
            except TimeoutError:  # the event loop is busy, or is ending
                if lent.cancel():
                    return
                batch = lent.result()
            if batch:
                found = run_batch(batch, self._report_result)
                self._loop.call_soon_threadsafe(self._deliver_batch, batch, *found)

    def _take_short(self, lent: Future[list[QueuedTask]]) -> None:
        if not lent.set_running_or_notify_cancel():
            return
        lent.set_result(self._queue.take_short(self._limits))
        self._short_wait = self._queue.has_short

    def _report_result(self, one: QueuedTask, result: Result) -> None:
        """Deliver a result early, from a thread, while the rest of its batch is running."""
        self._loop.call_soon_threadsafe(self._deliver, one, result)

    def _report_done(self, batch: list[QueuedTask], done: Done) -> None:
        """Report to the event loop, from a thread, that a batch is done."""
        self._loop.call_soon_threadsafe(self._finish_batch, batch, done)

    def _finish_batch(self, batch: list[QueuedTask], done: Done) -> None:
        """Give the free thread its next batch, then deliver the results of this one."""
        self._free_workers += 1
        if takes_long(batch):
            self._heavy_batches -= Counter({one.ticket for one in batch})
        self._dispatch()
        self._deliver_batch(batch, *done.result())

    def _deliver_batch(
        self, batch: list[QueuedTask], results: list[Result], event: BatchDone
    ) -> None:
        for one, result in zip(batch, results, strict=True):
            self._deliver(one, result)
        self._throughput.record(
            sum(one.task.length * one.task.copies for one in batch), event.seconds
        )
        self._emit(event)

    def _deliver(self, one: QueuedTask, result: Result) -> None:
        """Store a result; the last one of a request completes its future."""
        future = self._futures.get(one.pending)
        if future is None or future.done():  # its client has gone, or another sentence has failed
            return
        if isinstance(result, Failed):
            future.set_exception(result.error)
        elif one.pending.put(one.place, result):
            future.set_result(one.pending.results)


class Throughput:
    """Recent tokens per second, to estimate how long the queue will take."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._tokens = 0.0
        self._seconds = 0.0

    def record(self, tokens: int, seconds: float) -> None:
        """Record a batch: its source tokens times the rows of each, and its seconds."""
        self._tokens = _DECAY * self._tokens + tokens
        self._seconds = _DECAY * self._seconds + seconds

    def seconds(self, tokens: int) -> int:
        """Return the whole seconds that this many tokens will take, from 1 to a minute."""
        if not self._tokens:
            return 1
        expected = tokens * self._seconds / self._tokens / self._workers
        return min(MAX_RETRY_SECONDS, max(1, math.ceil(expected)))


SENTENCES_PER_TURN = 16
FEW_SENTENCES = 4  # of a request; those of a larger one are heavy
# Sentences up to this many times as long as the first one join it, or this many tokens longer:
# a short sentence must not wait for a long one.
SIMILAR_RATIO = 2.0
SIMILAR_TOKENS = 16


@dataclass(frozen=True)
class BatchLimits:
    """Size limits of a batch: sentences, and sentences × longest budgeted length × rows of each."""

    sentences: int
    tokens: int


class PendingResults:
    """The results of one request's tasks, in the order of the tasks."""

    def __init__(self, count: int) -> None:
        self.results: list[Any] = [None] * count
        self.missing = count

    def put(self, place: int, result: Any) -> bool:
        """Store a result unless it is already stored; return whether it was the last one."""
        if self.results[place] is not None:
            return False
        self.results[place] = result
        self.missing -= 1
        return not self.missing


@dataclass(frozen=True, eq=False)
class QueuedTask:
    """A task in the queue: its request, its rank, and where its result belongs."""

    task: Task
    ticket: Ticket
    rank: tuple[int, int]
    pending: PendingResults
    place: int

    @property
    def is_one_of_many(self) -> bool:
        """Whether its request has many sentences."""
        return len(self.pending.results) > FEW_SENTENCES

    @property
    def is_heavy(self) -> bool:
        """Whether it is long, or one of many."""
        return self.task.is_long or self.is_one_of_many


class TaskQueue:
    """The waiting tasks of all requests."""

    def __init__(self) -> None:
        self._waiting: dict[QueuedTask, None] = {}
        self._numbers = itertools.count()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def tokens(self) -> int:
        """Source tokens of all waiting tasks, times the rows of each."""
        return sum(one.task.length * one.task.copies for one in self._waiting)

    def add(self, ticket: Ticket, tasks: Sequence[Task]) -> PendingResults:
        """Queue the tasks of a request; return where their results will be."""
        pending = PendingResults(len(tasks))
        for place, task in enumerate(tasks):
            rank = (ticket.number + place // SENTENCES_PER_TURN, next(self._numbers))
            self._waiting[QueuedTask(task, ticket, rank, pending, place)] = None
        return pending

    def drop(self, ticket: Ticket) -> None:
        """Remove the tasks of a cancelled request."""
        self._take(one for one in tuple(self._waiting) if one.ticket is ticket)

    @property
    def has_short(self) -> bool:
        """Whether a task waits that is not long."""
        return any(not one.task.is_long for one in self._waiting)

    def take(self, limits: BatchLimits, busy: Container[Ticket] = frozenset()) -> list[QueuedTask]:
        """Remove and return the next batch.

        It has no heavy tasks of `busy` requests unless nothing else waits. Then it is a small one
        of theirs, or empty if all that waits is long.
        """
        wanted = [one for one in self._waiting if not (one.is_heavy and one.ticket in busy)]
        return self._take(select_batch(wanted, limits)) if wanted else self._take_portion(limits)

    def take_short(self, limits: BatchLimits) -> list[QueuedTask]:
        """Remove and return the next batch that is done soon, empty if all that waits is long."""
        light = [one for one in self._waiting if not one.is_heavy]
        return self._take(select_batch(light, limits)) if light else self._take_portion(limits)

    def _take_portion(self, limits: BatchLimits) -> list[QueuedTask]:
        """Remove and return a small batch of short sentences."""
        short = [one for one in self._waiting if not one.task.is_long]
        small = replace(limits, tokens=min(limits.tokens, LONG_WORK))
        return self._take(select_batch(short, small))

    def _take(self, chosen: Iterable[QueuedTask]) -> list[QueuedTask]:
        taken = list(chosen)
        for one in taken:
            del self._waiting[one]
        return taken


def select_batch(waiting: Sequence[QueuedTask], limits: BatchLimits) -> list[QueuedTask]:
    """Return the first task by rank and those that join it, the most similar lengths first."""
    if not waiting:
        return []
    first = min(waiting, key=lambda one: one.rank)
    longest_allowed = max(SIMILAR_RATIO * first.task.length, first.task.length + SIMILAR_TOKENS)
    others = sorted(
        (
            one
            for one in waiting
            if one is not first
            and one.task.length <= longest_allowed
            and one.task.work == first.task.work
            and one.task.is_long == first.task.is_long
            and one.is_one_of_many == first.is_one_of_many
        ),
        key=lambda one: (abs(one.task.length - first.task.length), one.rank),
    )
    batch = [first]
    size = (first.task.budgeted_length, first.task.copies)
    for one in others:
        larger = (max(size[0], one.task.budgeted_length), max(size[1], one.task.copies))
        if len(batch) == limits.sentences:
            break
        if (len(batch) + 1) * larger[0] * larger[1] <= limits.tokens:
            batch.append(one)
            size = larger
    return batch


def takes_long(batch: Sequence[QueuedTask]) -> bool:
    """Tell whether a batch is of heavy tasks and more than a small portion of them."""
    longest = max(one.task.budgeted_length for one in batch)
    cells = len(batch) * longest * max(one.task.copies for one in batch)
    return batch[0].is_heavy and cells > LONG_WORK


def padding_ratio(batch: Sequence[QueuedTask]) -> float:
    """Return the share of a batch's cells that are padding."""
    lengths = [one.task.length for one in batch]
    return 1 - sum(lengths) / (len(lengths) * max(lengths))


Report: TypeAlias = Callable[[QueuedTask, Any], None]


def run_batch(
    batch: Sequence[QueuedTask], report: Report, lend: Callable[[], None] | None = None
) -> tuple[list[Result], BatchDone]:
    """Return the result of each task of a batch, and the event that describes the batch.

    Results that are final before the batch is done are reported at once; `lend` is called between
    two steps.
    """
    begin = time.perf_counter()
    work = batch[0].task.work
    try:
        with cancellable_by([one.ticket for one in batch], lend):
            results = _run_tasks(batch, report)
    except WorkCancelled as cancelled:
        results = [Failed(cancelled)] * len(batch)
    event = BatchDone(
        kind=work.kind,
        rows=len(batch),
        tokens=sum(one.task.length for one in batch),
        padding=padding_ratio(batch),
        written=sum(work.written(r) for r in results if not isinstance(r, Failed)),
        seconds=time.perf_counter() - begin,
        cancelled=all(one.ticket.is_cancelled for one in batch),
    )
    return results, event


def _run_tasks(batch: Sequence[QueuedTask], report: Report) -> list[Result]:
    check_cancelled()
    inputs = [one.task.input for one in batch]
    try:
        return list(
            batch[0].task.work.run(inputs, lambda place, result: report(batch[place], result))
        )
    except WorkCancelled:
        raise
    except Exception as error:  # of one sentence, not of the whole batch
        if len(batch) == 1:
            return [Failed(error)]
    return [result for one in batch for result in _run_tasks([one], report)]
