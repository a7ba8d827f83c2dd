"""Terminology: which terms a source has, and what they must become."""

from __future__ import annotations

import pytest

from small_tokenizers import small_tokenizer
from translucid.errors import InputError
from translucid.translator.request import Terminology


def targets(terms: dict[str, str], source: str) -> list[str]:
    tokenizer = small_tokenizer("bpe")
    found = Terminology(terms, tokenizer.encode).find(source)
    return [tokenizer.decode(tokens) for tokens in found]


def test_terms_are_found_as_whole_words_in_the_order_of_the_source() -> None:
    terms = {"chat": "cat", "tapis": "mat", "eau": "water"}
    assert targets(terms, "Le tapis du chat, chats et chateau.") == ["mat", "cat"]
    assert targets(terms, "L'eau.") == ["water"]
    assert targets(terms, "rien") == []
    assert targets({}, "rien") == []


def test_a_term_that_stands_twice_must_come_twice() -> None:
    assert targets({"chat": "cat"}, "chat et chat") == ["cat", "cat"]


def test_of_overlapping_terms_the_longer_counts() -> None:
    terms = {"chat": "cat", "chat noir": "black cat", "noir": "black"}
    assert targets(terms, "Un chat noir et un chat, noir.") == ["black cat", "cat", "black"]


def test_small_letters_are_found_in_any_case_and_capitals_only_as_written() -> None:
    terms = {"chat": "cat", "Eau": "Water"}
    assert targets(terms, "Chat CHAT eau Eau") == ["cat", "cat", "Water"]


def test_scripts_without_spaces_have_no_borders_of_words() -> None:
    assert targets({"猫": "cat"}, "黒猫が") == ["cat"]


def test_marks_are_taken_as_they_are() -> None:
    assert targets({"c++": "cat", "(a.b)": "mat"}, "c++ (a.b) (axb)") == ["cat", "mat"]


def test_spelling_is_normalised() -> None:
    assert targets({"e\u0301te\u0301": "water"}, "été") == ["water"]


@pytest.mark.parametrize(("source", "target"), [("", "cat"), ("chat", " "), ("a\nb", "cat")])
def test_an_empty_side_or_several_lines_are_refused(source: str, target: str) -> None:
    with pytest.raises(InputError, match="has an empty side or one of several lines") as caught:
        targets({source: target}, "chat")
    assert repr(source) in str(caught.value)


def test_a_term_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(InputError, match="'chat' → '猫' cannot be written: the model's vocabulary"):
        Terminology({"chat": "猫"}, small_tokenizer("word").encode)
