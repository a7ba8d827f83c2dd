"""The state of a run, its metrics and its record: written, read back, refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from short_runs import toy_config, toy_settings

from translucid.checkpoint.run_directory import MetricsEvent, MetricsFile, RunDirectory, RunRecord
from translucid.data.batches import Cursor
from translucid.data.shards import PreparedData
from translucid.errors import DataError, InputError
from translucid.events import Sample, Skipped, Trained, Validated
from translucid.training.config import TrainingConfig
from translucid.training.recipe import Recipe
from translucid.training.state import (
    BEGINNING,
    Best,
    Scores,
    TrainingState,
    Window,
    fingerprint_data,
    read_run_recipe,
    start_run,
    update_best,
)

EVENTS: list[MetricsEvent] = [
    Trained(1, 5.5, 200.1, 250, 0.3, 0.001, 1.5, 0),
    Skipped(2, "why"),
    Validated(2, 5.0, 148.4, 1.5, 12.0, ("BLEU|…",), (Sample("é", "e", "f"),), best=True),
    Trained(3, 1 / 3, math.exp(1 / 3), 250, 0.3, 0.001, 1.5, 1),
]


def test_a_state_comes_back_exactly_through_json() -> None:
    state = TrainingState(
        step=7,
        cursor=Cursor(2, 5),
        tokens=10**12,
        seconds=0.1 + 0.2,
        skipped=1,
        window=Window(1 / 3, math.pi, 12, 1e-9),
        scores=Scores(6, 2.5, 12.25, 1 / 7),
        best=Best(4, 1 / 9, 3),
    )
    for one in (state, BEGINNING):
        assert TrainingState.from_json(json.loads(json.dumps(one.to_json()))) == one


def test_a_state_that_cannot_be_used_says_why() -> None:
    values = {**BEGINNING.to_json(), "step": "many"}
    del values["cursor"]
    with pytest.raises(ValueError, match=r"step: .*valid integer.*; cursor: Field required"):
        TrainingState.from_json(values)


def test_the_best_is_the_lowest_loss_or_the_highest_score() -> None:
    def course(metric: str, values: list[float]) -> list[tuple[int, int]]:
        best, found = None, []
        for step, value in enumerate(values):
            best = update_best(best, Scores(step, value, value, value), metric)  # type: ignore[arg-type]
            found.append((best.step, best.since))
        return found

    values = [3.0, 2.0, 2.0, 4.0, 1.0]
    assert course("loss", values) == [(0, 0), (1, 0), (1, 1), (1, 2), (4, 0)]
    assert course("bleu", values) == [(0, 0), (0, 1), (0, 2), (3, 0), (3, 1)]
    assert course("loss", [math.nan, 9.0, math.nan]) == [(0, 0), (1, 0), (1, 1)]


def test_metrics_come_back_as_the_events_they_were(tmp_path: Path) -> None:
    metrics = MetricsFile(tmp_path / "metrics.jsonl")
    assert list(metrics.read()) == []
    for event in EVENTS:
        metrics.add(event)
    assert list(metrics.read()) == EVENTS
    with metrics.path.open("a") as file:
        file.write('{"event": "trained"')
    assert list(metrics.read()) == EVENTS
    metrics.cut(2)
    assert list(metrics.read()) == EVENTS[:3]
    metrics.cut(0)
    assert metrics.path.read_bytes() == b""


@pytest.mark.parametrize("line", ["nonsense", '{"event": "rested", "step": 1}', '{"step": 1}'])
def test_a_line_that_is_none_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    metrics = MetricsFile(tmp_path / "metrics.jsonl")
    metrics.add(EVENTS[0])
    with metrics.path.open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(DataError, match=r"metrics\.jsonl, line 2: not a line of metrics"):
        list(metrics.read())
    metrics.cut(0)
    assert list(metrics.read()) == []


def recipe_of(data: PreparedData, settings: TrainingConfig | None = None) -> Recipe:
    return Recipe(toy_config(data), settings or toy_settings())


def record_of(data: PreparedData) -> RunRecord:
    training = toy_settings().model_dump(mode="json")
    return RunRecord(toy_config(data), training, str(data.folder.resolve()), fingerprint_data(data))


def test_a_record_comes_back(data: PreparedData, tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    start_run(run, recipe_of(data), data, resume=False)
    assert run.read_record() == record_of(data)
    assert read_run_recipe(run) == recipe_of(data)


def test_settings_that_may_change_are_taken_over(data: PreparedData, tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    start_run(run, recipe_of(data), data, resume=True)
    start_run(run, recipe_of(data, toy_settings(max_steps=99)), data, resume=True)
    assert read_run_recipe(run).training.max_steps == 99


def test_the_length_of_a_schedule_that_ends_may_not_change(
    data: PreparedData, tmp_path: Path
) -> None:
    cosine = toy_settings(schedule="cosine")
    run = RunDirectory(tmp_path)
    start_run(run, recipe_of(data, cosine), data, resume=False)
    other = recipe_of(data, cosine.replace(total_steps=50))
    with pytest.raises(InputError, match=r"training\.total_steps was 12 and is now 50"):
        start_run(run, other, data, resume=True)


def test_the_length_of_a_wsd_schedule_may_change_until_its_decay_begins(
    data: PreparedData, tmp_path: Path
) -> None:
    """The steps before the decay are the same whatever its length, so the run is the same run."""
    run = RunDirectory(tmp_path)
    first = toy_settings(schedule="wsd", warmup_steps=2, max_steps=20, decay_steps=5)
    start_run(run, recipe_of(data, first), data, resume=False)
    longer = first.replace(max_steps=40, total_steps=40, decay_steps=8)
    (tmp_path / "checkpoints" / "step-000015").mkdir(parents=True)
    start_run(run, recipe_of(data, longer), data, resume=True)
    assert read_run_recipe(run).training.decay_start == 32
    (tmp_path / "checkpoints" / "step-000033").mkdir()
    again = longer.replace(max_steps=60, total_steps=60)
    with pytest.raises(InputError, match=r"training\.total_steps was 40 and is now 60"):
        start_run(run, recipe_of(data, again), data, resume=True)


def test_scores_of_another_sample_are_not_compared(data: PreparedData, tmp_path: Path) -> None:
    """Which network is the best by BLEU depends on the sentences; by dev loss it does not."""
    for metric in ("bleu", "loss"):
        run = RunDirectory(tmp_path / metric)
        run.path.mkdir()
        settings = toy_settings(metric=metric, validation_sample=8)
        start_run(run, recipe_of(data, settings), data, resume=False)
        other = recipe_of(data, settings.replace(validation_sample=4))
        if metric == "loss":
            start_run(run, other, data, resume=True)
        else:
            with pytest.raises(InputError, match="validation_sample was 8 and is now 4"):
                start_run(run, other, data, resume=True)


def test_records_that_cannot_be_read_are_refused(data: PreparedData, tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    with pytest.raises(InputError, match=r"holds no training run \(no run\.json\)"):
        run.read_record()
    path, text = tmp_path / "run.json", record_of(data).to_json()
    for broken, problem in (
        (text[:-9], "not the record of a run"),
        (text.replace('"d_ff"', '"d_fff"'), "unknown key 'd_fff'"),
        (text.replace('"clip_norm"', '"clip"'), "unknown key 'clip'"),
        (text.replace('"version": 1', '"version": 7'), "the run has version 7; this translucid"),
        ("[]", "not the record of a run"),
    ):
        path.write_text(broken)
        with pytest.raises(DataError, match=problem):
            read_run_recipe(run)


def test_the_record_of_a_first_version_is_read(data: PreparedData, tmp_path: Path) -> None:
    """Its keys had other names, and some of today's were not there."""
    run = RunDirectory(tmp_path)
    recipe = recipe_of(data, toy_settings(rdrop_alpha=2.0, source_noise=0.3))
    start_run(run, recipe, data, resume=False)
    content = json.loads(run.record_path.read_text())
    for old, new in TrainingConfig.renamed.items():
        content["training"][old] = content["training"].pop(new)
    del content["training"]["loss"], content["model"]["attention"]
    run.record_path.write_text(json.dumps(content))
    assert read_run_recipe(run) == recipe
    start_run(run, recipe, data, resume=True)
    assert "rdrop_alpha" in json.loads(run.record_path.read_text())["training"]
