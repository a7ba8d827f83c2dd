"""The limit of length: the end symbol alone where it is reached, and no touch where it is not."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from probability_tables import END, build_request
from translucid.decoding.constraints import FORCED_LOG_PROB, LengthLimits

SOURCES_N = torch.tensor([0, 0, 1])


def written(length: int) -> Tensor:
    return torch.full((3, length), 2)


def unchanged(log_probs_NV: Tensor) -> Tensor:
    return log_probs_NV


def no_end(log_probs_NV: Tensor) -> Tensor:
    log_probs_NV[:, END] = -math.inf
    return log_probs_NV


def test_before_every_limit_nothing_is_touched() -> None:
    log_probs_NV = torch.randn(3, 5).log_softmax(-1)
    before = log_probs_NV.clone()
    limits = LengthLimits(build_request([3, 9]))
    for length in (0, 1, 3, 7):
        after, cut_N = limits(unchanged, log_probs_NV, written(length), SOURCES_N)
        assert cut_N is None
        assert after is log_probs_NV
        assert torch.equal(after, before)


def test_at_its_limit_a_row_may_write_the_end_alone_and_others_anything() -> None:
    chances = torch.tensor([[0.0, 0.2, 0.5, 0.3], [0.0, 0.5, 0.3, 0.2], [0.0, 0.1, 0.5, 0.4]])
    after, cut_N = LengthLimits(build_request([3, 9]))(
        unchanged, chances.log(), written(2), SOURCES_N
    )
    assert cut_N is not None
    assert cut_N.tolist() == [True, False, False]
    expected = torch.tensor([[0.0, 0.2, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.1, 0.5, 0.4]])
    assert torch.equal(after, expected.log())


def test_it_is_above_rules_that_forbid_the_end_and_costs_what_the_network_says() -> None:
    chances = torch.tensor([[0.0, 0.9, 0.1], [0.0, 0.0, 1.0], [0.0, 0.9, 0.1]])
    after, cut_N = LengthLimits(build_request([1, 9]))(no_end, chances.log(), written(0), SOURCES_N)
    assert cut_N is not None
    assert cut_N.tolist() == [True, True, False]
    assert after[:, END].tolist() == [float(chances[0, END].log()), FORCED_LOG_PROB, -math.inf]
