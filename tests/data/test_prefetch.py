"""Prefetching: order, errors, how far ahead, and that no thread stays behind."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from translucid.data.loader import Prefetcher
from translucid.errors import DataError


def prefetch_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("prefetch")]


@pytest.mark.parametrize("ahead", [1, 3, 100])
def test_items_come_in_their_order_and_end(ahead: int) -> None:
    items = Prefetcher(iter(range(50)), ahead)
    assert list(items) == list(range(50))
    with pytest.raises(StopIteration):
        next(items)
    items.close()
    assert not prefetch_threads()


def test_an_exception_arrives_as_it_was_and_in_its_place() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise DataError("a.tsv", "no tab", line=7, remedy="Add one.")

    with Prefetcher(failing(), 5) as items:
        assert next(items) == 1
        with pytest.raises(DataError, match=r"a\.tsv, line 7: no tab") as caught:
            next(items)
        assert "failing" in [frame.name for frame in caught.traceback]
        with pytest.raises(StopIteration):
            next(items)


def test_the_thread_runs_ahead_but_no_further_than_asked() -> None:
    made: list[int] = []
    third = threading.Event()

    def items() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            if number == 3:
                third.set()
            yield number

    with Prefetcher(items(), 3) as prefetched:
        assert third.wait(60)  # nothing was asked for yet; item 3 is made and waits for room
        assert made == [0, 1, 2, 3]
        assert next(prefetched) == 0


def test_leaving_early_ends_the_thread_and_the_iterator() -> None:
    ended = threading.Event()

    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            ended.set()

    with Prefetcher(endless(), 2) as items:
        next(items)
    assert not prefetch_threads()
    gc.collect()
    assert ended.is_set()
    assert list(items) == []


def test_a_forgotten_one_ends_its_thread() -> None:
    items = Prefetcher(iter(int, 1), 2)
    next(items)
    assert prefetch_threads()
    del items
    gc.collect()
    assert not prefetch_threads()


def test_the_program_ends_though_the_thread_waits() -> None:
    code = (
        "from translucid.data.loader import Prefetcher\n"
        "items = Prefetcher(iter(int, 1), 2)\n"
        "print(next(items))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
