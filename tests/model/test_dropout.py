"""Dropout drops the share it is told, keeps the expectation, and is a function of the seed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from translucid.model.dropout import Dropout, apply_dropout, dropout_generator, dropout_mask


def scaled_mask(x: torch.Tensor, share: float) -> torch.Tensor:
    keep, scale = dropout_mask(x, share)
    return keep.to(x.dtype) * scale


@pytest.mark.parametrize("share", [0.001, 0.1, 0.3, 0.5, 0.9, 0.999])
def test_the_share_and_the_scale(share: float) -> None:
    torch.manual_seed(0)
    mask = scaled_mask(torch.empty(1000, 1001), share)
    apply_dropout = (mask == 0).double().mean().item()
    deviation = (share * (1 - share) / mask.numel()) ** 0.5
    assert abs(apply_dropout - share) < 5 * deviation + 1 / 65536
    assert mask.unique().tolist() == pytest.approx([0.0, 1 / (1 - share)], rel=0.02)
    assert mask.double().mean().item() == pytest.approx(1.0, abs=5 * deviation / (1 - share))


def test_elements_are_independent() -> None:
    """Neighbours, which may share a draw, are dropped together as often as chance would have it."""
    torch.manual_seed(0)
    apply_dropout = (scaled_mask(torch.empty(400_000), 0.3) == 0).double()
    for distance in (1, 2, 3, 4, 64):
        together = (apply_dropout[:-distance] * apply_dropout[distance:]).mean().item()
        assert together == pytest.approx(0.09, abs=5 * (0.09 / 400_000) ** 0.5)


@pytest.mark.parametrize("shape", [(1,), (3,), (5, 7), (2, 3, 4)])
def test_any_shape_and_the_gradient_is_the_mask(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, requires_grad=True)
    torch.manual_seed(5)
    apply_dropout = Dropout(0.5).train()(x)
    torch.manual_seed(5)
    mask = scaled_mask(x, 0.5)
    assert torch.equal(apply_dropout, x * mask)
    apply_dropout.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, mask)


def test_evaluation_and_zero_return_the_input_itself() -> None:
    x = torch.randn(3)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0).train()(x) is x
    assert repr(Dropout(0.25)) == "Dropout(0.25)"


def test_backward_remembers_a_byte_for_each_element() -> None:
    """Memory for the masks of a deep network counts: they are not kept in the type of the input."""
    kept: list[torch.Tensor] = []

    def remember(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor)
        return tensor

    x = torch.randn(8, 16, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(remember, lambda tensor: tensor):
        Dropout(0.5).train()(x)
    assert [(tensor.dtype, tensor.numel()) for tensor in kept] == [(torch.bool, 128)]


def test_a_thread_draws_from_its_own_generator_whatever_the_others_draw() -> None:
    x, taking_turns = torch.ones(1000), threading.Barrier(2, timeout=20)

    def draws(seed: int) -> list[torch.Tensor]:
        with dropout_generator(torch.Generator().manual_seed(seed)):
            return [drop(x) for _ in range(5)]

    def drop(x: torch.Tensor) -> torch.Tensor:
        if threading.current_thread() is not threading.main_thread():
            taking_turns.wait()
        return apply_dropout(x, 0.5)

    torch.manual_seed(9)
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(draws, [1, 2]))
    for seed, found in zip([1, 2], together, strict=True):
        torch.testing.assert_close(found, draws(seed), rtol=0, atol=0)
    after = apply_dropout(x, 0.5)
    torch.manual_seed(9)
    assert torch.equal(apply_dropout(x, 0.5), after)  # PyTorch's own generator was not touched


def test_a_generator_is_drawn_from_no_longer_than_asked_for() -> None:
    x = torch.ones(1000)
    with pytest.raises(ZeroDivisionError), dropout_generator(torch.Generator().manual_seed(1)):
        _ = 1 / 0
    torch.manual_seed(4)
    first = apply_dropout(x, 0.5)
    torch.manual_seed(4)
    assert torch.equal(apply_dropout(x, 0.5), first)
