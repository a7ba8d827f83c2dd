"""Work that is done alone, such as a trace or a stream: few threads, and a bounded queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch

from translucid.serving.abandoning import Ticket, check_wanted, working_for
from translucid.serving.admission import Full

Result = TypeVar("Result")
RETRY_AFTER = 2  # seconds; how long a single job takes is anybody's guess


class SideThreads:
    """A bounded number of threads, and of jobs that wait for one."""

    def __init__(self, what: str, threads: int, queue_size: int) -> None:
        self._what, self._count, self._queue_size = what, threads, queue_size
        self._loop = asyncio.get_running_loop()
        self._under_way = 0
        self._threads = ThreadPoolExecutor(
            threads, what, initializer=torch.set_num_threads, initargs=(1,)
        )

    @property
    def waiting(self) -> int:
        """Number of jobs that wait for a thread."""
        return max(0, self._under_way - self._count)

    def refuse(self) -> None:
        """Raise :class:`Full` if every thread is taken and as many jobs wait as may."""
        if self._under_way >= self._count + self._queue_size:
            raise Full(self._what, self.waiting, self._queue_size, RETRY_AFTER)

    async def do(self, ticket: Ticket, work: Callable[[], Result]) -> Result:
        """Return what some work returns.

        When it is cancelled while it waits, it is never begun; when it is under way, its thread is
        free again once the work has asked whether it is still wanted, or has ended.
        """
        self._under_way += 1
        future = self._threads.submit(_do, ticket, work)
        future.add_done_callback(self._tell_done)
        return await asyncio.wrap_future(future)

    def _tell_done(self, _: Future[Result]) -> None:
        self._loop.call_soon_threadsafe(self._done)

    def _done(self) -> None:
        self._under_way -= 1

    async def close(self) -> None:
        """Stop the threads; what they still work on ends first."""
        await asyncio.to_thread(self._threads.shutdown)


def _do(ticket: Ticket, work: Callable[[], Result]) -> Result:
    with working_for([ticket]):
        check_wanted()
        return work()
