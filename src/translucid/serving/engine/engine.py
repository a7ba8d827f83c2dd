"""The engine behind the server: all computing, for many clients at once.

::

    translate, score      micro-batches shared by all requests     batching.py
    stream                one thread per stream                    BoundedThreadPool, LatestItem
    run                   one thread per job, such as a trace      BoundedThreadPool

Call all of it on the event loop on which the engine was made. When a client disconnects, the task
that awaits its answer is cancelled: its sentences leave the queue, and a computation for nobody
else stops at its next step (cancellation.py).
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Generic, TypeVar

from translucid.errors import InputError
from translucid.machine import limit_own_threads, thread_count
from translucid.serving.config import EngineSettings
from translucid.serving.engine.batching import Batcher, BatchLimits
from translucid.serving.engine.tasks import (
    Admission,
    EmitEngineEvent,
    Full,
    Request,
    Ticket,
    TimedOut,
    TooLong,
    align_tasks,
    cancellable_by,
    check_cancelled,
    score_tasks,
    search_tasks,
)
from translucid.serving.log import note_tokens
from translucid.serving.served_models import ServedModel
from translucid.translator import (
    PartialTranslation,
    ScoredTranslation,
    Translation,
    TranslationRequest,
)
from translucid.translator.assembly import TranslationBatch
from translucid.translator.scoring import build_scores

Result = TypeVar("Result")

# Texts of fewer characters are tokenized on the event loop: faster than in another thread.
READ_AT_ONCE = 500
READERS = 2  # threads that tokenize longer ones


class Engine:
    """Translate, stream, score and run single jobs for many clients at once."""

    def __init__(self, settings: EngineSettings, emit: EmitEngineEvent) -> None:
        """Start no thread yet: each starts when it is first needed."""
        limits = BatchLimits(settings.batch_sentences, settings.batch_tokens)
        self._settings = settings
        self._admission = Admission(emit)
        # One thread per batch: threads that share the small matrices of a step wait for each other.
        workers = settings.workers or thread_count()
        self._batcher = Batcher(workers, limits, settings.queue_size, emit)
        self._streams = BoundedThreadPool("streams", settings.streams, settings.queued_streams)
        self._jobs = BoundedThreadPool("jobs", settings.jobs, settings.queued_jobs)
        self._readers = BoundedThreadPool("texts", READERS, settings.queue_size)

    @property
    def waiting(self) -> int:
        """Number of sentences, streams and jobs that wait for a thread."""
        return self._batcher.waiting + self._streams.waiting + self._jobs.waiting

    @property
    def running(self) -> int:
        """Number of requests that were accepted and have not been answered."""
        return len(self._admission)

    @property
    def draining(self) -> bool:
        """Whether new requests are refused because the server is stopping."""
        return self._admission.draining

    async def translate(
        self,
        served: ServedModel,
        texts: Sequence[str],
        request: TranslationRequest | None = None,
        **options: Any,
    ) -> list[Translation]:
        """Translate texts, together with those of other clients; see `Translator.translate`."""
        async with self._admit("translate", self._batcher.refuse) as ticket:
            request = served.translator.build_request(request, **options)
            read = partial(served.translator.encode, texts, request)
            at_once = _is_short(texts) and not (request.forbidden or request.keep or request.terms)
            batch: TranslationBatch = await self._read(ticket, read, at_once)
            self._check(batch)
            self._batcher.refuse()  # others may have filled the queue in the meantime
            found = await self._batcher.run(ticket, search_tasks(batch.searcher, batch.inputs))
            _note_tokens(batch, [len(hypotheses[0].tokens) for hypotheses in found])
            choices = batch.choose(found)
            weights = None
            if request.alignment:
                tasks = align_tasks(served.translator.engines, batch.best_pairs(choices))
                weights = await self._batcher.run(ticket, tasks)
            write = partial(batch.assemble, choices, weights)
            return await self._read(ticket, write, _is_short(texts) and not request.alignment)

    async def score(
        self,
        served: ServedModel,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        target: str | None = None,
    ) -> list[ScoredTranslation]:
        """Score given translations, together with those of other clients."""
        translator = served.translator
        read = partial(translator.build_pairs, sources, targets, target=target)
        async with self._admit("score", self._batcher.refuse) as ticket:
            pairs = await self._read(ticket, read, _is_short([*sources, *targets]))
            flat = [pair for one in pairs for pair in one]
            self._check_count(len(flat))
            each = [sum(pair.length for pair in one) for one in pairs]
            self._check_tokens(max(each, default=0), sum(each))
            self._batcher.refuse()
            found = await self._batcher.run(ticket, score_tasks(translator.engines, flat))
            note_tokens(
                source=sum(len(pair.source) for pair in flat),
                target=sum(len(pair.target) for pair in flat),
            )
            return build_scores(pairs, found, translator.tokenizer)

    async def stream(
        self,
        served: ServedModel,
        text: str,
        request: TranslationRequest | None = None,
        **options: Any,
    ) -> AsyncGenerator[PartialTranslation, None]:
        """Translate a text and yield partial translations; the last one is complete.

        Errors in the request are raised before the first item. Where partials arrive faster than
        they are taken, the newest replaces those before it.
        """
        latest: LatestItem[PartialTranslation] = LatestItem()
        batch: TranslationBatch

        def work() -> PartialTranslation:
            nonlocal batch
            wanted = served.translator.build_request(request, **options)
            batch = served.translator.encode([text], wanted)
            self._check(batch)
            return served.translator.stream_batch(batch, latest.put, wanted.alignment)

        with self._admission.admit("stream", self._streams.refuse) as ticket:
            async for item in self._follow(ticket, latest, work):
                if item.translation is not None:
                    _note_tokens(batch, [len(item.translation.tokens)])
                yield item

    async def run(self, work: Callable[..., Result], *args: object) -> Result:
        """Return what `work(*args)` returns, run in one of a few threads for single jobs.

        Long work should call `cancellation.check_cancelled` now and then.
        """
        async with self._admit("job", self._jobs.refuse) as ticket:
            return await self._jobs.run(ticket, partial(work, *args))

    async def drain(self) -> None:
        """Refuse new requests, finish those that were accepted, then stop all threads."""
        await self._admission.drain()
        for threads in (self._batcher, self._streams, self._jobs, self._readers):
            await threads.close()

    async def _read(self, ticket: Ticket, work: Callable[[], Result], at_once: bool) -> Result:
        """Tokenize or detokenize, on the event loop where that takes next to no time."""
        return work() if at_once else await self._readers.run(ticket, work)

    def _check(self, batch: TranslationBatch) -> None:
        """Refuse what limits on characters do not catch: many short lines, and long terms."""
        inputs, most = batch.inputs, self._settings.max_term_tokens
        self._check_count(len(inputs))
        each = [sum(len(item.source) for item in text.inputs) for text in batch.encoded]
        self._check_tokens(max(each, default=0), sum(each))
        tokens = max((sum(map(len, item.terms)) for item in inputs), default=0)
        if tokens > most:
            raise InputError(
                f"the terms in one sentence have {tokens} tokens in the translation; this server "
                f"accepts at most {most} (max_term_tokens): send fewer or shorter terms"
            )

    def _check_tokens(self, longest: int, together: int) -> None:
        """Refuse what takes far longer than its characters suggest: three tokens for one of them.

        A script that a model has hardly seen is read byte by byte.
        """
        for tokens, what, name in (
            (longest, "a text has", "max_tokens"),
            (together, "the texts have", "max_total_tokens"),
        ):
            if tokens > (most := getattr(self._settings, name)):
                raise TooLong(
                    f"{what} {tokens} tokens; this server accepts at most {most} ({name}): send "
                    "less at a time. Characters that the model has hardly seen take several tokens"
                )

    def _check_count(self, sentences: int) -> None:
        most = self._settings.max_sentences
        if sentences > most:
            raise InputError(
                f"the texts have {sentences} sentences (lines, and parts of long lines); this "
                f"server accepts at most {most} (max_sentences): send several requests"
            )

    @asynccontextmanager
    async def _admit(
        self, request: Request, refuse: Callable[[], None]
    ) -> AsyncGenerator[Ticket, None]:
        """Admit a request, and cancel it at its deadline."""
        with self._admission.admit(request, refuse) as ticket:
            async with self._timeout_at(self._deadline()):
                yield ticket

    async def _follow(
        self,
        ticket: Ticket,
        latest: LatestItem[PartialTranslation],
        work: Callable[[], PartialTranslation],
    ) -> AsyncGenerator[PartialTranslation, None]:
        """Yield what a thread reports, and last what it returns."""
        deadline = self._deadline()
        working = asyncio.ensure_future(self._streams.run(ticket, work))
        working.add_done_callback(lambda _: latest.end())
        # Retrieve the exception of a disconnected client's work, so that asyncio does not log it.
        working.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            while True:
                async with self._timeout_at(deadline):
                    item = await latest.take()
                if item is None:
                    break
                yield item
            yield await working
        finally:
            working.cancel()

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self._settings.request_seconds

    @asynccontextmanager
    async def _timeout_at(self, deadline: float) -> AsyncGenerator[None, None]:
        """Cancel the block at a time of the event loop's clock."""
        try:
            async with asyncio.timeout_at(deadline) as limit:
                yield
        except TimeoutError as error:
            if not limit.expired():  # the work's own
                raise
            raise TimedOut(self._settings.request_seconds) from error


