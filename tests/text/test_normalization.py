from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.text.normalization import (
    comparison_key,
    has_typography,
    lowercase,
    nfc,
    plain_typography,
    plain_typography_offsets,
    strip_accents,
)


def test_nfc_composes() -> None:
    assert nfc("e\u0301te\u0301") == "été"
    assert nfc("été") == "été"


@given(st.text())
def test_lower_case_moves_no_character(text: str) -> None:
    lower = lowercase(nfc(text))
    assert len(lower) == len(nfc(text))
    assert lowercase(lower) == lower
    assert comparison_key(lower) == comparison_key(text) or "\u0130" in nfc(text)


def test_every_letter_has_a_lower_case_of_one_character() -> None:
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    assert all(len(lowercase(letter)) == 1 for letter in letters)
    assert all(unicodedata.is_normalized("NFC", lowercase(nfc(letter))) for letter in letters)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Well, who  is it?", "well who is it"),
        ("C'est ÇA !", "c'est ça"),
        ("Quoi ?", "Quoi?"),
        ("Quoi\u202f?", "quoi"),
        ("e\u0301te\u0301", "ÉTÉ."),
        ("Straße", "STRASSE"),
        ("soft\u00adhyphen and\u200b zero width", "softhyphen and zero width"),
        ("It costs $5", "it costs 5"),
        (" leading and trailing\t\n", "leading and\u2028trailing"),
    ],
)
def test_sentences_that_count_as_the_same(one: str, other: str) -> None:
    assert comparison_key(one) == comparison_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It is 5.", "It is 6."),
        ("a", "à"),
        ("un pas", "unpas"),
        ("?!", "!?"),
        ("", "?"),
        # A variation selector is no punctuation; alone it must not stand for every emoji.
        ("❤\ufe0f", "☀\ufe0f"),
    ],
)
def test_sentences_that_differ(one: str, other: str) -> None:
    assert comparison_key(one) != comparison_key(other)


@pytest.mark.parametrize("text", ["?!", "😀", "…", "❤\ufe0f", "\ue000"])
def test_a_text_without_letters_and_digits_is_its_own_key(text: str) -> None:
    assert comparison_key(f"  {text}\n") == text


@given(st.text())
def test_case_space_and_punctuation_never_count(text: str) -> None:
    key = comparison_key(text)
    assert key == comparison_key(f"  {text}\t")
    if any(character.isalnum() for character in key):
        assert key == comparison_key(f"{text}!")
        assert key == comparison_key("\u2028".join(text.split(" ")))
        assert not [c for c in key if unicodedata.category(c)[0] in "PS"]
        assert "  " not in key


@given(st.text())
def test_the_key_does_not_depend_on_the_form_of_unicode(text: str) -> None:
    assert comparison_key(unicodedata.normalize("NFD", text)) == comparison_key(text)


TYPOGRAPHIC = st.text(st.sampled_from("abé '\".«»‹›‘’“”„…\u00a0\u202f\u2009\u2011- "), max_size=20)


@given(TYPOGRAPHIC)
def test_plain_typography_is_that_of_a_keyboard(text: str) -> None:
    plain = plain_typography(text)
    assert set(plain) <= set("abé '\".-")
    assert plain_typography(plain) == plain
    assert has_typography(text) == (plain != text)


@given(TYPOGRAPHIC)
def test_every_plain_character_has_its_place(text: str) -> None:
    places = plain_typography_offsets(text)
    plain = plain_typography(text)
    assert len(places) == len(plain) + 1
    assert places == sorted(places)
    assert places[-1] == len(text)
    for character, place in zip(plain, places, strict=False):
        assert text[place] == character or has_typography(text[place : place + 2])


@given(st.text())
def test_without_accents_there_are_no_marks(text: str) -> None:
    bare = strip_accents(text)
    marks = [c for c in unicodedata.normalize("NFD", bare) if unicodedata.category(c) == "Mn"]
    assert not marks
    assert strip_accents(bare) == bare


def test_letters_lose_their_accents() -> None:
    assert strip_accents("Où êtes-vous, Éloïse ? Ça va, cœur.") == (
        "Ou etes-vous, Eloise ? Ca va, cœur."
    )
