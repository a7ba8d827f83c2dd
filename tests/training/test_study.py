"""The built-in study, row by row."""

from __future__ import annotations

from translucid.presets import PRESETS
from translucid.training.recipe import build_recipe, preset_settings
from translucid.training.study import BASE, table_3

VOCABULARY = 500


def test_every_row_of_the_papers_table_has_a_counterpart() -> None:
    papers = {name.partition("-")[0] for name, preset in PRESETS.items() if preset.published}
    groups = {row.group for row in table_3().rows}
    assert papers - {"base", "big"} <= groups


def test_every_row_changes_something_and_is_a_network() -> None:
    study = table_3()
    base = study.recipe(study.rows[0], [], (VOCABULARY, VOCABULARY))
    assert study.rows[0].name == BASE
    assert base == build_recipe([preset_settings(PRESETS["tiny"])], (VOCABULARY, VOCABULARY))
    recipes = [study.recipe(row, [], (VOCABULARY, VOCABULARY)) for row in study.rows]
    assert len({repr(recipe) for recipe in recipes}) == len(study.rows)


def test_rows_change_only_what_they_name() -> None:
    study = table_3()
    base = study.recipe(study.rows[0], [], (VOCABULARY, VOCABULARY))
    for row in study.rows:
        found = study.recipe(row, [], (VOCABULARY, VOCABULARY))
        changed = {
            key
            for key, value in found.model.model_dump().items()
            if value != base.model.model_dump()[key]
        }
        follows = {"d_k", "d_v"} if {"heads", "d_model"} & changed else set()
        assert changed - follows <= set(row.changes.model), row.name
