"""What things and people are like: adjectives, comparisons, trades, *c'est*."""

from __future__ import annotations

from itertools import permutations

from lesson import english, french
from lesson.adjectives import ADJECTIVES, gradable
from lesson.cast import (
    LADIES_WEAR,
    OWNERS,
    acquaintance,
    described,
    named,
    somebody,
    someone,
)
from lesson.clauses import ANYMORE, NOT, Tense, deny, do, say, statement, together
from lesson.dice import Dice
from lesson.lexicon import Adjective, Noun
from lesson.nouns import NOUNS
from lesson.phrases import (
    GENERIC,
    NOTHING,
    THAT,
    THE,
    THIS,
    A,
    Both,
    NounPhrase,
    after_be,
    noun_phrase,
    of,
)
from lesson.tables import names
from lesson.verbs import BE, verb

_DEGREES = (NOTHING, NOTHING, Both("très", "very"), Both("trop", "too"), Both("vraiment", "really"))
_QUITE = Both("assez", "quite")
_CHANGING = names(
    "angry, cold, curious, dangerous, dirty, dry, expensive, famous, happy, hard, "
    "jealous, muddy, nervous, noisy, polite, proud, quiet, rich, sad, serious, sick, "
    "slippery, strong, weak, worried"
)
_MOODS = tuple(
    word
    for word in ADJECTIVES
    if word.english
    in names(
        "tall, tired, sick, pleased, proud, worried, angry, alone, ready, busy, jealous, "
        "surprised, nervous, kind, happy, rich, polite, serious, honest, patient, shy, brave, "
        "curious, intelligent, strong, famous, young, old, sad, lazy, injured"
    )
)
_SEEM, _BECOME = verb("sembler", "seem"), verb("devenir", "become")
_DESCRIBED = tuple(noun for noun in NOUNS if after_be(noun) and "persons" not in noun.classes)
_POSSESSIONS = NOUNS.among(
    "clothes, jewels, pets, car, bike, boat, truck, motorcycle, tractor, house, apartment, garden, "
    "bedroom, kitchen, office, horse, bag, suitcase, book, phone, computer, umbrella, store, "
    "restaurant, guitar, piano, table, chair, bed, lamp, armchair"
)


def being(word: Adjective, degree: Both, subject: NounPhrase) -> Both:
    """Return an adjective after *be*, agreeing with the subject."""
    form = french.agree(word.french, subject.gender, subject.plural)
    return together(degree, Both(form, word.english))


def thing(dice: Dice, noun: Noun) -> NounPhrase:
    """Return a thing one can describe, with a definite determiner."""
    if "single" in noun.classes:
        return noun_phrase(GENERIC if "meals" in noun.classes else THE, noun, False)
    if noun.classes & {"lands", "towns", "paths", "skies", "wildlife"}:
        determiner = dice.one((THE, THE, THIS, THAT))
    else:
        determiner = dice.one((THE, THE, THIS, THAT, dice.one(OWNERS)))
    plural = noun.countable and ("pairs" in noun.classes or dice.chance(0.25))
    return noun_phrase(determiner, noun, plural)


def owned(dice: Dice, noun: Noun) -> NounPhrase:
    """Return a thing of someone's: ``la voiture de mon père`` – ``my father's car``."""
    plural = "pairs" in noun.classes or dice.chance(0.15)
    fits = noun.english not in LADIES_WEAR
    owner = dice.until(somebody, lambda one: one.slot == 2 and (fits or one.gender == "f"))
    return of(noun_phrase(THE, noun, plural), owner)


def _quality(dice: Dice, subject: NounPhrase, word: Adjective) -> Both:
    if word.english in _CHANGING and dice.chance(0.15):
        return say(subject, do(_BECOME, being(word, NOTHING, subject)), Tense.PAST)
    linking = _SEEM if gradable(word) and subject.slot in {2, 5} and dice.chance(0.15) else BE
    tense = dice.one((Tense.PRESENT, Tense.PRESENT, Tense.STATE))
    if dice.chance(0.3):
        if tense is Tense.PRESENT and linking is BE and dice.chance(0.3):
            return deny(subject, do(BE, being(word, NOTHING, subject)), tense, ANYMORE)
        degree = dice.one(_DEGREES) if gradable(word) else NOTHING
        return deny(subject, do(linking, being(word, degree, subject)), tense, NOT)
    degree = dice.one((*_DEGREES, _QUITE)) if gradable(word) else NOTHING
    return say(subject, do(linking, being(word, degree, subject)), tense)


