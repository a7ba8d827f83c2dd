"""Where: places with the prepositions each language uses to be there and to go there."""

from __future__ import annotations

from typing import NamedTuple

from lesson import french
from lesson.lexicon import Noun
from lesson.nouns import NOUNS
from lesson.phrases import THE, Both, NounPhrase, noun_phrase
from lesson.tables import rows

# French preposition | English for rest | English for motion | nouns. A preposition that ends in a
# dash takes no article: "at- school".
_TABLE = """
à    | at  | to   |
    market, station, hospital, hotel, bank, post office, museum, library, restaurant, theater,
    cinema, airport, zoo, stadium, pool, farm, office, university, beach, bakery, pharmacy, harbor,
    castle, factory
à    | at- | to-  | school, church
à    | in  | to   | countryside, village
dans | in  | into |
    garden, park, forest, field, street, courtyard, kitchen, bedroom, living room, bathroom, cellar,
    attic, hallway, garage, sea, lake, river, pond, cave, store, tunnel, alley
sur  | in  | into | square
"""


class Place(NamedTuple):
    """A place, as one is there and as one goes there."""

    at: Both
    to: Both


def _place(noun: Noun, preposition: str, at: str, to: str) -> Place:
    phrase = noun_phrase(THE, noun, False)
    words = french.contract(preposition, phrase.french)
    return Place(Both(words, _with(at, phrase, noun)), Both(words, _with(to, phrase, noun)))


def _with(preposition: str, phrase: NounPhrase, noun: Noun) -> str:
    if preposition.endswith("-"):
        return f"{preposition[:-1]} {noun.english}"
    return f"{preposition} {phrase.english}"


PLACES: dict[str, Place] = {
    noun.english: _place(noun, preposition, at, to)
    for preposition, at, to, names in rows(_TABLE)
    for noun in NOUNS.among(names)
}

# Where a thing can be with regard to another.
BESIDE: tuple[Both, ...] = (
    Both("devant", "in front of"),
    Both("derrière", "behind"),
    Both("à côté de", "next to"),
    Both("près de", "near"),
)


def beside(relation: Both, phrase: NounPhrase) -> Both:
    """Return a position: ``à côté du mur`` – ``next to the wall``."""
    return Both(
        french.contract(relation.french, phrase.french), f"{relation.english} {phrase.english}"
    )
