"""Language codes: which found code is of which wanted language."""

from __future__ import annotations

import re

import pytest

from translucid.errors import InputError
from translucid.text import languages
from translucid.text.languages import (
    are_compatible,
    check_languages,
    find_side,
    find_sides,
    is_code,
    matches,
    parse_code,
)


@pytest.mark.parametrize(
    "found", ["fr", "FR", "fr-FR", "FR_ca", "fr_FR.UTF-8", "fr_FR.UTF-8@euro", "fra", "fre", " fr "]
)
def test_a_language_takes_every_region_spelling_and_length(found: str) -> None:
    assert matches("fr", found)
    assert matches("fra", found)
    assert not matches("en", found)


def test_a_region_takes_only_what_says_so() -> None:
    assert matches("fr-CA", "FR_ca")
    assert matches("zh-TW", "zh-Hant-TW")
    assert not matches("fr-CA", "fr")
    assert not matches("fr-CA", "fr-FR")
    assert not matches("fr", "frr")  # North Frisian


def test_subtags_of_a_posix_locale() -> None:
    assert parse_code("sr_RS.UTF-8@latin") == ("sr", "rs", "latin")


def test_the_table_of_codes_is_one_to_one_on_its_short_side() -> None:
    entries = [entry.split() for entry in languages._ISO_639.split(";")]
    short = [entry[0] for entry in entries]
    long = [code for entry in entries for code in entry[1:]]
    assert len(short) == len(set(short)) == 184
    assert len(long) == len(set(long)) == 204  # twenty languages have a bibliographic code as well
    assert all(re.fullmatch("[a-z]{2}", code) for code in short)
    assert all(re.fullmatch("[a-z]{3}", code) for code in long)


@pytest.mark.parametrize("code", ["french", "f", "", "fr en", "fr-", "../x"])
def test_what_is_no_code_is_refused(code: str) -> None:
    assert not is_code(code)
    with pytest.raises(InputError, match="is not a language code: give two or three letters"):
        check_languages(code, "en")
    with pytest.raises(InputError, match="is not a language code"):
        check_languages("fr", code)


@pytest.mark.parametrize(("source", "target"), [("fr", "fr"), ("fr", "fra"), ("en", "en-GB")])
def test_languages_that_cannot_be_told_apart_are_refused(source: str, target: str) -> None:
    with pytest.raises(InputError, match=r"cannot be told apart: give two languages, or both"):
        check_languages(source, target)
    with pytest.raises(InputError, match="cannot be told apart"):
        check_languages(target, source)


def test_two_regions_of_one_language_are_fine() -> None:
    check_languages("pt-BR", "pt-PT")
    assert find_side("pt-PT", ("pt-BR", "pt-PT")) == 1


def test_sides_by_language_or_by_word() -> None:
    assert [find_side(name, ("fr", "en")) for name in ("fr-FR", "ENG", "src", "Target", "x")] == [
        *(0, 1, 0, 1, None)
    ]


def test_a_name_may_leave_the_region_out() -> None:
    assert find_side("pt", ("en", "pt-BR")) == 1
    assert find_side("por", ("en", "pt-BR")) == 1
    assert find_side("pt", ("pt-PT", "pt-BR")) is None
    assert find_side("pt-PT", ("en", "pt-BR")) is None
    assert are_compatible("pt", "pt-BR")
    assert are_compatible("pt-BR", "pt")
    assert not are_compatible("pt-BR", "pt-PT")


def test_the_very_code_wins_over_a_region_and_that_over_a_word() -> None:
    assert find_sides(("source", "fr-CA", "fr", "target", "en-GB"), ("fr", "en")) == (2, 4)
    assert find_sides(("target", "source"), ("fr", "en")) == (1, 0)
    assert find_sides(("fr", "de"), ("fr", "en")) is None
