"""The inner step of beam search: what is highest, and in which order."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from translucid.decoding.candidates import (
    LINES,
    SMALLEST_WIDTH,
    argmax_tokens,
    choose,
    choose_in_groups,
    top_tokens,
)

END = 1


def by_sorting(values_NV: Tensor, count: int) -> tuple[Tensor, Tensor]:
    values, tokens = values_NV.sort(dim=1, descending=True, stable=True)
    return values[:, :count], tokens[:, :count]


LARGE = LINES * SMALLEST_WIDTH


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([1, 63, 64, 65, 128, 191, LARGE + 15]),
    st.sampled_from([0.3, 3.0, 1000.0]),
    st.integers(0, 10**6),
)
def test_of_equal_highest_values_the_first_is_found(
    vocabulary: int, spread: float, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    values_NV = torch.randn(7, vocabulary, generator=generator).mul(spread).round()
    _, first_N1 = by_sorting(values_NV, 1)
    assert torch.equal(argmax_tokens(values_NV), first_N1[:, 0])


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([3, 40, LARGE, LARGE + 1, LARGE + 15, 3 * LARGE + 7]),
    st.integers(1, 40),
    st.sampled_from(["distinct", "few values", "mostly impossible"]),
    st.integers(0, 10**6),
)
def test_the_highest_are_those_that_sorting_finds(
    vocabulary: int, count: int, kind: str, seed: int
) -> None:
    count = min(count, vocabulary)
    generator = torch.Generator().manual_seed(seed)
    values_NV = torch.randn(5, vocabulary, generator=generator)
    if kind == "few values":
        values_NV = values_NV.mul(3).round()
    if kind == "mostly impossible":
        values_NV[torch.rand(values_NV.shape, generator=generator) < 0.999] = -math.inf
    values, tokens = top_tokens(values_NV, count)
    expected, places = by_sorting(values_NV, count)
    assert torch.equal(values, expected)
    possible = values > -math.inf
    assert torch.equal(tokens[possible], places[possible])
    assert torch.equal(values_NV.gather(1, tokens), values)


def test_the_end_counts_among_the_first_of_the_beam_only() -> None:
    """Row 0 of total −1, row 1 of total −2; the end of row 1 is third and does not end."""
    log_probs_BwV = torch.tensor([[[-9.0, -8.0, -0.1, -0.2], [-9.0, -0.3, -5.0, -6.0]]])
    choice = choose(log_probs_BwV, torch.tensor([[-1.0, -2.0]]).double(), END, None)
    assert choice.tokens_BK[0, :3].tolist() == [2, 3, END]
    assert not choice.ended_BK.any()
    assert choice.tokens_BK.gather(1, choice.kept_BW).tolist() == [[2, 3]]
    better = choose(log_probs_BwV, torch.tensor([[-2.15, -2.0]]).double(), END, None)
    assert better.ended_BK.nonzero().tolist() == [[0, 1]]
    assert better.tokens_BK.gather(1, better.kept_BW).tolist() == [[2, 3]]


def test_an_end_leaves_its_place_to_the_next_best() -> None:
    log_probs_BwV = torch.tensor([[[-9.0, -0.1, -3.0, -4.0], [-9.0, -8.0, -5.0, -6.0]]])
    choice = choose(log_probs_BwV, torch.tensor([[-1.0, -1.0]]).double(), END, None)
    assert choice.ended_BK[0].tolist() == [True, *[False] * 5]
    assert choice.parents_BK.gather(1, choice.kept_BW).tolist() == [[0, 0]]
    assert choice.tokens_BK.gather(1, choice.kept_BW).tolist() == [[2, 3]]


def test_a_dead_row_gives_no_candidate() -> None:
    log_probs_BwV = torch.zeros(1, 2, 4)
    choice = choose(log_probs_BwV, torch.tensor([[-math.inf, -1.0]]).double(), END, None)
    assert choice.parents_BK[choice.totals_BK > -math.inf].unique().tolist() == [1]
    assert choice.ended_BK.sum() == 1


@pytest.mark.parametrize(("price", "second"), [(0.0, 2), (0.4, 2), (0.6, 3)])
def test_a_group_pays_for_what_the_group_before_has_taken(price: float, second: int) -> None:
    """Token 3 is 0.5 behind token 2: it wins in the second group where 2 costs more than that."""
    log_probs_BWV = torch.tensor([[[-9.0, -9.0, -0.5, -1.0]] * 2])
    choice = choose_in_groups(log_probs_BWV, torch.zeros(1, 2).double(), END, 2, price)
    assert choice.tokens_BK.gather(1, choice.kept_BW).tolist() == [[2, second]]
    assert choice.parents_BK.gather(1, choice.kept_BW).tolist() == [[0, 1]]
    own = {2: -0.5, 3: -1.0}[second]
    assert choice.totals_BK.gather(1, choice.kept_BW).tolist() == [[-0.5, own]]


def test_a_dead_group_costs_the_others_nothing() -> None:
    log_probs_BWV = torch.tensor([[[-9.0, -9.0, -0.5, -1.0]] * 2])
    totals_BW = torch.tensor([[-math.inf, 0.0]]).double()
    choice = choose_in_groups(log_probs_BWV, totals_BW, END, 2, 5.0)
    assert choice.tokens_BK.gather(1, choice.kept_BW)[0, 1] == 2


def test_a_row_that_is_alone_ends_or_goes_on() -> None:
    """Where the end is the most probable nothing follows it; else it does not end."""
    log_probs_BwV = torch.tensor([[[-9.0, -0.5, -0.6, -4.0]], [[-9.0, -0.6, -0.5, -4.0]]])
    choice = choose(log_probs_BwV, torch.zeros(2, 1).double(), END, None)
    assert choice.ended_BK.any(dim=1).tolist() == [True, False]
    totals = choice.totals_BK.gather(1, choice.kept_BW)[:, 0].tolist()
    assert totals == [-math.inf, -0.5]
    assert choice.tokens_BK.gather(1, choice.kept_BW)[1].tolist() == [2]
