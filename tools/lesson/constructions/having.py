"""What there is and what one has: possession, quantities, places of things, needs."""

from __future__ import annotations

from lesson import english, french
from lesson.cast import OWNERS, described, named, someone
from lesson.clauses import NOT, Tense, deny, do, say, statement, together
from lesson.dice import Dice
from lesson.lexicon import Noun
from lesson.nouns import NOUNS
from lesson.phrases import (
    A_LOT_OF,
    ENOUGH,
    GENERIC,
    NO,
    NO_BARE,
    SEVERAL,
    SOME,
    THE,
    THIS,
    TOO_MUCH,
    A,
    Both,
    NounPhrase,
    noun_phrase,
    number,
)
from lesson.places import BESIDE, PLACES, beside
from lesson.verbs import BE, HAVE, verb

_HAD = NOUNS.among(
    "brother, sister, son, daughter, cousin, uncle, aunt, friend, pets, horse, donkey, cow, goat, "
    "car, bike, boat, motorcycle, truck, house, apartment, garden, instruments, computer, camera, "
    "watch, umbrella, coat, hat, suitcase, bag, book, idea, question, problem, answer, secret, "
    "dream, ticket, key, map, table, lamp, armchair, money, exam, lesson, toy, doll, ball, ladder"
)


def having(dice: Dice) -> Both:
    """``J'ai deux frères.``, ``Elle n'a pas de voiture.``"""
    subject = someone(dice)
    noun = dice.word(_HAD)
    tense = dice.one((Tense.PRESENT, Tense.PRESENT, Tense.STATE))
    if dice.chance(0.3):
        thing = noun_phrase(NO, noun, noun.countable and dice.chance(0.25))
        return statement(deny(subject, do(HAVE, thing.both), tense, NOT))
    if "mass" in noun.classes:
        determiner = dice.one((SOME, A_LOT_OF, ENOUGH))
    else:
        determiner = dice.one((A, A, A, number(dice.one(range(2, 8))), SEVERAL, A_LOT_OF))
    if "relatives" in noun.classes:
        determiner = dice.one((A, number(dice.one(range(2, 6)))))
    plural = noun.countable and determiner is not A
    thing = noun_phrase(determiner, noun, plural, *described(dice, noun, 0.3))
    return statement(say(subject, do(HAVE, thing.both), tense))


_SURFACES = NOUNS.among("table, chair, bed, shelf, rug, couch, armchair, bench")
_INSIDES = NOUNS.among(
    "bag, suitcase, box, basket, drawer, cupboard, trunk, crate, backpack, chest"
)
_LANDMARKS = NOUNS.among(
    "house, school, church, hotel, hospital, museum, store, station, bank, tree, wall, hedge, "
    "fence, door, window, river, lake, bridge, castle, bakery, theater, statue, tower, farm"
)
_ROOMS = NOUNS.among("kitchen, bedroom, living room, bathroom, cellar, attic, hallway")
_YARDS = NOUNS.among("garden, park, field, courtyard, street, forest")
_ON_TOP = NOUNS.among("fruits, belongings, texts, tableware, cake, egg, toy, doll, candle, cat")
_INSIDE = NOUNS.among("belongings, texts, fruits, clothes, toy, doll, candle")
_STANDING = NOUNS.among(
    "people, trades, pets, livestock, fox, tree, flower, bench, statue, car, truck, bike, bus"
)
_INDOORS = NOUNS.among("furniture, belongings, people, pets, mouse, spider, fly, bottle, box, toy")
_OUTDOORS = NOUNS.among(
    "pets, livestock, fox, hedgehog, squirrel, deer, frog, bird, tree, flower, bench, people, "
    "car, bike, statue, ball"
)


def _somewhere(dice: Dice) -> tuple[Both, tuple[Noun, ...]]:
    """Return a position and what can be there."""
    where = dice.one(("on", "under", "in", "beside", "beside", "indoors", "outdoors"))
    if where == "on":
        return beside(Both("sur", "on"), _the(dice, _SURFACES)), _ON_TOP
    if where == "under":
        return beside(Both("sous", "under"), _the(dice, _SURFACES[:3])), _ON_TOP
    if where == "in":
        return beside(Both("dans", "in"), _the(dice, _INSIDES)), _INSIDE
    if where == "beside":
        return beside(dice.one(BESIDE), _the(dice, _LANDMARKS)), _STANDING
    if where == "indoors":
        return PLACES[dice.word(_ROOMS).english].at, _INDOORS
    return PLACES[dice.word(_YARDS).english].at, _OUTDOORS


def _the(dice: Dice, nouns: tuple[Noun, ...]) -> NounPhrase:
    return noun_phrase(THE, dice.word(nouns), False)


_THERE = {
    Tense.PRESENT: (Both("il y a", "is are"), Both("il n'y a pas", "isn't aren't")),
    Tense.STATE: (Both("il y avait", "was were"), Both("il n'y avait pas", "wasn't weren't")),
}


def there_is(dice: Dice) -> Both:
    """``Il y a un chat sous la table.`` – ``There is a cat under the table.``"""
    place, options = _somewhere(dice)
    noun = dice.word(options)
    several, negative = dice.chance(0.45), dice.chance(0.25)
    if negative:
        thing = noun_phrase(NO, noun, several)
    else:
        many = dice.one((A, number(dice.one(range(2, 11))), SEVERAL, A_LOT_OF, TOO_MUCH))
        thing = noun_phrase(many if several else A, noun, several, *described(dice, noun, 0.3))
    opening = _THERE[dice.one((Tense.PRESENT, Tense.PRESENT, Tense.STATE))][negative]
    there = Both(opening.french, f"there {opening.english.split()[several]}")
    return statement(together(there, thing.both, place))


