"""Penalties: worked by hand, and the properties that early termination relies on."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from probability_tables import TableStepper
from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import length_penalty, normalize_score
from translucid.decoding.penalties import coverage_penalty, get_attention, longest_length_penalty
from translucid.errors import InputError

alphas = st.floats(0, 3)
forms = st.sampled_from(["paper", "plain"])


@pytest.mark.parametrize(
    ("form", "alpha", "length", "expected"),
    [
        ("paper", 0.6, 1, 1.0),
        ("paper", 0.6, 19, 4**0.6),
        ("paper", 1.0, 7, 2.0),
        ("plain", 1.0, 7, 7.0),
        ("plain", 0.5, 9, 3.0),
        ("plain", 0.0, 9, 1.0),
        ("paper", 0.0, 9, 1.0),
    ],
)
def test_length_penalties_by_hand(form: str, alpha: float, length: int, expected: float) -> None:
    settings = SearchConfig(length_form=form, length_penalty=alpha)
    assert length_penalty(length, settings) == pytest.approx(expected, rel=1e-12)
    assert normalize_score(-3.0, length, settings) == pytest.approx(-3.0 / expected, rel=1e-12)


@given(alphas, forms, st.integers(1, 2000))
def test_a_length_penalty_never_falls_and_is_at_least_one(
    alpha: float, form: str, length: int
) -> None:
    settings = SearchConfig(length_form=form, length_penalty=alpha)
    assert 1 <= length_penalty(length, settings) <= length_penalty(length + 1, settings)


def test_the_longest_is_that_of_the_limit() -> None:
    settings = SearchConfig(length_form="plain", length_penalty=2.0)
    assert longest_length_penalty(torch.tensor([3, 10]), settings).tolist() == [9.0, 100.0]


def test_coverage_by_hand() -> None:
    """Half looked at: log ½; looked at twice over: nothing; padding: nothing."""
    looked_NS = torch.tensor([[0.5, 2.0, 0.0], [1.0, 0.25, 0.5], [1.5, 1.0, 0.0]])
    found = coverage_penalty(looked_NS, SearchConfig(coverage_penalty=0.2))
    expected = [0.2 * math.log(0.5), 0.2 * math.log(0.125), 0.0]
    assert found.tolist() == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.floats(0, 5, width=32), min_size=1, max_size=9), st.floats(0, 3))
def test_coverage_is_never_a_reward(looked: list[float], beta: float) -> None:
    settings = SearchConfig(coverage_penalty=beta)
    assert float(coverage_penalty(torch.tensor([looked]), settings)) <= 0


def test_a_stepper_that_does_not_attend_is_named() -> None:
    with pytest.raises(InputError, match="TableStepper does not show it"):
        get_attention(TableStepper([], 1))
