"""A run that is stopped and resumed is bit for bit the uninterrupted one."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from same_runs import assert_same, metrics
from short_runs import make_trainer, toy_config, toy_data, toy_settings, train

from translucid.data.shards import PreparedData
from translucid.errors import BusyError, DataError, InputError
from translucid.events import Notice, Resumed, Saved, Stopped, Trained, Validated
from translucid.training.learner import initial_model

RECIPES: dict[str, dict[str, Any]] = {
    "adam, average, sampling": {},
    "sgd": {"optimizer": "sgd", "learning_rate": 0.5, "ema_decay": 0.0},
    "adamw, lines of two steps": {"optimizer": "adamw", "weight_decay": 0.1, "report_every": 2},
    "muon": {"optimizer": "muon", "learning_rate": 0.01},
}


def stop_after(data: PreparedData, run: Path, step: int, **changes: Any) -> list[object]:
    """Train, resuming, until a step is done, and ask for an orderly end there."""
    trainer = make_trainer(data, toy_settings(**changes), run, resume=True)
    events = []
    for event in trainer.events():
        events.append(event)
        if isinstance(event, Trained) and event.step >= step:
            trainer.request_stop()
    return events


def abandon_after(data: PreparedData, run: Path, step: int, **changes: Any) -> None:
    """Train, resuming, and drop everything in the middle, as a second Ctrl-C does."""
    events = make_trainer(data, toy_settings(**changes), run, resume=True).events()
    for event in events:
        if isinstance(event, Trained) and event.step == step:
            break
    events.close()  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def whole(data: PreparedData, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The uninterrupted run of a recipe."""
    folder = tmp_path_factory.mktemp("whole")

    def run(recipe: str) -> Path:
        path = folder / recipe
        if not path.exists():
            train(data, toy_settings(**RECIPES[recipe]), path)
        return path

    return run


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_resumed_run_is_the_uninterrupted_one(
    data: PreparedData, whole: Callable[[str], Path], tmp_path: Path, recipe: str
) -> None:
    run, changes = tmp_path / "RUN", RECIPES[recipe]
    stop_after(data, run, 1, **changes)
    abandon_after(data, run, 8, **changes)
    torch.manual_seed(12345)
    torch.randn(7)
    stop_after(data, run, 10, **changes)
    train(data, toy_settings(**changes), run, resume=True)
    assert_same(run, whole(recipe))


def test_the_seed_decides_the_run(
    data: PreparedData, whole: Callable[[str], Path], tmp_path: Path
) -> None:
    first = next(iter(RECIPES))
    train(data, toy_settings(seed=2, max_steps=1), tmp_path / "RUN")
    assert metrics(tmp_path / "RUN")[0] != metrics(whole(first))[0]


def test_stopping_saves_and_says_so_and_leaves_no_finished_model(
    data: PreparedData, tmp_path: Path
) -> None:
    run = tmp_path / "RUN"
    events = stop_after(data, run, 5)
    step = next(e.step for e in reversed(events) if isinstance(e, Trained))
    assert events[-2:] == [
        Saved(step, str(run / "checkpoints" / f"step-{step:06d}")),
        Stopped(step, "it was asked to stop", "interrupted"),
    ]
    assert not (run / "model").exists()
    assert (run / "best" / "README.md").exists()


def test_a_finished_run_goes_on_with_more_steps(
    data: PreparedData, whole: Callable[[str], Path], tmp_path: Path
) -> None:
    run = tmp_path / "RUN"
    train(data, toy_settings(max_steps=8), run)
    again = train(data, toy_settings(max_steps=8), run, resume=True)
    assert not [event for event in again if isinstance(event, Trained | Validated)]
    train(data, toy_settings(max_steps=12), run, resume=True)
    assert_same(run, whole(next(iter(RECIPES))))


def test_a_truncated_checkpoint_is_refused_by_name_and_the_one_before_is_used(
    data: PreparedData, whole: Callable[[str], Path], tmp_path: Path
) -> None:
    run = tmp_path / "RUN"
    stop_after(data, run, 7)
    newest, before = sorted((run / "checkpoints").iterdir())[::-1]
    weights = newest / "optimizer.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    events = train(data, toy_settings(), run, resume=True)
    notices = [event.message for event in events if isinstance(event, Notice)]
    assert re.search(
        f"{newest.name}/optimizer.safetensors: the file has [0-9,]+ bytes instead of", notices[0]
    )
    assert "an earlier one is used" in notices[0]
    assert [event.step for event in events if isinstance(event, Resumed)] == [int(before.name[5:])]
    assert (run / "checkpoints" / f"{newest.name}.refused").exists()
    shutil.rmtree(run / "checkpoints" / f"{newest.name}.refused")
    assert_same(run, whole(next(iter(RECIPES))))


