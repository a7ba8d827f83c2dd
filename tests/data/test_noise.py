"""Sentences as people type them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.data.augmentation import FORMS, add_typing_noise, title_case, upper_case
from translucid.text.tokenizer import PLACEHOLDERS

CURLY = 3  # the first form with curly apostrophes, and nothing else changed


@pytest.mark.parametrize(
    ("written", "forms"),
    [
        ("Où est Tom ?", ["où est tom ?", "Où est Tom", "où est tom", "Où est Tom ?"]),
        (
            "I'm 3.5 in U.S.",
            ["i'm 3.5 in u.s.", "I'm 3.5 in U.S", "i'm 3.5 in u.s", "I’m 3.5 in U.S."],
        ),
        ("Wait…!", ["wait…!", "Wait", "wait", "Wait…!"]),
        ("Quoi ? !", ["quoi ? !", "Quoi", "quoi"]),
        ("«\u202fNon\u202f!\u202f»", ["«\u202fnon\u202f!\u202f»", "«\u202fNon\u202f!\u202f»"]),
        ("...", ["...", "...", "...", "..."]),
        ("déjà", ["déjà", "déjà", "déjà", "déjà"]),
    ],
)
def test_forms(written: str, forms: list[str]) -> None:
    assert [add_typing_noise(written, form) for form in range(len(forms))] == forms


def test_curly_apostrophes_go_with_all_else() -> None:
    forms = [add_typing_noise("L'eau.", form) for form in range(CURLY, FORMS)]
    assert forms == ["L’eau.", "l’eau.", "L’eau", "l’eau"]


@given(st.text(max_size=30).filter(str.strip), st.integers(0, FORMS - 1))
def test_something_is_always_left_and_a_second_time_changes_nothing(text: str, form: int) -> None:
    once = add_typing_noise(text, form)
    assert once
    assert add_typing_noise(once, form) == once


def test_many_marks_are_walked_through_once() -> None:
    assert add_typing_noise("." * 100_000 + "a", 1) == "." * 100_000 + "a"
    assert add_typing_noise("a" + " ." * 100_000, 1) == "a"
    assert add_typing_noise("a . ", 1) == "a . "


@given(text=st.text())
def test_case_changes_letters_only(text: str) -> None:
    assert title_case(text).casefold() == text.casefold() or not text.isascii()
    assert upper_case(upper_case(text)) == upper_case(text)
    assert title_case(PLACEHOLDERS) == upper_case(PLACEHOLDERS) == PLACEHOLDERS


def test_words_begin_with_a_capital() -> None:
    assert title_case("qu'est-ce que l'été, tom ?") == "Qu'est-ce Que L'été, Tom ?"
