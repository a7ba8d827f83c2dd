"""Packing: the sorted order and the cut, each against a slow and obvious version of itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translucid.data.shuffle import LengthGroups, SortKeyCoding, cut_into_batches
from translucid.errors import InputError

LENGTHS = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=200)


def sorted_keys(lengths: list[tuple[int, int]], key: int) -> tuple[SortKeyCoding, np.ndarray]:
    source, target = np.array(lengths).T
    coding = SortKeyCoding.for_examples(len(lengths), 12, key)
    return coding, np.sort(coding.keys(source, target, np.arange(len(lengths))))


@given(lengths=LENGTHS, key=st.integers(0, 2**63 - 1))
def test_sorting_keys_sorts_by_the_longer_side_and_back_and_forth(
    lengths: list[tuple[int, int]], key: int
) -> None:
    coding, keys = sorted_keys(lengths, key)
    order = coding.examples(keys)
    assert sorted(order.tolist()) == list(range(len(lengths)))
    ordered = [lengths[example] for example in order]
    assert ordered == sorted(
        ordered, key=lambda p: (max(p), p[0] - p[1] if max(p) % 2 else p[1] - p[0])
    )


@given(lengths=LENGTHS, block=st.integers(1, 5))
def test_cells_are_the_runs_of_equal_lengths(lengths: list[tuple[int, int]], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("translucid.data.shuffle._AT_A_TIME", block)
        coding, keys = sorted_keys(lengths, 3)
        groups = coding.groups(keys)
        ordered = [lengths[example] for example in coding.examples(keys)]
    runs = list(zip(groups.source.tolist(), groups.target.tolist(), strict=True))
    assert [
        run for run, size in zip(runs, groups.size, strict=True) for _ in range(size)
    ] == ordered
    assert len(set(runs)) == len(runs)


def greedy(rows: list[tuple[int, int]], max_tokens: int) -> list[tuple[int, int, int]]:
    """Cut by trying each example in turn."""
    batches: list[list[tuple[int, int]]] = [[]]
    for row in rows:
        wider = [*batches[-1], row]
        if len(wider) * max(max(pair) for pair in wider) > max_tokens:
            batches.append([row])
        else:
            batches[-1] = wider
    return [(len(b), max(s for s, _ in b), max(t for _, t in b)) for b in batches]


@given(
    groups=st.lists(
        st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 40)), min_size=1, max_size=30
    ),
    max_tokens=st.integers(9, 60),
)
@settings(max_examples=200)
def test_the_cut_by_cells_is_the_cut_by_examples(
    groups: list[tuple[int, int, int]], max_tokens: int
) -> None:
    rows = [(s, t) for s, t, size in groups for _ in range(size)]
    batches = cut_into_batches(LengthGroups(*np.array(groups).T), max_tokens)
    assert list(zip(*(column.tolist() for column in batches), strict=True)) == greedy(
        rows, max_tokens
    )


def test_nothing_is_cut_into_nothing() -> None:
    coding = SortKeyCoding.for_examples(0, 5, 1)
    keys = np.empty(0, np.uint64)
    assert [len(column) for column in cut_into_batches(coding.groups(keys), 10)] == [0, 0, 0]
    assert len(coding.examples(keys)) == 0


def test_extreme_sizes_fit_or_are_refused() -> None:
    longest, most = 30_000, 1 << 32
    coding = SortKeyCoding.for_examples(most, longest, 1)
    sides = np.array([longest, longest, 1]), np.array([longest, 1, longest])
    numbers = np.array([most - 1, 0, 1])
    keys = np.sort(coding.keys(*sides, numbers))
    groups = coding.groups(keys)
    assert sorted(zip(*sides, strict=True)) == sorted(zip(groups[0], groups[1], strict=True))
    assert sorted(coding.examples(keys).tolist()) == [0, 1, most - 1]
    with pytest.raises(InputError, match=r"4,294,967,296 examples of up to 65,536 tokens are more"):
        SortKeyCoding.for_examples(most, 1 << 16, 1)
