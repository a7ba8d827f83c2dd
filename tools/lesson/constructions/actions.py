"""What people and animals do: to what, where, how often, and what they have never done."""

from __future__ import annotations

from lesson.cast import (
    definite_object,
    known_object,
    negated_object,
    newcomer,
    object_of,
    someone,
    subject_of,
)
from lesson.clauses import (
    ANYMORE,
    NEVER,
    NOT,
    NOT_YET,
    NOTHING_AT_ALL,
    Predicate,
    Tense,
    deny,
    do,
    say,
    statement,
    together,
)
from lesson.dice import Dice
from lesson.nouns import NOUNS
from lesson.phrases import (
    BARE,
    GENERIC,
    NO_BARE,
    NOBODY,
    THE,
    A,
    Both,
    NounPhrase,
    belonging_to,
    noun_phrase,
)
from lesson.places import PLACES
from lesson.tables import names
from lesson.times import (
    ADVERBS,
    HABITS,
    at_time,
    duration,
    near_time,
    tell,
)
from lesson.verbs import ALONE, HABITUAL, HUMAN, MOVING, RESTING, TRANSITIVE, select


def action(dice: Dice) -> Both:
    """``Le chat a chassé la souris.``"""
    verb = dice.word(TRANSITIVE)
    subject = newcomer(dice, verb)
    return statement(tell(dice, subject, do(verb, object_of(dice, verb, subject).both)))


def denied_action(dice: Dice) -> Both:
    """``Elle n'a pas ouvert la porte.`` – ``She didn't open the door.``"""
    verb = dice.word(TRANSITIVE)
    subject = subject_of(dice, verb)
    predicate = do(verb, negated_object(dice, verb, subject).both)
    tense = dice.one((Tense.PAST, Tense.PAST, Tense.FUTURE, Tense.GOING))
    return statement(at_time(dice, deny(subject, predicate, tense, NOT), near_time(dice, tense)))


_TASKS = select(
    HUMAN,
    "eat, drink, read, write, wash, clean, open, close, repair, find, see, visit, prepare, "
    "sell, cut, plant, water, call, thank, invite, correct, translate, receive, fill, move, "
    "feed, choose, help, explain, paint, hide",
)
_EXPERIENCES = select(
    HUMAN,
    "eat, drink, read, buy, see, visit, drive, build, meet, cross, taste, take, win, hear, "
    "plant, forget, wear, translate, miss, lose, steal, watch, borrow",
)


def already_or_never(dice: Dice) -> Both:
    """``Il n'a jamais vu la mer.`` – ``He has never seen the sea.``"""
    if dice.chance(0.4):
        verb = dice.word(_EXPERIENCES)
        subject = someone(dice)
        predicate = do(verb, negated_object(dice, verb, subject).both)
        return statement(deny(subject, predicate, Tense.PERFECT, NEVER))
    verb = dice.word(_TASKS)
    subject = someone(dice)
    predicate = do(verb, known_object(dice, verb, subject).both)
    if dice.chance(0.5):
        return statement(deny(subject, predicate, Tense.PERFECT, NOT_YET))
    already = predicate._replace(adverb=Both("déjà", "already"))
    return statement(say(subject, already, Tense.PERFECT))


def staying(dice: Dice) -> Both:
    """``Les enfants jouent dans le jardin maintenant.``"""
    verb = dice.word(RESTING)
    subject = newcomer(dice, verb)
    return statement(tell(dice, subject, do(verb, PLACES[dice.word(verb.objects).english].at)))


_CUSTOMS = tuple(verb for verb in RESTING if verb.english not in {"fall", "wait", "hide", "stay"})


def used_to(dice: Dice) -> Both:
    """``Mon père travaillait à la ferme.`` – ``My father used to work at the farm.``"""
    verb = dice.word(_CUSTOMS)
    subject = subject_of(dice, verb)
    predicate = do(verb, PLACES[dice.word(verb.objects).english].at)
    return statement(say(subject, predicate, Tense.FORMERLY))


_LASTING = select(RESTING, "work, study")