def _note_tokens(batch: TranslationBatch, written: Sequence[int]) -> None:
    """Note the tokens of a request's sources and of their best translations for its log line."""
    note_tokens(source=sum(len(item.source) for item in batch.inputs), target=sum(written))


def _is_short(texts: Sequence[str]) -> bool:
    """Return whether tokenizing some texts takes next to no time."""
    return sum(map(len, texts)) < READ_AT_ONCE


_NICE = 5  # of threads for streams and single jobs, as in `nice -n 5`
RETRY_AFTER = 2  # seconds; nobody can tell how long a single job takes


class BoundedThreadPool:
    """A few threads, and a bounded queue of jobs that wait for one."""

    def __init__(self, what: str, threads: int, queue_size: int) -> None:
        self._what, self._count, self._queue_size = what, threads, queue_size
        self._loop = asyncio.get_running_loop()
        self._under_way = 0
        self._threads = ThreadPoolExecutor(threads, what, initializer=_step_back)

    @property
    def waiting(self) -> int:
        """Number of jobs that wait for a thread."""
        return max(0, self._under_way - self._count)

    def refuse(self) -> None:
        """Raise :class:`Full` if every thread is busy and the queue is full."""
        if self._under_way >= self._count + self._queue_size:
            raise Full(self._what, self.waiting, self._queue_size, RETRY_AFTER)

    async def run(self, ticket: Ticket, work: Callable[[], Result]) -> Result:
        """Return what some work returns.

        Work that is cancelled while it waits never starts; running work stops at its next
        `check_cancelled`.
        """
        self._under_way += 1
        future = self._threads.submit(_run_job, ticket, work)
        future.add_done_callback(self._report_done)
        return await asyncio.wrap_future(future)

    def _report_done(self, _: Future[Result]) -> None:
        self._loop.call_soon_threadsafe(self._finish)

    def _finish(self) -> None:
        self._under_way -= 1

    async def close(self) -> None:
        """Stop the threads after the work in progress."""
        await asyncio.to_thread(self._threads.shutdown)


