"""Muon: its polynomial on singular values, its step spelled out, and which parameters it takes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from translucid.errors import ConfigError
from translucid.training.config import TrainingConfig
from translucid.training.optimizer import (
    MUON_COEFFICIENTS,
    MUON_ROUNDS,
    MUON_SIZE,
    MUON_TINY,
    build_optimizer,
    newton_schulz,
    set_learning_rate,
)

RATE = 0.05


def by_singular_values(matrix: Tensor) -> Tensor:
    """What the rounds do to every singular value, by PyTorch's decomposition in float64."""
    a, b, c = MUON_COEFFICIENTS
    u, s, v = torch.linalg.svd(matrix.double(), full_matrices=False)
    s = s / (s.norm() + MUON_TINY)
    for _ in range(MUON_ROUNDS):
        s = a * s + b * s**3 + c * s**5
    return u @ s.diag() @ v


@given(
    rows=st.integers(1, 12),
    columns=st.integers(1, 12),
    count=st.integers(1, 3),
    seed=st.integers(0, 999),
)
def test_rounds_act_on_singular_values_alone(
    rows: int, columns: int, count: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    matrices = torch.randn(count, rows, columns, generator=generator, dtype=torch.float64)
    found = newton_schulz(matrices)
    for matrix, result in zip(matrices, found, strict=True):
        torch.testing.assert_close(result, by_singular_values(matrix), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(16, 16), (8, 40), (40, 8)])
def test_all_directions_come_out_alike_however_strong_they_were(shape: tuple[int, int]) -> None:
    generator = torch.Generator().manual_seed(3)
    u, _, v = torch.linalg.svd(torch.randn(*shape, generator=generator), full_matrices=False)
    strengths = torch.logspace(0, -1.5, min(shape))
    assert strengths.min() > 0.01 * strengths.norm()
    found = newton_schulz((u @ strengths.diag() @ v)[None])[0]
    values = torch.linalg.svdvals(found)
    assert values.min() > 0.68
    assert values.max() < 1.14


def test_a_gradient_of_zeros_changes_nothing() -> None:
    assert torch.equal(newton_schulz(torch.zeros(2, 3, 4)), torch.zeros(2, 3, 4))


SHAPES = {
    "target_embedding.weight": (9, 4),
    "encoder.layers.0.self_attention.w_q.weight": (4, 4),
    "decoder.layers.1.cross_attention.w_o.weight": (4, 4),
    "encoder.layers.0.feed_forward.w_1.weight": (8, 4),
    "encoder.layers.0.norm.weight": (4,),
}


def values(seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(*shape, generator=generator) for name, shape in SHAPES.items()}


def after(kind: str, steps: int, *, decay: float) -> dict[str, Tensor]:
    parameters = {name: nn.Parameter(value) for name, value in values(1).items()}
    settings = TrainingConfig(optimizer=kind, weight_decay=decay)
    optimizer = build_optimizer(parameters, settings)
    for step in range(1, steps + 1):
        for name, gradient in values(100 + step).items():
            parameters[name].grad = gradient
        set_learning_rate(optimizer, RATE)
        optimizer.step()
    return {name: parameter.detach() for name, parameter in parameters.items()}


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_matrices_of_layers_move_by_muon_and_all_else_by_adamw(decay: float) -> None:
    found, by_adam = after("muon", 4, decay=decay), after("adamw", 4, decay=decay)
    for name, first in values(1).items():
        if ".layers." not in name or first.dim() == 1:
            torch.testing.assert_close(found[name], by_adam[name])
            continue
        weight, momentum = first.double(), torch.zeros_like(first, dtype=torch.float64)
        for step in range(1, 5):
            gradient = values(100 + step)[name].double()
            momentum = 0.95 * momentum + gradient
            change = by_singular_values(gradient + 0.95 * momentum)
            weight = (
                weight * (1 - RATE * decay) - RATE * MUON_SIZE * max(weight.shape) ** 0.5 * change
            )
        torch.testing.assert_close(found[name], weight.float(), rtol=1e-4, atol=1e-4)


def test_a_loaded_state_goes_on_exactly() -> None:
    parameters = {name: nn.Parameter(value) for name, value in values(1).items()}
    settings = TrainingConfig(optimizer="muon")
    optimizer = build_optimizer(parameters, settings)
    for step in range(1, 5):
        if step == 3:
            saved = optimizer.state_dict()
            optimizer = build_optimizer(parameters, settings)
            optimizer.load_state_dict(saved)
        for name, gradient in values(100 + step).items():
            parameters[name].grad = gradient
        set_learning_rate(optimizer, RATE)
        optimizer.step()
    expected = after("muon", 4, decay=0.0)
    assert all(torch.equal(parameters[name].detach(), expected[name]) for name in expected)


def test_a_matrix_without_a_gradient_stays_and_is_not_remembered() -> None:
    parameters = {name: nn.Parameter(value) for name, value in values(1).items()}
    optimizer = build_optimizer(parameters, TrainingConfig(optimizer="muon"))
    idle = "decoder.layers.1.cross_attention.w_o.weight"
    for name, gradient in values(2).items():
        parameters[name].grad = None if name == idle else gradient
    set_learning_rate(optimizer, RATE)
    optimizer.step()
    assert torch.equal(parameters[idle], values(1)[idle])
    assert parameters[idle] not in optimizer.state


def test_a_change_has_the_size_that_adams_usually_has() -> None:
    """The root mean square of an entry's change is about a fifth of the learning rate."""
    name, shape = "encoder.layers.0.feed_forward.w_1.weight", (64, 32)
    parameters = {name: nn.Parameter(torch.zeros(shape))}
    optimizer = build_optimizer(parameters, TrainingConfig(optimizer="muon"))
    parameters[name].grad = torch.randn(shape, generator=torch.Generator().manual_seed(5))
    set_learning_rate(optimizer, RATE)
    optimizer.step()
    size = float(parameters[name].detach().square().mean().sqrt())
    assert size == pytest.approx(MUON_SIZE * RATE, rel=0.25)


def test_momentum_is_that_of_the_optimiser_unless_given() -> None:
    assert TrainingConfig(optimizer="muon").momentum == 0.95
    assert TrainingConfig(optimizer="sgd").momentum == 0.9
    assert TrainingConfig(optimizer="muon", momentum=0.8).momentum == 0.8


def test_muon_with_parts_of_matrices_is_refused() -> None:
    with pytest.raises(ConfigError, match="optimizer = 'muon' needs whole matrices"):
        TrainingConfig(optimizer="muon", sharding="full")
