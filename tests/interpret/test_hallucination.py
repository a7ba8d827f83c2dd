"""Confidence: on traces whose attention and probabilities are made by hand, and on real ones."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from small_translators import sentences, write_taught_model
from translucid.interpret.explain import explain
from translucid.interpret.trace import Trace
from translucid.interpret.trace_json import (
    detect_hallucination,
    repeated_share,
    source_shares,
    unseen_share,
)
from translucid.translator import Translator, load
from translucid.translator.translation import Flags


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return load(write_taught_model(tmp_path_factory.mktemp("confidence") / "taught"))


@pytest.fixture(scope="module")
def trace(taught: Translator) -> Trace:
    """Four source words and </s>; four target words and the end."""
    return explain(taught, "chat noir dort petit", level="light")


def looking(trace: Trace, weights_TS: Tensor) -> Trace:
    """Return the trace with this attention in all heads of the cross-attention."""
    cross = {
        f"decoder.{layer}.cross_attention.weights": weights_TS.expand(trace.model.heads, -1, -1)
        for layer in range(trace.model.decoder_layers)
    }
    return replace(trace, tensors={**trace.tensors, **cross})


def written(trace: Trace, log_probs: list[float]) -> Trace:
    steps = zip(trace.steps, log_probs, strict=True)
    return replace(trace, steps=tuple(replace(step, log_prob=value) for step, value in steps))


def test_a_good_translation_raises_no_warning(taught: Translator) -> None:
    for source in sentences(10, seed=5):
        found = detect_hallucination(explain(taught, source, level="light"))
        assert found.probability > 0.8
        assert not found.suspicious, (source, found)
        assert found.warnings == ()


def test_probabilities(trace: Trace) -> None:
    values = [0.9, 0.2, 0.6, 0.8, 0.95]
    found = detect_hallucination(written(trace, [math.log(value) for value in values]))
    assert found.probability == pytest.approx(math.prod(values) ** (1 / 5))
    assert (found.least, found.least_step) == (pytest.approx(0.2), 1)
    assert not found.improbable
    low = detect_hallucination(written(trace, [math.log(0.2)] * 5))
    assert low.improbable
    assert low.suspicious
    assert low.warnings[0] == "its tokens have a mean probability of only 0.20"


def test_the_share_of_words_is_what_the_end_symbol_leaves(trace: Trace) -> None:
    ends = torch.tensor([0.0, 0.2, 0.5, 0.9, 1.0])
    weights = torch.cat([((1 - ends) / 4)[:, None].expand(5, 4), ends[:, None]], dim=1)
    assert source_shares(looking(trace, weights)) == pytest.approx([1.0, 0.8, 0.5, 0.1, 0.0])


def test_the_share_is_the_mean_of_all_heads(trace: Trace) -> None:
    by_hand = [
        sum(
            float(trace.attention("cross", layer)[head, step, :4].sum())
            for layer in range(trace.model.decoder_layers)
            for head in range(trace.model.heads)
        )
        / (trace.model.decoder_layers * trace.model.heads)
        for step in range(5)
    ]
    assert source_shares(trace) == pytest.approx(by_hand, abs=1e-6)


def test_attention_that_rests_on_the_end_symbol_ignores_the_source(trace: Trace) -> None:
    weights = torch.full((5, 5), 0.02)
    weights[:, 4] = 0.92
    found = detect_hallucination(looking(trace, weights))
    assert found.ignores_source
    assert found.unseen == 0.0
    assert (
        "it hardly looks at the source: 0.08 of the attention lies on its words"
        in found.warnings[0]
    )


def test_attention_that_rests_on_one_word_ignores_the_others(trace: Trace) -> None:
    weights = torch.tensor([[0.97, 0.01, 0.01, 0.01, 0.0]]).expand(5, 5)
    assert unseen_share(looking(trace, weights)) == 0.75
    assert detect_hallucination(looking(trace, weights)).ignores_source
    assert detect_hallucination(looking(trace, weights)).source_share == pytest.approx([1.0] * 5)


def test_attention_that_follows_the_words_is_fine(trace: Trace) -> None:
    assert unseen_share(looking(trace, torch.eye(5))) == 0.0
    assert not detect_hallucination(looking(trace, torch.full((5, 5), 0.2))).ignores_source


def test_phrases_that_come_again(trace: Trace) -> None:
    assert repeated_share([5, 6, 7, 8, 9]) == 0.0
    assert repeated_share([5, 6, 7] * 4) == 7 / 12  # ten phrases, three of them new
    assert repeated_share([5, 5, 5, 5]) == 1 / 4
    assert repeated_share([]) == 0.0
    steps = tuple(
        replace(step, token=replace(step.token, id=trace.steps[0].token.id)) for step in trace.steps
    )
    circling = detect_hallucination(replace(trace, steps=steps))  # five times the same word
    assert (circling.repeated, circling.loops) == (pytest.approx(2 / 5), True)
    assert circling.warnings == ("it goes in circles: 40% of it was said before",)


def test_a_search_that_was_ended_for_its_circles_says_so(trace: Trace) -> None:
    assert detect_hallucination(replace(trace, flags=Flags(looped=True))).loops
