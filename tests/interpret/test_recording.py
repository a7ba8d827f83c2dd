"""What the recording twin notes is what the fast network computes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from networks import NORMS, POSITIONS, small_network
from translucid.interpret.recording import Recording, record, recording_copy
from translucid.interpret.trace import tensor_shapes, trace_bytes
from translucid.model import MultiHeadAttention, Transformer, sdpa
from translucid.model.transformer import share_weights
from translucid.text.tokenizer import BOS, EOS

SOURCE = (7, 11, 5, 23, 9, EOS)
WRITTEN = (12, 4, 28, 6, EOS)
READ = (BOS, *WRITTEN[:-1])
WAYS = list(itertools.product(POSITIONS, NORMS))


def recorded(model: Transformer, level: Any = "full") -> Recording:
    return record(model, SOURCE, WRITTEN, level)


def attention_names(recording: Recording) -> list[str]:
    return [name.removesuffix(".weights") for name in recording.tensors if "weights" in name]


def close(ours: Tensor, theirs: Tensor) -> bool:
    return ours.shape == theirs.shape and torch.allclose(ours, theirs, rtol=0, atol=1e-5)


class FastWeights:
    """The kernel sdpa, which shows no weights; but the weighted sum of unit vectors is them."""

    def __init__(self, found: list[Tensor]) -> None:
        self.found = found

    def __call__(
        self, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMU: Tensor, mask: Tensor | None, dropout: float
    ) -> tuple[Tensor, None]:
        units = torch.eye(k_BHMK.size(2)).expand(*k_BHMK.shape[:2], -1, -1).contiguous()
        self.found.append(sdpa(q_BHLK, k_BHMK, units, mask, 0.0)[0][0])
        return sdpa(q_BHLK, k_BHMK, v_BHMU, mask, dropout)


def fused_twin(model: Transformer, found: list[Tensor]) -> Transformer:
    other = share_weights(model)
    for module in other.modules():
        if isinstance(module, MultiHeadAttention):
            module.kernel = FastWeights(found)
    return other


@pytest.mark.parametrize(("positions", "norm"), WAYS)
def test_weights_and_logits_are_those_of_the_fused_path(positions: str, norm: str) -> None:
    model = small_network(positions=positions, norm=norm)
    recording, found = recorded(model), list[Tensor]()
    with torch.no_grad():
        logits = fused_twin(model, found)(torch.tensor([SOURCE]), torch.tensor([READ]))[0]
    ours = [recording.tensors[f"{name}.weights"] for name in attention_names(recording)]
    assert len(ours) == len(found) == 6
    assert all(close(one, other) for one, other in zip(ours, found, strict=True))
    assert close(recording.tensors["logits"], logits)


@pytest.mark.parametrize(("positions", "norm"), WAYS)
def test_log_probs_are_those_of_the_cached_session_step_by_step(positions: str, norm: str) -> None:
    model = small_network(positions=positions, norm=norm)
    log_probs_TV = recorded(model).tensors["log_probs"]
    session = model.start(torch.tensor([SOURCE]))
    for token, row_V in zip(READ, log_probs_TV, strict=True):
        assert close(row_V, session.step(torch.tensor([token]))[0])


@pytest.mark.parametrize(("positions", "norm"), WAYS)
def test_equation_1_recomputed_from_what_is_recorded(positions: str, norm: str) -> None:
    model = small_network(positions=positions, norm=norm)
    recording = recorded(model)
    for name in attention_names(recording):
        q, k, v, raw, scaled, mask, weights, heads, output = (
            recording.tensors[f"{name}.{what}"].double()
            for what in ("q", "k", "v", "raw_scores", "scaled_scores", "mask", "weights", "heads",
                         "output")
        )  # fmt: skip
        assert close(torch.einsum("hlk,hmk->hlm", q, k), raw)
        assert close(raw / math.sqrt(q.size(-1)), scaled)
        exponentials = (scaled + mask).exp()
        expected = exponentials / exponentials.sum(-1, keepdim=True)
        assert close(expected, weights)
        assert close(torch.einsum("hlm,hmw->hlw", expected, v), heads)
        w_o = model.get_parameter(f"{_in_model(name)}.w_o.weight").double()
        assert close(heads.transpose(0, 1).flatten(1) @ w_o.T, output)


def _in_model(name: str) -> str:
    stack, layer, attention = name.split(".")
    return f"{stack}.layers.{layer}.{attention}"


@pytest.mark.parametrize("positions", POSITIONS)
def test_rows_sum_to_one_and_masked_cells_are_exactly_zero(positions: str) -> None:
    recording = recorded(small_network(positions=positions))
    for name in attention_names(recording):
        weights, mask = (recording.tensors[f"{name}.{what}"] for what in ("weights", "mask"))
        assert torch.allclose(weights.sum(-1), torch.ones(()), rtol=0, atol=1e-6)
        forbidden = (mask == -math.inf).expand_as(weights)
        assert torch.equal(weights[forbidden], torch.zeros(int(forbidden.sum())))
        assert (weights[~forbidden] > 0).all()
        future = torch.ones(weights.shape[-2:]).triu(1).bool()
        causal = name.startswith("decoder") and name.endswith("self_attention")
        assert torch.equal(forbidden[0], future if causal else torch.zeros_like(forbidden[0]))


@pytest.mark.parametrize(("positions", "norm"), WAYS)
def test_the_stream_is_one_unbroken_chain(positions: str, norm: str) -> None:
    model = small_network(positions=positions, norm=norm)
    tensors = recorded(model).tensors
    stacks = {
        "encoder": ("source", "memory", ("self_attention", "feed_forward")),
        "decoder": (
            "target", "decoder.states", ("self_attention", "cross_attention", "feed_forward"),
        ),
    }  # fmt: skip
    for stack, (side, end, sublayers) in stacks.items():
        assert torch.equal(
            tensors[f"{side}.embedding"] + tensors[f"{side}.positions"], tensors[f"{side}.sum"]
        )
        stream = tensors[f"{side}.sum"]
        for layer, sublayer in itertools.product(range(2), sublayers):
            stem = f"{stack}.{layer}.{sublayer}"
            assert torch.equal(tensors[f"{stem}.residual_before"], stream)
            added = stream + tensors[f"{stem}.output"]
            after = tensors[f"{stem}.residual_after"]
            norm_of = model.get_submodule(f"{stack}.layers.{layer}.{sublayer}_residual.norm")
            assert close(added if norm == "pre" else norm_of(added).detach(), after)
            stream = after
            if sublayer == "feed_forward":
                assert torch.equal(tensors[f"{stack}.{layer}.output"], stream)
        final = model.get_submodule(f"{stack}.norm")
        assert close(final(stream).detach(), tensors[end])


@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
def test_feed_forward_inside_and_outside_agree(activation: str) -> None:
    model = small_network(activation=activation)
    tensors = recorded(model).tensors
    w_2 = model.get_submodule("decoder.layers.1.feed_forward.w_2")
    inner, output = (tensors[f"decoder.1.feed_forward.{what}"] for what in ("inner", "output"))
    assert close(w_2(inner).detach(), output)
    assert activation != "relu" or (inner >= 0).all()


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary", "relative", "none"])
def test_positions_are_what_is_added(positions: str) -> None:
    tensors = recorded(small_network(positions=positions)).tensors
    adds = positions in {"learned", "sinusoidal"}
    assert (
        bool(tensors["source.positions"].any()) == bool(tensors["target.positions"].any()) == adds
    )


@pytest.mark.parametrize(("positions", "norm"), WAYS)
@pytest.mark.parametrize("level", ["light", "full"])
def test_names_shapes_and_size_are_known_ahead(positions: str, norm: str, level: Any) -> None:
    model = small_network(positions=positions, norm=norm, heads=1, activation="swiglu")
    tensors = recorded(model, level).tensors
    shapes = tensor_shapes(model.config, len(SOURCE), len(WRITTEN), level)
    assert {name: tuple(tensor.shape) for name, tensor in tensors.items()} == shapes
    assert list(tensors) == list(shapes)
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float32}
    assert all(tensor.is_contiguous() for tensor in tensors.values())
    size = sum(tensor.nbytes for tensor in tensors.values())
    assert size == trace_bytes(model.config, len(SOURCE), len(WRITTEN), level)


@pytest.mark.parametrize("positions", POSITIONS)
def test_one_target_position_has_a_mask_too(positions: str) -> None:
    model = small_network(positions=positions)
    tensors = record(model, SOURCE, (EOS,), "full").tensors
    shapes = tensor_shapes(model.config, len(SOURCE), 1, "full")
    assert {name: tuple(tensor.shape) for name, tensor in tensors.items()} == shapes


def test_light_has_the_same_weights_and_readings_as_full() -> None:
    model = small_network()
    light, full = recorded(model, "light"), recorded(model)
    assert all(torch.equal(light.tensors[name], full.tensors[name]) for name in light.tensors)
    assert light.predictions == full.predictions


@pytest.mark.parametrize("length", [5, 64, 150])  # more than are read at a time
def test_readings_are_read_off_the_softmax(length: int) -> None:
    model = small_network()
    written: Sequence[int] = [*torch.arange(length - 1).remainder(20).add(5).tolist(), EOS]
    recording = record(model, SOURCE, written, "full")
    assert len(recording.predictions) == length
    for token, reading, row in zip(
        written, recording.predictions, recording.tensors["log_probs"].tolist(), strict=True
    ):
        assert reading.log_prob == pytest.approx(row[token], abs=1e-6)
        by_value = sorted(range(len(row)), key=lambda one: -row[one])
        assert reading.rank == by_value.index(token) + 1
        assert reading.entropy == pytest.approx(-sum(math.exp(x) * x for x in row), abs=1e-4)
        assert [one for one, _ in reading.top] == by_value[:10]
        assert [value for _, value in reading.top] == pytest.approx(
            [row[one] for one in by_value[:10]], abs=1e-6
        )


@pytest.mark.parametrize("level", ["light", "full"])
def test_a_recording_copy_shares_every_tensor_and_leaves_the_network_as_it_was(level: Any) -> None:
    model = small_network(positions="learned")
    before = [dict(vars(module)) for module in model.modules()]
    other, _ = recording_copy(model, level)
    record(model, SOURCE, WRITTEN, level)
    for kind in ("named_parameters", "named_buffers"):
        ours = dict(getattr(model, kind)(remove_duplicate=False))
        theirs = dict(getattr(other, kind)(remove_duplicate=False))
        assert ours.keys() == theirs.keys()
        assert all(theirs[name] is tensor for name, tensor in ours.items())
    assert [dict(vars(module)) for module in model.modules()] == before
    assert not any(module._forward_hooks for module in model.modules())


def test_a_kernel_that_changes_the_outcome_is_recorded_with_its_outcome() -> None:
    model = small_network()

    def without_head_2(
        q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float
    ) -> tuple[Tensor, None]:
        heads, _ = sdpa(q, k, v, mask, dropout)
        return heads * torch.tensor([1.0, 1.0, 0.0, 1.0])[:, None, None], None

    plain = recorded(model).tensors["logits"]
    model.get_submodule("encoder.layers.0.self_attention").kernel = without_head_2  # type: ignore[assignment]
    tensors = recorded(model).tensors
    assert not tensors["encoder.0.self_attention.heads"][2].any()
    assert tensors["encoder.0.self_attention.heads"][1].any()
    with torch.no_grad():
        logits = model(torch.tensor([SOURCE]), torch.tensor([READ]))[0]
    assert close(tensors["logits"], logits)
    assert not close(tensors["logits"], plain)
