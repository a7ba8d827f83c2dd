"""Clauses inside others: what one thinks, the man who, the apple that, the city where."""

from __future__ import annotations

from lesson import french
from lesson.adjectives import gradable
from lesson.cast import (
    definite_object,
    either,
    known_object,
    my_relative,
    named,
    somebody,
    someone,
)
from lesson.clauses import (
    NOT,
    Tense,
    deny,
    do,
    do_to,
    say,
    statement,
    together,
)
from lesson.constructions.describing import being, thing
from lesson.dice import Dice
from lesson.english import participle as past_participle
from lesson.french_verbs import participle
from lesson.lexicon import read_verbs
from lesson.nouns import NOUNS
from lesson.phrases import (
    HE,
    NOTHING,
    SHE,
    THE,
    THEY,
    WE,
    YOU,
    Both,
    Clitic,
    I,
    adjective,
    after_be,
    noun_phrase,
)
from lesson.tables import names
from lesson.times import near_time
from lesson.verbs import ALONE, BE, HUMAN, select, verb, verbs

_THAT = Both("que", "that")
_OPINIONS = verbs("""
    penser | think
    croire | believe
    dire   | say
    savoir | know
""")
_DESCRIBED = tuple(noun for noun in NOUNS if after_be(noun) and "persons" not in noun.classes)


def opinion(dice: Dice) -> Both:
    """``Je pense que cette soupe est trop chaude.``, ``Elle a dit que le train était parti.``"""
    subject = someone(dice)
    how = dice.word(_OPINIONS)
    held, state, event = dice.one(
        (
            (Tense.PRESENT, Tense.PRESENT, Tense.PAST),
            (Tense.PRESENT, Tense.PRESENT, Tense.FUTURE),
            (Tense.PAST if how.english == "say" else Tense.STATE, Tense.STATE, Tense.PLUPERFECT),
        )
    )
    opening = together(say(subject, do(how), held), _THAT)
    if dice.chance(0.5):
        noun = dice.word(_DESCRIBED)
        # Not: she thinks that that house is old.
        topic = dice.until(
            lambda dice: thing(dice, noun), lambda it: not it.english.startswith("that ")
        )
        word = dice.word(after_be(noun))
        degree = dice.one(_DEGREES) if gradable(word) else NOTHING
        quality = do(BE, being(word, degree, topic))
        if dice.chance(0.2):
            return statement(together(opening, deny(topic, quality, state, NOT)))
        return statement(together(opening, say(topic, quality, state)))
    other = dice.until(somebody, lambda one: one.english != subject.english)
    action = dice.word(HUMAN)
    deed = do(action, known_object(dice, action, other).both)
    return statement(together(opening, say(other, deed, event)))


_DEGREES = (NOTHING, NOTHING, Both("trop", "too"), Both("très", "very"))


def hope(dice: Dice) -> Both:
    """``J'espère que vous viendrez demain.`` – ``I hope that you will come tomorrow.``"""
    subject = either(dice, I, I, WE, named, my_relative)
    other = dice.until(
        lambda dice: either(dice, YOU, YOU, HE, SHE, THEY, somebody),
        lambda one: one.english != subject.english,
    )
    opening = together(say(subject, do(verb("espérer", "hope")), Tense.PRESENT), _THAT)
    if dice.chance(0.4):
        deed = do(dice.word(_WELCOME))
    else:
        action = dice.word(_HOPED)
        deed = do(action, known_object(dice, action, other).both)
    coming = say(other, deed, Tense.FUTURE)
    return statement(together(opening, coming, near_time(dice, Tense.FUTURE)))


_WELCOME = (*select(ALONE, "come back, arrive, sleep, sing, rest, travel"), *verbs("venir | come"))
_HOPED = select(
    HUMAN,
    "find, win, understand, buy, sell, visit, repair, learn, help, bring, receive, invite, call",
)
_PEOPLE = NOUNS.among("man, woman, boy, girl, child, lady, trades")
_TRAITS = tuple(
    adjective(name)
    for name in names("kind, rich, famous, sick, tired, tall, brave, happy, honest, polite, angry")
)


