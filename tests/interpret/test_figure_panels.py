"""Every panel, on a short sentence and on sixty tokens: sizes, labels, contrast, no overlap."""

from __future__ import annotations

import math
import re

import pytest
from drawn_traces import babbling, cut, long_trace, short_trace, taught
from parsed_svg import NAMESPACE, Picture, outside, overlapping, read

from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import length_penalty
from translucid.errors import InputError
from translucid.interpret.explain import explain
from translucid.interpret.figures.attention_steps import fill_in_formula, numbers
from translucid.interpret.figures.beam_tree import describe_ending, describe_sum, ended
from translucid.interpret.figures.charts import LearningCurves, draw_learning_curves, thin
from translucid.interpret.figures.colours import LEVELS, READABLE, contrast
from translucid.interpret.figures.drawing import Drawing, shorten, token_labels
from translucid.interpret.figures.matrix import head_grid, head_matrix
from translucid.interpret.figures.panels import PANELS, Choice, Material, draw, page_address
from translucid.interpret.figures.positions import position_curves, position_heat
from translucid.interpret.trace import Trace

DRAWN = [name for name, panel in PANELS.items() if panel.draw and name not in ("curve", "beam")]
ONE_HEAD = {
    "encoder": Choice(layer=0, head=1),
    "decoder": Choice(layer=0, head=3),
    "cross": Choice(layer=1, head=2),
    "arcs": Choice(side="decoder", layer=1),
    "attention-steps": Choice(side="decoder", layer=1, head=2, step=2),
}


def material(length: str) -> Material:
    if length == "short":
        return Material(short_trace(), taught())
    return Material(long_trace(), babbling())


def check(drawing: Drawing, widest: float = 1400) -> Picture:
    """Hold what must be true of every picture, and return it as read."""
    picture = read(drawing.svg)
    assert not outside(picture)
    assert not overlapping(picture)
    assert drawing.title
    assert len(drawing.description) > 20
    assert 300 <= picture.width <= widest
    assert min(word.size for word in picture.words) >= 10
    _check_contrast(picture)
    return picture


def _check_contrast(picture: Picture) -> None:
    """Text on cells is read against the colour of its cell, all other text against the ground."""
    for word in picture.words:
        levels = [name for name in word.classes if re.fullmatch(r"[ke]\d+", name)]
        if levels:
            ramp = {"k": "h", "e": "d"}[levels[0][0]]
            ground = picture.fill(f"{ramp}{levels[0][1:]}")
        elif "badge" in word.classes:
            ground = picture.fill("solid")
        else:
            ground = picture.fill("ground")
        assert contrast(picture.colour(word), ground) >= READABLE, word.content


@pytest.mark.parametrize("length", ["short", "sixty tokens"])
@pytest.mark.parametrize("name", DRAWN)
def test_every_panel_is_legible(name: str, length: str) -> None:
    check(draw(name, material(length), Choice()))


@pytest.mark.parametrize("length", ["short", "sixty tokens"])
@pytest.mark.parametrize("name", ONE_HEAD)
def test_one_head_is_legible_and_names_every_token(name: str, length: str) -> None:
    shown = material(length)
    picture = check(draw(name, shown, ONE_HEAD[name]))
    written = {word.content for word in picture.words}
    tokens = (
        shown.trace.source_tokens if name in ("encoder", "cross") else shown.trace.target_tokens
    )
    assert {shorten(label, 110) for label in token_labels(tokens)} <= written


def squares(picture: Picture) -> dict[tuple[int, int], int]:
    """Return the level of every square of a picture's first table, by row and column."""
    found: dict[tuple[int, int], int] = {}
    table = next(e for e in picture.root.iter(f"{NAMESPACE}g") if e.get("class") == "cells")
    for path in table:
        match = re.fullmatch(r"[hd](\d+)", path.get("class", ""))
        if match is None:
            continue
        for x, y, length in re.findall(r"M(\d+) (\d+)h(\d+)", path.get("d", "")):
            for column in range(int(x), int(x) + int(length)):
                assert (int(y), column) not in found
                found[int(y), column] = int(match[1])
    return found


def test_a_matrix_has_the_weights_of_its_head() -> None:
    trace = short_trace()
    picture = read(head_matrix(trace, "cross", 1, 2).svg)
    weights = trace.attention("cross", 1)[2]
    found = squares(picture)
    assert len(found) == weights.numel()
    for (row, column), level in found.items():
        assert abs(level / LEVELS - float(weights[row, column])) <= 0.5 / LEVELS + 1e-6
    values = [word.content for word in picture.words if "value" in word.classes]
    expected = [f"{float(w):.2f}" for w in weights.flatten() if float(w) >= 0.005]
    assert [float(value) for value in values] == [float(value) for value in expected]


