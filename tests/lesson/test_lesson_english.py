"""English spelling: articles, plurals, verb forms, comparatives, numbers."""

from __future__ import annotations

import doctest

import pytest

from lesson import english
from lesson.english import (
    comparative,
    gerund,
    negated,
    number,
    participle,
    past,
    plural,
    possessive,
    spell,
    superlative,
    third,
)


def test_the_examples_in_the_documentation_hold() -> None:
    result = doctest.testmod(english)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(
    ("words", "spelled"),
    [
        ("a apple", "an apple"),
        ("a old house", "an old house"),
        ("a house", "a house"),
        ("a hour", "an hour"),
        ("a honest man", "an honest man"),
        ("a uniform", "a uniform"),
        ("a university", "a university"),
        ("a useful map", "a useful map"),
        ("a umbrella", "an umbrella"),
        ("a lot of apples", "a lot of apples"),
        ("half a", "half a"),
    ],
)
def test_a_or_an(words: str, spelled: str) -> None:
    assert spell(*words.split()) == spelled


@pytest.mark.parametrize(
    ("singular", "expected"),
    [
        ("mouse", "mice"),
        ("child", "children"),
        ("man", "men"),
        ("woman", "women"),
        ("foot", "feet"),
        ("tooth", "teeth"),
        ("goose", "geese"),
        ("wolf", "wolves"),
        ("knife", "knives"),
        ("leaf", "leaves"),
        ("shelf", "shelves"),
        ("sheep", "sheep"),
        ("fish", "fish"),
        ("potato", "potatoes"),
        ("piano", "pianos"),
        ("box", "boxes"),
        ("bus", "buses"),
        ("bench", "benches"),
        ("baby", "babies"),
        ("key", "keys"),
        ("police officer", "police officers"),
    ],
)
def test_plural(singular: str, expected: str) -> None:
    assert plural(singular) == expected


@pytest.mark.parametrize(
    ("base", "third_person", "simple_past", "past_participle", "ing"),
    [
        ("eat", "eats", "ate", "eaten", "eating"),
        ("chase", "chases", "chased", "chased", "chasing"),
        ("watch", "watches", "watched", "watched", "watching"),
        ("carry", "carries", "carried", "carried", "carrying"),
        ("play", "plays", "played", "played", "playing"),
        ("swim", "swims", "swam", "swum", "swimming"),
        ("put", "puts", "put", "put", "putting"),
        ("see", "sees", "saw", "seen", "seeing"),
        ("write", "writes", "wrote", "written", "writing"),
        ("go", "goes", "went", "gone", "going"),
        ("have", "has", "had", "had", "having"),
        ("travel", "travels", "traveled", "traveled", "traveling"),
        ("prefer", "prefers", "preferred", "preferred", "preferring"),
        ("set", "sets", "set", "set", "setting"),
        ("be", "is", "was", "been", "being"),
    ],
)
def test_verb_forms(
    base: str, third_person: str, simple_past: str, past_participle: str, ing: str
) -> None:
    forms = (third(base), past(base), participle(base), gerund(base))
    assert forms == (third_person, simple_past, past_participle, ing)


@pytest.mark.parametrize(
    ("adjective", "more", "most"),
    [
        ("big", "bigger", "biggest"),
        ("wide", "wider", "widest"),
        ("deep", "deeper", "deepest"),
        ("dry", "drier", "driest"),
        ("heavy", "heavier", "heaviest"),
        ("narrow", "narrower", "narrowest"),
        ("low", "lower", "lowest"),
        ("quiet", "quieter", "quietest"),
        ("good", "better", "best"),
        ("bad", "worse", "worst"),
        ("expensive", "more expensive", "most expensive"),
        ("boring", "more boring", "most boring"),
        ("useful", "more useful", "most useful"),
    ],
)
def test_comparison(adjective: str, more: str, most: str) -> None:
    assert (comparative(adjective), superlative(adjective)) == (more, most)


def test_not_is_contracted_wherever_english_does() -> None:
    assert [negated(word) for word in ("did", "is", "will", "can", "am", "must", "have")] == (
        ["didn't", "isn't", "won't", "can't", "am not", "mustn't", "haven't"]
    )


def test_possessives() -> None:
    assert possessive("Marie") == "Marie's"
    assert possessive("Louis") == "Louis's"
    assert possessive("my parents") == "my parents'"


def test_numbers() -> None:
    assert [number(n) for n in (0, 13, 40, 99, 100)] == (
        ["zero", "thirteen", "forty", "ninety-nine", "one hundred"]
    )