def where_it_is(dice: Dice) -> Both:
    """``Les clés sont sur la table.``"""
    place, options = _somewhere(dice)
    noun = dice.word(options)
    mine = bool(noun.classes & {"belongings", "pets", "clothes", "texts"})
    determiner = dice.one((THE, dice.one(OWNERS))) if mine else THE
    subject = noun_phrase(determiner, noun, "pairs" in noun.classes or dice.chance(0.3))
    tense = dice.one((Tense.PRESENT, Tense.PRESENT, Tense.STATE))
    if dice.chance(0.25):
        return statement(deny(subject, do(BE, place), tense, NOT))
    return statement(say(subject, do(BE, place), tense))


_MINE = (
    Both("à moi", "mine"),
    Both("à vous", "yours"),
    Both("à nous", "ours"),
    Both("à lui", "his"),
    Both("à elle", "hers"),
    Both("à eux", "theirs"),
)
_OWNABLE = NOUNS.among(
    "belongings, pets, car, bike, boat, truck, motorcycle, tractor, clothes, jewels, house, "
    "garden, horse, toy, doll"
)


def whose(dice: Dice) -> Both:
    """``Ce chapeau est à moi.`` – ``This hat is mine.``"""
    noun = dice.word(_OWNABLE)
    plural = "pairs" in noun.classes or dice.chance(0.3)
    subject = noun_phrase(THIS, noun, plural, *described(dice, noun, 0.3))
    name = named(dice)
    owner = dice.one((*_MINE, Both(f"à {name.french}", english.possessive(name.english))))
    if dice.chance(0.3):
        return statement(deny(subject, do(BE, owner), Tense.PRESENT, NOT))
    return statement(say(subject, do(BE, owner), Tense.PRESENT))


_MEASURES = (
    (
        Both("un kilo de", "a kilo of"),
        "apple, pear, cherry, carrot, potato, tomato, onion, strawberry",
    ),
    (Both("un panier de", "a basket of"), "apple, pear, cherry, strawberry, mushroom, peach, egg"),
    (Both("une bouteille de", "a bottle of"), "milk, wine, water, beer, lemonade, orange juice"),
    (Both("un verre de", "a glass of"), "milk, wine, water, lemonade, orange juice"),
    (Both("une tasse de", "a cup of"), "coffee, tea, chocolate, milk"),
    (Both("un morceau de", "a piece of"), "cheese, cake, chocolate, meat, bread, pie"),
    (Both("un bol de", "a bowl of"), "soup, rice, milk, cherry, strawberry, salad"),
    (Both("un pot de", "a jar of"), "jam, honey"),
    (Both("un bouquet de", "a bouquet of"), "flower, rose, tulip"),
)
_GET = tuple(
    verb(*pair)
    for pair in (
        ("acheter", "buy"),
        ("apporter", "bring"),
        ("prendre", "take"),
        ("préparer", "prepare"),
        ("vouloir", "want"),
    )
)


def measured(dice: Dice) -> Both:
    """``Elle a acheté une bouteille de lait.``"""
    measure, names = dice.one(_MEASURES)
    noun = dice.word(NOUNS.among(names))
    whole = noun.english in {"cake", "pie"}
    amount = noun_phrase(NO_BARE, noun, noun.countable and not whole)
    words = french.spell(measure.french, amount.french.removeprefix("de ").removeprefix("d'"))
    thing = Both(words, f"{measure.english} {amount.english}")
    how = dice.word(_GET)
    tense = dice.one((Tense.PAST, Tense.PAST, Tense.FUTURE, Tense.GOING))
    return statement(
        say(someone(dice), do(how, thing), Tense.PRESENT if how.english == "want" else tense)
    )


_NEEDED = NOUNS.among(
    "umbrella, coat, hat, key, map, ladder, hammer, pen, pencil, notebook, ticket, passport, "
    "phone, blanket, bag, doctor, dentist, lawyer, mechanic, friend, car, bike, chair, table, "
    "lamp, spoon, money, water, bread, milk, sugar, salt, butter, wood, coffee"
)
_FEARED = NOUNS.among(
    "dog, snake, spider, wolf, bear, lion, tiger, mouse, rat, bee, bat, horse, exam, dentist, "
    "goose, police officer, thief, owl, beast, plane, boat"
)


def needing(dice: Dice) -> Both:
    """``J'ai besoin d'un parapluie.`` – ``I need an umbrella.``"""
    subject = someone(dice)
    noun = dice.word(_NEEDED)
    tense = dice.one((Tense.PRESENT, Tense.STATE, Tense.FUTURE))
    thing = noun_phrase(A if noun.countable else NO_BARE, noun, False, *described(dice, noun, 0.2))
    words = french.spell("de", thing.french) if noun.countable else thing.french
    predicate = do(verb("avoir besoin", "need"), Both(words, thing.english))
    if dice.chance(0.25):
        return statement(deny(subject, predicate, tense, NOT))
    return statement(say(subject, predicate, tense))


def fearing(dice: Dice) -> Both:
    """``Elle a peur des araignées.`` – ``She is afraid of spiders.``"""
    thing = noun_phrase(GENERIC, dice.word(_FEARED), True)
    complement = Both(french.contract("de", thing.french), f"of {thing.english}")
    predicate = do(verb("avoir peur", "be afraid"), complement)
    tense = dice.one((Tense.PRESENT, Tense.STATE))
    if dice.chance(0.4):
        return statement(deny(someone(dice), predicate, tense, NOT))
    return statement(say(someone(dice), predicate, tense))
