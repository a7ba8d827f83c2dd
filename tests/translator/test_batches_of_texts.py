"""Batches of similar length, and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from translucid.translator.search import build_batches, map_in_batches

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
