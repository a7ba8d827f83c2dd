"""Dividing texts that are too long: nothing is lost, every piece fits, sentences stay whole."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.text.sentences import is_unspaced, split_sentences, split_to_fit

MARKS = st.sampled_from([".", "!", "?", "…", "。", "！", ",", ";", "、", " ", "\t", "»", "e\u0301"])
WORDS = st.text(alphabet="aBcé語अ\u200d👩\x00", min_size=1, max_size=6)
TEXTS = st.lists(WORDS | MARKS, max_size=40).map("".join) | st.text(max_size=80)


@given(TEXTS, st.integers(1, 30))
def test_pieces_are_the_text_and_each_of_them_fits(text: str, longest: int) -> None:
    pieces = split_to_fit(text, lambda piece: len(piece) <= longest)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= longest for piece in pieces if text)


@given(TEXTS)
def test_sentences_are_the_text(text: str) -> None:
    assert "".join(split_sentences(text)) == text


@given(TEXTS)
def test_a_text_that_fits_is_not_divided(text: str) -> None:
    assert split_to_fit(text, lambda _: True) == [text]


@pytest.mark.parametrize(
    "expected",
    [
        ["It is late.", "We go!", "Why?", "“No.”", "He left."],
        ["Dr. Smith met Mr. J. R. Hill, e.g. in St. Ives.", "Fine."],
        ["Am 3. Mai kam er.", "Am 4. ging er."],
        ["She came in 1998.", "He left."],
        ["He paid 3.50 to example.com for it. ok"],
        ["« Où ? » dit-il.", "Là-bas."],
        ["यह है।", "वह गया।", "अच्छा"],
        ["هل أنت هنا؟", "نعم."],
        ["Wait...", "What?"],
        ["no end"],
        [],
    ],
)
def test_where_sentences_end(expected: list[str]) -> None:
    assert [sentence.strip() for sentence in split_sentences(" ".join(expected))] == expected


def test_some_scripts_have_no_space_between_sentences() -> None:
    expected = ["今日は。", "元気？", "はい！", "「行く。」", "と言った。"]
    assert split_sentences("".join(expected)) == expected


def test_a_long_sentence_is_cut_at_the_clause_mark_nearest_to_its_middle() -> None:
    text = "one two, three four five; six seven eight nine, ten"
    assert split_to_fit(text, lambda piece: len(piece) <= 30) == [
        "one two, three four five; ",
        "six seven eight nine, ten",
    ]


def test_then_at_a_space_and_then_in_the_middle_of_a_word() -> None:
    assert split_to_fit("one two three four", lambda piece: len(piece) <= 10) == [
        "one two ",
        "three four",
    ]
    assert split_to_fit("x" * 10, lambda piece: len(piece) <= 4) == ["xx", "xxx", "xx", "xxx"]


def test_a_word_is_cut_only_where_no_space_is_left() -> None:
    link = "http://" + "x" * 60
    pieces = split_to_fit(f"see {link} there", lambda piece: len(piece.strip()) <= 40)
    assert pieces[0] == "see "
    assert pieces[-1] == "there"
    assert "".join(pieces[1:-1]).strip() == link


def test_marks_stay_on_their_letters() -> None:
    text = "e\u0301" * 20
    pieces = split_to_fit(text, lambda piece: len(piece) <= 7)
    assert "".join(pieces) == text
    assert all(unicodedata.category(piece[0]) != "Mn" for piece in pieces)


def test_what_fits_not_even_alone_is_left_whole() -> None:
    assert split_to_fit("ab", lambda _: False) == ["a", "b"]


@pytest.mark.parametrize("mark", ["\u200d", "\u0301", "a" + "\u0301" * 999])
def test_a_text_of_marks_takes_few_cuts(mark: str) -> None:
    pieces = split_to_fit((mark * 1000)[:1000], lambda piece: len(piece) <= 100)
    assert len(pieces) <= 1000 // 100 * 2


@pytest.mark.parametrize(
    ("character", "expected"),
    [
        *[("語", True), ("。", True), ("ก", True), ("ー", True)],
        *[("한", False), ("a", False), ("😀", False), (" ", False), ("अ", False)],
    ],
)
def test_scripts_without_spaces(character: str, expected: bool) -> None:
    assert is_unspaced(character) is expected


def test_many_marks_are_walked_through_once() -> None:
    """A hundred thousand full stops in a row; in quadratic time that would take minutes."""
    text = "." * 100_000 + "end. Begin"
    assert split_sentences(text) == ["." * 100_000 + "end. ", "Begin"]
    assert split_sentences("! " + "?" * 100_000) == ["! ", "?" * 100_000]