def _step_back() -> None:
    """Let one processor be enough for this thread, and those that decode batches go first."""
    limit_own_threads()
    if hasattr(os, "setpriority") and sys.platform == "linux":  # where a thread has its own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


def _run_job(ticket: Ticket, work: Callable[[], Result]) -> Result:
    with cancellable_by([ticket]):
        check_cancelled()
        return work()


Item = TypeVar("Item")


class LatestItem(Generic[Item]):
    """The newest item of a thread, for the event loop to send on.

    Where the loop is slower than the thread, because a client reads slowly, a newer item replaces
    the one not taken yet. So a stream needs no more memory than one item.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._item: Item | None = None
        self._ended = False
        self._news = asyncio.Event()

    def put(self, item: Item) -> None:
        """Replace the item, from a thread; raise WorkCancelled if no request waits for it."""
        check_cancelled()
        self._loop.call_soon_threadsafe(self._set, item)

    def end(self) -> None:
        """Mark the end, on the event loop: no item will follow."""
        self._ended = True
        self._news.set()

    async def take(self) -> Item | None:
        """Wait for an item and take it; return None at the end."""
        while self._item is None and not self._ended:
            self._news.clear()
            await self._news.wait()
        item, self._item = self._item, None
        return item

    def _set(self, item: Item) -> None:
        self._item = item
        self._news.set()
