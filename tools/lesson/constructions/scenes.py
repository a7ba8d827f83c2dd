"""Scenes of two nouns in which *it* may be either; see `resolving` for the sentences.

Each scene lists what may be said of the first noun and what of the second, so that the predicate
alone tells which of them a pronoun means: a tired animal, a wide street.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from lesson.french import Gender
from lesson.lexicon import Adjective, Noun, Verb
from lesson.nouns import NOUNS
from lesson.phrases import Both, adjective
from lesson.tables import rows
from lesson.verbs import verb, verbs

Reason = Adjective | Verb
Gendered = Mapping[Gender, tuple[Noun, ...]]


class Scene(NamedTuple):
    """Two nouns, what happens or does not happen between them, and what may be said of each.

    It is `willed` where the first is an animal, which can want it.
    """

    verb: Verb
    preposition: Both
    happens: bool
    willed: bool
    firsts: Gendered
    seconds: Gendered
    why_first: Mapping[str, tuple[Reason, ...]]
    why_second: Mapping[str, tuple[Reason, ...]]


# French verb | English verb | does it happen? | the first nouns | why, because of the first |
# why, because of the second, and of which nouns that can be said.
_TABLE = """
traverser | cross | no | walkers, animal |
    tired; weak; sick; injured; lazy; shy; nervous; be afraid; be sleepy |
    wide: street, road, avenue, square, river, boulevard, canal, track, field, desert;
    long: bridge, tunnel, footbridge, street, avenue, track, beach, hallway;
    dark: forest, tunnel, alley, park, courtyard, garden, hallway;
    muddy: path, field, trail, courtyard, track, garden, road;
    slippery: bridge, road, street, footbridge, trail, square, track;
    deep: river, stream, lake, canal, pond, valley, ditch;
    dangerous: road, highway, river, bridge, avenue, boulevard, desert, forest;
    noisy: street, avenue, boulevard, square, highway, park;
    flooded: road, field, street, courtyard, tunnel, path, square;
    narrow: bridge, footbridge, trail, tunnel, alley, path
traverser | cross | yes | walkers, animal |
    be hungry; be thirsty; brave; curious; fast; strong |
    narrow: street, stream, river, path, canal, alley;
    short: street, bridge, tunnel, trail, footbridge, avenue;
    quiet: street, square, park, courtyard, avenue, boulevard;
    empty: street, square, park, courtyard, avenue, boulevard, field;
    dry: path, field, stream, road, trail, track;
    frozen: lake, river, pond, canal, stream;
    safe: bridge, road, street, path, footbridge, square, park
entrer dans | enter | no | walkers, animal |
    big; shy; nervous; tired; careful; be afraid |
    dark: cave, tunnel, forest, cellar, garage, church, attic, hallway, alley;
    small: cave, garage, kitchen, garden, house, church, store, office;
    noisy: store, factory, restaurant, kitchen, garage, theater, school;
    flooded: cellar, garden, tunnel, garage, cave, field, kitchen;
    closed: garage, church, castle, school, park, garden, station;
    dirty: kitchen, garage, cellar, bathroom, house, attic
entrer dans | enter | yes | walkers, animal |
    tired; curious; brave; be hungry; be thirsty; be afraid |
    open: house, garage, church, castle, kitchen, store, garden, school;
    empty: house, church, castle, kitchen, garden, school, hotel, cave, park;
    quiet: garden, park, church, forest, library, courtyard
escalader | climb | no | walkers, animal |
    tired; weak; lazy; injured; sick; fat; be afraid |
    high: wall, fence, tower, mountain, tree, roof;
    steep: hill, mountain, roof;
    slippery: wall, roof, hill, fence, tower
sauter par-dessus | jump over | no | walkers, animal |
    tired; weak; lazy; injured; sick; fat; young; be sleepy |
    high: wall, hedge, fence, bench;
    wide: ditch, stream, hedge, pond, canal, wall;
    deep: ditch, stream, pond, canal
manger | eat | no |
    pets, livestock, animal, bear, fox, rat, mouse, monkey, otter, weasel, hedgehog |
    sick; tired; nervous; be sleepy; be afraid |
    hot: soup, pie, pancake, meat, egg, omelet, fish, chicken;
    cold: soup, meat, omelet, rice, chicken;
    hard: bread, cheese, cookie, cake, carrot, apple, pear;
    salty: soup, meat, fish, cheese, omelet, chicken, rice;
    rotten: fish, apple, meat, egg, pear, carrot, cabbage, melon, banana;
    bitter: chocolate, salad, lemon, orange;
    raw: meat, fish, potato, egg, chicken
manger | eat | yes |
    pets, livestock, animal, bear, fox, rat, mouse, monkey, otter, weasel, hedgehog |
    curious; be hungry |
    fresh: fish, bread, meat, egg, cheese, salad, carrot, cabbage, apple;
    sweet: cake, pie, cookie, melon, pear, strawberry, peach;
    ripe: apple, pear, banana, cherry, peach, melon, tomato;
    delicious: cake, soup, pie, cheese, omelet, meat, pancake, sandwich, chicken
boire | drink | no |
    pets, livestock, animal, bear, fox, rat, mouse, monkey, otter, weasel, deer, doe |
    sick; tired; nervous; be afraid; be sleepy |
    hot: water, milk, soup, tea;
    cold: water, milk, soup, tea;
    salty: water, soup;
    bitter: tea, coffee, lemonade;
    dirty: water
