"""``train``: from Python, the same run as from the command line."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from same_runs import assert_same
from short_runs import toy_data
from typer.testing import CliRunner

import translucid
from translucid.checkpoint.model_directory import (
    load_model,
)
from translucid.cli.main import app
from translucid.data.shards import PreparedData
from translucid.errors import ConfigError, InputError, RenamedWarning
from translucid.events import Notice, Resumed, Started, Stopped, Trained, TrainingEvent
from translucid.training.train import TrainedRun, train

SMALL: dict[str, Any] = {
    "d_model": 16,
    "d_ff": 32,
    "heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "batch_tokens": 128,
    "micro_batch_tokens": 64,
    "warmup_steps": 4,
    "max_steps": 6,
    "validate_every": 3,
    "checkpoint_every": 3,
    "validation_sample": 2,
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    return toy_data(tmp_path_factory.mktemp("data") / "data", count=120)


def test_the_same_folder_as_the_command(small: PreparedData, tmp_path: Path) -> None:
    events: list[TrainingEvent] = []
    run = translucid.train(small, output=tmp_path / "a", on_event=events.append, **SMALL)
    words = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    done = CliRunner().invoke(
        app, ["train", str(small.folder), "-o", str(tmp_path / "b"), *words], catch_exceptions=False
    )
    assert done.exit_code == 0
    assert_same(tmp_path / "a", tmp_path / "b")
    files = [{p.name for p in (tmp_path / each / "best").iterdir()} for each in "ab"]
    assert files[0] == files[1]
    assert {"alignment.json", "languages.safetensors"} <= files[0]
    assert isinstance(run, TrainedRun)
    assert run.model == tmp_path / "a" / "best"
    assert not run.is_interrupted
    assert isinstance(events[0], Started)
    assert events[0].max_steps == 6
    assert "parameters, 1+1 layers, d_model 16" in events[0].description
    assert [event.step for event in events if isinstance(event, Trained)] == [1, 2, 3, 4, 5, 6]
    last = next(number for number, e in enumerate(events) if isinstance(e, Stopped))
    assert all(isinstance(event, Notice) for event in events[last + 1 :])
    assert len(translucid.load(run).translate(["chat"], target="en")) == 1


def test_a_stopped_run_is_resumed_to_the_same_end(small: PreparedData, tmp_path: Path) -> None:
    stop = threading.Event()

    def watch(event: TrainingEvent) -> None:
        if isinstance(event, Trained) and event.step == 2:
            stop.set()

    half = train(small, output=tmp_path / "a", on_event=watch, stop=stop, **SMALL)
    assert half.is_interrupted
    assert half.stopped.step == 2
    assert not half.directory.models
    events: list[TrainingEvent] = []
    train(str(small.folder), output=str(tmp_path / "a"), resume=True, on_event=events.append)
    assert [event.step for event in events if isinstance(event, Resumed)] == [2]
    train(small, output=tmp_path / "whole", **SMALL)
    assert_same(tmp_path / "a", tmp_path / "whole")
    with pytest.raises(InputError, match="already holds a training run"):
        train(small, output=tmp_path / "a", **SMALL)


def test_a_run_that_would_end_before_its_decay_says_so(small: PreparedData, tmp_path: Path) -> None:
    def describe(**settings: Any) -> str:
        events: list[TrainingEvent] = []
        more = {"schedule": "wsd", "decay_steps": 3, **settings}
        train(small, output=tmp_path / "run", on_event=events.append, **{**SMALL, **more})
        return next(event.description for event in events if isinstance(event, Started))

    told = describe(max_steps=4, total_steps=8)
    assert "ends at max_steps = 4, before its decay, from step 5 to total_steps = 8" in told
    assert "max_steps = 5, before" in describe(max_steps=5, resume=True)
    for steps in (6, 8):
        assert "before its decay" not in describe(max_steps=steps, resume=True)


def test_a_file_comes_below_keyword_arguments(small: PreparedData, tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('[model]\nnorm = "post"\ndropout = 0.3\n[training]\nseed = 7\n')
    settings = {**SMALL, "max_steps": 1, "dropout": 0.2}
    run = train(small, output=tmp_path / "run", config=path, **settings)
    record = run.directory.read_record()
    assert (record.model.norm, record.model.dropout, record.training["seed"]) == ("post", 0.2, 7)


def test_memory_is_fitted(small: PreparedData, tmp_path: Path) -> None:
    settings = {key: value for key, value in SMALL.items() if key != "micro_batch_tokens"}
    settings |= {"max_steps": 1, "batch_tokens": "auto"}
    run = train(small, output=tmp_path / "run", **settings)
    assert run.directory.read_record().training["batch_tokens"] == 4096  # that of the preset


def test_tensorboard_files_are_in_the_run(small: PreparedData, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    run = train(small, output=tmp_path / "run", tensorboard=True, **{**SMALL, "max_steps": 1})
    assert list(run.directory.tensorboard.iterdir())


def test_old_names_of_settings_are_understood_with_a_note(
    small: PreparedData, tmp_path: Path
) -> None:
    settings = {**SMALL, "max_steps": 1}
    with pytest.warns(RenamedWarning, match="agreement is now called rdrop_alpha"):
        run = train(small, output=tmp_path / "run", agreement=1.0, **settings)
    assert run.directory.read_record().training["rdrop_alpha"] == 1.0


def test_unknown_settings_are_refused_together(small: PreparedData, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        train(small, output=tmp_path / "run", warmup=3, dropoutt=0.2)
    assert len(caught.value.faults) == 2
    assert "unknown setting 'dropoutt' (value 0.2); did you mean 'dropout'?" in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_the_network_of_a_checkpoint_is_that_of_its_step(
    small: PreparedData, tmp_path: Path
) -> None:
    directory = train(small, output=tmp_path / "run", **SMALL).directory
    assert directory.checkpoints.steps() == [3, 6]
    last, model = directory.load_network(6), load_model(directory.model)
    ids = torch.tensor([[5, 6, 3]])
    assert torch.equal(last(ids, ids), model(ids, ids))
    assert not torch.equal(directory.load_network(3)(ids, ids), model(ids, ids))
    assert directory.is_finished(6)
    assert not directory.is_finished(7)
    assert directory.directions() == [("fr", "en"), ("en", "fr")]
    assert json.loads(directory.record_path.read_text())["training"]["max_steps"] == 6
