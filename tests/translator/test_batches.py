"""Batches of similar length, in threads: results in order, and errors that come through."""

from __future__ import annotations

import threading

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from translucid.translator.search import build_batches, map_in_batches, map_in_threads

LENGTHS = st.lists(st.integers(1, 2000), max_size=60)


@given(LENGTHS, st.integers(1, 70))
def test_every_item_comes_once_the_longest_first(lengths: list[int], size: int) -> None:
    found = list(build_batches(lengths, size))
    flat = [item for batch in found for item in batch]
    assert sorted(flat) == list(range(len(lengths)))
    assert [lengths[item] for item in flat] == sorted(lengths, reverse=True)
    for batch in found:
        assert 0 < len(batch) <= size
        padded = len(batch) * max(lengths[item] for item in batch)
        assert len(batch) == 1 or padded <= size * 256


@given(LENGTHS, st.integers(1, 70))
def test_results_come_back_in_order(lengths: list[int], size: int) -> None:
    assert map_in_batches(lengths, size, lambda items: [-item for item in items]) == [
        -item for item in range(len(lengths))
    ]


@pytest.fixture
def two_threads() -> object:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_two_items_are_worked_on_at_the_same_time_and_come_back_in_order() -> None:
    both = threading.Barrier(2, timeout=20)  # passed only if two threads are there together

    def work(item: int) -> tuple[int, int]:
        both.wait()
        return item, torch.get_num_threads()

    assert list(map_in_threads(work, range(6))) == [(item, 1) for item in range(6)]
    assert torch.get_num_threads() == 2
    seen: list[int] = []
    later = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    later.start()
    later.join()
    assert seen == [2]


@pytest.mark.usefixtures("two_threads")
def test_a_single_item_has_all_threads() -> None:
    def work(item: int) -> tuple[bool, int]:
        return threading.current_thread() is threading.main_thread(), torch.get_num_threads()

    assert list(map_in_threads(work, [7])) == [(True, 2)]
    assert list(map_in_threads(work, [])) == []


@pytest.mark.usefixtures("two_threads")
def test_a_fault_in_one_item_comes_through() -> None:
    def work(item: int) -> float:
        return 1 / (item - 3)

    with pytest.raises(ZeroDivisionError):
        list(map_in_threads(work, range(6)))
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_progress_is_told_by_the_calling_thread() -> None:
    told: list[tuple[int, bool]] = []
    found = map_in_batches(
        [3, 1, 2, 5, 4],
        2,
        lambda numbers: [number * 10 for number in numbers],
        lambda done: told.append((done, threading.current_thread() is threading.main_thread())),
    )
    assert found == [0, 10, 20, 30, 40]
    assert told == [(2, True), (4, True), (5, True)]
