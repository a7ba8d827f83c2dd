from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.evaluation.html_page import Span, differences, graphemes


def shown(spans: list[Span]) -> str:
    return "".join(f"[{span.text}]" if span.differs else span.text for span in spans)


@pytest.mark.parametrize(
    ("first", "second", "left", "right"),
    [
        ("the cat sat", "the cat sat", "the cat sat", "the cat sat"),
        ("the cats sat", "the cat sat", "the cat[s] sat", "the cat sat"),
        ("a red house", "a house", "a [red ]house", "a house"),
        ("he runs home", "he walked home", "he [runs] home", "he [walked] home"),
        ("", "word", "", "[word]"),
        ("", "", "", ""),
        ("Das Haus", "das Haus", "[D]as Haus", "[d]as Haus"),
        ("我喜欢喝茶", "我喜欢喝水", "我喜欢喝[茶]", "我喜欢喝[水]"),
        ("cafe\u0301s", "cafes", "caf[e\u0301]s", "caf[e]s"),
    ],
)
def test_what_differs_is_marked(first: str, second: str, left: str, right: str) -> None:
    assert tuple(map(shown, differences(first, second))) == (left, right)


def test_a_sign_of_several_characters_is_not_taken_apart() -> None:
    family, other = "👩\u200d👩\u200d👧", "👩\u200d👩\u200d👦"
    assert graphemes(f"a{family}") == ["a", family]
    assert tuple(map(shown, differences(family, other))) == (f"[{family}]", f"[{other}]")


@given(st.text(max_size=40), st.text(max_size=40))
def test_the_pieces_are_the_texts_and_what_is_not_marked_is_common(a: str, b: str) -> None:
    left, right = differences(a, b)
    assert "".join(span.text for span in left) == a
    assert "".join(span.text for span in right) == b
    common = ["".join(span.text for span in side if not span.differs) for side in (left, right)]
    assert common[0] == common[1]
    assert all(span.text for span in (*left, *right))


def test_very_long_texts_are_marked_whole() -> None:
    left, right = differences("a " * 2000, "b " * 2000)
    assert (len(left), len(right)) == (1, 1)
    assert left[0].differs
    same, _ = differences("a " * 2000, "a " * 2000)
    assert same == [Span("a " * 2000, False)]
