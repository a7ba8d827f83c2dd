"""Checkpoints: what comes back is what was saved, or it is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from translucid.checkpoint.store import CheckpointStore
from translucid.errors import DataError

STATE = {"step": 3, "cursor": {"epoch": 0, "batch": 17}, "loss": 0.1 + 0.2, "note": None}


def tensors(seed: int) -> dict[str, dict[str, Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    return {
        "model": {
            "b": torch.randn(3, 5, generator=generator),
            "a": torch.randn(7, generator=generator).double(),
        },
        "optimizer": {"step/a": torch.tensor(4.0), "exp_avg/b": torch.zeros(3, 5)},
    }


def store_with(folder: Path, *steps: int) -> CheckpointStore:
    store = CheckpointStore(folder / "checkpoints")
    for step in steps:
        store.save(step, tensors(step), {**STATE, "step": step})
    return store


def test_what_was_saved_comes_back_exactly(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3)
    checkpoint, refusals = store.newest()
    assert checkpoint is not None
    assert not refusals
    assert (checkpoint.step, checkpoint.state) == (3, STATE)
    for name, named in tensors(3).items():
        found = checkpoint.tensors(name)
        assert found.keys() == named.keys()
        for key in named:
            assert found[key].dtype == named[key].dtype
            assert torch.equal(found[key], named[key])


def test_the_newest_are_kept(tmp_path: Path) -> None:
    store = store_with(tmp_path, 2, 10, 1_000_000, 30)
    assert store.steps() == [2, 10, 30, 1_000_000]
    store.prune(keep=2)
    assert store.steps() == [30, 1_000_000]
    assert sorted(path.name for path in store.folder.iterdir()) == ["step-000030", "step-1000000"]


def test_without_checkpoints_there_is_none(tmp_path: Path) -> None:
    assert CheckpointStore(tmp_path / "nowhere").newest() == (None, [])


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def edit(path: Path) -> None:
    path.write_text(path.read_text().replace('"batch": 17', '"batch": 18'))


def hurry(path: Path) -> None:
    path.write_text(path.read_text().replace('"version": 1', '"version": 99'))


def move(path: Path) -> None:
    path.parent.rename(path.parent.with_name("step-000030"))


@pytest.mark.parametrize(
    ("name", "damage", "problem"),
    [
        ("model.safetensors", cut, r"model\.safetensors: the file has \d+ bytes instead of \d+"),
        ("model.safetensors", Path.unlink, r"model\.safetensors: the file is missing"),
        ("optimizer.safetensors", flip, r"optimizer\.safetensors: the content was changed: its"),
        ("state.json", cut, r"state\.json: not the state of a checkpoint"),
        ("state.json", edit, r"state\.json: the content was changed after it was written"),
        ("state.json", hurry, r"the checkpoint has version 99; this translucid reads up to 1"),
        ("state.json", Path.unlink, r"state\.json: the file is missing"),
        ("state.json", lambda path: path.write_text("[]"), "not the state of a checkpoint"),
        ("state.json", move, r"step-000030: it is the checkpoint of step 20"),
    ],
)
def test_a_damaged_one_is_refused_by_name_and_the_one_before_is_used(
    tmp_path: Path, name: str, damage: Callable[[Path], object], problem: str
) -> None:
    store = store_with(tmp_path, 10, 20)
    path = store.path(20) / name
    if damage is cut and name == "state.json":
        path.write_bytes(path.read_bytes()[:-3])
    else:
        damage(path)
    checkpoint, refusals = store.newest()
    assert checkpoint is not None
    assert checkpoint.step == 10
    ((step, error),) = refusals
    with pytest.raises(DataError, match=problem):
        raise error
    aside = store.set_aside(step)
    assert aside.name == f"step-{step:06d}.refused"
    assert store.steps() == [10]


def test_where_all_are_damaged_the_newest_is_named(tmp_path: Path) -> None:
    store = store_with(tmp_path, 10, 20)
    for step in store.steps():
        cut(store.path(step) / "model.safetensors")
    with pytest.raises(DataError, match="step-000020"):
        store.newest()


def test_what_a_killed_process_left_is_cleared_away(tmp_path: Path) -> None:
    store = store_with(tmp_path, 10, 20)
    for name in (
        "step-000030.translucid-partial",
        "step-000020.translucid-old",
        "step-000005.translucid-removed",
    ):
        (store.folder / name).mkdir()
        (store.folder / name / "model.safetensors").touch()
    killed_in_between = store.folder / "step-000010.translucid-old"
    (store.folder / "step-000010").rename(killed_in_between)
    store.recover()
    assert sorted(path.name for path in store.folder.iterdir()) == ["step-000010", "step-000020"]
    assert store.open(10).step == 10


def test_numbers_of_the_state_are_readable(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3)
    content = json.loads((store.path(3) / "state.json").read_text())
    assert content["state"]["cursor"] == {"epoch": 0, "batch": 17}
    assert set(content["files"]) == {"model.safetensors", "optimizer.safetensors"}
