"""Micro-batches in parallel: on a CPU, each is computed by one thread.

The operations of a small network are short. Threads that share each of them wait for each other in
each; threads that have a micro-batch each do so once per step::

    step ─┬─ micro-batch 0 ─ thread 0 ─ forward, backward ─▶ gradients ─┐
          ├─ micro-batch 1 ─ thread 1 ─ forward, backward ─▶ gradients ─┼─ added in this order
          ├─ micro-batch 2 ─ the first that is free ─ …                 │
          └─ …                                                          ┘

The weights are the same for all, and nothing of a micro-batch depends on which thread computes it:
the result is, bit for bit, what one such thread computes alone.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch

from translucid.training.config import TrainingConfig

MIN_TOKENS = 1024  # per side of a micro-batch; with fewer, the matrix products become slow
PARALLEL_TOKENS = 4096  # per side of all parallel micro-batches, unless settings say how many

Item = TypeVar("Item")
Result = TypeVar("Result")


def can_run_in_parallel(
    settings: TrainingConfig, *, device: torch.device, bf16: bool, world: int
) -> bool:
    """Tell whether threads of this process may compute micro-batches in parallel.

    One of several processes hands on every gradient in the order of a single backward pass; a GPU
    is busy with one micro-batch; a compiled network, and one in bfloat16, keep state that threads
    would have to share.
    """
    return device.type == "cpu" and world == 1 and not settings.compile and not bf16


def count_threads(tokens: int, allowed: int) -> int:
    """Return the number of threads among which this many tokens are best divided.

    >>> count_threads(4096, allowed=2), count_threads(4096, allowed=16)
    (2, 4)
    >>> count_threads(1500, allowed=2)
    1
    """
    return max(1, min(allowed, tokens // MIN_TOKENS))


def count_parallel(settings: TrainingConfig, allowed: int) -> int:
    """Return the number of micro-batches that `allowed` threads compute in parallel.

    >>> step = TrainingConfig(batch_tokens=25_000, micro_batch_tokens=2048)
    >>> count_parallel(step, allowed=1), count_parallel(step, allowed=16)
    (1, 2)
    >>> count_parallel(step.replace(parallel_micro_batches=8), allowed=16)
    8
    """
    wanted = settings.parallel_micro_batches or PARALLEL_TOKENS // settings.micro_batch_tokens
    return max(1, min(wanted, allowed, settings.micro_batches))


class ThreadPool:
    """Threads that divide among themselves the threads which PyTorch may use here."""

    def __init__(self, count: int) -> None:
        self.count = count
        allowed = torch.get_num_threads()
        each = max(1, allowed // count)
        self._pool = ThreadPoolExecutor(
            count, "micro-batch", initializer=_limit_threads, initargs=(each,)
        )
        all_there = threading.Barrier(count)
        list(self._pool.map(lambda _: all_there.wait(), range(count)))
        torch.set_num_threads(allowed)  # for threads that are started later

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """Do some work on each item; yield the results in their order.

        At most one item per thread, and one more, is begun before the first result is fetched.
        """
        begun: deque[Future[Result]] = deque()
        try:
            for item in items:
                begun.append(self._pool.submit(work, item))
                if len(begun) > self.count:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for future in begun:
                future.cancel()


def _limit_threads(threads: int) -> None:
    """Limit the threads with which PyTorch computes for the calling thread, from now on."""
    torch.set_num_threads(threads)
    torch.get_num_threads()  # makes PyTorch keep the limit: otherwise a later thread's one counts
