"""The fused loss against its plain definition in float64, and its gradient by two routes."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from networks import VOCAB, ragged, small_network
from translucid.training import loss as loss_module
from translucid.training.loss import Objective, projected_loss, target_entropy


def plain_definition(
    states: Tensor, weight: Tensor, labels: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """KL(q ‖ p) and −log p, written out with the whole target distribution q."""
    vocab = weight.size(0)
    log_p = (states @ weight.T).log_softmax(-1)
    q = F.one_hot(labels, vocab) * (1 - smoothing) + smoothing / vocab
    return (torch.xlogy(q, q) - q * log_p).sum(), -log_p.gather(1, labels[:, None]).sum()


def definition_of_agreement(
    states: Tensor, weight: Tensor, labels: Tensor, smoothing: float, rdrop_alpha: float
) -> tuple[Tensor, Tensor]:
    """R-Drop as its paper writes it, round_to_half so that a token counts once."""
    smoothed, plain = plain_definition(states, weight, labels, smoothing)
    first, second = (states @ weight.T).log_softmax(-1).chunk(2)
    apart = F.kl_div(second, first, reduction="sum", log_target=True)
    apart = apart + F.kl_div(first, second, reduction="sum", log_target=True)
    return (smoothed + rdrop_alpha / 2 * apart) / 2, plain / 2


def example(rows: int, vocab: int, size: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(rows, size, generator=generator)
    weight = torch.randn(vocab, size, generator=generator) * size**-0.5  # logits of unit variance
    return states, weight, torch.randint(vocab, (rows,), generator=generator)


def test_tokens_that_no_target_has_are_as_if_they_were_forbidden() -> None:
    """Fewer rows of the shared matrix: the loss of a softmax over the others, all gradients too."""
    fewer, full = (small_network(target_vocab_size=size) for size in (20, VOCAB))
    full.load_state_dict(fewer.state_dict())
    source, target = ragged(3, 7, seed=0), ragged(3, 6, seed=1, vocab=20)
    labels = target.roll(-1, dims=1)
    ours, _ = Objective(fewer, 0.1, 0.0)(source, target, labels)
    ours.backward()
    logits = full(source, target)[..., :20].flatten(0, 1)
    log_p, counts = logits.log_softmax(-1), labels.flatten() != 0
    q = F.one_hot(labels.flatten(), 20) * 0.9 + 0.1 / 20
    theirs = ((torch.xlogy(q, q) - q * log_p).sum(-1) * counts).sum()
    theirs.backward()
    torch.testing.assert_close(ours, theirs)
    found = {name: p.grad for name, p in fewer.named_parameters()}
    wanted = {name: p.grad for name, p in full.named_parameters()}
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("rdrop_alpha", [0.0, 2.0])
def test_a_bias_of_the_output_counts_in_the_loss_and_has_a_gradient(rdrop_alpha: float) -> None:
    model = small_network(output_bias=True, dropout=0.0)
    bias = model.output_projection.bias
    assert bias is not None
    torch.nn.init.normal_(bias)
    source, target = ragged(3, 7, seed=0), ragged(3, 6, seed=1)
    labels = target.roll(-1, dims=1)
    ours, _ = Objective(model, 0.1, rdrop_alpha)(source, target, labels)
    ours.backward()
    found = {name: p.grad for name, p in model.named_parameters()}
    model.zero_grad(set_to_none=True)
    log_p = model(source, target).flatten(0, 1).log_softmax(-1)
    q = F.one_hot(labels.flatten(), VOCAB) * 0.9 + 0.1 / VOCAB
    theirs = ((torch.xlogy(q, q) - q * log_p).sum(-1) * (labels.flatten() != 0)).sum()
    theirs.backward()
    torch.testing.assert_close(ours, theirs)
    wanted = {name: p.grad for name, p in model.named_parameters()}
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)


@given(
    rows=st.integers(1, 40),
    vocab=st.integers(2, 50),
    size=st.integers(1, 12),
    smoothing=st.sampled_from([0.0, 0.1, 0.5]),
    rdrop_alpha=st.sampled_from([0.0, 0.5, 5.0]),
    chunk=st.sampled_from([1, 64, 300, 1 << 20]),
    seed=st.integers(0, 999),
)
@settings(max_examples=100)
def test_loss_and_gradient_equal_the_float64_definition(
    rows: int, vocab: int, size: int, smoothing: float, rdrop_alpha: float, chunk: int, seed: int
) -> None:
    states, weight, labels = example(2 * rows if rdrop_alpha else rows, vocab, size, seed)
    if rdrop_alpha:
        labels = labels[:rows].repeat(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loss_module, "CHUNK_ELEMENTS", chunk)
        patch.setattr(loss_module, "PAIRED_ELEMENTS", chunk)
        ours = [x.clone().requires_grad_() for x in (states, weight)]
        smoothed, plain = projected_loss(ours[0], ours[1], labels, smoothing, rdrop_alpha)
        (smoothed * 3 / rows).backward()
    exact = [x.double().requires_grad_() for x in (states, weight)]
    if rdrop_alpha:
        smoothed_64, plain_64 = definition_of_agreement(
            exact[0], exact[1], labels, smoothing, rdrop_alpha
        )
    else:
        smoothed_64, plain_64 = plain_definition(exact[0], exact[1], labels, smoothing)
    (smoothed_64 * 3 / rows).backward()
    scale = max(1.0, plain_64.item())
    assert abs(smoothed.item() - smoothed_64.item()) / scale < 1e-6
    assert abs(plain.item() - plain_64.item()) / scale < 1e-6
    for got, expected in zip(ours, exact, strict=True):
        assert got.grad is not None
        assert expected.grad is not None
        size_of = expected.grad.abs().max().clamp(min=1)
        assert ((got.grad - expected.grad).abs().max() / size_of).item() < 1e-6


@pytest.mark.parametrize("rdrop_alpha", [0.0, 3.0])
def test_gradcheck_in_float64(rdrop_alpha: float) -> None:
    states, weight, labels = example(8, 11, 4, seed=1)
    labels = labels[:4].repeat(2)
    inputs = (states.double().requires_grad_(), weight.double().requires_grad_())
    assert torch.autograd.gradcheck(
        lambda s, w: projected_loss(s, w, labels, 0.1, rdrop_alpha)[0], inputs, eps=1e-6
    )


def test_the_loss_is_zero_where_the_model_says_the_target_itself() -> None:
    """Closed form: states that give exactly q have no loss left and no gradient."""
    vocab, smoothing = 9, 0.1
    labels = torch.arange(vocab)
    q = torch.eye(vocab, dtype=torch.float64) * (1 - smoothing) + smoothing / vocab
    states = q.log().requires_grad_()
    smoothed, plain = projected_loss(
        states, torch.eye(vocab, dtype=torch.float64), labels, smoothing, 0.0
    )
    smoothed.backward()
    assert abs(smoothed.item()) < 1e-12
    assert states.grad is not None
    assert states.grad.abs().max() < 1e-12
    assert plain.item() == pytest.approx(-vocab * math.log(1 - smoothing + smoothing / vocab))


def test_entropy_of_the_target() -> None:
    assert target_entropy(0.0, 1000) == 0.0
    q = torch.full((1000,), 0.1 / 1000, dtype=torch.float64)
    q[3] += 0.9
    assert target_entropy(0.1, 1000) == pytest.approx(-(q * q.log()).sum().item())


def test_huge_logits_do_not_overflow() -> None:
    states = torch.tensor([[1000.0], [-1000.0]], requires_grad=True)
    weight = torch.tensor([[1.0], [-1.0]])
    smoothed, plain = projected_loss(states, weight, torch.tensor([1, 1]), 0.0, 0.0)
    smoothed.backward()
    assert plain.item() == 2000.0
    assert states.grad is not None
    assert states.grad.tolist() == [[2.0], [0.0]]


def test_the_objective_ignores_padding_and_adds_up_over_batches() -> None:
    model = small_network(dropout=0.0).train()
    objective = Objective(model, label_smoothing=0.1, rdrop_alpha=0.0)
    source, target = ragged(6, 9, seed=1), ragged(6, 8, seed=2)
    labels = target.roll(-1, dims=1).masked_fill(target == 0, 0)
    whole = objective(source, target, labels)
    whole[0].backward()
    expected = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    sums = torch.zeros(2)
    for rows in (slice(0, 2), slice(2, 6)):
        part = objective(source[rows], target[rows], labels[rows])
        part[0].backward()
        sums += torch.stack([part[0].detach(), part[1]])
    assert torch.allclose(sums, torch.stack([whole[0].detach(), whole[1]]), rtol=1e-5)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None
        assert torch.allclose(parameter.grad, expected[name], rtol=1e-4, atol=1e-5), name
    logits = model(source, target)
    counted = labels != 0
    direct = F.cross_entropy(logits[counted], labels[counted], reduction="sum")
    assert torch.allclose(whole[1], direct, rtol=1e-5)


def test_two_passes_without_dropout_agree_already() -> None:
    """The same network twice: the loss and the gradient of one pass, whatever the strength."""
    source, target = ragged(5, 9, seed=1), ragged(5, 8, seed=2)
    labels = target.roll(-1, dims=1).masked_fill(target == 0, 0)
    found = []
    for rdrop_alpha in (0.0, 5.0):
        model = small_network(dropout=0.0).train()
        smoothed, plain = Objective(model, 0.1, rdrop_alpha)(source, target, labels)
        smoothed.backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        found.append((smoothed.item(), plain.item(), torch.cat([g.flatten() for g in gradients])))
    (one, one_plain, one_gradient), (two, two_plain, two_gradient) = found
    assert two == pytest.approx(one, rel=1e-5)
    assert two_plain == pytest.approx(one_plain, rel=1e-5)
    assert torch.allclose(two_gradient, one_gradient, rtol=1e-4, atol=1e-4)


def test_dropout_makes_two_passes_disagree() -> None:
    source, target = ragged(5, 9, seed=1), ragged(5, 8, seed=2)
    labels = target.roll(-1, dims=1).masked_fill(target == 0, 0)
    losses = []
    for rdrop_alpha in (1e-9, 5.0):
        torch.manual_seed(3)
        model = small_network(dropout=0.3).train()
        losses.append(Objective(model, 0.1, rdrop_alpha)(source, target, labels)[0].item())
    assert losses[1] > losses[0] + 0.01


def test_without_gradients_only_the_sums_are_made() -> None:
    states, weight, labels = example(5, 7, 3, seed=1)
    with torch.no_grad():
        smoothed, plain = projected_loss(states, weight, labels, 0.1, 0.0)
    expected = plain_definition(states.double(), weight.double(), labels, 0.1)
    assert smoothed.item() == pytest.approx(expected[0].item(), rel=1e-5)
    assert plain.item() == pytest.approx(expected[1].item(), rel=1e-5)
