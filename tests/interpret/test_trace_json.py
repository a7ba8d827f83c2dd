"""What travels with a trace: head roles on one sentence, rollout and means as tensors."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from small_traces import random_translator, taught_trace, taught_translator
from translucid.errors import InputError
from translucid.interpret import Trace, explain
from translucid.interpret.attribution import attention_rollout
from translucid.interpret.head_roles import HeadStatistics
from translucid.interpret.head_statistics import measure_heads, trace_head_statistics
from translucid.interpret.network import all_heads
from translucid.interpret.trace import FrozenTensors, Side
from translucid.interpret.trace_json import summary_names, summary_tensor, trace_json


def with_weights(trace: Trace, side: Side, rows: list[list[float]]) -> HeadStatistics:
    """Return the statistics of the first head of a side whose weights are these rows."""
    name = f"{trace.attention_name(side, 0)}.weights"
    shape = trace.tensors.shapes[name]
    weights_HLM = torch.tensor(rows).expand(shape)
    changed = replace(trace, tensors=FrozenTensors({**trace.tensors, name: weights_HLM}))
    found = trace_head_statistics(changed)
    return next(one for one in found if one.head == (side, 0, 0))


@pytest.fixture(scope="module")
def repeating() -> Trace:
    """Source: chat noir chat </s>."""
    return explain(taught_translator(), "chat noir chat", given="cat black cat", level="light")


def test_even_attention_is_as_spread_as_it_can_be_and_called_broad(repeating: Trace) -> None:
    found = with_weights(repeating, "encoder", [[0.25] * 4] * 4)
    assert found.entropy == pytest.approx(math.log(4))
    assert found.evenness == pytest.approx(1)
    assert found.role == "broad"


def test_a_head_that_looks_at_the_previous_token_alone_is_named_so(repeating: Trace) -> None:
    rows = [[1.0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    found = with_weights(repeating, "encoder", rows)
    assert (found.previous, found.entropy, found.role) == (1, 0, "previous token")
    assert found.distance == pytest.approx(2 / 3)  # the first word can only look at itself
    assert found.queries == 3  # </s> asks nothing


def test_shares_count_only_rows_that_have_such_a_token(repeating: Trace) -> None:
    rows = [[0.0, 0, 1, 0], [0, 1, 0, 0], [0.5, 0, 0.5, 0], [0, 0, 0, 1]]
    assert with_weights(repeating, "encoder", rows).same_word == pytest.approx(0.75)
    rows = [[1.0, 0, 0, 0]] * 4
    assert with_weights(repeating, "encoder", rows).first == 1  # not where it is the one before


def test_distance_in_cross_attention_is_from_the_line_between_the_sentences() -> None:
    trace = explain(taught_translator(), "chat noir dort", given="cat black", level="light")
    rows = [[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    found = with_weights(trace, "cross", rows)
    # Rows 0, 1, 2 of 3 stand at 0, 4/3 and 8/3 of 4 columns.
    assert found.distance == pytest.approx((0 + 1 / 3 + 1 / 3) / 3, abs=1e-6)
    assert found.end == pytest.approx(1 / 3)
    assert found.previous is None
    assert found.alignment is None  # one sentence does not tell


def test_the_decoder_is_measured_against_what_it_may_see(repeating: Trace) -> None:
    rows = [[1.0 / (row + 1) if key <= row else 0.0 for key in range(4)] for row in range(4)]
    assert with_weights(repeating, "decoder", rows).evenness == pytest.approx(1)


def test_one_sentence_is_measured_as_a_corpus_of_one() -> None:
    translator = random_translator()
    trace = explain(translator, "le chat noir", given="the black cat", level="light")
    corpus = measure_heads(translator, ["le chat noir"], ["the black cat"]).heads
    for one, other in zip(trace_head_statistics(trace), corpus, strict=True):
        assert one.head == other.head
        assert (one.entropy, one.evenness) == pytest.approx((other.entropy, other.evenness))
        assert one.distance == pytest.approx(other.distance)
        for kind in ("previous", "next", "same_position", "same_word", "first", "end"):
            assert one.share(kind) == pytest.approx(other.share(kind))
        assert 0 <= one.evenness <= 1 + 1e-6


def test_a_translation_of_no_token_has_numbers_too() -> None:
    empty = explain(taught_translator(), "chat", prefix=[3], level="light")
    assert len(empty.target_tokens) == 1
    assert all(math.isfinite(one.entropy) for one in trace_head_statistics(empty))


def test_the_body_names_every_head_in_order() -> None:
    trace = taught_trace()
    body: dict[str, Any] = trace_json(trace, key=None, target="en", without=())
    named = [(one["side"], one["layer"], one["head"]) for one in body["heads"]]
    assert named == [tuple(head) for head in all_heads(trace.model)]
    for one in body["heads"]:
        assert all(0 <= share <= 1 + 1e-6 for share in one["shares"].values())
    cross = [one for one in body["heads"] if one["side"] == "cross"]
    assert all("previous" not in one["shares"] for one in cross)


def test_summaries_are_tensors_by_name() -> None:
    trace = taught_trace("light")
    shapes: dict[str, tuple[int, ...]] = {}
    for name in summary_names(trace):
        tensor = summary_tensor(trace, name)
        assert isinstance(tensor, Tensor)
        assert tensor.dtype == torch.float32
        torch.testing.assert_close(tensor.sum(dim=-1), torch.ones(len(tensor)))
        shapes[name] = tuple(tensor.shape)
    source, target = len(trace.source_tokens), len(trace.target_tokens)
    assert shapes["rollout.cross"] == (target, source)
    assert shapes["decoder.0.self_attention.mean_weights"] == (target, target)
    rolled = summary_tensor(trace, "rollout.encoder")
    assert rolled is not None
    torch.testing.assert_close(rolled, attention_rollout(trace, "encoder").float())
    assert summary_tensor(trace, "rollout.nothing") is None
    with pytest.raises(InputError):
        trace.tensor("rollout.encoder")  # of the network's own numbers it is none
