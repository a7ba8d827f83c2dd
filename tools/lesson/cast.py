"""Who does it and to what: phrases drawn for the subjects and objects of verbs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from lesson.dice import Dice
from lesson.lexicon import Adjective, Noun, Verb
from lesson.nouns import NOUNS
from lesson.phrases import (
    GENERIC,
    HE,
    MY,
    NO,
    OUR,
    SHE,
    SOME,
    THE,
    THEIR,
    THEY,
    THIS,
    WE,
    YOU,
    YOUR,
    A,
    Determiner,
    I,
    NounPhrase,
    and_,
    belonging_to,
    beside,
    noun_phrase,
    number,
    person_named,
)
from lesson.tables import names
from lesson.verbs import anyone_can

MEN = names(
    "Paul, Pierre, Luc, Marc, Thomas, Louis, Nicolas, Antoine, Olivier, Arthur, Julien, Simon"
)
WOMEN = names(
    "Marie, Julie, Sophie, Anne, Emma, Alice, Louise, Nina, Isabelle, Sarah, Lucie, Charlotte"
)
OWNERS: tuple[Determiner, ...] = (MY, MY, YOUR, OUR, THEIR)

_FRIEND = NOUNS["friend"]
_FRIENDS = {"m": _FRIEND, "f": replace(_FRIEND, french=_FRIEND.woman, gender="f")}
_PARENTS = frozenset({"father", "mother"})
_KIN = NOUNS.among("relatives, circle")
_STRANGERS = NOUNS.among("people, trades")
_OWNED = frozenset(
    names(
        "clothes, jewels, furniture, containers, objects, instruments, vehicles, rooms, pets, "
        "belongings, texts, property"
    )
)
# Verbs whose object is known to both speakers: one leaves the house, not a house.
_DEFINITE = names(
    "clean, close, correct, cross, explain, feed, fill, follow, forget, leave, lift, look "
    "at, lose, miss, move, push, put on, repair, stroke, take off, understand, wash, "
    "water, win"
)


_DRESSING = frozenset({"wear", "put on", "take off"})
LADIES_WEAR = frozenset({"dress", "skirt", "necklace"})
# What is done to things that are not one's own.
_NOT_ONES_OWN = names("borrow, steal, build, discover, buy, choose, see, meet, follow")
# Verbs after which one speaks of none at all: she didn't buy a hat, he didn't eat any bread.
_NONE_OF = names(
    "buy, eat, drink, read, write, find, take, receive, wear, plant, borrow, draw, "
    "prepare, bring, pick"
)


def named(dice: Dice) -> NounPhrase:
    """Return someone called by name."""
    if dice.chance(0.5):
        return person_named(dice.one(MEN), "m")
    return person_named(dice.one(WOMEN), "f")


def friend_named(dice: Dice) -> NounPhrase:
    """Return a friend with a name, which settles the gender: ``mon amie Julie``."""
    name, owner = named(dice), dice.one(OWNERS)
    dice.note(_FRIEND)
    friend = noun_phrase(owner, _FRIENDS[name.gender], False)
    return friend._replace(
        french=f"{friend.french} {name.french}", english=f"{friend.english} {name.english}"
    )


def someone(dice: Dice) -> NounPhrase:
    """Return a human subject: a pronoun, a name, or a noun."""
    if dice.chance(0.34):
        return dice.one((I, I, HE, SHE, WE, YOU, THEY))
    return somebody(dice)


def either(dice: Dice, *roles: NounPhrase | Callable[[Dice], NounPhrase]) -> NounPhrase:
    """Return one of several people, drawing only the one who is chosen."""
    role = dice.one(roles)
    return role(dice) if callable(role) else role


def acquaintance(dice: Dice) -> NounPhrase:
    """Return someone whose gender shows and whose trade is not yet told."""
    return either(dice, I, HE, SHE, WE, THEY, named, named, friend_named, my_relative)


def my_relative(dice: Dice) -> NounPhrase:
    """Return a relative, friend or neighbor of the speaker."""
    return relative(dice, MY)


def any_relative(dice: Dice) -> NounPhrase:
    """Return anyone's relative, friend or neighbor."""
    return relative(dice, dice.one(OWNERS))


def somebody(dice: Dice) -> NounPhrase:
    """Return a human subject in the third person that is not a pronoun."""
    if dice.chance(0.35):
        return named(dice)
    if dice.chance(0.07):
        return and_(person_named(dice.one(MEN), "m"), person_named(dice.one(WOMEN), "f"))
    if dice.chance(0.05):
        return and_(person_named(dice.one(WOMEN[:6]), "f"), person_named(dice.one(WOMEN[6:]), "f"))
    if dice.chance(0.08):
        return friend_named(dice)
    if dice.chance(0.4):
        return any_relative(dice)
    noun = dice.word(_STRANGERS)
    determiner = dice.one((THE, THE, THE, THIS))
    return noun_phrase(determiner, noun, dice.chance(0.2), *described(dice, noun, 0.2))


def relative(dice: Dice, owner: Determiner) -> NounPhrase:
    """Return someone's relative, friend or neighbor; one has one mother."""
    noun = dice.word(_KIN)
    return noun_phrase(owner, noun, noun.english not in _PARENTS and dice.chance(0.2))


def described(dice: Dice, noun: Noun, probability: float) -> tuple[Adjective, ...]:
    """Return at most one adjective that fits a noun and can stand beside it."""
    if not dice.chance(probability):
        return ()
    options = beside(noun)
    return (dice.word(options),) if options else ()


