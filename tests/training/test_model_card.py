"""The model card and the curve of a run."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from networks import small_config
from shard_folders import BOTH_WAYS
from translucid.anatomy import anatomy
from translucid.data.known_corpora import KNOWN
from translucid.data.manifest import CorpusEntry, Manifest
from translucid.events import Trained, Validated
from translucid.model import Transformer
from translucid.training.config import TrainingConfig
from translucid.training.curve import (
    HEIGHT,
    LEFT,
    MOST_POINTS,
    RIGHT,
    Curves,
    Point,
    curve_svg,
    thin,
    ticks,
)
from translucid.training.device import matrix_product_peak, training_flops
from translucid.training.model_card import CURVE, RunFacts, build_curves, model_card
from word_data import word_data, word_pairs

SVG = "{http://www.w3.org/2000/svg}"
VALIDATED = Validated(
    step=40,
    loss=1.5,
    perplexity=4.4817,
    bleu=33.25,
    chrf=51.5,
    signatures=("BLEU|nrefs:1|tok:13a", "chrF2|nrefs:1", "BLEU|nrefs:1|tok:13a"),
    samples=(),
    best=True,
)
FACTS = RunFacts(
    step=40,
    epoch=3,
    tokens=123_456,
    seconds=90.0,
    validation=VALIDATED,
    command="translucid train data -o run",
)


def trained(step: int) -> Trained:
    return Trained(step, 9.0, math.exp(8 / step), 500, 0.1, 0.001 * step, 0.7, 0)


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    splits = {"train": word_pairs(12, seed=1), "dev": word_pairs(7, seed=2)}
    made = word_data(tmp_path_factory.mktemp("data"), splits).manifest
    return replace(made, corpora=(CorpusEntry(("odd|name.tsv",), 1.5, 12),))


def card(manifest: Manifest, facts: RunFacts) -> str:
    settings = TrainingConfig(warmup_steps=321, validation_sample=5)
    return model_card(small_config(), settings, manifest, facts)


def test_the_card_says_what_the_network_is(manifest: Manifest) -> None:
    text = card(manifest, FACTS)
    real = sum(parameter.numel() for parameter in Transformer(small_config()).parameters())
    assert f"| parameters | {real:,} |" in text
    assert text.startswith("# Translation fr → en\n")
    assert "after each residual sum" in text
    assert "before each sublayer" in model_card(
        small_config(norm="pre"), TrainingConfig(), manifest, FACTS
    )
    assert "sinusoidal" in text
    assert "29 tokens" in text


def test_the_card_says_data_scores_settings_and_command(manifest: Manifest) -> None:
    text = card(manifest, FACTS)
    assert manifest.tokenizer.fingerprint in text
    assert "| `odd\\|name.tsv` | 12 | 1.5 |" in text
    assert re.search(r"\| dev \| 7 \| \d+ \| \d+ \|", text)
    assert "| BLEU | 33.25 | 5 of them, greedy search |" in text
    assert text.count("BLEU|nrefs:1|tok:13a") == 1
    assert "| warmup_steps | `321` |" in text
    assert "translucid train data -o run" in text
    assert "| time | 1.5 minutes |" in text
    assert "123,456" in text
    assert f"]({CURVE})" in text
    assert "## Licence" in text


def test_the_card_tells_the_licence_of_a_known_corpus(manifest: Manifest) -> None:
    assert "Tatoeba" not in card(manifest, FACTS)
    (file,) = KNOWN["tatoeba-fra-eng"].files
    settings = {**manifest.settings, "train": [{"paths": ["a.tsv"], "sha256": [file.sha256]}]}
    text = card(replace(manifest, settings=settings), FACTS)
    assert "- tatoeba-fra-eng: CC BY 2.0 FR. Name Tatoeba (tatoeba.org) as the source" in text


def test_the_card_without_a_dev_set_claims_nothing(manifest: Manifest) -> None:
    text = card(manifest, replace(FACTS, validation=None, command=""))
    assert "nothing was measured" in text
    assert "BLEU" not in text
    assert "```" not in text


def test_the_card_of_both_directions_says_that_scores_are_means(tmp_path: Path) -> None:
    splits = {"train": word_pairs(3, seed=1), "dev": word_pairs(3, seed=2)}
    both = word_data(tmp_path, splits, directions=BOTH_WAYS, tagged=True).manifest
    assert "# Translation fr → en, en → fr\n" in card(both, FACTS)
    assert "means over the directions" in card(both, FACTS)


def test_curves_are_without_label_smoothing() -> None:
    curves = build_curves([trained(1), trained(2), VALIDATED])
    assert curves.training == [Point(1, pytest.approx(8)), Point(2, pytest.approx(4))]
    assert curves.dev == [Point(40, 1.5)]
    assert curves.learning_rate == [Point(1, 0.001), Point(2, 0.002)]


def places(svg: str) -> list[list[tuple[float, float]]]:
    lines = ElementTree.fromstring(svg).findall(f"{SVG}polyline")
    pairs = [[place.split(",") for place in line.attrib["points"].split()] for line in lines]
    return [[(float(x), float(y)) for x, y in line] for line in pairs]


def test_the_picture_is_valid_and_its_lines_have_the_shape_of_the_values() -> None:
    curves = build_curves([*map(trained, range(1, 41)), VALIDATED])
    svg = curve_svg(curves, "one < two & three")
    root = ElementTree.fromstring(svg)
    assert root.findtext(f"{SVG}title") == "one < two & three"
    assert "dev loss from 1.500 at step 40" in str(root.findtext(f"{SVG}desc"))
    training, _, rate = places(svg)
    assert training[-1][0] == rate[-1][0] == RIGHT
    assert all(a[1] < b[1] for a, b in itertools.pairwise(training))  # loss falls
    assert all(a[1] > b[1] for a, b in itertools.pairwise(rate))  # the rate grows
    assert all(LEFT <= x <= RIGHT and 0 < y < HEIGHT for x, y in training + rate)
    words = [text.text for text in root.findall(f"{SVG}text")]
    for word in (
        "step",
        "learning rate",
        "loss (nats per token)",
        "training",
        "dev",
        "1.500",
        "40",
    ):
        assert word in words


def test_a_run_without_any_step_or_with_an_infinite_loss_has_a_picture_too() -> None:
    assert places(curve_svg(Curves([], [], []), "empty")) == []
    broken = Curves([Point(1, 3.0), Point(2, math.inf), Point(3, math.nan)], [], [Point(1, 0.0)])
    (training, _rate) = places(curve_svg(broken, "broken"))
    assert len(training) == 1


@given(st.lists(st.floats(0, 100), min_size=1, max_size=2000))
def test_a_long_line_is_thinned_by_means(values: list[float]) -> None:
    points = [Point(step, value) for step, value in enumerate(values, start=1)]
    fewer = thin(points)
    assert len(fewer) <= MOST_POINTS
    assert fewer[-1].step == len(values)
    assert min(values) - 1e-9 <= min(p.value for p in fewer)
    assert max(p.value for p in fewer) <= max(values) + 1e-9
    if len(values) <= MOST_POINTS:
        assert fewer == points


@given(st.floats(1e-7, 1e7), st.integers(2, 10))
def test_ticks_are_round_and_cover_the_range(high: float, most: int) -> None:
    marks = ticks(0.0, high, most)
    assert marks[0] == 0
    assert marks[-1] >= high * (1 - 1e-8)
    assert 2 <= len(marks) <= most + 2
    assert re.fullmatch(r"[125]0*", f"{marks[1] / 10 ** math.floor(math.log10(marks[1])):.0f}")


def test_flops_of_training_are_those_of_the_anatomy() -> None:
    config = small_config()
    whole = sum(block.cost.training for block in anatomy(config, 9))
    assert training_flops(config, 9, 9) == pytest.approx(whole)
    assert training_flops(config, 18, 9) > whole > training_flops(config, 5, 9)


def test_the_peak_is_a_rate() -> None:
    assert 1e8 < matrix_product_peak(torch.device("cpu")) < 1e16