def test_the_future_is_masked_in_the_decoder_alone() -> None:
    count = len(short_trace().target_tokens)
    decoder = head_matrix(short_trace(), "decoder", 0, 0).svg
    masked = re.search(r'class="masked" d="([^"]*)"', decoder)
    assert masked is not None
    assert masked[1].count("M") == count - 1
    assert 'class="masked"' not in head_matrix(short_trace(), "encoder", 0, 0).svg


def test_a_grid_has_every_head_once() -> None:
    trace = short_trace()
    for layer, count in ((None, 2 * 4), (1, 4)):
        svg = head_grid(trace, "cross", layer).svg
        assert svg.count('class="small-matrix"') == count
    names = re.findall(
        r"<title>(Cross-attention, layer[^<]*)</title>", head_grid(trace, "cross").svg
    )
    assert len(set(names)) == 8


def test_a_grid_of_many_tokens_stays_small() -> None:
    text = cut(babbling(), 230)
    trace = explain(babbling(), text, given=text, level="light")
    drawing = head_grid(trace, "encoder")
    picture = check(drawing)
    found = squares(picture)
    side = 1 + max(row for row, _ in found)
    assert side == 77
    best = trace.attention("encoder", 0)[0][3:6, 9:12].max()
    assert abs(found[1, 3] / LEVELS - float(best)) <= 0.5 / LEVELS + 1e-6
    assert "3 × 3 tokens" in drawing.svg


def test_the_six_steps_are_the_formula() -> None:
    for side, layer, query in (("encoder", 0, 1), ("decoder", 1, 1), ("cross", 1, 2)):
        found = numbers(short_trace(), side, layer, 1, query)  # type: ignore[arg-type]
        root = math.sqrt(len(found.q))
        raw = [math.fsum(a * b for a, b in zip(found.q, k, strict=True)) for k in found.k]
        scores = [value / root + mask for value, mask in zip(raw, found.mask, strict=True)]
        powers = [math.exp(score) for score in scores]
        weights = [power / math.fsum(powers) for power in powers]
        output = [
            math.fsum(w * v[place] for w, v in zip(weights, found.v, strict=True))
            for place in range(len(found.output))
        ]
        assert found.raw == pytest.approx(raw, abs=1e-4)
        assert found.weights == pytest.approx(weights, abs=1e-5)
        assert found.output == pytest.approx(output, abs=1e-5)
        lines = fill_in_formula(found)
        assert f"= {weights[found.best]:.3f}" in lines[2]
        assert f"v({found.keys[found.best]})" in lines[3]
        first, second = lines[2].partition("Σ = ")[2].split(" = ")[0].split(" / ")
        assert float(first) / float(second) == pytest.approx(weights[found.best], rel=0.01)


def test_the_six_steps_show_what_the_mask_forbids() -> None:
    picture = read(draw("attention-steps", material("short"), Choice("decoder", 0, 0, 1)).svg)
    assert [word.content for word in picture.words].count("−∞") == len(
        short_trace().target_tokens
    ) - 2


@pytest.mark.parametrize(
    "search",
    [
        SearchConfig(beam=4, n_best=3, length_penalty=0.6),
        SearchConfig(beam=3, length_penalty=1.0, length_form="plain", coverage_penalty=0.2),
        SearchConfig(method="greedy"),
        SearchConfig(method="sampling", samples=3, n_best=2, seed=4),
        SearchConfig(method="diverse", beam=4, groups=2),
    ],
    ids=lambda search: search.method + str(search.beam),
)
def test_the_beam_tree_has_every_candidate_and_right_sums(search: SearchConfig) -> None:
    trace = explain(taught(), "chat noir dort vieux", search=search)
    tree = trace.tree
    assert tree is not None
    drawing = draw("beam", Material(trace), Choice())
    picture = check(drawing)
    boxes = [w for w in picture.words if "token" in w.classes]
    more = [w.content for w in picture.words if w.content.endswith("more dropped")]
    left_out = sum(int(words.split()[0]) for words in more)
    assert len(boxes) == len(tree.nodes) - left_out
    dropped = sum(node.status == "dropped" for node in tree.nodes)
    assert drawing.svg.count('class="gone" x=') == dropped - left_out
    for index in ended(tree):
        found = describe_ending(trace, tree, index)
        penalty = length_penalty(found.length, search)
        assert found.score == pytest.approx(found.log_prob / penalty + found.coverage)
        if not search.coverage_penalty and search.method != "diverse":
            assert found.coverage == pytest.approx(0, abs=1e-5)
    first = describe_ending(trace, tree, ended(tree)[0])
    assert first.log_prob == pytest.approx(trace.log_prob, abs=1e-4)
    assert first.score == pytest.approx(trace.score, abs=1e-4)
    assert describe_sum(first, trace) in {word.content for word in picture.words}


def test_a_given_translation_has_no_tree() -> None:
    trace = explain(taught(), "chat noir", given="black cat")
    with pytest.raises(InputError, match="was given, not searched for"):
        draw("beam", Material(trace), Choice())