def the_one_who(dice: Dice) -> Both:
    """``La femme qui a écrit ce livre est célèbre.``, ``Je connais l'homme qui …``"""
    noun = dice.word(_PEOPLE)
    person = noun_phrase(THE, noun, dice.chance(0.15))
    action = dice.word(HUMAN)
    silent = person._replace(french="qui", english="who")
    tense = dice.one((Tense.PAST, Tense.PAST, Tense.FUTURE))
    deed = say(silent, do(action, known_object(dice, action, person).both), tense)
    who = together(person.both, deed)
    if dice.chance(0.4):
        knower = either(dice, I, WE, named, my_relative, YOU)
        known = do(verb("connaître", "know"), who)
        if dice.chance(0.3):
            return statement(deny(knower, known, Tense.PRESENT, NOT))
        return statement(say(knower, known, Tense.PRESENT))
    trait = being(dice.word(_TRAITS), dice.one((NOTHING, Both("très", "very"))), person)
    subject = person._replace(french=who.french, english=who.english)
    states = (Tense.PRESENT,) if tense is Tense.FUTURE else (Tense.PRESENT, Tense.STATE)
    return statement(say(subject, do(BE, trait), dice.one(states)))


_CHOSEN = select(
    HUMAN,
    "eat, drink, read, write, buy, sell, choose, wear, wash, find, lose, see, build, paint, "
    "prepare, pick, bring, receive, borrow, take, taste, visit, break, repair, steal, plant, "
    "draw, open",
)


def the_one_that(dice: Dice) -> Both:
    """``La pomme que j'ai mangée était délicieuse.`` – ``The apple that I ate was delicious.``"""
    action = dice.word(_CHOSEN)
    noun = dice.word([noun for noun in action.objects if len(after_be(noun)) > 1])
    plural = "pairs" in noun.classes or (noun.countable and dice.chance(0.25))
    item = noun_phrase(THE, noun, plural)
    subject = someone(dice)
    # The object stands before the participle, which agrees with it.
    before = Clitic("", "", item.gender, item.plural, True)
    deed = say(subject, do_to(action, before), Tense.PAST)
    whole = together(item.both, _THAT, deed)
    word = dice.word(after_be(noun))
    degree = dice.one(_DEGREES) if gradable(word) else NOTHING
    predicate = do(BE, being(word, degree, item))
    subject = item._replace(french=whole.french, english=whole.english)
    tense = dice.one((Tense.PRESENT, Tense.STATE, Tense.STATE))
    if dice.chance(0.2):
        return statement(deny(subject, predicate, tense, NOT))
    return statement(say(subject, predicate, tense))


_THERE = (
    *read_verbs("habiter | live | | house, village, city, apartment, castle, farm, island", NOUNS),
    *read_verbs("travailler | work | | buildings, garden, village, city, harbor, zoo", NOUNS),
    *read_verbs("naître | be born | | house, village, city, hospital, farm, island", NOUNS),
    *read_verbs("étudier | study | | school, university, library, city, garden", NOUNS),
)


def the_place_where(dice: Dice) -> Both:
    """``C'est la ville où ma mère est née.`` – ``This is the city where my mother was born.``"""
    subject = someone(dice)
    what = dice.word(_THERE)
    place = noun_phrase(THE, dice.word(what.objects), False)
    if what.english == "be born":  # told by the passé composé in French, by "was" in English
        clause = Both(
            say(subject, do(what), Tense.PAST).french, say(subject, do(what), Tense.STATE).english
        )
    else:
        clause = say(subject, do(what), dice.one((Tense.PRESENT, Tense.FORMERLY)))
    return statement(together(Both("c'est", "this is"), place.both, Both("où", "where"), clause))


_MADE = select(
    HUMAN,
    "build, paint, write, steal, repair, plant, draw, translate, discover, break, prepare, "
    "sell, buy, choose, find, clean, wash, correct, save, invite, call, open, close",
)


def made_by(dice: Dice) -> Both:
    """``La maison a été construite par mon oncle.`` – ``The house was built by my uncle.``"""
    action = dice.word(_MADE)
    item = definite_object(dice, action)
    doer = somebody(dice)
    form = french.agree(participle(action.french), item.gender, item.plural)
    by = Both(f"{form} par {doer.french}", f"{past_participle(action.english)} by {doer.english}")
    tense = dice.one((Tense.PAST, Tense.PAST, Tense.FUTURE))
    if dice.chance(0.2):
        return statement(deny(item, do(BE, by), tense, NOT))
    return statement(say(item, do(BE, by), tense))
