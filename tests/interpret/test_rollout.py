"""Attention rollout against a walk over all paths and against a network that only averages."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from small_translators import write_random_model
from translucid.interpret.attribution import (
    attention_rollout,
    decoder_rollout,
    stack_rollout,
    two_sided_rollout,
)
from translucid.interpret.explain import explain
from translucid.interpret.trace import Side, Trace
from translucid.translator import load


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    folder = tmp_path_factory.mktemp("rollout") / "model"
    translator = load(write_random_model(folder, decoder_layers=3))
    return explain(translator, "Le chat dort ici.", given="The cat is asleep.", level="light")


def rows(count: int, *shape: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(count)
    return [
        torch.rand(shape, generator=generator, dtype=torch.float64).softmax(dim=-1)
        for _ in range(count)
    ]


def test_rollout_is_the_sum_over_all_paths() -> None:
    layers = rows(3, 4, 4)
    rolled = stack_rollout(layers)
    for end, begin in itertools.product(range(4), repeat=2):
        total = 0.0
        for between in itertools.product(range(4), repeat=2):
            path, weight = (begin, *between, end), 1.0
            for layer, (below, above) in zip(layers, itertools.pairwise(path), strict=True):
                weight *= (float(layer[above, below]) + (above == below)) / 2
            total += weight
        assert float(rolled[end, begin]) == pytest.approx(total, abs=1e-12)


def test_two_sided_rollout_is_the_derivative_of_a_network_that_only_averages() -> None:
    memory, decoder, cross = rows(1, 5, 5)[0], rows(2, 3, 3), rows(4, 3, 5)[:2]

    def averaging(source: Tensor, target: Tensor) -> Tensor:
        read = memory @ source
        for own, other in zip(decoder, cross, strict=True):
            target = (target + own @ target) / 2
            target = (target + other @ read) / 2
        return target

    inputs = (torch.rand(5).double(), torch.rand(3).double())
    by_source, by_target = torch.autograd.functional.jacobian(averaging, inputs)
    rolled = two_sided_rollout(memory, decoder, cross)
    torch.testing.assert_close(rolled.source_TS, by_source)
    torch.testing.assert_close(rolled.target_TT, by_target)


@pytest.mark.parametrize("side", ["encoder", "decoder", "cross"])
def test_rows_sum_to_one(trace: Trace, side: Side) -> None:
    rolled = attention_rollout(trace, side)
    sizes = {"S": len(trace.source_tokens), "T": len(trace.target_tokens)}
    shape = {"encoder": "SS", "decoder": "TT", "cross": "TS"}[side]
    assert tuple(rolled.shape) == tuple(sizes[letter] for letter in shape)
    assert (rolled >= 0).all()
    torch.testing.assert_close(
        rolled.sum(dim=1), torch.ones(len(rolled)).double(), atol=1e-6, rtol=0
    )


def test_the_decoder_never_looks_ahead_and_the_sources_share_is_fixed(trace: Trace) -> None:
    assert not attention_rollout(trace, "decoder").triu(diagonal=1).any()
    both = decoder_rollout(trace)
    assert not both.target_TT.triu(diagonal=1).any()
    share = torch.full((len(trace.steps),), 1 - 2.0**-3).double()
    torch.testing.assert_close(both.source_TS.sum(dim=1), share, atol=1e-6, rtol=0)
    torch.testing.assert_close(both.target_TT.sum(dim=1), 1 - share, atol=1e-6, rtol=0)


def test_heads_that_look_at_themselves_mix_nothing() -> None:
    assert torch.equal(stack_rollout([torch.eye(4)] * 3), torch.eye(4))
