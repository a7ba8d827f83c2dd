"""``translucid average`` on a real run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
import typer
from typer.testing import CliRunner, Result

from translucid.checkpoint.model_directory import (
    load_model,
    named_weights,
    read_weights,
)
from translucid.checkpoint.run_directory import RunDirectory
from translucid.cli.average import average
from translucid.cli.train import train
from translucid.data.shards import PreparedData
from translucid.errors import DataError, InputError
from translucid.training.validation import dev_loss
from word_data import word_data, word_pairs

app = typer.Typer(pretty_exceptions_enable=False)
app.command("train")(train)
app.command("average")(average)


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    splits = {"train": word_pairs(60, seed=1), "dev": word_pairs(12, seed=2)}
    return word_data(tmp_path_factory.mktemp("data") / "data", splits)


@pytest.fixture(scope="module")
def finished(data: PreparedData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a checkpoint and a validation every 4 steps, but 2 checkpoints more."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    settings = {
        "d_model": 16,
        "d_ff": 16,
        "heads": 2,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "batch_tokens": 60,
        "max_steps": 16,
        "checkpoint_every": 2,
        "validate_every": 4,
        "keep_checkpoints": 20,
        "validation_sample": 5,
        "warmup_steps": 4,
    }
    chosen = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    done = run("train", data.folder, "-o", folder, *chosen)
    assert done.exit_code == 0, done.output
    return folder


def mean_of(folder: Path, steps: list[int]) -> dict[str, torch.Tensor]:
    each = [
        read_weights(folder / "checkpoints" / f"step-{step:06d}" / "model.safetensors")
        for step in steps
    ]
    return {name: torch.stack([one[name] for one in each]).mean(0) for name in each[0]}


def test_the_last_checkpoints(finished: Path, data: PreparedData, tmp_path: Path) -> None:
    output = tmp_path / "model"
    done = run("average", finished, "--last", "3", "-o", output)
    assert done.exit_code == 0, done.output
    assert done.stdout == f"{output}\n"
    assert "steps 12, 14, 16" in done.stderr
    model = load_model(output)
    for name, mean in mean_of(finished, [12, 14, 16]).items():
        torch.testing.assert_close(named_weights(model)[name], mean)
    card = (output / "README.md").read_text()
    assert "mean of the checkpoints after steps 12, 14, 16" in card
    assert f"| loss | {dev_loss(model, data, 4096):.4f} nats per token |" in card


def test_five_unless_told_otherwise(finished: Path, tmp_path: Path) -> None:
    done = run("average", finished, "-o", tmp_path / "model")
    assert "steps 8, 10, 12, 14, 16" in done.stderr


def test_half_the_size(finished: Path, data: PreparedData, tmp_path: Path) -> None:
    whole, half = tmp_path / "whole", tmp_path / "half"
    run("average", finished, "-o", whole)
    done = run("average", finished, "--half", "-o", half)
    assert done.exit_code == 0, done.output
    exact, rounded = read_weights(whole), read_weights(half)
    for name, weight in exact.items():
        assert torch.equal(rounded[name], weight.half())
    model = load_model(half)
    assert {weight.dtype for weight in named_weights(model).values()} == {torch.float32}
    card = (half / "README.md").read_text()
    assert "weights of 16 bits, computed in 32" in card
    assert f"| loss | {dev_loss(model, data, 4096):.4f} nats per token |" in card


def test_the_best_checkpoints_are_those_of_the_lowest_dev_loss(
    finished: Path, tmp_path: Path
) -> None:
    events = RunDirectory(finished).metrics.validations()
    losses = {event.step: event.loss for event in events}
    wanted = sorted(sorted(losses, key=lambda step: losses[step])[:2])
    done = run("average", finished, "--best", "2", "-o", tmp_path / "model")
    assert done.exit_code == 0, done.output
    assert f"steps {wanted[0]}, {wanted[1]}" in done.stderr


def test_data_that_was_moved(finished: Path, data: PreparedData, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.move(data.folder, moved)
    try:
        lost = run("average", finished, "-o", tmp_path / "model")
        assert isinstance(lost.exception, DataError)
        assert "--data DATA" in str(lost.exception)
        found = run("average", finished, "-o", tmp_path / "model", "--data", moved)
        assert found.exit_code == 0, found.output
    finally:
        shutil.move(moved, data.folder)
    other = word_data(tmp_path / "other", {"train": word_pairs(9, seed=3)})
    wrong = run("average", finished, "-o", tmp_path / "model", "--data", other.folder)
    assert "not the data that the run was trained on" in str(wrong.exception)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--last", "3", "--best", "2"], "give one of the two"),
        (["--last", "0"], "0 checkpoints cannot be averaged"),
        (["--last", "30"], "30 were requested, and there are 8"),
        (["--best", "9"], "that were validated: 9 were requested, and there are 4 (4, 8, 12, 16)"),
    ],
)
def test_mistakes(finished: Path, tmp_path: Path, words: list[str], message: str) -> None:
    done = run("average", finished, "-o", tmp_path / "model", *words)
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)
    assert not (tmp_path / "model").exists()


def test_a_folder_of_something_else_is_not_replaced(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear")
    (tmp_path / "config.json").write_text("{}")  # which many folders have
    done = run("average", finished, "-o", tmp_path)
    assert "not a model directory" in str(done.exception)
    assert (tmp_path / "letters.txt").exists()


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    assert "holds no training run" in str(run("average", tmp_path, "-o", tmp_path / "m").exception)
