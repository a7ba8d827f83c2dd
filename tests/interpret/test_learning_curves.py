"""The learning curves of a run: what is drawn, and where."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.events import Trained, Validated
from translucid.interpret.figures.charts import (
    LEFT,
    MOST_POINTS,
    WIDTH,
    LearningCurves,
    draw_learning_curves,
    thin,
    ticks,
)

SVG = "{http://www.w3.org/2000/svg}"
VALIDATED = Validated(40, 1.5, 4.4817, 33.25, 51.5, ("BLEU", "chrF2"), (), best=True)


def trained(step: int) -> Trained:
    return Trained(step, 9.0, math.exp(8 / step), 500, 0.1, 0.001 * step, 0.7, 0)


def test_curves_are_without_label_smoothing() -> None:
    curves = LearningCurves.from_events("run", [trained(1), trained(2), VALIDATED])
    assert curves.training == [(1, pytest.approx(8)), (2, pytest.approx(4))]
    assert curves.dev == [(40, 1.5)]
    assert curves.learning_rate == [(1, 0.001), (2, 0.002)]


def places(svg: str) -> list[list[tuple[float, float]]]:
    lines = ElementTree.fromstring(svg).findall(f"{SVG}polyline")
    pairs = [[place.split(",") for place in line.attrib["points"].split()] for line in lines]
    return [[(float(x), float(y)) for x, y in line] for line in pairs]


def test_the_picture_is_valid_and_its_lines_have_the_shape_of_the_values() -> None:
    events = [*map(trained, range(1, 41)), VALIDATED]
    drawing = draw_learning_curves(LearningCurves.from_events("one < two & three", events))
    root = ElementTree.fromstring(drawing.svg)
    assert root.findtext(f"{SVG}title") == "Loss and learning rate of one < two & three"
    assert "dev loss from 1.500 at step 40" in str(root.findtext(f"{SVG}desc"))
    training, _, rate = places(drawing.svg)
    assert training[-1][0] == rate[-1][0]
    assert all(a[1] < b[1] for a, b in itertools.pairwise(training))  # loss falls
    assert all(a[1] > b[1] for a, b in itertools.pairwise(rate))  # the rate grows
    assert all(LEFT <= x <= WIDTH and 0 < y < drawing.height for x, y in training + rate)
    words = [text.text or "" for text in root.findall(f"{SVG}text")]
    assert {"step", "learning rate", "training", "dev", "1.500 at step 40", "40"} <= set(words)
    assert any("nats per token" in word for word in words)


def test_a_run_without_any_step_or_with_an_infinite_loss_has_a_picture_too() -> None:
    assert places(draw_learning_curves(LearningCurves("empty", [], [], [])).svg) == []
    training = [(1, 3.0), (2, math.inf), (3, math.nan)]
    broken = LearningCurves("broken", training, [], [(1, 0.0)])
    (line, _rate) = places(draw_learning_curves(broken).svg)
    assert len(line) == 1


@given(st.lists(st.floats(0, 100), min_size=1, max_size=2000))
def test_a_long_line_is_thinned_by_means(values: list[float]) -> None:
    points = list(enumerate(values, start=1))
    fewer = thin(points)
    assert len(fewer) <= MOST_POINTS
    assert fewer[-1][0] == len(values)
    assert min(values) - 1e-9 <= min(value for _, value in fewer)
    assert max(value for _, value in fewer) <= max(values) + 1e-9
    if len(values) <= MOST_POINTS:
        assert fewer == points


@given(st.floats(1e-7, 1e7), st.integers(2, 10))
def test_ticks_are_round_and_cover_the_range(high: float, most: int) -> None:
    marks = ticks(0.0, high, most)
    assert marks[0] == 0
    assert marks[-1] >= high * (1 - 1e-8)
    assert 2 <= len(marks) <= most + 2
    assert re.fullmatch(r"[125]0*", f"{marks[1] / 10 ** math.floor(math.log10(marks[1])):.0f}")
