"""Scaling, clipping, the optimisers, and the average of weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from translucid.training.config import TrainingConfig
from translucid.training.optimizer import (
    WeightAverage,
    allocate_optimizer_state,
    build_optimizer,
    optimizer_tensors,
    scale_and_clip,
    set_learning_rate,
)

RATE = 0.1


def parameters() -> dict[str, nn.Parameter]:
    generator = torch.Generator().manual_seed(1)
    return {
        "matrix": nn.Parameter(torch.randn(3, 4, generator=generator)),
        "a.layers.0.map": nn.Parameter(torch.randn(5, 4, generator=generator)),
        "gain": nn.Parameter(torch.randn(4, generator=generator)),
    }


def gradients(step: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(100 + step)
    return {
        "matrix": torch.randn(3, 4, generator=generator),
        "a.layers.0.map": torch.randn(5, 4, generator=generator),
        "gain": torch.randn(4, generator=generator),
    }


def run(settings: TrainingConfig, steps: int) -> dict[str, Tensor]:
    ours = parameters()
    optimizer = build_optimizer(ours, settings)
    for step in range(1, steps + 1):
        for name, gradient in gradients(step).items():
            ours[name].grad = gradient
        set_learning_rate(optimizer, RATE)
        optimizer.step()
    return {name: parameter.detach() for name, parameter in ours.items()}


def adam_by_hand(steps: int, settings: TrainingConfig, decoupled: bool) -> dict[str, Tensor]:
    """Kingma and Ba's algorithm 1, in float64; with Loshchilov and Hutter's decay if decoupled."""
    found = {}
    for name, parameter in parameters().items():
        weight = parameter.detach().double()
        decay = settings.weight_decay if weight.dim() > 1 else 0.0
        mean, square = torch.zeros_like(weight), torch.zeros_like(weight)
        for step in range(1, steps + 1):
            gradient = gradients(step)[name].double()
            if decoupled:
                weight = weight * (1 - RATE * decay)
            else:
                gradient = gradient + decay * weight
            mean = settings.beta1 * mean + (1 - settings.beta1) * gradient
            square = settings.beta2 * square + (1 - settings.beta2) * gradient**2
            mean_hat = mean / (1 - settings.beta1**step)
            square_hat = square / (1 - settings.beta2**step)
            weight = weight - RATE * mean_hat / (square_hat.sqrt() + settings.epsilon)
        found[name] = weight.float()
    return found


@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_adam_is_that_of_its_paper(kind: str, decay: float) -> None:
    settings = TrainingConfig(optimizer=kind, weight_decay=decay)
    torch.testing.assert_close(
        run(settings, 5), adam_by_hand(5, settings, kind == "adamw"), rtol=1e-5, atol=1e-6
    )


def test_sgd_sums_gradients_with_momentum() -> None:
    expected = {}
    for name, parameter in parameters().items():
        weight, speed = parameter.detach(), torch.zeros_like(parameter)
        for step in range(1, 5):
            speed = 0.7 * speed + gradients(step)[name]
            weight = weight - RATE * speed
        expected[name] = weight
    settings = TrainingConfig(optimizer="sgd", momentum=0.7)
    torch.testing.assert_close(run(settings, 4), expected)


@pytest.mark.parametrize("longest", [0.0, 0.5, 1000.0])
def test_gradients_are_divided_once_and_shortened_together(longest: float) -> None:
    ours, tokens = list(parameters().values()), 7
    raw = list(gradients(1).values())
    for parameter, gradient in zip(ours, raw, strict=True):
        parameter.grad = gradient.clone()
    norm = scale_and_clip(ours, tokens=tokens, max_norm=longest)
    mean = torch.cat([gradient.flatten() for gradient in raw]) / tokens
    found = torch.cat([parameter.grad.flatten() for parameter in ours])
    assert norm == pytest.approx(float(mean.norm()))
    factor = min(1.0, longest / float(mean.norm())) if longest else 1.0
    torch.testing.assert_close(found, mean * factor)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_gradient_that_is_no_number_is_told_by_its_norm(bad: float) -> None:
    ours = parameters()
    ours["matrix"].grad = torch.full((3, 4), bad)
    ours["gain"].grad = torch.ones(4)
    assert not scale_and_clip(ours.values(), tokens=3, max_norm=1.0) < float("inf")
    assert torch.equal(ours["gain"].grad, torch.ones(4))


@pytest.mark.parametrize("kind", ["adam", "adamw", "muon", "sgd"])
def test_memory_put_back_continues_exactly(kind: str) -> None:
    settings = TrainingConfig(optimizer=kind, weight_decay=0.1)
    ours = parameters()
    optimizer = build_optimizer(ours, settings)
    for step in (1, 2, 3, 4):
        if step == 3:
            saved = {n: t.clone() for n, t in optimizer_tensors(optimizer, ours).items()}
            ours = {name: nn.Parameter(p.detach().clone()) for name, p in ours.items()}
            optimizer = build_optimizer(ours, settings)
            shapes = {name: list(tensor.shape) for name, tensor in saved.items()}
            for name, target in allocate_optimizer_state(optimizer, ours, shapes).items():
                target.copy_(saved[name])
        for name, gradient in gradients(step).items():
            ours[name].grad = gradient
        set_learning_rate(optimizer, RATE)
        optimizer.step()
    expected = run(settings, 4)
    assert all(torch.equal(ours[name].detach(), expected[name]) for name in expected)


def test_the_average_of_weights_forgets_the_first_ones_soon() -> None:
    ours = parameters()
    average = WeightAverage(ours, decay=0.5)
    expected = ours["gain"].detach().clone()
    for step in range(1, 21):
        with torch.no_grad():
            ours["gain"].add_(step)
        average.update(step)
        decay = min(0.5, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * ours["gain"].detach()
    torch.testing.assert_close(average.tensors["gain"], expected)


def test_the_average_takes_the_place_of_the_weights_for_a_while() -> None:
    ours: dict[str, Any] = parameters()
    average = WeightAverage(ours, decay=0.9)
    with torch.no_grad():
        ours["gain"].mul_(3)
    weights, mean = ours["gain"].detach().clone(), average.tensors["gain"].clone()
    with average.in_use():
        assert torch.equal(ours["gain"], mean)
    assert torch.equal(ours["gain"], weights)
    assert torch.equal(average.tensors["gain"], mean)
