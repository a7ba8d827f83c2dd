"""Placeholders in training pairs: both sides have the same ones, in places that fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.data.prepare.placeholders import PlaceholderInserter, WordLexicon
from translucid.text.placeholders import count_placeholders, is_intact
from translucid.text.tokenizer import PLACEHOLDERS

NOUNS = [("chat", "cat"), ("chien", "dog"), ("maison", "house"), ("table", "table")]
COLOURS = [("rouge", "red"), ("noir", "black"), ("grand", "big")]
VERBS = [("voit", "sees"), ("aime", "loves"), ("mange", "eats")]
PAIRS = [
    (f"Tom {v[0]} le {n[0]} {c[0]} de {m[0]} .", f"Tom {v[1]} the {c[1]} {n[1]} of {m[1]} .")
    for n in NOUNS
    for c in COLOURS
    for v in VERBS
    for m in [*NOUNS, ("Paris", "Paris")]
]


@pytest.fixture(scope="module")
def lexicon() -> WordLexicon:
    return WordLexicon.train(PAIRS)


def without(text: str) -> str:
    return "".join(character for character in text if character not in PLACEHOLDERS)


def test_a_share_of_the_pairs_gets_placeholders(lexicon: WordLexicon) -> None:
    for share, least, most in ((0.0, 0, 0), (0.3, 0.15, 0.45), (1.0, 1, 1)):
        insert = PlaceholderInserter.for_languages(lexicon, share, ("fr", "en"))
        made = [insert(pair) for pair in PAIRS]
        changed = [pair for pair in made if count_placeholders(pair[0])]
        assert least <= len(changed) / len(PAIRS) <= most
        assert all(is_intact(*pair) for pair in made)
        assert made == [insert(pair) for pair in PAIRS]


def test_tags_stand_around_words_that_translate_each_other(lexicon: WordLexicon) -> None:
    """Each word of this language has one translation, so what is inside can be checked."""
    meaning = {**dict(NOUNS), **dict(COLOURS), **dict(VERBS), "Tom": "Tom", "le": "the"}
    meaning |= {"de": "of", "Paris": "Paris", ".": "."}
    insert = PlaceholderInserter.for_languages(lexicon, 1.0, ("fr", "en"))
    opening, checked = PLACEHOLDERS[8:16], 0
    for source, target in map(insert, PAIRS):
        for begin in set(opening) & set(source):
            end = PLACEHOLDERS[PLACEHOLDERS.index(begin) + 8]
            inside = [without(t[t.index(begin) : t.index(end)]).split() for t in (source, target)]
            assert sorted(meaning[word] for word in inside[0]) == sorted(inside[1])
            checked += 1
    assert checked > len(PAIRS) / 5


def test_the_same_span_on_both_sides_becomes_one_placeholder(lexicon: WordLexicon) -> None:
    insert = PlaceholderInserter.for_languages(lexicon, 0.0, ("fr", "en"))
    source, target = insert(("Voir https://a.b/c : 1 234,5 €", "See https://a.b/c: €1,234.5"))
    assert without(source) == "Voir  :  "
    assert without(target) == "See : "
    assert is_intact(source, target)
    other = ("Voir https://a.b/c", "See https://a.b/d")
    assert insert(other) == other


@given(source=st.text(max_size=40), target=st.text(max_size=40))
def test_any_pair_can_be_given(lexicon: WordLexicon, source: str, target: str) -> None:
    insert = PlaceholderInserter.for_languages(lexicon, 1.0, ("fr", "en"))
    pair = (source.replace("\ud800", ""), target)
    if not any("\ud800" <= character <= "\udfff" for text in pair for character in text):
        assert is_intact(*insert(pair)) or count_placeholders(source + target)


def test_a_saved_lexicon_is_the_same(lexicon: WordLexicon, tmp_path: Path) -> None:
    lexicon.save(tmp_path / "lexicon.npz")
    again = WordLexicon.load(tmp_path / "lexicon.npz")
    inserters = [
        PlaceholderInserter.for_languages(one, 1.0, ("fr", "en")) for one in (lexicon, again)
    ]
    assert [inserters[0](pair) for pair in PAIRS] == [inserters[1](pair) for pair in PAIRS]


def test_a_lexicon_of_nothing_links_nothing() -> None:
    insert = PlaceholderInserter.for_languages(WordLexicon.train([]), 1.0, ("fr", "en"))
    assert is_intact(*insert(("le chat", "the cat")))
