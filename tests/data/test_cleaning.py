"""Repairs and filters: each by hand, and what must hold of them on any text."""

from __future__ import annotations

import sys
import unicodedata

import ftfy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.data.cleaning import (
    Cleaner,
    CleaningConfig,
    Reason,
    Repair,
    Sides,
    enabled_steps,
    join_surrogates,
    make_encoding_repair,
    make_language_filter,
    needs_no_repair,
    refuse_damaged,
    refuse_empty,
    refuse_identical,
    refuse_long,
    refuse_markup,
    refuse_ratio,
    strip_control,
    tidy_whitespace,
)
from translucid.errors import ConfigError, InputError, MissingPackageError
from translucid.text.normalization import lowercase, nfc

NO_ENCODING = CleaningConfig(repair_encoding=False)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)  # surrogates too


def mojibake(text: str) -> str:
    """Read UTF-8 as Windows-1252, which is how most broken text comes to be."""
    return text.encode("utf-8", "replace").decode("cp1252", "ignore")


# ---- repairs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "sound"),
    [
        ("dÃ©jÃ\xa0 vu", "déjà vu"),
        ("lâ€™Ã©tÃ©", "l’été"),
        ("ÐŸÑ€Ð¸Ð²ÐµÑ‚", "Привет"),
        ("It\x92s", "It’s"),
        ("œuvre, cœur, Œ", "œuvre, cœur, Œ"),
        ("l’été à Noël – 5 €", "l’été à Noël – 5 €"),
        ("plain", "plain"),
    ],
)
def test_encoding_is_repaired(broken: str, sound: str) -> None:
    assert make_encoding_repair()(broken) == sound


@given(
    st.one_of(ANY_TEXT, st.text(max_size=20).map(mojibake), st.text("ÃÂâ€œœ Ž°éà²a", max_size=8))
)
def test_the_quick_check_never_hides_text_that_ftfy_would_repair(text: str) -> None:
    assert make_encoding_repair()(text) == ftfy.fix_encoding(text)


def test_control_characters_go_and_separators_become_spaces() -> None:
    assert strip_control("a\x00b\u200bc\ufeffd\u00ade\u202ef\ufdd0") == "abcdef"
    assert strip_control("a\tb\u2028c\x85d\re\x1ff") == "a b c d e f"
    assert strip_control("می\u200cخواهم 👩\u200d💻") == "می\u200cخواهم 👩\u200d💻"


def test_whitespace_is_one_plain_space() -> None:
    assert tidy_whitespace(" \u00a0Bonjour\u202f! \u3000 Ça\u2003va ") == "Bonjour ! Ça va"


def test_halves_of_surrogate_pairs_are_joined_or_replaced() -> None:
    assert join_surrogates("\ud83d\ude00 ok") == "😀 ok"
    assert join_surrogates("a\ud83db") == "a\ufffdb"


@given(ANY_TEXT)
def test_repaired_text_is_clean_and_stays_as_it_is(text: str) -> None:
    cleaner = Cleaner(NO_ENCODING, "fr", "en")
    once = cleaner.repair(Sides(text, "x")).sides
    assert cleaner.repair(once).sides == once
    assert unicodedata.is_normalized("NFC", once.source)
    assert once.source == " ".join(once.source.split())
    assert not {unicodedata.category(c) for c in once.source} & {"Cc", "Cs", "Zl", "Zp"}
    once.source.encode()


@given(st.one_of(ANY_TEXT, st.text("é a\u0301e  ÃÂœ\u00a0", max_size=6)))
def test_what_is_sound_would_not_be_changed_by_any_repair(text: str) -> None:
    if needs_no_repair(text):
        repairs = (join_surrogates, make_encoding_repair(), strip_control, tidy_whitespace, nfc)
        assert [repair(text) for repair in repairs] == [text] * 5


def test_repairs_are_named_and_the_last_state_is_given() -> None:
    cleaned = Cleaner(CleaningConfig(), "fr", "en").clean(Sides(" dÃ©jÃ\xa0\u200b vu", "e\u0301"))
    assert cleaned.sides == Sides("déjà vu", "é")
    assert cleaned.reason is None
    assert cleaned.repairs == (
        Repair.ENCODING,
        Repair.CONTROL,
        Repair.WHITESPACE,
        Repair.COMPOSED,
    )


