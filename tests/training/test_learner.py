"""Gradients add up exactly: many small micro-batches are one big batch."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from short_runs import toy_config, toy_settings
from torch import Tensor, nn

from translucid.data.batches import START, Batches, load_examples
from translucid.data.loader import Batch, Loader
from translucid.data.shards import PreparedData
from translucid.training.config import TrainingConfig
from translucid.training.distributed import Distribution
from translucid.training.learner import Learner, derive_dropout_seed, initial_model

CPU = torch.device("cpu")


def micro_batches(data: PreparedData, count: int) -> list[Batch]:
    batches = Batches(load_examples(data, "train"), max_tokens=64, seed=4)
    loader = Loader(batches, sampling=None, ahead=1, pin=False)
    with loader.steps(START, per_step=count, rank=0, world_size=1) as steps:
        return list(next(steps).batches)


def joined(batches: Sequence[Batch]) -> Batch:
    """Several micro-batches as one, padded to the widest."""

    def rows(name: str) -> Tensor:
        each = [row for batch in batches for row in getattr(batch, name)]
        return nn.utils.rnn.pad_sequence(each, batch_first=True, padding_value=0)

    return Batch(
        source_BS=rows("source_BS"),
        target_BT=rows("target_BT"),
        labels_BT=rows("labels_BT"),
        tokens=sum(batch.tokens for batch in batches),
        examples=np.concatenate([batch.examples for batch in batches]),
        directions=np.concatenate([batch.directions for batch in batches]),
    )


def in_groups(batches: Sequence[Batch], size: int) -> list[Batch]:
    return [joined(batches[begin : begin + size]) for begin in range(0, len(batches), size)]


def learner_of(data: PreparedData, settings: TrainingConfig, dropout: float) -> Learner:
    model = initial_model(toy_config(data, dropout=dropout), seed=1)
    return Learner(model, settings, Distribution(), device=CPU, bf16=False)


def weights_after(
    data: PreparedData, settings: TrainingConfig, steps: Sequence[Sequence[Batch]]
) -> dict[str, Tensor]:
    learner = learner_of(data, settings, dropout=0.0)
    for number, batches in enumerate(steps, start=1):
        learner.forward_backward(batches, number, len(batches))
        learner.clip_gradients(sum(batch.tokens for batch in batches))
        learner.update(number, rate=settings.learning_rate)
        learner.zero_gradients()
    return learner.weights_to_use()


@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": "sgd", "learning_rate": 0.5, "ema_decay": 0.0},
        {"optimizer": "adam", "learning_rate": 0.003, "ema_decay": 0.9},
        {"optimizer": "muon", "learning_rate": 0.003, "ema_decay": 0.9},
    ],
    ids=lambda changes: changes["optimizer"],
)
def test_accumulating_8_micro_batches_or_4_or_1_gives_the_same_weights(
    data: PreparedData, changes: dict[str, object]
) -> None:
    """Adam divides by the gradient's own size, so its ε must be above the rounding of float32."""
    settings = toy_settings(**changes, epsilon=1e-5)
    small = micro_batches(data, 24)
    steps = [small[:8], small[8:16], small[16:]]
    first = weights_after(data, settings, steps)
    for size in (2, 4, 8):
        grouped = weights_after(data, settings, [in_groups(step, size) for step in steps])
        torch.testing.assert_close(grouped, first, rtol=0, atol=1e-6)


def test_sums_are_those_of_the_micro_batches(data: PreparedData) -> None:
    batches = micro_batches(data, 3)
    learner = learner_of(data, toy_settings(), dropout=0.1)
    sums = learner.forward_backward(batches, step=5, own=3)
    each = [learner.forward_backward([batch], step=5, own=1)[0] for batch in batches]
    assert sums.dtype == torch.float64
    assert torch.equal(sums, torch.stack(each))


def test_dropout_depends_on_seed_step_and_rows_alone(data: PreparedData) -> None:
    batch, other = micro_batches(data, 2)
    learner = learner_of(data, toy_settings(), dropout=0.5)

    def loss(step: int) -> float:
        return float(learner.forward_backward([batch], step, own=1)[0, 0])

    first = loss(1)
    torch.manual_seed(99)
    learner.forward_backward([other], 1, own=1)
    assert loss(1) == first
    assert loss(2) != first
    seeds = {
        derive_dropout_seed(*where) for where in itertools.product((1, 2), (1, 2), (batch, other))
    }
    assert len(seeds) == 8


def test_agreement_adds_to_what_is_minimised_and_not_to_the_perplexity(data: PreparedData) -> None:
    """Of the same two passes: their disagreement grows with its weight, −log p stays."""
    batches = micro_batches(data, 2)
    sums = {
        rdrop_alpha: learner_of(
            data, toy_settings(rdrop_alpha=rdrop_alpha), dropout=0.3
        ).forward_backward(batches, step=5, own=2)
        for rdrop_alpha in (1.0, 2.0, 5.0)
    }
    torch.testing.assert_close(sums[1.0][:, 1], sums[5.0][:, 1])
    disagreement = sums[2.0][:, 0] - sums[1.0][:, 0]
    assert (disagreement > 0.01).all()
    torch.testing.assert_close(
        sums[5.0][:, 0] - sums[2.0][:, 0], 3 * disagreement, rtol=1e-3, atol=0
    )


def test_agreement_begins_with_its_first_step(data: PreparedData) -> None:
    batches = micro_batches(data, 2)

    def sums(step: int, **changes: object) -> Tensor:
        return learner_of(data, toy_settings(**changes), dropout=0.3).forward_backward(
            batches, step, 2
        )

    late = {"rdrop_alpha": 5.0, "rdrop_start": 4}
    assert torch.equal(sums(3, **late), sums(3))
    assert torch.equal(sums(4, **late), sums(4, rdrop_alpha=5.0))
    assert not torch.equal(sums(4, **late), sums(4))


class ForCompany(Distribution):
    """A process among others that compute more micro-batches than it does."""

    def rounds(self, count: int) -> int:
        return count + 2


def test_rounds_for_company_add_nothing(data: PreparedData) -> None:
    batches = micro_batches(data, 3)
    found = []
    for distribution in (Distribution(), ForCompany()):
        model = initial_model(toy_config(data), seed=1)
        learner = Learner(model, toy_settings(), distribution, device=CPU, bf16=False)
        sums = learner.forward_backward(batches, step=1, own=3)
        found.append((sums, [parameter.grad for parameter in model.parameters()]))
    (sums, gradients), (others, the_same) = found
    assert torch.equal(sums, others)
    assert all(torch.equal(a, b) for a, b in zip(gradients, the_same, strict=True))


def test_a_process_without_work_only_keeps_company(data: PreparedData) -> None:
    learner = Learner(
        initial_model(toy_config(data), seed=1),
        toy_settings(),
        ForCompany(),
        device=CPU,
        bf16=False,
    )
    sums = learner.forward_backward(micro_batches(data, 3), step=1, own=0)
    assert sums.shape == (0, 2)
    assert not any(p.grad.any() for p in learner.parameters.values() if p.grad is not None)