def quality(dice: Dice) -> Both:
    """``Cette maison est très vieille.``"""
    if dice.chance(0.35):
        noun = dice.word(_POSSESSIONS)
        subject = owned(dice, noun)
    else:
        noun = dice.word(_DESCRIBED)
        subject = thing(dice, noun)
    return statement(_quality(dice, subject, dice.word(after_be(noun))))


def mood(dice: Dice) -> Both:
    """``Marie n'est pas contente.``"""
    return statement(_quality(dice, someone(dice), dice.word(_MOODS)))


_OPPOSITES = names(
    "big small, long short, hot cold, fast slow, open closed, easy difficult, heavy "
    "light, clean dirty, wide narrow, young old, new old, full empty, high low, good bad, "
    "quiet noisy, modern ancient, dark bright, dry wet, sweet salty, sweet bitter, "
    "interesting boring, funny boring, strong weak, funny sad, happy sad, new ancient, "
    "hard fresh, dirty wet, beautiful pretty, ancient old"
)
_CLASH = frozenset(frozenset(pair.split()) for pair in _OPPOSITES)


def _go_together(first: Adjective, second: Adjective) -> bool:
    """Tell whether one says both: long and dark, but not long and long, long and short."""
    pair = frozenset({first.english, second.english})
    return gradable(first) and len(pair) == 2 and pair not in _CLASH


_PAIRED = {
    noun: pairs
    for noun in _DESCRIBED
    if (pairs := tuple(p for p in permutations(after_be(noun), 2) if _go_together(*p)))
}


def two_qualities(dice: Dice) -> Both:
    """``La rue était longue et sombre.``"""
    noun = dice.word(tuple(_PAIRED))
    first, second = dice.one(_PAIRED[noun])
    dice.note(first, second)
    subject = thing(dice, noun)
    complement = together(
        being(first, NOTHING, subject), Both("et", "and"), being(second, NOTHING, subject)
    )
    return statement(say(subject, do(BE, complement), dice.one((Tense.PRESENT, Tense.STATE))))


# Fields too wide for their members to be compared.
_LOOSE = frozenset(names("mass, single, goods, gifts, colored, belongings, objects"))


def _alike(word: Adjective, noun: Noun) -> tuple[Noun, ...]:
    """Return other things of the same kind that the adjective can describe."""
    fields = noun.classes - _LOOSE
    return tuple(other for other in word.describes if other is not noun and other.classes & fields)


_COMPARABLE = {
    word: {noun: _alike(word, noun) for noun in word.describes if _alike(word, noun)}
    for word in ADJECTIVES
    if gradable(word)
}
_COMPARED = tuple(word for word, nouns in _COMPARABLE.items() if nouns)


def comparison(dice: Dice) -> Both:
    """``Cette rue est plus large que l'avenue.`` – ``This street is wider than the avenue.``"""
    word = dice.word(_COMPARED)
    first = dice.word(tuple(_COMPARABLE[word]))
    second = dice.word(_COMPARABLE[word][first])
    subject, other = _compared(dice, first), _compared(dice, second)
    link = Both("que", "than")
    more = english.comparative(word.english)
    form = french.agree(word.french, subject.gender, subject.plural)
    tense = dice.one((Tense.PRESENT, Tense.PRESENT, Tense.STATE))
    if dice.chance(0.3):
        complement = together(Both(f"aussi {form} que", f"as {word.english} as"), other.both)
        if dice.chance(0.5):
            return statement(deny(subject, do(BE, complement), tense, NOT))
        return statement(say(subject, do(BE, complement), tense))
    degree = Both(_more(word, subject), more)
    if more.startswith("more ") and dice.chance(0.3):
        degree = Both(f"moins {form}", f"less {word.english}")
    return statement(say(subject, do(BE, together(degree, link, other.both)), tense))


def _more(word: Adjective, subject: NounPhrase) -> str:
    irregular = {"bon": "meilleur", "mauvais": "pire"}
    form = french.agree(irregular.get(word.french, word.french), subject.gender, subject.plural)
    return form if word.french in irregular else f"plus {form}"


