"""The built-in study, row by row."""

from __future__ import annotations

import pytest

from translucid.presets import PRESETS
from translucid.training.recipe import build_recipe, preset_settings
from translucid.training.study import BASE, RowResult, format_latex, student_t, summarize, table_3

VOCABULARY = 500

# 97.5 % quantiles as printed tables have them
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 20: 2.086, 100: 1.984}


def result(name: str, seed: int, bleu: float) -> RowResult:
    return RowResult(name, "A_1", seed, 1000, 10, 5.0, bleu, 40.0, "BLEU|…", 100, 1.0)


def test_the_quantiles_are_those_of_printed_tables() -> None:
    for freedom, printed in STUDENT.items():
        assert student_t(freedom) == pytest.approx(printed, abs=0.006)


def test_the_interval_of_a_row_is_that_of_its_seeds() -> None:
    one, three = summarize(
        [result("one", 1, 20.0), *(result("50 %", seed, 20.0 + seed) for seed in (1, 2, 3))]
    )
    assert one.margin is None
    assert three.margin == pytest.approx(4.303 * 1.0 / 3**0.5, abs=0.01)
    latex = format_latex([result("50 %", seed, 20.0 + seed) for seed in (1, 2, 3)])
    assert r"A\_1 & 50 \% & 1,000 & 5.00 & 22.0 $\pm$ 2.5 \\" in latex


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
