"""The pronoun that only the meaning of the sentence can settle.

*The animal didn't cross the street because it was too tired.* → *parce qu'il était trop fatigué*,
for *it* is the animal, masculine in French. *… because it was too wide.* → *parce qu'elle était
trop large*, for *it* is the street, feminine. Nothing but the predicate tells which of the two is
meant. Both genders and both nouns are drawn evenly: no fixed answer does better than chance.
"""

from __future__ import annotations

from typing import NamedTuple

from lesson import english, french
from lesson.adjectives import gradable
from lesson.cast import OWNERS, named, somebody
from lesson.clauses import (
    NOT,
    Predicate,
    Tense,
    deny,
    do,
    do_to,
    infinitive,
    say,
    statement,
    together,
)
from lesson.constructions.describing import being
from lesson.constructions.scenes import FEELINGS, SCENES, Reason, Scene, by_gender
from lesson.dice import Dice
from lesson.french import Gender
from lesson.lexicon import Adjective, Noun
from lesson.nouns import NOUNS
from lesson.phrases import (
    NOTHING,
    THE,
    THIS,
    Both,
    Determiner,
    NounPhrase,
    adjective,
    noun_phrase,
    object_pronoun,
    pronoun_for,
)
from lesson.tables import names
from lesson.verbs import BE, verb

_CAN, _WANT = verb("pouvoir", "can"), verb("vouloir", "want to")
_TOO, _VERY, _REALLY = Both("trop", "too"), Both("très", "very"), Both("vraiment", "really")


def what_it_means(dice: Dice) -> Both:
    """``L'animal n'a pas traversé la rue parce qu'elle était trop large.``"""
    scene = dice.one(SCENES)
    first, second = _two_nouns(dice, scene)
    plural = first.countable and second.countable and dice.chance(0.12)
    one = noun_phrase(_determiner(dice, first), first, plural)
    other = noun_phrase(dice.one((THE, THE, THE, THE, THIS)), second, plural)
    if dice.chance(0.5):
        cause, meant = dice.word(scene.why_first[first.english]), one
    else:
        cause, meant = dice.word(scene.why_second[second.english]), other
    return statement(_told(dice, scene, one, other, _Because(cause, meant)))


class _Because(NamedTuple):
    """What is said, and of which of the two."""

    cause: Reason
    meant: NounPhrase


_MASCULINE: Gender = "m"
_FEMININE: Gender = "f"
_MIXED = ((_MASCULINE, _FEMININE), (_FEMININE, _MASCULINE))
_GENDERS = (*_MIXED, *_MIXED, (_MASCULINE, _MASCULINE), (_FEMININE, _FEMININE))


def _two_nouns(dice: Dice, scene: Scene) -> tuple[Noun, Noun]:
    """Draw two nouns, more often than not of different gender."""
    one, other = dice.one(_GENDERS)
    first = dice.word(scene.firsts[one])
    second = dice.word([noun for noun in scene.seconds[other] if noun is not first])
    dice.note(scene.verb)
    return first, second


def _determiner(dice: Dice, noun: Noun) -> Determiner:
    tame = noun.classes & {"pets", "livestock", "objects", "vehicles", "instruments"}
    return dice.one((THE, THE, THE, THIS, dice.one(OWNERS) if tame else THE))


def _told(dice: Dice, scene: Scene, one: NounPhrase, other: NounPhrase, because: _Because) -> Both:
    """Say what happens or not, and why."""
    place = together(scene.preposition, other.both)
    deed = do(scene.verb, place)
    lasting = scene.verb.french == "tenir"  # a state: it didn't fit, il ne tenait pas
    past = Tense.STATE if lasting else Tense.PAST
    if scene.happens:
        tense, state = dice.one(_TIMES)
        return _because(dice, scene, say(one, deed, tense), because, state)
    wish = "would" if scene.willed else "fact"
    form = dice.one(("fact", "fact", "fact", "future", "could", wish))
    if form == "fact":
        return _because(dice, scene, deny(one, deed, past, NOT), because, Tense.STATE)
    if form == "future":
        tense = Tense.PRESENT if lasting else Tense.FUTURE
        return _because(dice, scene, deny(one, deed, tense, NOT), because, Tense.PRESENT)
    attempt = infinitive(one, deed)
    if form == "could":
        clause = deny(one, do(_CAN, attempt), Tense.STATE, NOT)
        return _because(dice, scene, clause, because, Tense.STATE)
    wanted = do(_WANT, attempt)
    if dice.chance(0.5):
        return _because(dice, scene, deny(one, wanted, Tense.STATE, NOT), because, Tense.STATE)
    but = _cause(dice, scene, because, Tense.STATE)
    clause = say(one, wanted, Tense.STATE)
    return Both(f"{clause.french}, mais {but.french}", f"{clause.english}, but {but.english}")


# When it happens, and how the cause is told.
_TIMES = (
    (Tense.PAST, Tense.STATE),
    (Tense.PAST, Tense.STATE),
    (Tense.FUTURE, Tense.PRESENT),
)