def test_lower_case_is_asked_for_and_named() -> None:
    sides = Sides("Ein Mann", "a man")
    asked = Cleaner(CleaningConfig(lowercase=True), "de", "en").clean(sides)
    assert asked == (Sides("ein mann", "a man"), (Repair.LOWER_CASED,), None)
    assert Cleaner(CleaningConfig(), "de", "en").clean(sides) == (sides, (), None)


@pytest.mark.parametrize("text", ["Ϊ\u0301", "J\u030c", "I\u0307zmir", "E\u0301TE\u0301", "ΟΔΟΣ"])
def test_training_text_in_lower_case_is_what_a_model_reads(text: str) -> None:
    cleaned = Cleaner(CleaningConfig(lowercase=True), "el", "en").repair(Sides(text, "x"))
    assert cleaned.sides.source == lowercase(nfc(text))


def test_an_accent_behind_an_invisible_character_is_composed() -> None:
    assert Cleaner(NO_ENCODING, "fr", "en").repair(Sides("e\u200b\u0301", "")).sides.source == "é"


# ---- filters ------------------------------------------------------------------------------------


def check(verdict: Sides | Reason, sides: Sides, reason: Reason | None) -> None:
    assert verdict is sides if reason is None else verdict is reason


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [("", "a", Reason.EMPTY), ("a", " ", Reason.EMPTY), ("a", "b", None)],
)
def test_empty_side(source: str, target: str, reason: Reason | None) -> None:
    check(refuse_empty(sides := Sides(source, target)), sides, reason)


def test_lost_characters() -> None:
    check(refuse_damaged(sides := Sides("a", "b\ufffd")), sides, Reason.DAMAGED)
    check(refuse_damaged(sides := Sides("a", "b")), sides, None)


@pytest.mark.parametrize(
    ("source", "characters", "words", "reason"),
    [
        ("abcde", 5, 0, None),
        ("abcdef", 5, 0, Reason.TOO_LONG),
        ("a b c", 0, 3, None),
        ("a b c d", 0, 3, Reason.TOO_LONG),
        ("abcdefgh", 0, 1, None),
        ("a b c d" * 100, 0, 0, None),
    ],
)
def test_length(source: str, characters: int, words: int, reason: Reason | None) -> None:
    sides = Sides(source, "x")
    check(refuse_long(sides, characters=characters, words=words), sides, reason)
    swapped = Sides("x", source)
    check(refuse_long(swapped, characters=characters, words=words), swapped, reason)


@pytest.mark.parametrize(
    ("longer", "shorter", "reason"),
    [
        (45, 0, None),
        (46, 0, Reason.RATIO),
        (105, 15, Reason.RATIO),
        (104, 15, Reason.RATIO),
        (75, 15, None),
    ],
)
def test_ratio_adds_fifteen_to_both_sides(longer: int, shorter: int, reason: Reason | None) -> None:
    for sides in (Sides("a" * longer, "b" * shorter), Sides("b" * shorter, "a" * longer)):
        check(refuse_ratio(sides, ratio=4.0 if shorter == 0 else 3.0), sides, reason)


def test_identical_sides() -> None:
    check(refuse_identical(sides := Sides("Tom", "TOM")), sides, Reason.IDENTICAL)
    check(refuse_identical(sides := Sides("Tom.", "Tom")), sides, None)


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("le <b>chat</b> noir", "the <b>black cat</b> sleeps", None),
        ("le <b>chat</b> noir", "the black cat", Reason.MARKUP),
        ('voir <a href="fr.html">la page</a> ici', 'see <a href="en.html">the page</a> here', None),
        ("une ligne<br/>deux lignes", "a line<br>two lines", None),
        ("Tom &amp; Jerry", "Tom & Jerry", Reason.MARKUP),
        ("Tom &amp; Jerry sont là", "Tom &amp; Jerry are here", None),
        ("%d fichiers dans {folder}", "%d files in {folder}", None),
        ("%d fichiers dans {folder}", "{folder} holds %d files", None),
        ("%d fichiers", "%s files", Reason.MARKUP),
        ("%(name)s est parti", "he has left", Reason.MARKUP),
        ("100 % des gens", "100% discount for 5 < 6 > 3", None),
        ("20%discount now", "20 % de remise", None),
        ("cela coûte 1 $", "it costs $1", None),
        ("<td><tr><td>a", "<td><tr><td>b", Reason.MARKUP),
        ("{name}: %s", "{name} = %s", Reason.MARKUP),
        ("<b>OK</b>", "<b>D'accord</b>", None),
        ("si a < b et c > d", "if a < b and c > d", None),
    ],
)
def test_markup(source: str, target: str, reason: Reason | None) -> None:
    check(refuse_markup(sides := Sides(source, target)), sides, reason)


