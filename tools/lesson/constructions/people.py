"""People: ages, feelings, the body, looks, tastes, names."""

from __future__ import annotations

from lesson import english, french
from lesson.cast import any_relative, either, known_object, named, someone
from lesson.clauses import (
    NOT,
    Tense,
    deny,
    do,
    infinitive,
    say,
    statement,
)
from lesson.dice import Dice
from lesson.lexicon import Verb
from lesson.nouns import NOUNS
from lesson.phrases import (
    GENERIC,
    MY,
    OUR,
    THE,
    THEIR,
    THIS,
    YOUR,
    Both,
    NounPhrase,
    belonging_to,
    noun_phrase,
)
from lesson.tables import names
from lesson.verbs import ALONE, HAVE, HUMAN, select, verb


def age(dice: Dice) -> Both:
    """``Elle a vingt ans.`` – ``She is twenty years old.``"""
    subject = either(dice, someone, named, any_relative)
    n = dice.one(range(2, 100))
    years = Both(f"{french.number(n)} ans", f"{english.number(n)} years old")
    predicate = do(verb("avoir", "be"), years)
    if dice.chance(0.15):
        return statement(deny(subject, predicate, Tense.PRESENT, NOT))
    return statement(say(subject, predicate, dice.one((Tense.PRESENT, Tense.STATE, Tense.FUTURE))))


_FEELINGS = tuple(
    verb(f"avoir {noun}", f"be {adjective}")
    for noun, adjective in (
        ("faim", "hungry"),
        ("soif", "thirsty"),
        ("peur", "afraid"),
        ("froid", "cold"),
        ("chaud", "hot"),
        ("sommeil", "sleepy"),
        ("honte", "ashamed"),
        ("raison", "right"),
        ("tort", "wrong"),
    )
)


def feeling(dice: Dice) -> Both:
    """``Les enfants ont très faim.`` – ``The children are very hungry.``"""
    subject = someone(dice)
    how = dice.word(_FEELINGS)
    tense = dice.one((Tense.PRESENT, Tense.PRESENT, Tense.STATE, Tense.FUTURE))
    if dice.chance(0.3):
        return statement(deny(subject, do(how), tense, NOT))
    if how.english not in {"be right", "be wrong"} and dice.chance(0.3):
        how = verb(how.french.replace(" ", " très "), how.english.replace(" ", " very "))
    return statement(say(subject, do(how), tense))


_SORE = NOUNS.among(
    "head, foot, arm, leg, ear, eye, tooth, back, stomach, knee, finger, shoulder, hand"
)
_BREAK = Verb("se casser", "break", (), NOUNS.among("arm, leg, foot, finger, nose, hand"))


def body(dice: Dice) -> Both:
    """``Il a mal au dos.`` – ``His back hurts.``; ``Elle s'est cassé le bras.``"""
    subject = dice.until(someone, lambda one: one.slot not in {3, 5})
    if dice.chance(0.3):
        noun = dice.word(_BREAK.objects)
        part = Both(
            noun_phrase(THE, noun, False).french,
            noun_phrase(belonging_to(subject), noun, False).english,
        )
        return statement(say(subject, do(_BREAK, part), Tense.PAST))
    noun = dice.word(_SORE)
    plural = noun.english in {"foot", "eye", "tooth", "knee"} and dice.chance(0.5)
    # English "hurt" hides its tense in the plural, so that one stays in the present.
    tense = Tense.PRESENT if plural else dice.one((Tense.PRESENT, Tense.PRESENT, Tense.STATE))
    ache = Both(f"mal {french.contract('à', noun_phrase(THE, noun, plural).french)}", "")
    name = english.plural(noun.english) if plural else noun.english
    hurt = {Tense.PRESENT: "hurt" if plural else "hurts", Tense.STATE: "hurt"}[tense]
    return statement(
        Both(
            say(subject, do(HAVE, ache), tense).french,
            f"{_whose(subject)} {name} {hurt}",
        )
    )


def _whose(owner: NounPhrase) -> str:
    """Return the English possessive of anyone: ``my``, ``her``, ``the king's``."""
    if owner.english in {"I", "you", "he", "she"}:
        return belonging_to(owner).singular
    return english.possessive(owner.english)


def _pairs(text: str) -> tuple[Both, ...]:
    return tuple(Both(*entry.strip().split(" ")) for entry in text.split(","))


_EYES = _pairs("bleus blue, verts green, marron brown, gris gray, noirs black")
_HAIR = _pairs(
    "blonds blond, noirs black, bruns brown, roux red, gris gray, longs long, courts short"
)