tenir dans | fit in | no |
    trophy, book, vase, helmet, umbrella, ball, computer, hat, rug, mirror, coat, violin, gift,
    pillow, painting, toy, notebook, lamp, guitar, statue, bottle, blanket, racket, doll, clock,
    machine, dress, teapot, radio, jacket, flute, plate, rope, camera |
    big; wide;
    long: umbrella, rug, coat, violin, guitar, racket, dress, flute, rope, ladder, scarf;
    thick: book, rug, coat, pillow, blanket, jacket, notebook, mirror |
    small: bag, drawer, basket, chest, cupboard, backpack, bucket, suitcase, box, crate, trunk;
    narrow: bag, drawer, basket, chest, cupboard, suitcase, box, crate, trunk, wardrobe;
    full: bag, drawer, basket, chest, cupboard, backpack, bucket, suitcase, box, crate, wardrobe
casser | break | yes | ball, stone, hammer, bottle, helmet, bike, chair, ladder, racket, statue |
    heavy; hard |
    fragile: window, mirror, vase, cup, plate, glass, lamp, bowl, teapot, carafe, toy, doll;
    thin: window, mirror, vase, cup, plate, glass, door, bowl
passer par | go through | no | truck, bus, tractor, taxi, car, van, trailer, cart, ambulance |
    wide; high; big; long |
    narrow: tunnel, alley, street, path, courtyard, trail;
    low: tunnel, door, garage;
    closed: tunnel, street, garage, alley, courtyard, park;
    flooded: tunnel, alley, street, path, courtyard, field;
    muddy: path, field, trail, courtyard, track
passer sous | go under | no | truck, bus, tractor, boat, train, car, van, trailer, cart, ambulance |
    high; big; wide |
    low: bridge, footbridge, tree, arch, branch;
    narrow: bridge, footbridge, arch
traverser | cross | no | truck, bus, tractor, taxi, car, van, trailer, cart, ambulance |
    heavy; big; wide |
    narrow: bridge, footbridge, path, alley, trail;
    slippery: bridge, footbridge, road, square, track;
    muddy: path, field, trail, courtyard, track, road;
    flooded: road, field, street, square, courtyard, tunnel;
    deep: river, stream, canal, ditch, pond;
    closed: bridge, road, street, square, tunnel, avenue
attraper | catch | no | stalkers |
    slow; tired; old; lazy; sick; injured; fat; weak |
    fast: small prey, spider, bee, bat, crow;
    intelligent: small prey, crow;
    careful: small prey, crow, spider
attraper | catch | no | predators |
    slow; tired; old; lazy; sick; injured; weak |
    fast: large prey, monkey, horse, mare;
    intelligent: large prey, monkey, goat;
    careful: large prey, monkey, mare
attraper | catch | yes | stalkers |
    fast; strong; intelligent; be hungry |
    slow: small prey, snail, spider;
    tired: small prey, crow, bat;
    injured: small prey, crow, bat;
    weak: small prey, crow, bat
attraper | catch | yes | predators |
    fast; strong; intelligent; be hungry |
    slow: large prey, cow, mule, donkey;
    tired: large prey, horse, mare, mule;
    injured: large prey, horse, mare, cow;
    sick: large prey, cow, pig, mule
suivre | follow | no | walkers, animal |
    tired; lazy; sick; injured; be sleepy |
    dark: path, trail, alley, street;
    muddy: path, trail, road, track;
    steep: path, trail, road, track, street;
    long: river, path, trail, road, avenue, street, canal;
    dangerous: river, road, trail, path, highway
"""
FEELINGS = {
    entry.english: entry
    for entry in verbs("""
        avoir faim    | be hungry
        avoir soif    | be thirsty
        avoir peur    | be afraid
        avoir sommeil | be sleepy
    """)
}


def _scene(row: list[str]) -> Scene:
    words, meaning, happens, firsts, because_first, because_second = row
    head, _, preposition = words.partition(" ")
    why_first = _reasons(because_first, firsts)
    why_second = _reasons(because_second, "")
    return Scene(
        verb(head, meaning),
        Both(preposition, ""),
        happens == "yes",
        all("animals" in NOUNS[name].classes for name in why_first),
        by_gender(why_first),
        by_gender(why_second),
        why_first,
        why_second,
    )


def _reasons(text: str, everything: str) -> dict[str, tuple[Reason, ...]]:
    """Read ``tired; wide: street, road`` into the reasons that each noun can be."""
    reasons: dict[str, tuple[Reason, ...]] = {}
    for entry in text.split(";"):
        name, _, listed = (part.strip() for part in entry.partition(":"))
        reason = FEELINGS.get(name) or adjective(name)
        for noun in NOUNS.among(listed or everything):
            reasons[noun.english] = (*reasons.get(noun.english, ()), reason)
    return reasons


def by_gender(listed: Iterable[str]) -> Gendered:
    """Sort nouns, given by name, by French gender."""
    nouns = [NOUNS[name] for name in listed]
    return {
        "m": tuple(noun for noun in nouns if noun.gender == "m"),
        "f": tuple(noun for noun in nouns if noun.gender == "f"),
    }


SCENES: tuple[Scene, ...] = tuple(_scene(row) for row in rows(_TABLE))
