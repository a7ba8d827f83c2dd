"""Sinusoids against their closed form in float64; rotary and relative against their definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from networks import ragged, small_config, small_network
from translucid.errors import InputError
from translucid.model.positional import (
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
    distance_buckets,
    rotate,
)


def closed_form(position: int, dimension: int, d: int, layout: str) -> float:
    """The paper's formula, and the two that circulate beside it, one number at a time."""
    if layout == "sinusoidal":
        i, wave = dimension // 2, (math.sin, math.cos)[dimension % 2]
        return wave(position / 10000 ** (2 * i / d))
    i, wave = dimension % (d // 2), (math.sin, math.cos)[dimension // (d // 2)]
    if layout == "sinusoidal-halves":
        return wave(position / 10000 ** (2 * i / d))
    return wave(position * math.exp(-i * math.log(10000) / (d // 2 - 1)))


@pytest.mark.parametrize("layout", ["sinusoidal", "sinusoidal-halves", "sinusoidal-timescales"])
def test_sinusoids_are_their_closed_form(layout: str) -> None:
    config = small_config(d_model=12, max_positions=300)
    table = SinusoidalPositions(layout, config).add_to(torch.zeros(1, 700, 12), offset=0)[0]
    expected = np.array([[closed_form(p, j, 12, layout) for j in range(12)] for p in range(700)])
    assert np.abs(table.numpy() - expected).max() < 1e-6  # 300 from the table, 400 past its end


@given(shift=st.integers(1, 3000), query=st.integers(0, 50), key=st.integers(0, 50))
def test_rotary_scores_depend_on_distance_alone(shift: int, query: int, key: int) -> None:
    torch.manual_seed(query * 51 + key)
    positions = RotaryPositions(small_config(d_k=6, max_positions=64)).double()
    q, k = torch.randn(2, 1, 1, 1, 6, dtype=torch.float64)

    def score(at_query: int, at_key: int) -> torch.Tensor:
        turned = rotate(q, positions.rotation(at_query, 1))
        return (turned * rotate(k, positions.rotation(at_key, 1))).sum()

    # The buffered angles were rounded to float32 once, which bounds the agreement.
    assert torch.allclose(score(query, key), score(query + shift, key + shift), atol=2e-3)
    turned = rotate(q, positions.rotation(query, 1))
    assert torch.allclose(turned.norm(), q.norm(), atol=1e-5)


def test_rotary_position_zero_turns_nothing() -> None:
    q = torch.randn(2, 3, 1, 6)
    positions = RotaryPositions(small_config(d_k=6))
    assert torch.equal(rotate(q, positions.rotation(0, 1)), q)


def bucket(distance: int, bidirectional: bool, buckets: int, max_distance: int) -> int:
    """The definition, for one distance (key − query)."""
    base = 0
    if bidirectional:
        buckets //= 2
        base = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(0, -distance)
    exact = buckets // 2
    if distance < exact:
        return base + distance
    step = math.log(distance / exact) / math.log(max_distance / exact) * (buckets - exact)
    return base + min(buckets - 1, exact + int(step))


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("buckets", "max_distance"), [(32, 128), (8, 20), (4, 3)])
def test_distance_buckets(bidirectional: bool, buckets: int, max_distance: int) -> None:
    distances = torch.arange(-300, 301)
    got = distance_buckets(distances, bidirectional, buckets, max_distance).tolist()
    expected = [bucket(int(d), bidirectional, buckets, max_distance) for d in distances]
    wrong = [d for d, g, e in zip(distances.tolist(), got, expected, strict=True) if g != e]
    # float32 and float64 logarithms may differ by one at the few exact powers.
    assert len(wrong) <= 4
    assert min(got) == 0
    assert max(got) == buckets - 1


def test_a_relative_bias_of_the_last_queries_is_the_end_of_the_whole() -> None:
    positions = RelativePositions(False, small_config())
    torch.nn.init.normal_(positions.biases.weight)
    assert torch.equal(positions.bias(3, 10), positions.bias(10, 10)[:, 7:])


def test_positions_matter_except_with_none() -> None:
    source, target = torch.arange(1, 9)[None], torch.tensor([[1, 2, 3]])
    turned_round = source.flip(1)
    for positions in ("sinusoidal", "learned", "rotary", "relative"):
        model = small_network(positions=positions)
        assert not torch.allclose(model(source, target), model(turned_round, target), atol=1e-3)
    model = small_network(positions="none")
    assert torch.allclose(model(source, target), model(turned_round, target), atol=1e-5)


def test_learned_positions_refuse_what_they_never_saw() -> None:
    model = small_network(positions="learned", max_positions=6)
    assert model(ragged(2, 6, seed=1), ragged(2, 6, seed=2)).shape == (2, 6, 29)
    remedy = "7 tokens is longer than the 6 learned positions.*shorten it"
    with pytest.raises(InputError, match=remedy):
        model.encode(ragged(2, 7, seed=1))
    session = model.start(ragged(2, 6, seed=1))
    for _ in range(6):
        session.step(torch.tensor([1, 2]))
    with pytest.raises(InputError, match=remedy):
        session.step(torch.tensor([1, 2]))
