"""The budget shapes the run: minutes or steps become a plan in steps, and explicit settings win."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from same_runs import assert_same
from short_runs import toy_data
from test_train import SMALL

import translucid
from translucid.checkpoint.run_directory import RunDirectory
from translucid.cli.training_display import Course
from translucid.cli.training_display import Plan as DisplayPlan
from translucid.data.shards import PreparedData
from translucid.errors import InputError
from translucid.events import Saved, Started, Trained, TrainingEvent, Validated
from translucid.training.budget import Budget, Plan, Planning, find_budget, plan_run
from translucid.training.recipe import Recipe, Settings, resolve_recipe
from translucid.training.schedule import learning_rate

NETWORK: dict[str, Any] = {name: SMALL[name] for name in ("d_model", "d_ff", "heads")}
TWO_MINUTES = 120.0


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    return toy_data(tmp_path_factory.mktemp("data") / "data", count=120)


def plan(
    data: PreparedData, budget: Budget, seconds_per_token: float, *, preset: str | None = None,
    **typed: Any,
) -> Plan:  # fmt: skip
    """The plan on a machine whose steps take time in proportion to their tokens."""

    def complete(planned: Mapping[str, Any]) -> Recipe:
        layers = [Settings(training=typed)]
        sizes = data.manifest.tokenizer.sizes
        return resolve_recipe(
            layers, sizes, preset=preset, earlier=None, fit_memory=False, planned=planned
        )

    def pace(recipe: Recipe) -> float:
        return recipe.training.batch_tokens * seconds_per_token

    planning = Planning(budget, complete, frozenset(typed), fine_tuning=False)
    return plan_run(planning, data, pace)


@given(
    minutes=st.floats(0.05, 3000),
    seconds_per_token=st.floats(1e-6, 1e-2),
    preset=st.sampled_from(["tiny", "small", "base"]),
    typed=st.sampled_from([{}, {"batch_tokens": 20_000}, {"micro_batch_tokens": 2048}]),
)
@settings(max_examples=60)
def test_any_number_of_minutes_becomes_a_sound_run(
    small: PreparedData,
    minutes: float,
    seconds_per_token: float,
    preset: str,
    typed: dict[str, Any],
) -> None:
    found = plan(small, Budget(minutes, None), seconds_per_token, preset=preset, **typed)
    training, width = found.recipe.training, found.recipe.model.d_model
    step = training.batch_tokens * seconds_per_token
    assert training.max_minutes == 0  # the plan is in steps
    assert training.max_steps == 1 or training.max_steps * step <= 60 * minutes
    if 60 * minutes > 200 * step:
        assert training.max_steps * step >= 0.4 * 60 * minutes
    assert learning_rate(training.max_steps, training, width) == 0
    peak = max(learning_rate(s, training, width) for s in range(1, training.warmup_steps + 2))
    assert training.max_steps <= 2 or peak > 0.5 * training.learning_rate
    assert training.warmup_steps <= max(10, training.max_steps / 20)
    assert training.warmup_steps <= training.max_steps / 4
    for every in (training.validate_every, training.checkpoint_every):
        first = min(every, training.early_step or every)
        assert first <= max(1, training.max_steps)
        assert first == 1 or first * step <= TWO_MINUTES
    assert training.max_steps / training.report_every <= 5001
    assert found.to_json()["minutes"] == minutes


def test_a_short_run_has_small_steps_and_a_long_one_those_of_the_preset(
    small: PreparedData,
) -> None:
    batches = [
        plan(small, Budget(minutes, None), 1 / 4000).recipe.training.batch_tokens
        for minutes in (1, 12, 20, 60, 600)
    ]
    assert batches[0] == 1024
    assert batches == sorted(batches)
    assert batches[-1] == 4096
    by_steps = plan(small, Budget(None, 50), 1 / 4000, max_steps=50).recipe.training
    assert by_steps.batch_tokens == 4096  # 50 steps are 50 steps


def test_what_people_set_stays(small: PreparedData) -> None:
    chosen: dict[str, Any] = {
        "batch_tokens": 2000,
        "schedule": "inverse-sqrt",
        "warmup_steps": 70,
        "validate_every": 7,
        "checkpoint_every": 9,
        "report_every": 3,
        "early_step": 5,
        "validation_sample": 11,
    }
    found = plan(small, Budget(10, None), 1 / 4000, **chosen)
    kept = {name: getattr(found.recipe.training, name) for name in chosen}
    assert kept == chosen
    assert [line.split(" = ")[0] for line in found.reasons] == ["max_steps"]


def test_every_choice_has_one_line_with_its_reason(small: PreparedData) -> None:
    found = plan(small, Budget(1, None), 1 / 4000)
    training = found.recipe.training
    assert all(line.count(": ") == 1 and "\n" not in line for line in found.reasons)
    told = {line.split(" = ")[0]: line.split(" = ")[1].split(":")[0] for line in found.reasons}
    assert told["max_steps"] == f"{training.max_steps:,}"
    assert told["batch_tokens"] == "1,024"
    assert {"schedule", "warmup_steps", "validate_every"} <= told.keys()


def test_the_paper_schedule_becomes_one_for_the_width(small: PreparedData) -> None:
    short = plan(small, Budget(None, 500), 1e-3, preset="base", max_steps=500).recipe.training
    assert (short.schedule, short.learning_rate, short.warmup_steps) == ("linear", 0.001, 25)
    factor = plan(
        small, Budget(None, 500), 1e-3, preset="base", max_steps=500, learning_rate=2.0
    ).recipe.training
    assert (factor.schedule, factor.learning_rate) == ("paper", 2.0)


def test_what_counts_as_a_budget() -> None:
    def found(file: dict[str, Any], *typed: dict[str, Any], named: bool = False) -> Budget | None:
        layers = [Settings(training=values) for values in typed]
        return find_budget(Settings(training=file), layers, is_preset_named=named)

    assert found({}, {}) == Budget(None, None)
    assert found({}, {"max_minutes": 5}) == Budget(5.0, None)
    assert found({}, {"max_minutes": 5}, named=True) == Budget(5.0, None)
    assert found({}, {"max_steps": 9}, {"max_minutes": 5}) == Budget(None, 9)
    assert found({"max_steps": 100}, {"max_steps": 9}) == Budget(None, 9)
    for recipe in ({"max_steps": 100}, {"max_minutes": 3}):
        assert found(recipe, {}) is None
        assert found(recipe, {"max_minutes": 5}) is None  # the recipe, ended after 5 minutes
    assert found({}, {}, named=True) is None
    assert found({}, {"max_steps": 0}) is None


# ------------------------------------------------------------------------------ real runs


def test_a_planned_run_that_is_killed_and_resumed_is_the_uninterrupted_one(
    small: PreparedData, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"max_minutes": 0.01, "validation_sample": 2, **NETWORK}

    def train_until(run: Path, step: int, **more: Any) -> None:
        def kill(event: TrainingEvent) -> None:
            if isinstance(event, Trained) and event.step == step:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            translucid.train(small, output=run, on_event=kill, **more)

    cut, whole = tmp_path / "cut", tmp_path / "whole"
    translucid.train(small, output=whole, **options)
    record = RunDirectory(whole).read_record()
    assert record.plan is not None
    assert record.plan["minutes"] == 0.01
    assert record.training["max_minutes"] == 0
    assert record.training["total_steps"] == record.training["max_steps"] >= 1
    cut.mkdir()
    shutil.copy(whole / "run.json", cut)  # all that the run depends on
    last = record.training["max_steps"]
    train_until(cut, (last + 1) // 2, resume=True)
    train_until(cut, last, resume=True, max_minutes=0.01)  # the same command again
    assert RunDirectory(cut).read_record().plan == record.plan
    with pytest.raises(InputError, match=r"was planned for 0\.01 minutes, in steps, and cannot"):
        translucid.train(small, output=cut, resume=True, max_minutes=5)
    translucid.train(small, output=cut, resume=True)
    assert_same(cut, whole)


def test_the_same_command_resumes_a_planned_run_of_a_named_preset(
    small: PreparedData, tmp_path: Path
) -> None:
    """The plan has other settings than the preset, which is named again."""
    options: dict[str, Any] = {"preset": "tiny", "max_steps": 4, "validation_sample": 2, **NETWORK}
    cut, whole = tmp_path / "cut", tmp_path / "whole"

    def kill(event: TrainingEvent) -> None:
        if isinstance(event, Trained) and event.step == 2:
            raise KeyboardInterrupt

    translucid.train(small, output=whole, **options)
    with pytest.raises(KeyboardInterrupt):
        translucid.train(small, output=cut, on_event=kill, **options)
    translucid.train(small, output=cut, resume=True, **options)
    assert_same(cut, whole)
    with pytest.raises(InputError, match=r"training\.learning_rate was .* and is now 0\.5"):
        translucid.train(small, output=cut, resume=True, **options, learning_rate=0.5)


def test_a_run_says_how_long_it_takes_before_it_starts_and_shows_something_early(
    small: PreparedData, tmp_path: Path
) -> None:
    events: list[TrainingEvent] = []
    run = translucid.train(
        small, output=tmp_path / "run", on_event=events.append, max_steps=8, **NETWORK
    )
    started = events[0]
    assert isinstance(started, Started)
    first, *lines = started.description.splitlines()
    assert "tokens per step" in first
    assert re.fullmatch(r"  about \d+ seconds for 8 steps", lines[0])
    assert any(line.startswith("  schedule = linear: ") for line in lines)
    plan = json.loads((tmp_path / "run" / "run.json").read_text())["plan"]
    assert [f"  {reason}" for reason in plan["reasons"]] == lines[1:]
    seen = [type(event) for event in events]
    assert {Validated, Saved} <= set(seen)
    assert run.directory.read_record().training["early_step"] == 0


def test_an_early_step_is_validated_and_saved_beside_the_regular_ones(
    small: PreparedData, tmp_path: Path
) -> None:
    options = {**SMALL, "validate_every": 4, "checkpoint_every": 4, "early_step": 3}
    run = translucid.train(small, output=tmp_path / "run", **options)
    validated = [event.step for event in run.directory.metrics.validations()]
    assert validated == [3, 4, 6]
    assert run.directory.checkpoints.steps() == [3, 4, 6]


def test_a_recipe_in_a_file_is_trained_as_it_is(small: PreparedData, tmp_path: Path) -> None:
    values = {name: value for name, value in SMALL.items() if name not in NETWORK}
    layers = {"model": ("encoder_layers", "decoder_layers")}
    model = {**NETWORK, **{name: values.pop(name) for name in layers["model"]}}
    text = "[model]\n" + "".join(f"{name} = {value}\n" for name, value in model.items())
    text += "[training]\n" + "".join(f"{name} = {value}\n" for name, value in values.items())
    (tmp_path / "recipe.toml").write_text(text)
    run = translucid.train(small, output=tmp_path / "run", config=tmp_path / "recipe.toml")
    record = run.directory.read_record()
    assert record.plan is None
    assert record.training["schedule"] == "inverse-sqrt"  # that of the preset


def test_the_share_of_the_peak_is_never_above_one() -> None:
    """The peak was measured while the machine was busy, and training is faster than that."""
    course = Course(DisplayPlan(100, 0.0, lambda before, last: last - before, 10.0, 1e3), lambda: 0)
    shares = []
    for step, tokens in enumerate([50, 500, 400, 2000, 100], start=1):
        course.take(Trained(step, 1.0, 2.0, tokens, 10.0, 0.1, 0.1, 0))
        shares.append(course.share_of_peak)
    assert max(shares) == 1.0
    assert shares[0] == pytest.approx(0.05)
    assert shares[-1] < 1
