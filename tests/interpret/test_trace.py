"""A trace is one immutable result whose parts are found by name."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any, cast

import pytest
import torch

from small_traces import given_trace, greedy_trace, taught_trace
from translucid.errors import InputError
from translucid.interpret import trace as trace_module
from translucid.interpret.trace import Trace


def test_the_three_attentions_have_weights_of_all_heads() -> None:
    trace = taught_trace()
    heads, source, target = trace.model.heads, len(trace.source_tokens), len(trace.target_tokens)
    assert trace.attention("encoder", 0).shape == (heads, source, source)
    assert trace.attention("decoder", 1).shape == (heads, target, target)
    assert trace.attention("cross", 1).shape == (heads, target, source)
    assert (trace.layers("encoder"), trace.layers("decoder"), trace.layers("cross")) == (1, 2, 2)
    name = trace.attention_name("cross", 1)
    assert torch.equal(trace.attention("cross", 1), trace.tensor(f"{name}.weights"))


@pytest.mark.parametrize(
    ("side", "layer", "message"),
    [
        ("encoder", 1, "layer 1 of encoder does not exist: there are 1, 0 to 0"),
        ("cross", -1, "layer -1 of cross does not exist: there are 2, 0 to 1"),
        ("crossed", 0, "no attention is called 'crossed'; did you mean 'cross'?"),
    ],
)
def test_an_attention_that_is_not_there_is_named(side: Any, layer: int, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        taught_trace().attention(side, layer)


def test_a_tensor_that_is_not_there_is_named_with_a_near_one_or_the_level() -> None:
    with pytest.raises(InputError, match=re.escape("did you mean 'decoder.states'?")):
        taught_trace().tensor("decoder.state")
    assert taught_trace().tensor("memory").shape == (4, taught_trace().model.d_model)
    with pytest.raises(InputError, match="record it again with the level 'full'"):
        taught_trace("light").tensor("memory")
    with pytest.raises(InputError, match=re.escape("did you mean 'encoder.0.self_att")):
        taught_trace("light").tensor("encoder.0.self_attentions.weight")


def test_nothing_in_a_trace_changes() -> None:
    trace = taught_trace()
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.translation = "dog"  # type: ignore[misc]
    with pytest.raises(TypeError):
        cast("dict[str, Any]", trace.tensors)["memory"] = torch.zeros(())
    for name, tensor in trace.tensors.items():
        before = tensor.clone()
        tensor.fill_(7)
        trace.tensor(name).zero_()
        assert torch.equal(trace.tensors[name], before)


def test_a_trace_tells_heads_that_were_found_from_the_usual_ones() -> None:
    usual = taught_trace()
    assert usual.alignment_heads == tuple((0, head) for head in range(usual.model.heads))
    assert not usual.alignment_found
    assert dataclasses.replace(usual, alignment_heads=((1, 2),)).alignment_found
    assert dataclasses.replace(usual, alignment_row="reads").alignment_found


def test_all_but_the_tensors_is_plain_json() -> None:
    for trace in (taught_trace(), greedy_trace(), given_trace("cat"), taught_trace("light")):
        plain = trace.to_json()
        assert json.loads(json.dumps(plain, allow_nan=False)) == json.loads(json.dumps(plain))
        assert plain["tensors"] == {n: list(t.shape) for n, t in trace.tensors.items()}
        assert plain["steps"][0]["token"]["piece"] == trace.steps[0].token.piece
        assert plain["version"] == trace_module.VERSION
        assert set(plain) == {field.name for field in dataclasses.fields(Trace)}


@pytest.mark.parametrize("row", ["predicts", "reads"])
def test_the_alignment_takes_the_row_that_shows_it(row: Any) -> None:
    trace = dataclasses.replace(taught_trace(), alignment_row=row, alignment_heads=((1, 2), (0, 3)))
    mean = (trace.attention("cross", 1)[2] + trace.attention("cross", 0)[3]) / 2
    assert torch.allclose(trace.alignment(), mean[:3] if row == "predicts" else mean[1:])


def test_the_table_of_tensors_names_every_one() -> None:
    table = trace_module.__doc__ or ""
    trace = taught_trace()
    assert list(trace.tensors) == list(trace_module.tensor_shapes(trace.model, 4, 4, "full"))
    last = {name.rpartition(".")[2] for name in trace.tensors}
    assert not [name for name in last if not re.search(rf"\b{name}\b", table)]


def test_a_notebook_shows_the_whole_page() -> None:
    shown = taught_trace()._repr_html_()
    assert shown.startswith("<iframe")
    assert taught_trace().translation in shown
