"""Training in bfloat16 against float32: the same numbers with fewer digits, where it is meant."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from short_runs import toy_config, toy_settings
from torch import Tensor, nn
from torch.nn import functional as F

from translucid.data.batches import START, Batches, load_examples
from translucid.data.loader import Batch, Loader
from translucid.data.shards import PreparedData
from translucid.training import loss as loss_module
from translucid.training.config import TrainingConfig
from translucid.training.device import probe_bf16
from translucid.training.distributed import Distribution
from translucid.training.learner import Learner, initial_model
from translucid.training.loss import projected_loss
from translucid.training.optimizer import build_optimizer, set_learning_rate

CPU = torch.device("cpu")
DIGITS = 2**-8  # how far a rounded number is from itself, at most, relatively


@pytest.fixture(scope="module", autouse=True)
def bfloat16_works() -> None:
    """Some processors only say that they can, and die of the first product."""
    probe = probe_bf16(CPU)
    if not probe.safe:
        pytest.skip(f"no bfloat16 on this processor: {probe.problem}")


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def alike(one: Tensor, other: Tensor) -> float:
    """The cosine of the angle between two gradients."""
    return F.cosine_similarity(one.flatten().double(), other.flatten().double(), dim=0).item()


@pytest.mark.parametrize("chunk", [64, 1 << 20])
def test_loss_and_gradients_are_those_of_float32_but_for_rounding(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loss_module, "CHUNK_ELEMENTS", chunk)
    generator = torch.Generator().manual_seed(1)
    states, weight = torch.randn(60, 32, generator=generator), torch.randn(50, 32) * 32**-0.5
    labels = torch.randint(50, (60,), generator=generator)
    found = []
    for bf16 in (False, True):
        inputs = states.clone().requires_grad_(), weight.clone().requires_grad_()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            smoothed, plain = projected_loss(*inputs, labels, 0.1, 0.0)
        smoothed.backward()  # type: ignore[no-untyped-call]
        gradients = [x.grad for x in inputs if x.grad is not None]
        found.append((smoothed, plain, *gradients))
    for exact, rounded in zip(*found, strict=True):
        assert rounded.dtype == torch.float32
        assert not torch.equal(rounded, exact)  # fewer digits were really used
        assert alike(rounded, exact) > 1 - 10 * DIGITS**2
    assert found[1][0].item() == pytest.approx(found[0][0].item(), rel=DIGITS)
    assert found[1][1].item() == pytest.approx(found[0][1].item(), rel=DIGITS)


def test_how_far_two_passes_are_apart_is_not_rounded() -> None:
    """R-Drop subtracts numbers that are nearly the same."""
    states, weight = torch.randn(8, 6), torch.randn(11, 6)
    labels = torch.tensor([1, 2, 3, 4] * 2)
    expected = projected_loss(states, weight, labels, 0.1, 3.0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert projected_loss(states, weight, labels, 0.1, 3.0) == expected


def micro_batches(data: PreparedData, count: int) -> list[Batch]:
    loader = Loader(Batches(load_examples(data, "train"), 64, seed=4), None, ahead=1, pin=False)
    with loader.steps(START, per_step=count, rank=0, world_size=1) as steps:
        return list(next(steps).batches)


def gradients(data: PreparedData, *, bf16: bool, parallel: int) -> list[Tensor]:
    torch.set_num_threads(parallel)
    network = initial_model(toy_config(data, dropout=0.3), seed=1)
    settings = toy_settings(batch_tokens=5 * 64, parallel_micro_batches=parallel)
    learner = Learner(network, settings, Distribution(), device=CPU, bf16=bf16)
    assert learner.parallel == parallel
    learner.forward_backward(micro_batches(data, 5), step=3, own=5)
    return [p.grad for p in network.parameters() if p.grad is not None]


@pytest.mark.usefixtures("two_threads")
def test_micro_batches_in_threads_give_the_same_gradients_to_the_bit(data: PreparedData) -> None:
    alone, apart = (gradients(data, bf16=True, parallel=count) for count in (1, 2))
    assert all(torch.equal(one, other) for one, other in zip(alone, apart, strict=True))
    exact = gradients(data, bf16=False, parallel=1)
    assert all(one.dtype == torch.float32 for one in alone)
    together = [torch.cat([x.flatten() for x in found]) for found in (alone, exact)]
    assert 1e-6 < 1 - alike(*together) < 0.01


def test_muon_takes_nearly_the_same_steps() -> None:
    name = "encoder.layers.0.feed_forward.w_1.weight"
    generator = torch.Generator().manual_seed(2)
    start, gradient = torch.randn(2, 24, 16, generator=generator)
    changes = []
    for bf16 in (False, True):
        parameter = nn.Parameter(start.clone())
        optimizer = build_optimizer({name: parameter}, TrainingConfig(optimizer="muon"), bf16=bf16)
        parameter.grad = gradient.clone()
        set_learning_rate(optimizer, 0.1)
        optimizer.step()
        assert optimizer.state[parameter]["momentum"].dtype == torch.float32
        changes.append(parameter.detach() - start)
    assert 1e-8 < 1 - alike(*changes) < 0.01
