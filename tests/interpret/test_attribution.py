"""Occlusion and integrated gradients by second routes, and on a task whose answer is known."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from small_translators import (
    reversed_translation,
    sentences,
    write_random_model,
    write_taught_model,
)
from translucid.errors import InputError
from translucid.interpret.attribution import (
    alignment_attention,
    compare_attributions,
    correlate_rows,
    integrated_gradients,
    occlusion,
    rank_values,
    spearman,
)
from translucid.interpret.explain import explain
from translucid.interpret.network import single_network
from translucid.interpret.trace import Trace
from translucid.translator import Translator, load

KINDS: list[dict[str, Any]] = [
    {"norm": "post", "activation": "relu", "tying": "none"},
    {"norm": "pre", "activation": "swiglu", "tying": "none", "positions": "rotary"},
]


@pytest.fixture(scope="module", params=KINDS, ids=["post", "pre"])
def babbling(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Translator:
    folder = tmp_path_factory.mktemp("attribution") / "model"
    return load(write_random_model(folder, **request.param))


@pytest.fixture(scope="module")
def trace(babbling: Translator) -> Trace:
    return explain(babbling, "Le chat dort.", given="The cat sleeps.", level="light")


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return load(write_taught_model(tmp_path_factory.mktemp("attribution") / "taught"))


def rows(trace: Trace) -> tuple[list[int], list[int], list[int]]:
    return (
        [token.id for token in trace.source_tokens],
        [token.id for token in trace.target_tokens],
        [step.token.id for step in trace.steps],
    )


def test_occlusion_is_reading_a_token_that_means_nothing(
    babbling: Translator, trace: Trace
) -> None:
    """Second route: a vocabulary in which one token has no embedding, put in place of each."""
    model = copy.deepcopy(single_network(babbling))
    source, target, written = rows(trace)
    nothing = next(i for i in range(20, 100) if i not in source)
    with torch.inference_mode():
        model.source_embedding.weight[nothing] = 0
        said = [
            model(torch.tensor([read]), torch.tensor([target]))[0].log_softmax(dim=-1)
            for read in [
                source,
                *([*source[:s], nothing, *source[s + 1 :]] for s in range(len(source))),
            ]
        ]
        gather_written = torch.stack([one[range(len(written)), written] for one in said])
    found = occlusion(babbling, trace)
    assert found.method == "occlusion"
    torch.testing.assert_close(
        found.values_TS, (gather_written[0] - gather_written[1:]).T, atol=1e-4, rtol=0
    )
    assert found.values_TS.abs().max() > 0.01


def test_integrated_gradients_are_complete(babbling: Translator, trace: Trace) -> None:
    model = single_network(babbling)
    source, target, written = rows(trace)
    empty = copy.deepcopy(model)
    with torch.inference_mode():
        empty.source_embedding.weight.zero_()
        with_it, without = (
            one(torch.tensor([source]), torch.tensor([target]))[0].log_softmax(dim=-1)
            for one in (model, empty)
        )
    difference = (with_it - without)[range(len(written)), written]
    found = integrated_gradients(babbling, trace)
    torch.testing.assert_close(found.differences_T.float(), difference, atol=1e-4, rtol=0)
    assert found.error <= 0.01
    worth = difference.abs().clamp(min=0.1)
    assert ((found.values_TS.sum(dim=1) - difference).abs() <= 0.01 * worth + 1e-4).all()
    assert difference.abs().max() > 0.1


def test_integrated_gradients_by_plain_steps_in_double_precision(
    babbling: Translator, trace: Trace
) -> None:
    """Second route: 200 steps, one backward pass each, for one token.

    Without added positions nearly all happens close to zero, so steps grow with the distance.
    """
    model = copy.deepcopy(single_network(babbling)).double()
    source, target, written = (torch.tensor([ids]) for ids in rows(trace))
    embedded = model.source_embedding(source).detach()
    step, total = 2, torch.zeros_like(embedded)
    for k in range(200):
        begin, middle, end = (((k + part) / 200) ** 4 for part in (0.0, 0.5, 1.0))
        point = (embedded * middle).requires_grad_()
        memory = model.encoder(point, torch.ones(1, 1, 1, source.size(1), dtype=torch.bool))
        said = model.decode(target, memory, source)[0, step].log_softmax(dim=-1)
        total += torch.autograd.grad(said[written[0, step]], point)[0] * (end - begin)
    expected = (total * embedded).sum(dim=-1)[0]
    found = integrated_gradients(babbling, trace, tolerance=1e-3).values_TS[step]
    assert (found - expected).abs().max() <= 0.01 * expected.abs().max()


def test_more_points_are_taken_until_it_is_complete(babbling: Translator, trace: Trace) -> None:
    rough = integrated_gradients(babbling, trace, tolerance=1e9)
    some = integrated_gradients(babbling, trace, tolerance=1e-12, max_points=71)
    fine = integrated_gradients(babbling, trace)
    assert (rough.points, some.points) == (16, 64)
    assert fine.error <= 0.01 < rough.error
    torch.testing.assert_close(rough.differences_T, fine.differences_T, atol=1e-5, rtol=0)


def test_the_network_gets_no_gradients_and_a_caller_may_forbid_them(
    babbling: Translator, trace: Trace
) -> None:
    with torch.inference_mode():
        inside = integrated_gradients(babbling, trace)
    outside = integrated_gradients(babbling, trace)
    torch.testing.assert_close(inside.values_TS, outside.values_TS)
    assert all(parameter.grad is None for parameter in single_network(babbling).parameters())


@pytest.mark.parametrize("settings", [{"tolerance": 0.0}, {"max_points": 8}])
def test_settings_that_cannot_be(babbling: Translator, trace: Trace, settings: Any) -> None:
    with pytest.raises(InputError, match="tolerance must be above 0, and at least 16 points"):
        integrated_gradients(babbling, trace, **settings)


def test_both_find_the_word_that_a_taught_network_translates(taught: Translator) -> None:
    right = {"occlusion": 0, "integrated gradients": 0}
    words = 0
    for text in ["chat noir mange petit arbre", *sentences(8, seed=9)]:
        trace, count = explain(taught, text, level="light"), len(text.split())
        assert trace.translation == reversed_translation(text)
        gradients = integrated_gradients(taught, trace)
        assert gradients.error <= 0.01
        words += count
        for found in (occlusion(taught, trace), gradients):
            best = found.values_TS[:count, :count].argmax(dim=1)
            right[found.method] += int((best == torch.arange(count).flip(0)).sum())
    assert min(right.values()) >= 0.9 * words, (right, words)


def test_measures_are_compared_with_attention(taught: Translator) -> None:
    trace = explain(taught, "chat noir mange petit arbre", level="light")
    found = compare_attributions(
        trace, [occlusion(taught, trace), integrated_gradients(taught, trace)]
    )
    names = ["attention", "rollout", "occlusion", "integrated gradients"]
    assert list(found) == [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    assert all(len(one.rows) == len(trace.steps) for one in found.values())
    by_hand = correlate_rows(alignment_attention(trace), occlusion(taught, trace).values_TS.abs())
    assert found["attention", "occlusion"].mean == pytest.approx(by_hand.mean)
    closest = found["occlusion", "integrated gradients"].mean
    assert closest is not None
    assert closest > 0.3


def test_attention_is_that_of_the_heads_that_align(taught: Translator) -> None:
    trace = explain(taught, "chat noir", level="light")
    layers = {layer for layer, _ in trace.alignment_heads}
    (layer,) = layers
    assert len(trace.alignment_heads) == trace.model.heads
    torch.testing.assert_close(
        alignment_attention(trace), trace.attention("cross", layer).mean(dim=0)
    )


def test_attention_is_compared_in_the_row_that_shows_where_a_token_looked(
    taught: Translator,
) -> None:
    trace = explain(taught, "chat noir dort", level="light")
    reads = replace(trace, alignment_row="reads")
    assert torch.equal(alignment_attention(reads)[:-1], reads.alignment())
    assert torch.equal(alignment_attention(trace)[:-1], trace.alignment())
    found = compare_attributions(reads, [occlusion(taught, trace)])["attention", "occlusion"]
    assert len(found.rows) == len(trace.steps)
    assert found.rows[-1] is None  # no row reads the end symbol
    assert None not in found.rows[:-1]


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12, unique=True), st.randoms())
def test_spearman_is_the_textbooks_formula_where_there_are_no_equals(
    values: list[float], draw: Any
) -> None:
    other = list(range(len(values)))
    draw.shuffle(other)
    order = sorted(values)
    gaps = sum((order.index(v) - o) ** 2 for v, o in zip(values, other, strict=True))
    n = len(values)
    expected = 1 - 6 * gaps / (n * (n * n - 1))
    found = spearman(torch.tensor(values, dtype=torch.float64), torch.tensor(other).double())
    assert found == pytest.approx(expected, abs=1e-9)


def test_equals_share_their_place() -> None:
    assert rank_values(torch.tensor([3.0, 1.0, 3.0, 3.0, 0.5])).tolist() == [
        4.0,
        2.0,
        4.0,
        4.0,
        1.0,
    ]
    # Pearson's correlation of the ranks (1.5, 1.5, 3) and (1, 2, 3), by hand.
    by_hand = 1.5 / math.sqrt(1.5 * 2)
    assert spearman(torch.tensor([0.0, 0.0, 5.0]), torch.tensor([1.0, 2.0, 3.0])) == pytest.approx(
        by_hand
    )


def test_what_is_all_alike_has_no_order() -> None:
    found = correlate_rows(
        torch.tensor([[1.0, 1.0], [1.0, 2.0]]), torch.tensor([[1.0, 2.0], [4.0, 3.0]])
    )
    assert found.rows == (None, pytest.approx(-1.0))
    assert found.mean == pytest.approx(-1.0)
    assert correlate_rows(torch.ones(1, 3), torch.ones(1, 3)).mean is None


def test_matrices_of_different_shapes_cannot_be_compared() -> None:
    with pytest.raises(InputError, match=r"shapes \(2, 3\) and \(3, 2\)"):
        correlate_rows(torch.zeros(2, 3), torch.zeros(3, 2))
