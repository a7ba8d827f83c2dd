"""Batches of similar length, and results put back where their texts stood."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from translucid.translator.threads import side_by_side

Result = TypeVar("Result")

_TOKENS_A_PLACE = 256  # a batch of very long items has fewer of them


def batches(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Yield numbers of items, `size` at a time, so that items of similar length are together.

    The longest come first: what needs most memory is tried at once. Items of more than 256 tokens
    take the place of several.

    >>> list(batches([3, 9, 4, 8], size=2))
    [[1, 3], [2, 0]]
    """
    order = sorted(range(len(lengths)), key=lambda item: (-lengths[item], item))
    begin = 0
    while begin < len(order):
        places = -(-lengths[order[begin]] // _TOKENS_A_PLACE)
        end = begin + max(1, size // max(1, places))
        yield order[begin:end]
        begin = end


def in_batches(
    lengths: Sequence[int],
    size: int,
    work: Callable[[list[int]], Sequence[Result]],
    progress: Callable[[int], None] | None = None,
) -> list[Result]:
    """Do some work on items in batches of similar length; return its results in their order.

    Batches are worked on side by side. `progress` is told how many items are done.
    """
    results: dict[int, Result] = {}
    each = list(batches(lengths, size))
    for numbers, found in zip(each, side_by_side(work, each), strict=True):
        results.update(zip(numbers, found, strict=True))
        if progress is not None:
            progress(len(results))
    return [results[item] for item in range(len(lengths))]
