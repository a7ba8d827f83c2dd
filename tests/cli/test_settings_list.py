"""The list of all settings: on the terminal, and in docs/settings.md."""

from __future__ import annotations

import re

from typer.testing import CliRunner

from settings_page import PAGE, settings_page
from translucid.cli.info import list_settings
from translucid.cli.main import app
from translucid.config import ModelConfig
from translucid.data.cleaning import CleaningConfig
from translucid.decoding.config import SearchConfig
from translucid.presets import find_preset
from translucid.serving.config import ServingConfig
from translucid.training.config import TrainingConfig
from translucid.training.recipe import parse_assignments


def test_the_page_is_what_the_config_classes_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == settings_page(), "run `make settings`"
    for config in (ModelConfig, TrainingConfig, SearchConfig, CleaningConfig, ServingConfig):
        keys = set(config.model_fields) - {"source_vocab_size", "target_vocab_size"}
        assert keys <= set(re.findall(r"^\| `(\w+)` \|", settings_page(), re.MULTILINE))


def test_every_setting_can_be_set_to_what_is_listed() -> None:
    listed = list_settings(find_preset("tiny"))
    given = parse_assignments([f"{each.table}.{each.key}={each.value}" for each in listed])
    sizes = {"source_vocab_size": 37000, "target_vocab_size": 37000}
    model, training = ModelConfig(**sizes, **given.model), TrainingConfig(**given.training)
    shown = {(each.table, each.key) for each in listed}
    fields = {("model", key) for key in ModelConfig.model_fields if key not in sizes}
    assert shown == fields | {("training", key) for key in TrainingConfig.model_fields}
    assert (model.d_model, training.schedule) == (128, "inverse-sqrt")


def test_on_the_terminal() -> None:
    done = CliRunner().invoke(app, ["info", "base", "--settings"], env={"COLUMNS": "200"})
    assert done.exit_code == 0
    assert "[model] of the preset base" in done.output
    assert "[training] of the preset base" in done.output
    row = next(line for line in done.output.splitlines() if line.startswith("norm "))
    assert row.split()[:2] == ["norm", '"post"']
    assert row.rstrip().endswith("or before each sublayer: post, pre")
