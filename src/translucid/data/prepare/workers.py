"""Work in several processes: results in order, bounded memory, and no process left behind.

If a worker is killed, by the system for lack of memory or by a person, the job ends with an error
instead of waiting forever. When the main process is killed, its workers end themselves.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from typing import TypeVar

from translucid.errors import TranslucidError
from translucid.text.tokenizer import TokenizerKind, register_tokenizer, registered_tokenizers

Task = TypeVar("Task")
Result = TypeVar("Result")

# "fork" would copy the locks of a progress display's threads in whatever state they are.
_CONTEXT = multiprocessing.get_context("spawn")
_DIED = (
    "a worker process was killed from outside; often the system does that when memory runs out.\n"
    "  What is done so far is kept: run it again, with fewer workers if memory is short. In a\n"
    '  Python script, workers need the usual `if __name__ == "__main__":` around its code.'
)


class Workers:
    """Processes that are started when they are first needed and end with the block.

    With one worker there are no other processes: everything happens in this one.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def map_in_order(
        self, function: Callable[[Task], Result], tasks: Iterable[Task]
    ) -> Iterator[Result]:
        """Yield ``function(task)`` of every task, in the order of the tasks.

        Only as many tasks are taken as keep the workers busy, so memory does not grow with their
        number. A single task is done in this process.
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
                self._count,
                mp_context=_CONTEXT,
                initializer=_become_worker,
                initargs=(registered_tokenizers(),),
            )
        with _start_without_ctrl_c():
            return self._pool.submit(function, task)

    def run_in_process(self, function: Callable[[Task], Result], task: Task) -> Result:
        """Return ``function(task)``, computed in a separate process.

        It can be stopped at any moment, even inside a library that ignores signals, and gives its
        memory back when it is done.
        """
        if self._count == 1:
            return function(task)
        receiver, sender = _CONTEXT.Pipe(duplex=False)
        process = _CONTEXT.Process(
            target=_run, args=(sender, function, task, registered_tokenizers()), daemon=True
        )
        with _start_without_ctrl_c():
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
def _start_without_ctrl_c() -> Iterator[None]:
    """Keep Ctrl-C from processes that start in this block until they can ignore it.

    They inherit what this thread blocks. This process itself gets it at the end of the block.
    """
    with _delay_ctrl_c():
        if not hasattr(signal, "pthread_sigmask"):
            yield
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _delay_ctrl_c() -> Iterator[None]:
    """Delay a Ctrl-C until the end of the block.

    Blocking the signal in this thread is not enough: another thread, such as that of a progress
    display, would receive it, and Python would still raise it here, where a new process waits for
    its task.
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


def _run(
    sender: Connection,
    function: Callable[[Task], Result],
    task: Task,
    tokenizers: Mapping[str, TokenizerKind],
) -> None:
    _become_worker(tokenizers)
    try:
        answer: tuple[bool, object] = (True, function(task))
    except (TranslucidError, OSError) as error:
        answer = (False, error)
    sender.send(answer)


def _become_worker(tokenizers: Mapping[str, TokenizerKind]) -> None:
    """Leave Ctrl-C to the main process, end with it, and know its kinds of tokenizers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for kind, entry in tokenizers.items():
        register_tokenizer(kind, **vars(entry))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker has a parent"
    parent.join()
    os._exit(1)