def beast(dice: Dice, nouns: tuple[Noun, ...]) -> NounPhrase:
    """Return an animal as a subject."""
    noun = dice.word(nouns)
    tame = bool(noun.classes & {"pets", "livestock"})
    determiner = dice.one((THE, THE, THE, THIS, dice.one(OWNERS) if tame else THE))
    plural = dice.chance(0.25)
    return noun_phrase(determiner, noun, plural, *described(dice, noun, 0.3))


@cache
def _beasts(verb: Verb) -> tuple[Noun, ...]:
    return tuple(noun for noun in verb.subjects if "animals" in noun.classes)


def subject_of(dice: Dice, verb: Verb) -> NounPhrase:
    """Return a subject that can do what a verb says."""
    beasts = _beasts(verb)
    if anyone_can(verb) and not (beasts and dice.chance(0.35)):
        return someone(dice)
    if beasts:
        return beast(dice, beasts)
    noun = dice.word(verb.subjects)
    owned = bool(noun.classes & {"relatives", "circle"})
    return noun_phrase(dice.one(OWNERS) if owned else THE, noun, dice.chance(0.3))


def newcomer(dice: Dice, verb: Verb) -> NounPhrase:
    """Return a subject that may be new to the listener: ``un chien``, ``une vieille dame``."""
    beasts = _beasts(verb)
    if dice.chance(0.88) or (beasts and anyone_can(verb)):
        return subject_of(dice, verb)
    noun = dice.word(beasts or _STRANGERS)
    return noun_phrase(A, noun, False, *described(dice, noun, 0.4))


def _without_article(verb: Verb, noun: Noun) -> bool:
    """Tell whether English drops *the*: one prepares dinner and watches television."""
    return "meals" in noun.classes or (noun.english, verb.english) == ("television", "watch")


def object_of(dice: Dice, verb: Verb, subject: NounPhrase) -> NounPhrase:
    """Return an object for a verb, with a determiner that suits both."""
    noun = _object(dice, verb, subject)
    if _without_article(verb, noun):
        return noun_phrase(GENERIC, noun, False)
    if noun.classes & {"relatives", "circle"}:
        owner = belonging_to(subject) if dice.chance(0.6) else dice.one(OWNERS)
        return noun_phrase(owner, noun, noun.english not in _PARENTS and dice.chance(0.15))
    if "mass" in noun.classes:
        determiner = THE if verb.english in _DEFINITE else dice.one((SOME, SOME, THE))
        return noun_phrase(determiner, noun, False, *described(dice, noun, 0.15))
    if "single" in noun.classes:
        return noun_phrase(THE, noun, False)
    return _countable(dice, verb, noun, subject)


def _object(dice: Dice, verb: Verb, subject: NounPhrase) -> Noun:
    if verb.english in _DRESSING and subject.gender == "m":
        return dice.word([noun for noun in verb.objects if noun.english not in LADIES_WEAR])
    return dice.word(verb.objects)


def _countable(dice: Dice, verb: Verb, noun: Noun, subject: NounPhrase) -> NounPhrase:
    mine = noun.classes & _OWNED and verb.english not in _NOT_ONES_OWN
    own = belonging_to(subject) if mine else THE
    count = number(dice.one(range(2, 6)))
    if verb.english in _DEFINITE:
        determiner = dice.one((THE, THE, own, THIS))
    else:
        determiner = dice.one((THE, A, A, own, THIS, count))
    plural = determiner is count or "pairs" in noun.classes or dice.chance(0.2)
    return noun_phrase(determiner, noun, plural, *described(dice, noun, 0.3))


def definite_object(dice: Dice, verb: Verb) -> NounPhrase:
    """Return an object that is not the subject's own: *the*, *this*, *my*."""
    noun = dice.word(verb.objects)
    if _without_article(verb, noun):
        return noun_phrase(GENERIC, noun, False)
    if noun.classes & {"relatives", "circle"}:
        return noun_phrase(dice.one(OWNERS), noun, False)
    determiner = THE if "single" in noun.classes else dice.one((THE, THE, THIS))
    return noun_phrase(determiner, noun, "pairs" in noun.classes)


def known_object(dice: Dice, verb: Verb, subject: NounPhrase) -> NounPhrase:
    """Return an object that both speakers know: *the*, *this* or one's own."""
    noun = _object(dice, verb, subject)
    if _without_article(verb, noun):
        return noun_phrase(GENERIC, noun, False)
    if noun.classes & {"relatives", "circle"}:
        determiner = dice.one((belonging_to(subject), dice.one(OWNERS)))
    elif noun.classes & _OWNED and noun.countable and verb.english not in _NOT_ONES_OWN:
        determiner = dice.one((THE, THE, belonging_to(subject), THIS))
    else:
        determiner = THE if "single" in noun.classes else dice.one((THE, THE, THIS))
    many = noun.countable and noun.english not in _PARENTS
    plural = many and ("pairs" in noun.classes or dice.chance(0.15))
    return noun_phrase(determiner, noun, plural, *described(dice, noun, 0.15))


def negated_object(dice: Dice, verb: Verb, subject: NounPhrase) -> NounPhrase:
    """Return an object for a negative clause, where *un* and *du* turn into *de*."""
    if verb.english not in _NONE_OF or dice.chance(0.5):
        return known_object(dice, verb, subject)
    noun = _object(dice, verb, subject)
    if "single" in noun.classes:
        return noun_phrase(GENERIC if _without_article(verb, noun) else THE, noun, False)
    plural = noun.countable and ("pairs" in noun.classes or dice.chance(0.3))
    return noun_phrase(NO, noun, plural, *described(dice, noun, 0.15))