def test_with_no_sound_checkpoint_the_run_is_not_begun_anew_in_silence(
    data: PreparedData, tmp_path: Path
) -> None:
    run = tmp_path / "RUN"
    stop_after(data, run, 1)
    for path in (run / "checkpoints").rglob("state.json"):
        path.write_text(path.read_text().replace('"skipped": 0', '"skipped": 1'))
    with pytest.raises(DataError, match=r"state\.json: the content was changed after it was"):
        train(data, toy_settings(), run, resume=True)


def test_a_run_is_not_overwritten(data: PreparedData, tmp_path: Path) -> None:
    run = tmp_path / "RUN"
    stop_after(data, run, 1)
    with pytest.raises(InputError, match=r"already holds a training run\. Continue it"):
        train(data, toy_settings(), run)


def test_a_second_writer_is_refused(data: PreparedData, tmp_path: Path) -> None:
    events = make_trainer(data, toy_settings(), tmp_path / "RUN").events()
    next(events)
    with pytest.raises(BusyError, match="RUN is being written by another process"):
        train(data, toy_settings(), tmp_path / "RUN", resume=True)
    events.close()  # type: ignore[attr-defined]
    stop_after(data, tmp_path / "RUN", 1)


def test_other_settings_and_other_data_are_refused_all_at_once(
    data: PreparedData, tmp_path: Path
) -> None:
    run = tmp_path / "RUN"
    stop_after(data, run, 1)
    other = toy_data(tmp_path / "OTHER", count=50)
    settings = toy_settings(learning_rate=0.5, seed=9, patience=7)
    model = initial_model(toy_config(other, d_ff=24), seed=1)
    with pytest.raises(InputError) as caught:
        train(other, settings, run, resume=True, model=model)
    message = str(caught.value)
    assert "model.d_ff was 32 and is now 24" in message
    assert "training.learning_rate was 0.01 and is now 0.5" in message
    assert "training.seed was 1 and is now 9" in message
    assert "is not what the run began with in" in message
    assert "patience" not in message


def test_metrics_after_the_checkpoint_are_dropped_with_a_torn_line(
    data: PreparedData, whole: Callable[[str], Path], tmp_path: Path
) -> None:
    run = tmp_path / "RUN"
    abandon_after(data, run, 8)  # the last checkpoint is that of step 6
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"event": "trained", "st')
    abandon_after(data, run, 7)
    assert max(line["step"] for line in metrics(run)) == 7
    train(data, toy_settings(), run, resume=True)
    assert_same(run, whole(next(iter(RECIPES))))


def test_early_stopping_survives_stops(data: PreparedData, tmp_path: Path) -> None:
    """A rate that ruins the network: the first validation stays the best."""
    changes: dict[str, Any] = {
        "schedule": "constant",
        "learning_rate": 0.3,
        "warmup_steps": 0,
        "clip_norm": 0.0,
        "ema_decay": 0.0,
        "explosion_factor": 1000.0,
        "max_steps": 50,
        "validate_every": 1,
        "metric": "bleu",
        "patience": 3,
    }
    events = train(data, toy_settings(**changes), tmp_path / "whole")
    stopped = events[-1]
    assert isinstance(stopped, Stopped)
    validations = [event for event in events if isinstance(event, Validated)]
    scores = [event.bleu for event in validations]
    best = scores.index(max(scores))
    assert [event.best for event in validations].index(True) == 0
    assert [event.step for event in validations if event.best][-1] == best + 1
    assert (stopped.cause, stopped.step) == ("patience", best + 1 + 3)
    assert stopped.reason == (
        f"3 validations in a row had no better bleu than {max(scores):.4f} after step {best + 1}"
    )
    stop_after(data, tmp_path / "RUN", best + 2, **changes)
    train(data, toy_settings(**changes), tmp_path / "RUN", resume=True)
    assert_same(tmp_path / "RUN", tmp_path / "whole")


def test_minutes_are_counted_over_all_sessions(data: PreparedData, tmp_path: Path) -> None:
    run = tmp_path / "RUN"
    stop_after(data, run, 1)
    limited = toy_settings(max_minutes=1e-4)
    events = train(data, limited, run, resume=True)
    assert not [event for event in events if isinstance(event, Trained)]
    assert isinstance(events[-1], Stopped)
    assert (events[-1].cause, events[-1].reason) == ("minutes", "0.0001 minutes are over")
    assert (run / "model" / "model.safetensors").exists()


def test_random_stops(data: PreparedData, whole: Callable[[str], Path], tmp_path: Path) -> None:
    draw, run = random.Random(7), tmp_path / "RUN"
    for step in sorted(draw.sample(range(1, 12), 3)):
        draw.choice([stop_after, abandon_after])(data, run, step)
    train(data, toy_settings(), run, resume=True)
    assert_same(run, whole(next(iter(RECIPES))))
