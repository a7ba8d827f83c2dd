"""A text in parts: joined they are the text, lines and blank lines keep their places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.text.normalization import nfc
from translucid.text.placeholders import Protected
from translucid.text.spans import SpanFinder
from translucid.text.tokenizer import PLACEHOLDER_PIECES, PLACEHOLDERS
from translucid.translator.segmentation import Segment, SegmentedText, Segmenter, gap_before

PIECES = st.sampled_from(
    ["\n", "\n\n", " ", "\t", "\r", "\u2028", "ab", "é", "e\u0301", ". ", "語。"]
)
SPANS = st.sampled_from(
    ["😀", "<b>", "</b>", "<br/>", "%s", "{x}", "`a. b`", "http://a.b/c", PLACEHOLDERS[3]]
)
TEXTS = st.lists(PIECES | SPANS | st.text(max_size=5), max_size=20).map("".join)


def characters(text: str) -> list[int]:
    return [ord(character) for character in text]


def segment(text: str, longest: int, *, placeholders: bool = False) -> SegmentedText:
    return Segmenter(characters, longest, SpanFinder(), placeholders).segment(text)


@given(TEXTS, st.integers(1, 12), st.booleans())
def test_parts_and_what_stands_between_are_the_text(
    text: str, longest: int, placeholders: bool
) -> None:
    found = segment(text, longest, placeholders=placeholders)
    pieces = [piece for part in found.segments for piece in (part.before, part.protected.source)]
    assert "".join([*pieces, found.after]) == found.text
    assert nfc(found.text) == nfc(text)
    for part in found.segments:
        source = part.protected.source
        assert found.text[part.start : part.start + len(source)] == source
        assert part.protected.places[-1] == len(source)


@given(TEXTS, st.integers(1, 12), st.booleans())
def test_a_part_is_of_one_line_not_blank_and_not_too_long(
    text: str, longest: int, placeholders: bool
) -> None:
    for part in segment(text, longest, placeholders=placeholders).segments:
        assert part.text == part.text.strip() != ""
        assert "\n" not in part.text
        assert list(part.tokens) == characters(part.text)
        assert len(part.tokens) <= longest
        assert placeholders or not part.protected.spans


@given(TEXTS)
def test_lines_that_fit_are_not_split(text: str) -> None:
    found = segment(text, 1000, placeholders=True)
    assert not found.split
    plain = [line for line in nfc(text).split("\n") if not SpanFinder().find(line)]
    assert len(found.segments) >= sum(any(map(str.isalnum, line)) for line in plain)
    assert len(found.segments) <= sum(bool(line.strip()) for line in nfc(text).split("\n"))


@given(TEXTS, st.integers(1, 12), st.lists(st.text("x語 ", max_size=3), min_size=1))
def test_a_translation_has_as_many_lines_as_its_source(
    text: str, longest: int, words: list[str]
) -> None:
    found = segment(text, longest)
    translation = found.join([words[n % len(words)] for n in range(len(found.segments))])
    assert translation.count("\n") == text.count("\n")


def test_paragraphs_and_blank_lines() -> None:
    found = segment("  Hello.\n\n \tBye. Now.\r\n", 100)
    assert [(part.before, part.text) for part in found.segments] == [
        ("  ", "Hello."),
        ("\n\n \t", "Bye. Now."),
    ]
    assert found.after == "\r\n"


def test_a_long_line_is_flagged_as_split() -> None:
    found = segment("One here. Two here.", 10)
    assert [part.text for part in found.segments] == ["One here.", "Two here."]
    assert found.split


def a_segment(before: str, *, inside_word: bool) -> Segment:
    return Segment(before, 0, Protected("x"), (1,), inside_word)


def test_what_stands_between_translations_follows_the_language_of_the_translation() -> None:
    spaced, nothing = a_segment(" ", inside_word=False), a_segment("", inside_word=False)
    assert gap_before(spaced, "One.", "Two.") == " "
    assert gap_before(spaced, "一。", "二。") == ""
    assert gap_before(nothing, "One.", "Two.") == " "
    assert gap_before(nothing, "一。", "二。") == ""
    assert gap_before(a_segment("", inside_word=True), "One", "Two") == ""
    assert gap_before(a_segment("\n", inside_word=False), "一。", "二。") == "\n"
    assert gap_before(spaced, "", "Two.") == " "


def test_sentences_of_a_script_without_spaces_are_joined_with_spaces_in_one_that_has_them() -> None:
    found = segment("今日は。元気です。", 5)
    assert found.join(["Hello.", "I am fine."]) == "Hello. I am fine."


def test_a_word_that_was_cut_is_joined_without_a_space() -> None:
    found = segment("x" * 12, 8)
    assert found.join(["yyy", "zzz"]) == "yyyzzz"


def readable(text: str) -> str:
    names = dict(zip(PLACEHOLDERS, PLACEHOLDER_PIECES, strict=True))
    return "".join(names.get(character, character) for character in text)


AROUND = [
    ("<p>Open {file} 😀</p>", "<p>", "Open <word0>", " 😀</p>"),
    ("😀 <b>Now</b> or never", "😀 ", "<open0>Now<close0> or never", ""),
    ("<i>a</i> and <i>b</i>", "", "<open0>a<close0> and <open1>b<close1>", ""),
    ("  %s: gone<br/>", "  ", "<word0>: gone", "<br/>"),
    ("<div><b>x</b> y</div>", "<div>", "<open0>x<close0> y", "</div>"),
    ("</b>x<b>", "</b>", "x", "<b>"),
]


@pytest.mark.parametrize(("text", "before", "part", "after"), AROUND)
def test_marks_and_pairs_of_tags_around_a_line_stand_beside_it(
    text: str, before: str, part: str, after: str
) -> None:
    found = segment(text, 1000, placeholders=True)
    assert [(one.before, readable(one.text)) for one in found.segments] == [(before, part)]
    assert found.after == after


@pytest.mark.parametrize("text", ["https://a.b/c", "%s %s", "<br/>", "12 345 678 – {n}", "😀!"])
def test_what_has_no_words_beside_its_spans_is_not_translated(text: str) -> None:
    for placeholders in (True, False):
        found = segment(text, 1000, placeholders=placeholders)
        assert not found.segments
        assert found.after == text
        assert not found.between_spans


def test_without_placeholders_the_words_between_spans_are_parts() -> None:
    found = segment("Open {file}, in <b>this</b> window.", 1000)
    assert [(part.before, part.text) for part in found.segments] == [
        ("", "Open"),
        (" {file}, ", "in"),
        (" <b>", "this"),
        ("</b> ", "window"),
    ]
    assert found.after == "."
    written = ["Ouvre.", "dans...", "cette", "fenêtre."]
    restored = [
        part.protected.restore(text) for part, text in zip(found.segments, written, strict=True)
    ]
    assert found.join(restored) == "Ouvre {file}, dans <b>cette</b> fenêtre."
    assert found.between_spans
    assert not found.split


def test_a_line_with_more_spans_than_placeholders_is_split() -> None:
    found = segment(", ".join(["a %s"] * 20), 1000, placeholders=True)
    assert len(found.segments) >= 3
    assert found.split


def test_tags_of_a_pair_in_two_parts_stand_alone() -> None:
    found = segment("<b>One here. Two</b> here.", 12, placeholders=True)
    assert [(part.before, part.text) for part in found.segments] == [
        ("<b>", "One here."),
        (" ", "Two"),
        ("</b> ", "here."),
    ]
    assert found.split


@given(TEXTS)
def test_a_pair_is_hidden_as_it_is_read(text: str) -> None:
    """A translation that is its source, so that every span is in it."""
    segmenter = Segmenter(characters, 1000, SpanFinder(), placeholders=True)
    source, target = segmenter.hide_pair(text, text)
    lines = [[line.strip() for line in side.split("\n")] for side in (source, target)]
    assert lines[0] == lines[1]


@pytest.mark.parametrize(
    "text",
    ["\u200b" * 5000, "\u0301" * 5000, "😀" * 5000, "👩\u200d" * 900, "\ufe0f \u00a0\t\u2060"],
)
@pytest.mark.parametrize("placeholders", [False, True])
def test_what_has_no_words_is_copied(text: str, placeholders: bool) -> None:
    segmented = Segmenter(characters, 20, SpanFinder(), placeholders).segment(text)
    assert not segmented.segments
    assert segmented.join([]) == segmented.text


@pytest.mark.parametrize("placeholders", [False, True])
def test_a_combining_mark_behind_a_picture_is_no_part_of_it(placeholders: bool) -> None:
    """The server answered 500."""
    text = "e\u0301 😀\u0301 cafe\u0301 {x}"
    segmented = Segmenter(characters, 1000, SpanFinder(), placeholders).segment(text)
    assert segmented.text == nfc(text)
    joined = segmented.join([segment.protected.source for segment in segmented.segments])
    assert joined == segmented.text