def looks(dice: Dice) -> Both:
    """``Marie a les yeux verts.`` – ``Marie has green eyes.``"""
    subject = someone(dice)
    eyes = dice.chance(0.5)
    kind = dice.one(_EYES if eyes else _HAIR)
    complement = (
        Both(f"les yeux {kind.french}", f"{kind.english} eyes")
        if eyes
        else Both(f"les cheveux {kind.french}", f"{kind.english} hair")
    )
    tense = dice.one((Tense.PRESENT, Tense.PRESENT, Tense.STATE))
    if dice.chance(0.2):
        return statement(deny(subject, do(HAVE, complement), tense, NOT))
    return statement(say(subject, do(HAVE, complement), tense))


_LIKE, _LOVE = verb("aimer", "like"), verb("adorer", "love")
_HATE, _PREFER = verb("détester", "hate"), verb("préférer", "prefer")
_LIKED = NOUNS.among(
    "fruits, vegetables, dishes, staples, drinks, pets, horse, bird, music, flower, rose, book, "
    "novel, poem, movie, song, story, train, boat, trip, snow, party, game, castle, museum"
)


def taste(dice: Dice) -> Both:
    """``Les enfants aiment le chocolat.`` – ``The children like chocolate.``"""
    subject = someone(dice)
    noun = dice.word(_LIKED)
    thing = noun_phrase(GENERIC, noun, noun.countable)
    how = dice.word((_LIKE, _LIKE, _LIKE, _LOVE, _HATE, _PREFER))
    tense = dice.one((Tense.PRESENT, Tense.PRESENT, Tense.PRESENT, Tense.STATE))
    if how is _LIKE and dice.chance(0.35):
        return statement(deny(subject, do(how, thing.both), tense, NOT))
    return statement(say(subject, do(how, thing.both), tense))


_PASTIMES = select(ALONE, "sleep, sing, dance, cook, travel, swim, run, work, go for a walk")


def pastime(dice: Dice) -> Both:
    """``Il aime nager.`` – ``He likes to swim.``"""
    subject = someone(dice)
    activity = infinitive(subject, do(dice.word(_PASTIMES)))
    how = dice.word((_LIKE, _LIKE, _LOVE, _HATE))
    complement = Both(activity.french, f"to {activity.english}")
    tense = dice.one((Tense.PRESENT, Tense.PRESENT, Tense.STATE))
    if how is _LIKE and dice.chance(0.35):
        return statement(deny(subject, do(how, complement), tense, NOT))
    return statement(say(subject, do(how, complement), tense))


_MODALS = (
    (verb("pouvoir", "can"), ""),
    (verb("devoir", "must"), ""),
    (verb("vouloir", "want"), "to "),
)


def modal(dice: Dice) -> Both:
    """``Nous devons réparer le toit.`` – ``We must repair the roof.``"""
    subject = someone(dice)
    how, to = dice.one(_MODALS)
    if dice.chance(0.3):
        activity = infinitive(subject, do(dice.word(_INTENDED)))
    else:
        action = dice.word(_DELIBERATE)
        activity = infinitive(subject, do(action, known_object(dice, action, subject).both))
    predicate = do(how, Both(activity.french, to + activity.english))
    if dice.chance(0.35):
        tense = Tense.STATE if how.english == "want" and dice.chance(0.3) else Tense.PRESENT
        return statement(deny(subject, predicate, tense, NOT))
    past = Tense.PAST if how.english == "must" else Tense.STATE
    return statement(say(subject, predicate, dice.one((Tense.PRESENT, Tense.PRESENT, past))))


_INTENDED = select(
    ALONE,
    "sleep, leave, go out, sing, dance, work, cook, travel, swim, run, eat, come back, get up, "
    "rest, go to bed, hurry, get dressed, go for a walk",
)
_NOT_INTENDED = names(
    "lose, forget, break, hear, receive, meet, discover, miss, steal, understand, wear, see, win"
)
_DELIBERATE = tuple(entry for entry in HUMAN if entry.english not in _NOT_INTENDED)


def name(dice: Dice) -> Both:
    """``Mon frère s'appelle Paul.`` – ``My brother's name is Paul.``"""
    someone_called = named(dice)
    noun = dice.word(
        [
            noun
            for noun in NOUNS.among("relatives, pets, horse, mare, donkey, boy, girl, teacher")
            if noun.gender == someone_called.gender
        ]
    )
    known = bool(noun.classes & {"relatives", "animals"})
    owner = dice.one((MY, YOUR, OUR, THEIR)) if known else dice.one((THE, THIS))
    subject = noun_phrase(owner, noun, False)
    return statement(
        Both(
            f"{subject.french} s'appelle {someone_called.french}",
            f"{english.possessive(subject.english)} name is {someone_called.english}",
        )
    )
