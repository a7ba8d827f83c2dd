"""Micro-batches side by side: on a processor, each is computed by a thread of its own.

The operations of a small network are short. Threads that share each of them wait for each other in
each; threads that have a micro-batch each do so once a step::

    step ─┬─ micro-batch 0 ─ thread 0 ─ forward, backward ─▶ gradients ─┐
          ├─ micro-batch 1 ─ thread 1 ─ forward, backward ─▶ gradients ─┼─ added in this order
          ├─ micro-batch 2 ─ the first that is free ─ …                 │
          └─ …                                                          ┘

The weights are the same for all, and nothing of a micro-batch depends on who computes it: what
comes out is, bit for bit, what one such thread computes alone.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch

from translucid.training.settings import TrainingConfig

FEWEST = 1024  # tokens a side of a micro-batch; with fewer, the matrix products become slow
TOGETHER = 4096  # tokens a side of all that are computed at a time, unless settings say how many

Item = TypeVar("Item")
Result = TypeVar("Result")


def may_be_apart(settings: TrainingConfig, *, device: torch.device, bf16: bool, world: int) -> bool:
    """Return whether threads of this process may compute micro-batches side by side.

    One of several processes hands on every gradient in the order of a single backward pass; a GPU
    is busy with one micro-batch; a compiled network, and one in bfloat16, keep what threads would
    have to share.
    """
    return device.type == "cpu" and world == 1 and not settings.compile and not bf16


def threads_for(tokens: int, allowed: int) -> int:
    """Return among how many threads so many tokens, computed at a time, are best shared out.

    >>> threads_for(4096, allowed=2), threads_for(4096, allowed=16), threads_for(1500, allowed=2)
    (2, 4, 1)
    """
    return max(1, min(allowed, tokens // FEWEST))


def at_a_time(settings: TrainingConfig, allowed: int) -> int:
    """Return how many micro-batches so many threads compute side by side.

    >>> step = TrainingConfig(batch_tokens=25_000, micro_batch_tokens=2048)
    >>> at_a_time(step, allowed=1), at_a_time(step, allowed=16)
    (1, 2)
    >>> at_a_time(step.replace(side_by_side=8), allowed=16)
    8
    """
    wanted = settings.side_by_side or TOGETHER // settings.micro_batch_tokens
    return max(1, min(wanted, allowed, settings.micro_batches))


class Threads:
    """Threads that share out what this one may use, and are there until nobody needs them."""

    def __init__(self, count: int) -> None:
        self.count = count
        allowed = torch.get_num_threads()
        each = max(1, allowed // count)
        self._pool = ThreadPoolExecutor(
            count, "micro-batch", initializer=_compute_with, initargs=(each,)
        )
        all_there = threading.Barrier(count)
        list(self._pool.map(lambda _: all_there.wait(), range(count)))
        torch.set_num_threads(allowed)  # for threads that are started later

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """Do some work on each item; yield the results in their order.

        No more than one for each thread, and one, are begun before the first is fetched.
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


def _compute_with(threads: int) -> None:
    """Let PyTorch compute with so many threads what this one asks for, from now on."""
    torch.set_num_threads(threads)
    torch.get_num_threads()  # by which it counts as told: otherwise the word of any later one holds