def _because(dice: Dice, scene: Scene, clause: Both, because: _Because, tense: Tense) -> Both:
    why = _cause(dice, scene, because, tense)
    return together(clause, Both("parce que", "because"), why)


def _cause(dice: Dice, scene: Scene, because: _Because, tense: Tense) -> Both:
    """Say of the one that is meant, by a pronoun, what it is like."""
    pronoun = pronoun_for(because.meant)
    return say(pronoun, _predicate(dice, scene, because.cause, pronoun), tense)


def _predicate(dice: Dice, scene: Scene, cause: Reason, subject: NounPhrase) -> Predicate:
    degrees = (NOTHING, _VERY, _REALLY) if scene.happens else (_TOO, _TOO, _TOO, _VERY, _REALLY)
    if isinstance(cause, Adjective):
        degree = dice.one(degrees) if gradable(cause) else NOTHING
        return do(BE, being(cause, degree, subject))
    degree = dice.one(degrees)
    have, feeling = cause.french.split(" ")
    be, meaning = cause.english.split(" ")
    return do(
        verb(french.spell(have, degree.french, feeling), english.spell(be, degree.english, meaning))
    )


_PEOPLE = NOUNS.among("people, trades")
_PERSONAL: tuple[Reason, ...] = (
    *(adjective(name) for name in names("tired, sick, injured, lazy, shy, nervous, busy, young")),
    FEELINGS["be afraid"],
    FEELINGS["be sleepy"],
)
_ERRANDS = tuple(
    scene
    for scene in SCENES
    if not scene.happens and scene.verb.english in {"cross", "enter", "climb", "jump over"}
)


def he_or_it(dice: Dice) -> Both:
    """``La fille n'a pas traversé la rue parce qu'elle était large.`` – *it*, not *she*."""
    scene = dice.one(_ERRANDS)
    second = dice.word(scene.seconds[dice.one((_MASCULINE, _FEMININE))])
    dice.note(scene.verb)
    one = named(dice) if dice.chance(0.3) else noun_phrase(THE, dice.word(_PEOPLE), False)
    other = noun_phrase(dice.one((THE, THE, THIS)), second, False)
    if dice.chance(0.5):
        because = _Because(dice.word(_PERSONAL), one)
    else:
        because = _Because(dice.word(scene.why_second[second.english]), other)
    deed = do(scene.verb, together(scene.preposition, other.both))
    return statement(_because(dice, scene, deny(one, deed, Tense.PAST, NOT), because, Tense.STATE))


_VESSELS = by_gender(names("glass, bowl, bucket, pitcher, bottle, carafe, cup"))
_LIQUIDS = NOUNS.among("water, milk, wine, orange juice, lemonade")
_POUR = verb("verser", "pour")


def pouring(dice: Dice) -> Both:
    """``… jusqu'à ce qu'elle soit vide`` – ``until it was empty`` is what was poured from."""
    first, second = dice.one(_GENDERS)
    source = dice.word(_VESSELS[first])
    goal = dice.word([vessel for vessel in _VESSELS[second] if vessel is not source])
    liquid = noun_phrase(THE, dice.word(_LIQUIDS), False)
    one, other = noun_phrase(THE, source, False), noun_phrase(THE, goal, False)
    word, meant = dice.one(((adjective("empty"), one), (adjective("full"), other)))
    dice.note(word)
    pronoun = pronoun_for(meant)
    state = being(word, NOTHING, pronoun)
    until = Both(
        french.spell("jusqu'à ce que", pronoun.french, "soit", state.french),
        f"until it was {state.english}",
    )
    way = Both(
        f"{french.contract('de', one.french)} dans {other.french}",
        f"from {one.english} into {other.english}",
    )
    poured = do(_POUR, together(liquid.both, way))
    return statement(together(say(somebody(dice), poured, Tense.PAST), until))


_DIRECT = tuple(scene for scene in SCENES if not scene.happens and not scene.preposition.french)


def so_it_did_not(dice: Dice) -> Both:
    """``La rue était trop large, alors l'animal ne l'a pas traversée.`` – *cross it*."""
    scene = dice.one(_DIRECT)
    first, second = _two_nouns(dice, scene)
    one = noun_phrase(_determiner(dice, first), first, False)
    other = noun_phrase(THE, second, False)
    if dice.chance(0.5):
        cause, meant = dice.word(scene.why_first[first.english]), one
        result = deny(pronoun_for(one), do(scene.verb, other.both), Tense.PAST, NOT)
    else:
        cause, meant = dice.word(scene.why_second[second.english]), other
        result = deny(one, do_to(scene.verb, object_pronoun(other)), Tense.PAST, NOT)
    reason = _predicate(dice, scene, cause, meant)
    fact = say(meant, reason, Tense.STATE)
    return statement(
        Both(f"{fact.french}, alors {result.french}", f"{fact.english}, so {result.english}")
    )
