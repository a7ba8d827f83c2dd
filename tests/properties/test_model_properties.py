"""What must hold of the network whatever its weights: causality, padding, gradients, dropout."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from networks import NORMS, POSITIONS, VOCAB, ragged, small_config, small_network
from translucid.errors import InputError
from translucid.model import MultiHeadAttention, Transformer, eager
from translucid.model.attention import SHORT, auto
from translucid.model.dropout import dropout_generator
from translucid.model.feed_forward import FeedForward
from translucid.model.masks import additive, causal_mask, padding_mask
from translucid.model.residual import AddNorm

MODELS = {
    (positions, norm): small_network(positions=positions, norm=norm)
    for positions in POSITIONS
    for norm in NORMS
}
KINDS = st.sampled_from(sorted(MODELS))


@given(kind=KINDS, at=st.integers(0, 9), token=st.integers(1, VOCAB - 1), seed=st.integers(0, 99))
@settings(max_examples=60)
def test_a_token_changes_no_logit_before_it(
    kind: tuple[str, str], at: int, token: int, seed: int
) -> None:
    model = MODELS[kind]
    source = ragged(2, 7, seed)
    target = torch.randint(1, VOCAB, (2, 10), generator=torch.Generator().manual_seed(seed))
    changed = target.clone()
    changed[:, at] = (target[:, at] + token - 1) % (VOCAB - 1) + 1
    with torch.no_grad():
        before, after = model(source, target), model(source, changed)
    assert torch.equal(before[:, :at], after[:, :at])
    moved = (changed[:, at] != target[:, at])[:, None]
    assert torch.equal((before[:, at:] != after[:, at:]).any(-1).any(-1, keepdim=True), moved)


@given(
    kind=KINDS,
    rows=st.integers(2, 5),
    more_source=st.integers(0, 6),
    more_target=st.integers(0, 6),
    seed=st.integers(0, 99),
)
@settings(max_examples=60)
def test_padding_and_batch_mates_change_nothing(
    kind: tuple[str, str], rows: int, more_source: int, more_target: int, seed: int
) -> None:
    model = MODELS[kind]
    source, target = ragged(rows, 8, seed), ragged(rows, 7, seed + 1)
    wider = nn.functional.pad(source, (0, more_source)), nn.functional.pad(target, (0, more_target))
    with torch.no_grad():
        together = model(*wider)
        for row in range(rows):
            alone_source = source[row : row + 1, : int((source[row] != 0).sum())]
            alone_target = target[row : row + 1, : int((target[row] != 0).sum())]
            alone = model(alone_source, alone_target)[0]
            batched = together[row, : alone_target.size(1)]
            assert torch.allclose(batched, alone, rtol=0, atol=1e-5)


def test_representations_of_real_tokens_ignore_padding() -> None:
    model = small_network()
    source = torch.tensor([[3, 4, 5, 0, 0]])
    assert torch.allclose(model.encode(source)[:, :3], model.encode(source[:, :3]), atol=1e-6)


def test_evaluation_is_deterministic_and_training_is_not() -> None:
    model = small_network(dropout=0.3)
    source, target = ragged(3, 8, seed=1), ragged(3, 7, seed=2)
    assert torch.equal(model(source, target), model(source, target))
    model.train()
    assert not torch.equal(model(source, target), model(source, target))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "relative"])
def test_gradients_are_right_in_float64(norm: str, positions: str) -> None:
    config = small_config(
        norm=norm, positions=positions, d_model=6, d_ff=5, heads=2, d_k=2, d_v=3,
        encoder_layers=1, decoder_layers=1, source_vocab_size=7, target_vocab_size=7,
        activation="gelu",
    )  # fmt: skip
    torch.manual_seed(0)
    model = Transformer(config).double().eval()
    source, target = torch.tensor([[1, 2, 3], [4, 5, 0]]), torch.tensor([[1, 6], [2, 3]])
    names = [name for name, _ in model.named_parameters()]
    values = tuple(p.detach().clone().requires_grad_() for p in model.parameters())

    def logits(*parameters: torch.Tensor) -> torch.Tensor:
        given_ = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(model, given_, (source, target), tie_weights=True)

    assert torch.autograd.gradcheck(logits, values, fast_mode=True)


@given(rows=st.integers(2, 6), longest=st.integers(2, 12), seed=st.integers(0, 999))
def test_no_attention_row_is_empty(rows: int, longest: int, seed: int) -> None:
    ids = ragged(rows, longest, seed)
    assert padding_mask(ids, 0).any(-1).all()
    allowed = causal_mask(longest, longest, torch.device("cpu"))
    assert allowed.any(-1).all()
    seen = torch.tensor([[key <= query for key in range(longest)] for query in range(longest)])
    assert torch.equal(allowed, seen)
    assert torch.equal(causal_mask(2, longest, torch.device("cpu")), seen[-2:])


def test_an_empty_row_is_refused_by_its_number() -> None:
    model = small_network()
    source = torch.tensor([[1, 2], [0, 0], [3, 0], [0, 0]])
    with pytest.raises(
        InputError, match=r"source has no token but padding \(id 0\) in row 1 and 1"
    ):
        model.encode(source)


def test_the_additive_mask_is_bias_or_minus_infinity() -> None:
    allowed = torch.tensor([[True, False]])
    bias = torch.tensor([[0.5, 0.25]])
    assert additive(None, None, torch.float32) is None
    assert additive(None, bias, torch.float32) is bias
    assert additive(allowed, None, torch.float32).tolist() == [[0.0, -torch.inf]]  # type: ignore[union-attr]
    assert additive(allowed, bias, torch.float32).tolist() == [[0.5, -torch.inf]]  # type: ignore[union-attr]


# Dropout: each of the three settings reaches every place that it is meant for, and no other.

NAMES = ("dropout", "attention_dropout", "feed_forward_dropout")


@pytest.mark.parametrize("name", NAMES)
def test_each_dropout_alone_disturbs_the_output(name: str) -> None:
    source, target = ragged(3, 8, seed=1), ragged(3, 7, seed=2)
    off: dict[str, Any] = dict.fromkeys(NAMES, 0.0)
    quiet = small_network(**off).train()
    assert torch.equal(quiet(source, target), quiet(source, target))
    loud = small_network(**{**off, name: 0.5}).train()
    assert not torch.equal(loud(source, target), loud(source, target))


def test_dropout_reaches_every_sublayer_and_both_embeddings() -> None:
    model = small_network(dropout=0.5, feed_forward_dropout=0.25, attention_dropout=0.125).train()
    dropped: list[tuple[str, float]] = []

    def watch(name: str) -> Any:
        def hook(_module: nn.Module, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
            lost = (output == 0) & (inputs[0] != 0)
            dropped.append((name, float(lost.sum() / (inputs[0] != 0).sum())))

        return hook

    places = {
        "encoder.dropout": model.encoder.dropout,
        "decoder.dropout": model.decoder.dropout,
        **{name: m.dropout for name, m in model.named_modules() if isinstance(m, AddNorm)},
        **{name: m.dropout for name, m in model.named_modules() if isinstance(m, FeedForward)},
    }
    for name, module in places.items():
        module.register_forward_hook(watch(name))
    model(ragged(16, 8, seed=1), ragged(16, 7, seed=2))
    assert len(places) == 2 + 2 * 2 + 2 * 3 + 4  # embeddings, residuals of both stacks, inner
    assert {name for name, _ in dropped} == set(places)
    for name, share in dropped:
        expected = 0.25 if name.endswith("feed_forward") else 0.5
        assert abs(share - expected) < 0.06, name


def test_attention_dropout_reaches_every_kernel_and_only_in_training() -> None:
    model = small_network(attention_dropout=0.375)
    seen: list[float] = []

    def kernel(q: Any, k: Any, v: Any, mask: Any, dropout: float) -> Any:
        seen.append(dropout)
        return eager(q, k, v, mask, dropout)

    attentions = [m for m in model.modules() if isinstance(m, MultiHeadAttention)]
    for attention in attentions:
        attention.kernel = kernel
    model(ragged(2, 5, seed=1), ragged(2, 5, seed=2))
    model.train()(ragged(2, 5, seed=1), ragged(2, 5, seed=2))
    assert len(attentions) == 2 + 2 * 2
    assert seen == [0.0] * 6 + [0.375] * 6


@pytest.mark.parametrize("length", [1, 5, SHORT + 1])
def test_attention_dropout_draws_from_the_generator_of_its_thread(length: int) -> None:
    q, k, v = torch.randn(3, 2, 2, length, 4)

    def attended(own: int, pytorchs: int) -> torch.Tensor:
        torch.manual_seed(pytorchs)
        with dropout_generator(torch.Generator().manual_seed(own)):
            return torch.stack([auto(q, k, v, None, 0.5)[0] for _ in range(20)])

    assert torch.equal(attended(1, pytorchs=2), attended(1, pytorchs=3))
    assert not torch.equal(attended(1, pytorchs=2), attended(2, pytorchs=2))


def test_spelled_out_dropout_keeps_the_expectation() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 400, 2, 5, 4)
    plain, _ = eager(q, k, v, None, 0.0)
    dropped, _ = eager(q, k, v, None, 0.5)
    assert not torch.equal(plain, dropped)
    assert abs(float((plain - dropped).mean())) < 0.02