def test_wrong_language() -> None:
    judge = make_language_filter("fr-CA", "en")
    french, english = "Où se trouve la gare la plus proche ?", "Where is the nearest station?"
    check(judge(sides := Sides(french, english)), sides, None)
    check(judge(sides := Sides(english, french)), sides, Reason.LANGUAGE)
    check(judge(sides := Sides(french, "Wo ist der nächste Bahnhof?")), sides, Reason.LANGUAGE)
    check(judge(sides := Sides("Tom ?", "Tom!")), sides, None)  # too short to tell


def test_a_language_that_cannot_be_recognised_is_refused() -> None:
    with pytest.raises(InputError, match=r"cannot recognise 'tlh'; it knows .*\bfr\b"):
        make_language_filter("tlh", "en")


# ---- all together -------------------------------------------------------------------------------

REMOVED_BY = {
    "drop_damaged": Sides("a\ufffd b c d", "e f g h"),
    "drop_empty": Sides("", "a"),
    "max_characters": Sides("a" * 1001, "b" * 1001),
    "max_words": Sides("a " * 201, "b " * 201),
    "max_ratio": Sides("a" * 200, "b"),
    "drop_identical": Sides("abc", "abc"),
    "drop_markup": Sides("<b>abc def ghi</b>", "xyz abc def"),
}


@pytest.mark.parametrize("name", REMOVED_BY)
def test_every_filter_has_a_switch(name: str) -> None:
    cleaner = Cleaner(CleaningConfig(), "fr", "en")
    assert cleaner.clean(REMOVED_BY[name]).reason is not None
    off = CleaningConfig(**{name: 0 if name.startswith("max") else False})
    assert Cleaner(off, "fr", "en").clean(REMOVED_BY[name]).reason is None


def test_the_language_check_is_off_unless_wanted() -> None:
    german = Sides("Wo ist denn der nächste Bahnhof?", "Where is the nearest station?")
    assert Cleaner(CleaningConfig(), "fr", "en").clean(german).reason is None
    wanted = Cleaner(CleaningConfig(check_language=True), "fr", "en")
    assert wanted.clean(german).reason is Reason.LANGUAGE


def test_every_repair_and_reason_has_a_heading_and_a_switch() -> None:
    assert all(step.heading for step in (*Repair, *Reason))
    assert set(enabled_steps(CleaningConfig())) == {*Repair, *Reason}


def test_given_sets_are_repaired_but_never_judged() -> None:
    cleaned = Cleaner(CleaningConfig(), "fr", "en").repair(Sides(" ", "a" * 5000))
    assert (cleaned.sides, cleaned.reason) == (Sides("", "a" * 5000), None)


@pytest.mark.parametrize(
    ("package", "config", "switch"),
    [
        ("ftfy", CleaningConfig(), "--no-repair-encoding"),
        (
            "py3langid",
            CleaningConfig(repair_encoding=False, check_language=True),
            "--check-language",
        ),
    ],
)
def test_a_missing_package_names_the_switch_and_the_remedy(
    package: str, config: CleaningConfig, switch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # what Python itself has for "not there"
    with pytest.raises(MissingPackageError, match=rf"(?s){switch}.*{package}.*translucid\[data\]"):
        Cleaner(config, "fr", "en")
    Cleaner(NO_ENCODING, "fr", "en")


def test_bad_limits_are_refused_together() -> None:
    with pytest.raises(ConfigError, match=r"(?s)2 faults.*max_words.*max_ratio"):
        CleaningConfig(max_words=-1, max_ratio=-2.0)
