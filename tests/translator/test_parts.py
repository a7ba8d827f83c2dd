"""A text in parts: joined they are the text, lines and blank lines keep their places."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from translucid.text.normalize import nfc
from translucid.translator.assembly import joined
from translucid.translator.parts import Part, divided, joint

PIECES = st.sampled_from(
    ["\n", "\n\n", " ", "\t", "\r", "\u2028", "ab", "é", "e\u0301", ". ", "語。"]
)
TEXTS = st.lists(PIECES | st.text(max_size=5), max_size=20).map("".join)


def characters(text: str) -> list[int]:
    return [ord(character) for character in text]


@given(TEXTS, st.integers(1, 12))
def test_parts_and_what_stands_between_are_the_text(text: str, longest: int) -> None:
    found = divided(text, characters, longest)
    pieces = [piece for part in found.parts for piece in (part.before, part.text)]
    assert "".join([*pieces, found.after]) == found.text == nfc(text)


@given(TEXTS, st.integers(1, 12))
def test_a_part_is_of_one_line_not_blank_and_not_too_long(text: str, longest: int) -> None:
    for part in divided(text, characters, longest).parts:
        assert part.text == part.text.strip() != ""
        assert "\n" not in part.text
        assert list(part.tokens) == characters(part.text)
        assert len(part.tokens) <= longest


@given(TEXTS)
def test_lines_that_fit_are_not_split(text: str) -> None:
    found = divided(text, characters, 1000)
    assert not found.split
    assert len(found.parts) == sum(bool(line.strip()) for line in nfc(text).split("\n"))


@given(TEXTS, st.integers(1, 12), st.lists(st.text("x語 ", max_size=3), min_size=1))
def test_a_translation_has_as_many_lines_as_its_source(
    text: str, longest: int, words: list[str]
) -> None:
    found = divided(text, characters, longest)
    translation = joined(found, [words[n % len(words)] for n in range(len(found.parts))])
    assert translation.count("\n") == text.count("\n")


def test_paragraphs_and_blank_lines() -> None:
    found = divided("  Hello.\n\n \tBye. Now.\r\n", characters, 100)
    assert [(part.before, part.text) for part in found.parts] == [
        ("  ", "Hello."),
        ("\n\n \t", "Bye. Now."),
    ]
    assert found.after == "\r\n"


def test_a_long_line_is_flagged_as_split() -> None:
    found = divided("One here. Two here.", characters, 10)
    assert [part.text for part in found.parts] == ["One here.", "Two here."]
    assert found.split


def part(before: str, *, inside_word: bool) -> Part:
    return Part(before, "x", (1,), inside_word)


def test_what_stands_between_translations_follows_the_language_of_the_translation() -> None:
    spaced, nothing = part(" ", inside_word=False), part("", inside_word=False)
    assert joint(spaced, "One.", "Two.") == " "
    assert joint(spaced, "一。", "二。") == ""
    assert joint(nothing, "One.", "Two.") == " "
    assert joint(nothing, "一。", "二。") == ""
    assert joint(part("", inside_word=True), "One", "Two") == ""
    assert joint(part("\n", inside_word=False), "一。", "二。") == "\n"
    assert joint(spaced, "", "Two.") == " "


def test_sentences_of_a_script_without_spaces_are_joined_with_spaces_in_one_that_has_them() -> None:
    found = divided("今日は。元気です。", characters, 5)
    assert joined(found, ["Hello.", "I am fine."]) == "Hello. I am fine."


def test_a_word_that_was_cut_is_joined_without_a_space() -> None:
    found = divided("x" * 12, characters, 8)
    assert joined(found, ["yyy", "zzz"]) == "yyyzzz"