def since(dice: Dice) -> Both:
    """``Elle travaille à la banque depuis six mois.`` – ``She has been working …``"""
    verb = dice.word(_LASTING)
    subject = subject_of(dice, verb)
    options = verb.objects if verb.english == "work" else NOUNS.among("school, university, library")
    predicate = do(verb, PLACES[dice.word(options).english].at)
    return statement(together(say(subject, predicate, Tense.SINCE), duration(dice)))


def going(dice: Dice) -> Both:
    """``Ils sont allés au marché samedi dernier.``"""
    verb = dice.word(MOVING)
    subject = subject_of(dice, verb)
    place = PLACES[dice.word(verb.objects).english]
    predicate = do(verb, place.at if verb.english == "arrive" else place.to)
    if dice.chance(0.25):
        tense = dice.one((Tense.PAST, Tense.FUTURE))
        clause = deny(subject, predicate, tense, NOT)
        return statement(at_time(dice, clause, near_time(dice, tense)))
    return statement(tell(dice, subject, predicate))


def alone(dice: Dice) -> Both:
    """``Marie s'est réveillée.`` – ``Marie woke up.``"""
    verb = dice.word(ALONE)
    subject = subject_of(dice, verb)
    if dice.chance(0.3):
        tense = dice.one((Tense.PAST, Tense.FUTURE, Tense.GOING))
        clause = deny(subject, do(verb), tense, NOT)
        return statement(at_time(dice, clause, near_time(dice, tense)))
    return statement(tell(dice, subject, do(verb)))


_INDEFINITE = names("drink, eat, read, write, buy, sell, tell, watch, listen to")


def _habit(dice: Dice, subject: NounPhrase, *, negative: bool) -> Predicate:
    verb = dice.word(HABITUAL)
    noun = dice.word(verb.objects)
    if verb.english in _INDEFINITE and noun.english not in {"radio", "television"}:
        bare = NO_BARE if negative else BARE
        return do(verb, noun_phrase(bare, noun, noun.countable).both)
    if verb.english == "wear":
        return do(verb, noun_phrase(NO_BARE if negative else A, noun, negative).both)
    if noun.english == "television" or "meals" in noun.classes:
        return do(verb, noun_phrase(GENERIC, noun, False).both)
    if "mass" in noun.classes:
        return do(verb, noun_phrase(NO_BARE if negative else BARE, noun, False).both)
    owned = verb.english in {"wash", "feed", "clean"} and dice.chance(0.5)
    plural = verb.english in {"correct", "feed"} or noun.english in {"plate", "flower", "rose"}
    determiner = belonging_to(subject) if owned else THE
    return do(verb, noun_phrase(determiner, noun, plural).both)


def habit(dice: Dice) -> Both:
    """``Le boulanger boit du café tous les matins.``"""
    subject = someone(dice)
    predicate = _habit(dice, subject, negative=False)
    if dice.chance(0.3):
        return statement(say(subject, predicate._replace(adverb=dice.one(ADVERBS)), Tense.PRESENT))
    return statement(at_time(dice, say(subject, predicate, Tense.PRESENT), dice.one(HABITS)))


def denied_habit(dice: Dice) -> Both:
    """``Je ne bois jamais de vin.`` – ``I never drink wine.``"""
    subject = someone(dice)
    predicate = _habit(dice, subject, negative=True)
    negation = dice.one((NOT, NOT, NEVER, ANYMORE))
    return statement(deny(subject, predicate, Tense.PRESENT, negation))


_ANYTHING = select(HABITUAL, "drink, eat, read, write, buy, sell")


def nothing_and_nobody(dice: Dice) -> Both:
    """``Il n'a rien mangé.`` – ``He didn't eat anything.``; ``Personne n'a vu …`` – ``Nobody …``"""
    if dice.chance(0.6):
        verb = dice.word(HUMAN)
        return statement(say(NOBODY, do(verb, definite_object(dice, verb).both), Tense.PAST))
    verb = dice.word(_ANYTHING)
    tense = dice.one((Tense.PAST, Tense.FUTURE, Tense.PRESENT))
    clause = deny(someone(dice), do(verb), tense, NOTHING_AT_ALL)
    return statement(clause)
