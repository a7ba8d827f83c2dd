"""Work in several processes: results in order, bounded memory, and no process left behind.

A worker that is killed, by the system for want of memory or by a person, ends the job with an
error instead of a wait without end. When the main process is killed, its workers end themselves.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from types import TracebackType
from typing import TypeVar

from translucid.errors import TranslucidError

Task = TypeVar("Task")
Result = TypeVar("Result")

# "fork" would copy the threads' locks of a progress display in whatever state they are.
_CONTEXT = multiprocessing.get_context("spawn")
_DIED = (
    "a worker process was killed from outside; often the system does that when memory runs out.\n"
    "  What is done so far is kept: run the same command again, with fewer --workers if memory "
    "is short."
)


class Workers:
    """Some processes that are started when they are first needed and end with the block.

    With one worker there are no other processes: all happens in this one.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def in_order(
        self, function: Callable[[Task], Result], tasks: Iterable[Task]
    ) -> Iterator[Result]:
        """Yield ``function(task)`` of every task, in the order of the tasks.

        No more tasks are taken than keep the workers busy, so that memory does not grow with
        their number. A single task is done in this process.
        """
        remaining = iter(tasks)
        ahead = list(itertools.islice(remaining, 2))
        if self._count == 1 or len(ahead) < 2:
            yield from map(function, itertools.chain(ahead, remaining))
            return
        pending: deque[Future[Result]] = deque()
        try:
            for task in itertools.chain(ahead, remaining):
                pending.append(self._submit(function, task))
                if len(pending) > 2 * self._count:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BrokenProcessPool as error:
            raise TranslucidError(_DIED) from error

    def _submit(self, function: Callable[[Task], Result], task: Task) -> Future[Result]:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._count, mp_context=_CONTEXT, initializer=_become_worker
            )
        with _new_processes_deaf():
            return self._pool.submit(function, task)

    def apart(self, function: Callable[[Task], Result], task: Task) -> Result:
        """Return ``function(task)``, computed in a process of its own.

        It can be stopped at any moment, also inside a library that does not listen to signals,
        and gives its memory back when it is done.
        """
        if self._count == 1:
            return function(task)
        receiver, sender = _CONTEXT.Pipe(duplex=False)
        process = _CONTEXT.Process(target=_answer, args=(sender, function, task), daemon=True)
        with _new_processes_deaf():
            process.start()
        sender.close()
        try:
            done, value = receiver.recv()
        except EOFError as error:
            raise TranslucidError(_DIED) from error
        finally:
            process.terminate()
            process.join()
            receiver.close()
        if not done:
            raise value
        result: Result = value
        return result


@contextlib.contextmanager
def _new_processes_deaf() -> Iterator[None]:
    """Let processes that start in this block not hear Ctrl-C before they can ignore it.

    They inherit what this thread blocks. This process itself hears it at the end of the block.
    """
    with _ctrl_c_later():
        if not hasattr(signal, "pthread_sigmask"):
            yield
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Have a Ctrl-C wait until the block is over.

    Blocking the signal in this thread is not enough: another thread, such as that of a progress
    display, receives it then, and Python still raises it here, where a new process waits to be
    told what to do.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # an interrupt is raised in the main thread alone
        return
    heard: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if heard:
            signal.raise_signal(signal.SIGINT)


def _answer(sender: Connection, function: Callable[[Task], Result], task: Task) -> None:
    _become_worker()
    try:
        answer: tuple[bool, object] = (True, function(task))
    except (TranslucidError, OSError) as error:
        answer = (False, error)
    sender.send(answer)


def _become_worker() -> None:
    """Leave Ctrl-C to the main process, and end when that one is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker has a parent"
    parent.join()
    os._exit(1)
