"""The strokes: sizes, words, escaping, widths of text."""

from __future__ import annotations

import itertools

import pytest
from parsed_svg import outside, overlapping, read

from translucid.interpret.figures.cells import (
    Scale,
    cell_paths,
    cells,
    column_labels,
    evenly,
    hundredths,
    row_labels,
)
from translucid.interpret.figures.charts import apart, ticks
from translucid.interpret.figures.drawing import (
    Drawing,
    heading,
    piece_label,
    piece_labels,
    shorten,
    text,
    text_width,
    wrap_text,
)


def test_a_drawing_is_a_whole_file_that_says_what_it_shows() -> None:
    drawing = Drawing(120, 40, "A <title>", "It & shows", text(10, 20, "x < y & z"))
    picture = read(drawing.svg)
    assert (picture.width, picture.height) == (120, 40)
    assert picture.root.get("role") == "img"
    assert picture.root.get("viewBox") == "0 0 120 40"
    assert [child.text for child in picture.root][:2] == ["A <title>", "It & shows"]
    assert [word.content for word in picture.words] == ["x < y & z"]
    assert picture.fill("ground") == "#ffffff"


def test_the_parser_of_these_tests_sees_faults() -> None:
    above = text(10, 20, "attention")
    assert overlapping(read(Drawing(200, 60, "t", "d", above + text(14, 22, "attention")).svg))
    assert not overlapping(read(Drawing(200, 60, "t", "d", above + text(10, 40, "attention")).svg))
    assert outside(read(Drawing(40, 60, "t", "d", above).svg)) == ["attention"]
    turned = text(10, 100, "attention", turn=-90)
    assert not outside(read(Drawing(40, 110, "t", "d", turned).svg))
    assert outside(read(Drawing(40, 40, "t", "d", turned).svg))


def test_cells_draw_every_square_once_and_neighbours_as_one() -> None:
    table = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    paths = cell_paths(table, Scale("h", 0, 1))
    assert paths == (
        '<path class="h0" d="M0 0h2v1h-2zM1 1h2v1h-2z"/>'
        '<path class="h48" d="M2 0h1v1h-1zM0 1h1v1h-1z"/>'
    )
    assert 'transform="translate(5 6) scale(10 20)"' in cells(
        table, Scale("h", 0, 1), (5, 6), (10, 20)
    )


def test_scales_of_both_signs_have_nought_in_the_middle() -> None:
    scale = evenly([[-3.0, 1.0, float("-inf")]])
    assert (scale.low, scale.high) == (-3.0, 3.0)
    assert scale.level(0.0) == 24
    assert evenly([[0.0]]).level(0.0) == 24


@pytest.mark.parametrize("size", [13.0, 16.0, 20.0, 30.0])
def test_labels_of_rows_and_columns_keep_apart(size: float) -> None:
    labels = [f"internationalisation{number}" for number in range(30)]
    body = "".join(
        [*row_labels(labels, (200, 200), size), *column_labels(labels, (200, 200), size)]
    )
    assert not overlapping(read(Drawing(2000, 2000, "t", "d", body).svg))


def test_values_in_two_digits() -> None:
    assert [hundredths(v) for v in (0.004, 0.05, 0.996, -0.25, 1.0)] == [
        "0", ".05", "1", "−.25", "1",
    ]  # fmt: skip


def test_text_is_measured_shortened_and_broken() -> None:
    assert text_width("iiii") < text_width("mmmm")
    assert text_width("é") == text_width("e")
    assert text_width("中", 10) == 10
    for width in (20, 50, 90):
        assert text_width(shorten("internationalisation", width)) <= width
    assert shorten("word", 100) == "word"
    lines = wrap_text("one two three four five", 60)
    assert " ".join(lines) == "one two three four five"
    assert all(text_width(line) <= 60 for line in lines)
    assert len(lines) > 1


def test_a_text_without_spaces_is_broken_and_not_cut() -> None:
    text = "我们明天去看看那只黑色的猫" * 3
    lines = wrap_text(f"short {text} end", 90)
    assert "".join(lines).replace(" ", "") == f"short{text}end"
    assert all(text_width(line) <= 90 for line in lines)
    assert wrap_text("中文", 1) == ["中", "文"]


def test_characters_that_xml_cannot_hold_are_replaced() -> None:
    drawing = Drawing(100, 30, "a\x00", "b\x1b", text(5, 20, "c\x07\ufffe"))
    picture = read(drawing.svg)
    assert [child.text for child in picture.root][:2] == ["a�", "b�"]
    assert picture.words[0].content == "c��"


def test_titles_are_broken_to_the_width() -> None:
    parts, y = heading("A title that is much longer than the picture is wide", 200, ["a note"])
    picture = read(Drawing(200, y, "t", "d", "".join(parts)).svg)
    assert not outside(picture)
    assert not overlapping(picture)


def test_pieces_are_shown_as_words() -> None:
    assert piece_labels(["▁The", "▁tran", "slat", "ed", ".", "</s>"]) == [
        "The", "tran", "·slat", "·ed", "·.", "</s>",
    ]  # fmt: skip
    assert piece_labels([" chat", " l'", "eau", " ", "</s>"]) == ["chat", "l'", "·eau", "␣", "</s>"]
    assert piece_labels(["c", "h", " ", "</s>"]) == ["c", "h", "␣", "</s>"]
    assert piece_label("▁", True) == "␣"
    assert piece_label("<0xE4>", True) == "<0xE4>"
    assert piece_label("<", True) == "·<"


def test_round_ticks_and_places_apart() -> None:
    assert ticks(0, 1, 5) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert ticks(-3, 4, 4) == [-4, -2, 0, 2, 4]
    assert ticks(0, 0, 4) == [0.0, 1.0]
    moved = apart([10, 11, 12, 50], 5)
    ordered = sorted(moved)
    assert moved == ordered
    assert all(b - a >= 5 for a, b in itertools.pairwise(ordered))
