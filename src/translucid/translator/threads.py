"""Several batches at a time, each on a processor thread of its own.

Within a step of decoding the matrices are small, and threads that share one of them wait for each
other most of the time. Threads that have a batch each need not wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Do some work on each item; yield the results in their order.

    As many threads work as PyTorch may use here, but for a single item, which has them all.
    """
    threads = min(torch.get_num_threads(), len(items))
    if threads < 2:
        yield from map(work, items)
        return
    allowed = torch.get_num_threads()
    try:
        # Each thread tells PyTorch that it is alone; what this thread may use is not changed.
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield from pool.map(work, items)
    finally:
        torch.set_num_threads(allowed)  # for threads that are started later
