"""Confidence: a regression that finds known weights, against the plainest ways to its measures."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_translators import reversed_translation, sentences, write_taught_model
from translucid.errors import DataError, InputError
from translucid.translator import calibrate, load, save_calibration
from translucid.translator.confidence import (
    CONFIDENCE,
    FEATURES,
    Calibration,
    area_under_curve,
    calibration_curve,
    compute_features,
)
from translucid.translator.translation import Candidate

WEIGHTS = np.array([1.5, -0.5, 0.8, 0.0, -1.0])


def drawn(count: int, seed: int) -> tuple[list[tuple[float, ...]], list[bool]]:
    """Rows whose labels are drawn with a probability that is known."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, len(FEATURES)))
    chance = 1 / (1 + np.exp(-(rows @ WEIGHTS + 0.4)))
    return [tuple(row) for row in rows.tolist()], (random.random(count) < chance).tolist()


def test_known_weights_are_found() -> None:
    found = calibrate(*drawn(20_000, seed=1))
    weights = np.array(found.weights) / np.array(found.scales)
    assert np.abs(weights - WEIGHTS).max() < 0.1
    assert found.lines == 20_000
    for said, true, lines in found.curve:
        assert abs(said - true) < 0.06
        assert lines == 2000


def test_the_quality_is_that_of_unseen_rows() -> None:
    """Of labels that are drawn by lot, nothing can be known: a fit to them must not look good."""
    random = np.random.default_rng(3)
    rows = [tuple(row) for row in random.normal(size=(120, len(FEATURES))).tolist()]
    found = calibrate(rows, (random.random(120) < 0.5).tolist())
    assert found.auc < 0.65


@given(
    st.lists(
        st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.7, 0.9]), st.booleans()),
        min_size=2,
        max_size=30,
    ).filter(lambda rows: len({good for _, good in rows}) == 2)
)
def test_the_area_counts_pairs(rows: list[tuple[float, bool]]) -> None:
    good = [value for value, is_good in rows if is_good]
    bad = [value for value, is_good in rows if not is_good]
    won = sum((g > b) + (g == b) / 2 for g in good for b in bad)
    found = area_under_curve([value for value, _ in rows], [is_good for _, is_good in rows])
    assert found == pytest.approx(won / len(good) / len(bad))


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
def test_the_curve_has_all_rows_from_the_least_sure_on(rows: list[tuple[float, bool]]) -> None:
    bins = calibration_curve([value for value, _ in rows], [good for _, good in rows])
    assert sum(one.lines for one in bins) == len(rows)
    assert [one.confidence for one in bins] == sorted(one.confidence for one in bins)
    good = math.fsum(one.acceptable * one.lines for one in bins)
    assert good == pytest.approx(sum(good for _, good in rows))


def test_features_of_a_translation() -> None:
    candidate = Candidate("x", ("a", "b", "c"), None, -6.0, 3, 0.0, "loop")
    mean, length, ratio, square, ended = compute_features(candidate, 5)
    assert (mean, ended) == (-2.0, 1.0)
    forced = compute_features(replace(candidate, log_prob=-1e9, ending="end"), 5)
    assert (forced[0], forced[-1]) == (-10.0, 0.0)
    assert length == pytest.approx(math.log(3))
    assert ratio == pytest.approx(math.log(3 / 6))
    assert square == pytest.approx(ratio**2)


@pytest.mark.parametrize(("count", "good"), [(50, 25), (200, 2), (200, 198)])
def test_too_little_to_learn_from_is_told(count: int, good: int) -> None:
    rows = drawn(count, seed=1)[0]
    with pytest.raises(InputError, match=f"{good:,} of {count:,} translations are acceptable"):
        calibrate(rows, [number < good for number in range(count)])


def test_a_model_directory_keeps_it_and_its_translations_have_it(tmp_path: Path) -> None:
    folder = write_taught_model(tmp_path / "taught")
    assert load(folder).translate(["chat"])[0].confidence is None
    translator = load(folder)
    known = sentences(80, seed=1)
    strange = [f"{text} zzz yyy" for text in sentences(80, seed=2)]
    rows, good = [], []
    for texts, expected in (
        (known, [reversed_translation(t) for t in known]),
        (strange, [""] * 80),
    ):
        for one, wanted in zip(translator.translate(texts), expected, strict=True):
            rows.append(compute_features(one.n_best[0], one.source_tokens))
            good.append(one.text == wanted)
    calibration = calibrate(rows, good)
    assert calibration.auc > 0.8
    save_calibration(folder, calibration)
    first, second, blank = load(folder).translate([known[0], strange[0], " "])
    assert first.confidence is not None
    assert second.confidence is not None
    assert first.confidence > 0.5 > second.confidence
    assert (first.doubtful, second.doubtful, blank.doubtful) == (False, True, False)
    assert blank.confidence is None
    assert load(folder, folder).translate(["chat"])[0].confidence is None


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    folder = write_taught_model(tmp_path / "taught")
    found = json.loads(calibrate(*drawn(200, seed=4)).to_json())
    faults = [
        {"bias": 1},
        {**found, "means": [*found["means"], 0.0]},
        {**found, "scales": [0.0] * len(FEATURES)},
    ]
    for fault in faults:
        (folder / CONFIDENCE).write_text(json.dumps(fault))
        with pytest.raises(DataError, match=r"confidence\.json"):
            load(folder)
    with pytest.raises(InputError, match="is not a model directory"):
        save_calibration(tmp_path / "nothing", calibrate(*drawn(200, seed=4)))


def test_it_is_a_config_that_comes_back(tmp_path: Path) -> None:
    found = calibrate(*drawn(200, seed=4))
    (tmp_path / "c.json").write_text(found.to_json())
    assert Calibration.from_file(tmp_path / "c.json") == found