@pytest.mark.parametrize("positions", ["rotary", "learned", "sinusoidal-halves"])
def test_other_kinds_of_positions_are_drawn(positions: str) -> None:
    check(position_heat(long_trace(positions)))
    check(position_curves(long_trace(positions)))


def test_relative_positions_show_their_bias_and_none_says_so() -> None:
    relative, none = long_trace("relative"), long_trace("none")
    picture = check(position_curves(relative))
    assert {"head 1", "head 4"} <= {word.content for word in picture.words}
    with pytest.raises(InputError, match=r"relative positions.*position-curves"):
        position_heat(relative)
    with pytest.raises(InputError, match="none positions"):
        position_heat(none)
    with pytest.raises(InputError, match="dimension 99 does not exist: they are 0 to 31"):
        position_curves(long_trace(), [99])


def test_the_course_of_a_run() -> None:
    training = [(step, 6 / (1 + step / 100)) for step in range(1, 3001)]
    curves = LearningCurves("run", training, [(1000, 1.4), (2000, 1.1), (3000, 1.2)], [(1, 0.001)])
    picture = check(draw_learning_curves(curves))
    assert "1.100 at step 2,000" in {word.content for word in picture.words}
    assert len(thin(training)) <= 240
    assert thin(training)[-1][0] == 3000
    empty = draw_learning_curves(LearningCurves("run", [], [], []))
    assert empty.description == "nothing was trained."


@pytest.mark.parametrize(
    ("name", "choice", "message"),
    [
        ("beam", Choice(layer=1), "--layer does not apply to the panel beam.*none of them"),
        ("softmax", Choice(head=1), "--head does not apply.*it takes: --step"),
        ("crss", Choice(), "no panel is called 'crss'; did you mean 'cross'"),
        (
            "film",
            Choice(),
            "the panel film is drawn by the page: write .html.*written as files: pos",
        ),
        ("curve", Choice(), "needs the folder of a run.*--run"),
        ("lens", Choice(), "the panel lens is drawn by the page: write .html"),
        ("cross", Choice(layer=2, head=0), "no layer number 3: this decoder has 2"),
        ("encoder", Choice(layer=1), "no layer number 2: this encoder has 1 .in Python, only 0"),
        ("cross", Choice(head=4), "no head number 5: this network has 4 .in Python, 0 to 3"),
        ("attention-steps", Choice(step=4), "no step number 5: this sentence has 4"),
        ("arcs", Choice(step=4), "no step number 5: this sentence has 4"),
        ("arcs", Choice(step=-1), "no step number 0"),
    ],
)
def test_what_cannot_be_drawn_says_what_can(name: str, choice: Choice, message: str) -> None:
    with pytest.raises(InputError, match=f"(?s){message}"):
        draw(name, Material(short_trace()), choice)


def test_a_light_trace_says_what_is_needed() -> None:
    light: Trace = explain(taught(), "chat noir", level="light")
    with pytest.raises(InputError, match="level 'full'"):
        draw("attention-steps", Material(light), Choice())
    for name in ("cross", "alignment", "arcs", "beam", "rollout", "positions"):
        check(draw(name, Material(light), Choice()))


@pytest.mark.parametrize(
    ("name", "choice", "address"),
    [
        (None, Choice(), "#/explore/map"),
        (None, Choice(layer=1, head=2), "#/explore/map?layer=2&head=3"),
        ("cross", Choice(), "#/explore/attention?side=cross"),
        ("cross", Choice(layer=1, head=2), "#/explore/attention?side=cross&layer=2&head=3"),
        ("decoder", Choice(head=3), "#/explore/attention?side=decoder&layer=1&head=4"),
        ("arcs", Choice(side="encoder"), "#/explore/attention?shape=arcs&side=encoder"),
        ("rollout", Choice(), "#/explore/attention?x-draw=rollout"),
        ("attention-steps", Choice(step=1), "#/explore/steps?side=encoder&query=2"),
        ("softmax", Choice(step=2), "#/explore/output?step=3"),
        ("beam", Choice(), "#/explore/search"),
        ("lens", Choice(), "#/explore/lens"),
        ("film", Choice(), "#/explore/training"),
    ],
)
def test_the_page_opens_where_a_panel_is(name: str | None, choice: Choice, address: str) -> None:
    assert page_address(name, short_trace(), choice) == address


def test_the_page_opens_at_no_part_that_the_network_lacks() -> None:
    for choice, message in (
        (Choice(layer=2), "no layer number 3: this decoder has 2"),
        (Choice(head=4), "no head number 5: this network has 4"),
        (Choice(step=4), "no step number 5: this sentence has 4"),
    ):
        with pytest.raises(InputError, match=message):
            page_address(None, short_trace(), choice)
