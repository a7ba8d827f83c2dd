"""Scrambling: one-to-one, as random as a shuffle needs to be, and the same for ever."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.data.shuffle import derive_seed, scramble, unscramble

KEYS = st.integers(0, 2**63 - 1)


@given(bits=st.integers(1, 12), key=KEYS)
def test_scrambling_maps_the_numbers_one_to_one_onto_themselves(bits: int, key: int) -> None:
    numbers = np.arange(1 << bits, dtype=np.uint64)
    scrambled = scramble(numbers, bits, key)
    assert np.array_equal(np.sort(scrambled), numbers)
    assert np.array_equal(numbers, np.arange(1 << bits))


@given(bits=st.integers(1, 64), key=KEYS, data=st.data())
def test_unscrambling_gives_the_numbers_back(bits: int, key: int, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(st.integers(0, 2**bits - 1), max_size=20))
    numbers = np.array(drawn, np.uint64)
    scrambled = scramble(numbers, bits, key)
    assert all(int(number) < 2**bits for number in scrambled)
    assert np.array_equal(unscramble(scrambled, bits, key), numbers)


@pytest.mark.parametrize("bits", [14, 17, 20, 32, 64])
def test_neighbours_land_anywhere_and_every_key_gives_another_order(bits: int) -> None:
    count = 10_000
    orders = [
        np.argsort(scramble(np.arange(count, dtype=np.uint64), bits, derive_seed(key)))
        for key in range(8)
    ]
    sources = [np.arange(count), *orders]
    for i, one in enumerate(sources):
        steps = np.abs(np.diff(one)) / count
        assert abs(steps.mean() - 1 / 3) < 0.02 or i == 0  # the mean distance of random numbers
        for other in sources[:i]:
            assert abs(np.corrcoef(one, other)[0, 1]) < 0.06  # 6 standard deviations


def test_each_place_is_equally_likely() -> None:
    # Where number 5 lands over many keys, in 16 equal parts: chi-square, 15 degrees of freedom.
    places = [
        int(scramble(np.array([5], np.uint64), 20, derive_seed(key))[0]) for key in range(4000)
    ]
    counts = np.bincount(np.array(places) >> 16, minlength=16)
    assert ((counts - 250) ** 2 / 250).sum() < 45  # exceeded once in 15,000 times


@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4))
def test_derived_numbers_are_63_bits_and_depend_on_order(numbers: list[int]) -> None:
    assert 0 <= derive_seed(*numbers) < 2**63
    assert (derive_seed(*numbers) == derive_seed(*reversed(numbers))) == (numbers == numbers[::-1])
    assert derive_seed(*numbers) != derive_seed(*numbers, 0)


def test_the_numbers_never_change() -> None:
    """A run saved by an older version must go on with the batches it would have had."""
    assert derive_seed(1, 2, 3) == DERIVED
    assert scramble(np.arange(4, dtype=np.uint64), 16, 7).tolist() == SCRAMBLED


DERIVED = 6520558355739401531
SCRAMBLED = [4119, 42640, 5455, 34501]
