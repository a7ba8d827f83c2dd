"""The mean of checkpoints, by another route, and which checkpoints it is of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from translucid.checkpoint.store import CheckpointStore
from translucid.errors import DataError, InputError
from translucid.training.average import (
    average_checkpoints,
    best_steps,
    newest_steps,
    round_to_half,
)

STEPS = (5, 10, 15, 20)


def weights(step: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(step)
    return {
        "matrix": torch.randn(3, 4, generator=generator) * step,
        "gain": torch.randn(7, generator=generator),
    }


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    store = CheckpointStore(tmp_path / "checkpoints")
    for step in STEPS:
        store.save(step, {"model": weights(step), "optimizer": {"m": torch.zeros(2)}}, {})
    return store


def test_the_mean_equals_numpys(store: CheckpointStore) -> None:
    found = average_checkpoints(store, [5, 15, 20])
    assert set(found) == {"matrix", "gain"}
    for name, mean in found.items():
        assert mean.dtype == torch.float32
        each = np.stack([weights(step)[name].numpy() for step in (5, 15, 20)])
        np.testing.assert_allclose(mean.numpy(), each.mean(axis=0, dtype=np.float64), rtol=1e-7)


def test_the_mean_of_one_is_itself(store: CheckpointStore) -> None:
    for name, mean in average_checkpoints(store, [10]).items():
        assert torch.equal(mean, weights(10)[name])


def test_a_moving_average_is_averaged_where_there_is_one(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "checkpoints")
    for step in STEPS:
        store.save(step, {"model": weights(step), "average": weights(step + 100)}, {})
    for name, mean in average_checkpoints(store, [10]).items():
        assert torch.equal(mean, weights(110)[name])


def test_halved_weights_are_the_nearest_of_16_bits() -> None:
    exact = {"gain": torch.tensor([1 / 3, -2.0, 1e-3, 60_000.0])}
    found = round_to_half(exact)["gain"]
    assert found.dtype == torch.float16
    np.testing.assert_array_equal(found.numpy(), exact["gain"].numpy().astype(np.float16))


def test_weights_that_16_bits_cannot_hold_are_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"up to 65,504.*larger ones: matrix\. Keep 32 bits"):
        round_to_half({"gain": torch.ones(2), "matrix": torch.tensor([1.0, 7e4])})


def test_newest_and_best(store: CheckpointStore) -> None:
    assert newest_steps(store, 2) == [15, 20]
    assert newest_steps(store, 4) == list(STEPS)
    scores = {5: 30.0, 10: 10.0, 15: 20.0, 999: 99.0}
    assert best_steps(store, scores, 2) == [5, 15]


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (0, "0 checkpoints cannot be averaged"),
        (5, r"5 were requested, and there are 4 \(5, 10, 15, 20\)"),
    ],
)
def test_too_many_or_too_few(store: CheckpointStore, count: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        newest_steps(store, count)


def test_best_needs_scores(store: CheckpointStore) -> None:
    with pytest.raises(
        InputError, match="that were validated: 1 were requested, and there are none"
    ):
        best_steps(store, {}, 1)


def test_nothing_to_average(store: CheckpointStore) -> None:
    with pytest.raises(InputError, match="no checkpoints to average"):
        average_checkpoints(store, [])


def test_a_damaged_checkpoint_is_refused_by_name(store: CheckpointStore) -> None:
    path = store.path(15) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match=store.path(15).name):
        average_checkpoints(store, [10, 15])
