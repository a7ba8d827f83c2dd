"""The list of all settings: on the terminal, and in docs/settings.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from translucid.cli.info import list_settings
from translucid.cli.main import app
from translucid.config import ModelConfig
from translucid.presets import find_preset
from translucid.training.config import TrainingConfig
from translucid.training.recipe import parse_assignments

DOCUMENT = Path(__file__).parents[2] / "docs" / "settings.md"


def markdown(table: str) -> str:
    """The settings of a table as docs/settings.md shows them, in the paper's base and in tiny."""
    base, tiny = (
        [setting for setting in list_settings(find_preset(name)) if setting.table == table]
        for name in ("base", "tiny")
    )
    rows = [
        f"| `{one.key}` | `{one.value}` | {f'`{two.value}`' if one.value != two.value else ''} | "
        f"{one.description} |"
        for one, two in zip(base, tiny, strict=True)
    ]
    return "\n".join(["| key | `base` | `tiny` | what it is |", "|---|---|---|---|", *rows])


@pytest.mark.parametrize("table", ["model", "training"])
def test_the_document_lists_all_settings_as_they_are(table: str) -> None:
    expected = markdown(table)
    assert expected in DOCUMENT.read_text(encoding="utf-8"), f"write this there:\n{expected}"


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