def _compared(dice: Dice, noun: Noun) -> NounPhrase:
    if "persons" in noun.classes:
        if dice.chance(0.4):
            return named(dice)
        known = bool(noun.classes & {"relatives", "circle"})
        return noun_phrase(dice.one(OWNERS) if known else THE, noun, False)
    if "single" in noun.classes:
        return noun_phrase(GENERIC if "meals" in noun.classes else THE, noun, False)
    yours = bool(noun.classes & {"clothes", "pets", "vehicles", "containers", "furniture"})
    determiner = dice.one((THE, THE, THIS, dice.one(OWNERS) if yours else THE))
    return noun_phrase(determiner, noun, noun.countable and dice.chance(0.15))


_SCOPES = (
    Both("de la ville", "in the city"),
    Both("du village", "in the village"),
    Both("du monde", "in the world"),
    Both("du pays", "in the country"),
    Both("de la région", "in the region"),
)
_OUTSTANDING = tuple(
    word
    for word in ADJECTIVES
    if word.english
    in names(
        "big, small, beautiful, good, old, long, high, expensive, famous, modern, quiet, "
        "fast, dangerous, interesting, rich, strong, wide, deep, narrow"
    )
)


def superlative(dice: Dice) -> Both:
    """``C'est la plus vieille église de la ville.`` – ``This is the oldest church in the city.``"""
    word = dice.word(_OUTSTANDING)
    known = {"relatives", "circle"}
    options = [noun for noun in word.describes if noun.countable and not noun.classes & known]
    noun = dice.word(options)
    phrase = noun_phrase(GENERIC, noun, dice.chance(0.2))
    article = "les" if phrase.plural else ("la" if phrase.gender == "f" else "le")
    name = french.plural(noun.french) if phrase.plural else noun.french
    more = _more(word, phrase)
    words = (article, more, name) if word.place == "before" else (article, name, article, more)
    best = Both(french.spell(*words), f"the {english.superlative(word.english)} {phrase.english}")
    return statement(together(_THESE_ARE if phrase.plural else _THIS_IS, best, dice.one(_SCOPES)))


_THIS_IS, _THESE_ARE = Both("c'est", "this is"), Both("ce sont", "these are")
_THIS_IS_NOT = Both("ce n'est pas", "this isn't")
_THESE_ARE_NOT = Both("ce ne sont pas", "these aren't")
_SHOWN = tuple(noun for noun in NOUNS if noun.countable and "limbs" not in noun.classes)
_MINE = frozenset(names("clothes, jewels, containers, vehicles, pets, texts, belongings"))


def this_is(dice: Dice) -> Both:
    """``C'est un vieux château.``, ``Ce sont mes clés.``, ``Ce n'est pas votre vélo.``"""
    noun = dice.word(_SHOWN)
    known = bool(noun.classes & {"relatives", "circle"})
    mine = known or (bool(noun.classes & _MINE) and dice.chance(0.5))
    one_only = noun.english in {"father", "mother"}
    plural = not one_only and ("pairs" in noun.classes or dice.chance(0.3))
    adjectives = described(dice, noun, 0 if known else 0.45)
    phrase = noun_phrase(dice.one(OWNERS) if mine else A, noun, plural, *adjectives)
    # English presents several things without "some".
    bare = phrase._replace(english=phrase.english.removeprefix("some "))
    if dice.chance(0.25):
        return statement(together(_THESE_ARE_NOT if bare.plural else _THIS_IS_NOT, bare.both))
    return statement(together(_THESE_ARE if bare.plural else _THIS_IS, bare.both))


_TRADES = NOUNS.among("trades")
_CAREERS = (
    (BE, Tense.PRESENT),
    (BE, Tense.PRESENT),
    (BE, Tense.STATE),
    (_BECOME, Tense.PAST),
    (_BECOME, Tense.FUTURE),
    (verb("vouloir devenir", "want to become"), Tense.PRESENT),
)


def trade(dice: Dice) -> Both:
    """``Elle est étudiante.`` – ``She is a student.``"""
    subject = acquaintance(dice)
    noun = dice.word(_TRADES)
    word = noun.woman if subject.gender == "f" else noun.man
    complement = (
        Both(french.plural(word), english.plural(noun.english))
        if subject.plural
        else Both(word, english.spell("a", noun.english))
    )
    if dice.chance(0.2):
        return statement(deny(subject, do(BE, complement), Tense.PRESENT, NOT))
    how, tense = dice.one(_CAREERS)
    return statement(say(subject, do(how, complement), tense))
