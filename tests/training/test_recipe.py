"""Settings from presets, files and the command line: which wins, and what is said of mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from translucid.errors import ConfigError, InputError
from translucid.presets import PRESETS, find_preset
from translucid.training.recipe import (
    Settings,
    build_recipe,
    parse_assignments,
    preset_settings,
    read_settings,
)

FILE = """
preset = "small"
[model]
dropout = 0.3
norm = "post"
[training]
warmup_steps = 7
learning_rate = 1
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_comes_later_wins(tmp_path: Path) -> None:
    layers = [
        preset_settings(find_preset("tiny")),
        read_settings(written(tmp_path, FILE)),
        parse_assignments(["model.norm=pre", "warmup_steps=9", "metric = bleu", "compile=true"]),
        Settings(training={"warmup_steps": 11}),
    ]
    recipe = build_recipe(layers, sizes=(123, 123))
    assert recipe.model.d_model == 128  # the preset
    assert recipe.model.dropout == 0.3  # the file
    assert recipe.model.norm == "pre"  # --set, which wins over the file
    assert recipe.training.learning_rate == 1.0
    assert recipe.training.warmup_steps == 11  # an option, which wins over all
    assert recipe.training.metric == "bleu"
    assert recipe.training.compile is True
    assert recipe.model.source_vocab_size == recipe.model.target_vocab_size == 123


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_complete_recipe(name: str) -> None:
    preset = find_preset(name)
    recipe = build_recipe([preset_settings(preset)], sizes=(100, 100))
    assert recipe.model == preset.config(100)
    assert recipe.training.label_smoothing == preset.label_smoothing
    assert (recipe.training.schedule == "paper") == (preset.published is not None)


def test_the_papers_presets_train_as_the_paper_did() -> None:
    training = build_recipe([preset_settings(find_preset("big"))], sizes=(100, 100)).training
    assert (training.max_steps, training.warmup_steps) == (300_000, 4000)
    assert (training.batch_tokens, training.learning_rate) == (25_000, 1.0)


def test_all_mistakes_of_a_run_are_told_together() -> None:
    layers = [
        parse_assignments(["model.dropout=2", "training.warmup=1", "model.target_vocab_size=9"])
    ]
    with pytest.raises(ConfigError) as caught:
        build_recipe(layers, sizes=(100, 100))
    message = str(caught.value)
    assert "[model] dropout = 2" in message
    assert "[training] unknown key 'warmup' (value 1); did you mean 'warmup_steps'?" in message
    assert "model.target_vocab_size = 9: that of the data is 100; leave it out" in message
    assert len(caught.value.faults) == 3


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("warmup_step=3", "unknown key 'warmup_step'; did you mean 'training.warmup_steps'?"),
        ("trainin.seed=3", "no settings are called 'trainin'; did you mean 'training'?"),
        ("warmup_steps", "must be key=value, such as training.warmup_steps=400"),
        ("=3", "must be key=value"),
    ],
)
def test_a_mistaken_assignment(assignment: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_assignments([assignment, "nonsense"])
    assert message in str(caught.value)
    assert len(caught.value.faults) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[modell]\n", "unknown table 'modell'; did you mean 'model'?"),
        ("dropout = 0.1\n", "unknown key 'dropout'; it belongs into the table [model]"),
        ("model = 3\n", "model = 3: must be a table of settings, [model]"),
        ("preset = 3\n", "preset = 3: must be the name of a preset"),
        ("[model\n", "not valid TOML"),
    ],
)
def test_a_mistaken_file(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_settings(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: cannot be read"):
        read_settings(tmp_path / "none.toml")
