"""What pictures say in words: no more than is known, and what is true of this very network."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from drawn_traces import drawn_patching, long_trace, short_trace, taught
from parsed_svg import outside, overlapping, read

from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.interpret.explain import explain
from translucid.interpret.figures.attention_steps import fill_in_formula, numbers
from translucid.interpret.figures.cells import hundredths
from translucid.interpret.figures.charts import LearningCurves, draw_learning_curves
from translucid.interpret.figures.drawing import Drawing
from translucid.interpret.figures.panels import PANELS, Choice, Material, draw
from translucid.interpret.figures.positions import position_curves
from translucid.text.tokenizer import EOS


def check(drawing: Drawing) -> Drawing:
    """Return a picture whose words are all inside, and apart."""
    picture = read(drawing.svg)
    assert not outside(picture)
    assert not overlapping(picture)
    return drawing


def words_of(drawing: Drawing) -> str:
    return " ".join(word.content for word in read(drawing.svg).words)


def test_an_alignment_claims_no_more_of_its_heads_than_is_known() -> None:
    usual = words_of(draw("alignment", Material(short_trace()), Choice()))
    assert "(layer.head: 1.1, 1.2, 1.3, 1.4): the usual choice where it was not measured" in usual
    found = replace(short_trace(), alignment_heads=((1, 2), (0, 3)))
    said = words_of(check(draw("alignment", Material(found), Choice())))
    assert "heads found to align best (layer.head: 2.3, 1.4)." in said


def test_a_translation_of_nothing_is_drawn() -> None:
    empty = drawn_patching(explain(taught(), "chat", prefix=[EOS]))
    assert (empty.translation, len(empty.steps)) == ("", 1)
    for name, panel in PANELS.items():
        if panel.draw and name not in ("curve", "beam"):
            check(draw(name, Material(empty, taught()), Choice()))
    assert "Nothing was written." in words_of(draw("alignment", Material(empty), Choice()))


@pytest.mark.parametrize(
    ("positions", "said"),
    [
        ("sinusoidal", "Low dimensions turn fast"),
        ("sinusoidal-halves", "First sines, then cosines; of both, low dimensions turn fast"),
        ("rotary", "First sines, then cosines; of both, low dimensions turn fast"),
        ("learned", ""),
    ],
)
def test_curves_say_which_dimensions_turn_fast_where_any_do(positions: str, said: str) -> None:
    words = words_of(position_curves(long_trace(positions)))
    assert said in words
    assert ("turn fast" in words) == bool(said)


def test_the_six_steps_say_how_positions_act() -> None:
    relative, rotary = (
        check(draw("attention-steps", Material(long_trace(kind)), Choice()))
        for kind in ("relative", "rotary")
    )
    assert "+ b or −∞" in words_of(relative)
    assert "then the bias:" in words_of(relative)
    assert "k = x·W^K, turned" in words_of(rotary)
    cross = draw("attention-steps", Material(long_trace("relative")), Choice(side="cross"))
    assert "+ 0 or −∞" in words_of(cross)
    plain = words_of(draw("attention-steps", Material(short_trace()), Choice()))
    assert "turned" not in plain
    assert "then the mask:" in plain


def test_a_formula_of_few_products_has_no_more_of_them() -> None:
    found = numbers(short_trace(), "encoder", 0, 0, 0)
    assert "+ … = " in fill_in_formula(found)[0]
    few = replace(found, q=found.q[:2], k=[key[:2] for key in found.k])
    assert "…" not in fill_in_formula(few)[0]
    assert "(the 2 largest of 2 products)" in fill_in_formula(few)[0]


def test_a_run_that_diverged_is_drawn_without_what_is_no_number() -> None:
    dev = [(1000, math.nan), (2000, 1.5), (3000, math.inf)]
    drawing = draw_learning_curves(
        LearningCurves("run", [(1, 6.0), (3000, math.nan)], dev, [(1, 0.001)])
    )
    check(drawing)
    assert "1.500 at step 2,000" in words_of(drawing)
    assert "nan" not in drawing.body


def test_a_tree_says_where_its_scores_did_not_decide() -> None:
    settings: dict[str, Any] = {"samples": 4, "seed": 3}
    for search, said in (
        (SearchConfig(method="mbr", **settings), True),
        (SearchConfig(method="sampling", **settings), False),
    ):
        trace = explain(taught(), "chat noir dort", search=search)
        picture = check(draw("beam", Material(trace), Choice()))
        assert ("most like the other samples" in words_of(picture)) == said


def test_the_map_of_a_decision_hatches_what_disagrees_and_writes_the_shares() -> None:
    trace = short_trace()
    assert trace.patching is not None
    drawing = check(draw("patching", Material(trace), Choice()))
    disagreeing = [one for one in trace.patching.cells if not one.agrees]
    assert drawing.svg.count('class="axis hatch"') == len(disagreeing) > 0
    said = [word.content for word in read(drawing.svg).words]
    for one in trace.patching.cells:
        if abs(one.share) >= 0.005:
            assert hundredths(one.share) in said
    best = trace.patching.part("cross")[0]
    assert f"cross: {best.cell} ({best.share:.2f})" in drawing.description
    assert "Margin of one over two: +1.50 in 1, −2.50 in 2." in words_of(drawing)
    with pytest.raises(InputError, match="give the other with --against TEXT"):
        draw("patching", Material(replace(trace, patching=None)), Choice())
