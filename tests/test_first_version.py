"""Models, runs, data, traces and settings files that the first version wrote are still used.

tests/fixtures/first-version/README.md says how they were made.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import translucid
from translucid.cli.main import app
from translucid.data.shards import open_data
from translucid.errors import RenamedWarning
from translucid.events import Resumed, Validated
from translucid.training.config import TrainingConfig
from translucid.training.recipe import read_settings

KEPT = Path(__file__).parent / "fixtures" / "first-version"
THEN = [json.loads(line) for line in (KEPT / "translations.jsonl").read_text("utf-8").splitlines()]
DEV_LOSS_OF_STEP_150 = 0.0927034600988611


def test_a_model_directory_translates_as_it_did() -> None:
    translator = translucid.load(KEPT / "run" / "best")
    for then in THEN:
        now = translator.translate(then["source"])
        assert now.text == then["translation"]
        assert now.n_best[0].log_prob == pytest.approx(then["log_prob"], abs=2e-5)
        assert now.n_best[0].score == pytest.approx(then["score"], abs=2e-5)


def test_a_run_is_found_and_resumed_to_where_the_first_version_came(tmp_path: Path) -> None:
    shutil.copytree(KEPT / "run", tmp_path / "run")
    events: list[object] = []
    run = translucid.train(
        KEPT / "data",
        output=tmp_path / "run",
        resume=True,
        max_steps=150,
        on_event=events.append,
    )
    assert [event.step for event in events if isinstance(event, Resumed)] == [75]
    (validated,) = [event for event in events if isinstance(event, Validated)]
    assert validated.step == 150
    assert validated.loss == pytest.approx(DEV_LOSS_OF_STEP_150, abs=1e-4)
    assert translucid.load(run).translate("le roi rit encore").text == "the king laughs again"
    lines = (tmp_path / "run" / "metrics.jsonl").read_text("utf-8").splitlines()
    steps = [json.loads(line)["step"] for line in lines]
    assert steps == sorted(steps)
    assert steps[-1] == 150


def test_prepared_data_is_trained_on_with_settings_under_their_old_names(tmp_path: Path) -> None:
    data = open_data(KEPT / "data")
    assert [len(data.split(name)) for name in ("train", "dev", "test")] == [224, 16, 16]
    with pytest.warns(RenamedWarning) as notices:
        run = translucid.train(
            data, output=tmp_path / "run", config=KEPT / "settings.toml", max_steps=2
        )
    assert {str(notice.message) for notice in notices} == {
        "agreement is now called rdrop_alpha",
        "agreement_from is now called rdrop_start",
        "side_by_side is now called parallel_micro_batches",
        "typed_source is now called source_noise",
    }
    recorded = json.loads((run.directory.path / "run.json").read_text("utf-8"))["training"]
    assert (recorded["rdrop_alpha"], recorded["rdrop_start"]) == (1.0, 70)
    assert (recorded["parallel_micro_batches"], recorded["source_noise"]) == (1, 0.05)


def test_a_trace_opens_and_becomes_a_page(tmp_path: Path) -> None:
    translator = translucid.load(KEPT / "run")
    trace = translucid.Trace.load(KEPT / "trace.safetensors", translator)
    assert trace.translation == "the cat sleeps here"
    now = translucid.explain(translator, trace.source)
    assert now.tensors.shapes == trace.tensors.shapes
    for name in ("encoder.0.self_attention.weights", "log_probs"):
        assert trace.tensor(name).allclose(now.tensor(name), atol=1e-5)
    for name in ("inside.html", "cross.svg"):
        arguments = ["explain", "--trace", KEPT / "trace.safetensors", "-o", tmp_path / name]
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert done.exit_code == 0, done.output
    assert "</html>" in (tmp_path / "inside.html").read_text("utf-8")
    assert "sleeps" in (tmp_path / "cross.svg").read_text("utf-8")


def test_a_recipe_under_old_names_runs_with_notices(tmp_path: Path) -> None:
    arguments = ["recipe", str(KEPT / "recipe.toml"), "-o", str(tmp_path / "sort"), "--dry-run"]
    with pytest.warns(RenamedWarning) as notices:
        done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "translucid train" in done.stdout
    assert {str(notice.message) for notice in notices} == {"read_back is now called rerank"}
    with pytest.warns(RenamedWarning) as notices:
        TrainingConfig(**read_settings(KEPT / "recipe.toml").training)
    assert "agreement is now called rdrop_alpha" in [str(notice.message) for notice in notices]
