"""Short things: phrases without a verb, thanks and greetings, sentences typed plainly."""

from __future__ import annotations

from lesson import english, french
from lesson.cast import MEN, OWNERS, WOMEN, described, named, somebody
from lesson.clauses import exclamation, statement
from lesson.constructions.actions import (
    action,
    alone,
    denied_action,
    habit,
    staying,
)
from lesson.constructions.describing import mood, quality, this_is, trade
from lesson.constructions.having import having
from lesson.constructions.people import feeling, taste
from lesson.constructions.pronouns import each_other
from lesson.dice import Dice
from lesson.nouns import NOUNS
from lesson.phrases import (
    A_LOT_OF,
    EVERY,
    SEVERAL,
    SOME,
    THAT,
    THE,
    THIS,
    A,
    Both,
    bilingual,
    noun_phrase,
    number,
    of,
)

_NAMED = tuple(noun for noun in NOUNS if "limbs" not in noun.classes)


def fragment(dice: Dice) -> Both:
    """``un vieil arbre`` – ``an old tree``; ``trois chevaux`` – ``three horses``."""
    noun = dice.word(_NAMED)
    known = noun.classes & {"relatives", "circle"}
    if "single" in noun.classes:
        return noun_phrase(THE, noun, False, *described(dice, noun, 0.5)).both
    if "mass" in noun.classes:
        determiner = dice.one((THE, SOME, THIS, A_LOT_OF))
        return noun_phrase(determiner, noun, False, *described(dice, noun, 0.5)).both
    many = (number(dice.one(range(2, 13))), SEVERAL, A_LOT_OF)
    determiner = dice.one((THE, THE, A, A, THIS, THAT, EVERY, dice.one(OWNERS), dice.one(many)))
    if known:
        determiner = dice.one(OWNERS)
    plural = determiner in many or (determiner is not EVERY and dice.chance(0.35))
    if noun.english in {"father", "mother"}:
        plural = False
    phrase = noun_phrase(determiner, noun, plural, *described(dice, noun, 0.4))
    if determiner is THE and noun.classes & {"belongings", "pets", "clothes"} and dice.chance(0.6):
        owner = somebody(dice)
        return (phrase if owner.plural else of(phrase, owner)).both
    return phrase.both


_GREETINGS = bilingual("""
    bonjour    | hello
    bonsoir    | good evening
    bonne nuit | good night
    salut      | hi
    au revoir  | goodbye
    merci      | thanks
    à demain   | see you tomorrow
    à bientôt  | see you soon
    bienvenue  | welcome
    pardon     | sorry
    bon voyage | have a good trip
    bonne chance | good luck
    joyeux Noël | merry Christmas
""")
_TITLES = bilingual("""
    Monsieur | sir
    Madame   | madam
    mes amis | my friends
    tout le monde | everyone
""")
_WELCOME = NOUNS.among(
    "gifts, foods, drinks, meals, texts, clothes, party, trip, song, answer, lesson, story, idea"
)


def greeting(dice: Dice) -> Both:
    """``Bonjour, Marie !``, ``Merci pour ce cadeau.`` – ``Thanks for this gift.``"""
    if dice.chance(0.55):
        noun = dice.word(_WELCOME)
        plural = noun.countable and ("pairs" in noun.classes or dice.chance(0.3))
        determiner = THE if "single" in noun.classes else dice.one((THE, THE, THIS))
        thing = noun_phrase(determiner, noun, plural, *described(dice, noun, 0.2))
        thanks = dice.one((Both("merci", "thanks"), Both("merci beaucoup", "thank you very much")))
        said = Both(f"{thanks.french} pour {thing.french}", f"{thanks.english} for {thing.english}")
    else:
        word = dice.one(_GREETINGS)
        whom = named(dice).both if dice.chance(0.75) else dice.one(_TITLES)
        said = Both(f"{word.french}, {whom.french}", f"{word.english}, {whom.english}")
    return exclamation(said) if dice.chance(0.4) else statement(said)


_PLAIN = (
    *(action, action, denied_action, alone, habit, staying, mood, quality, this_is, trade, trade),
    *(having, feeling, taste, each_other),
)
_PROPER = frozenset({*MEN, *WOMEN, "I"})


def plainly(dice: Dice) -> Both:
    """``le chat a chassé la souris``: as people type it, without capital and full stop."""
    written = dice.one(_PLAIN)(dice)
    return Both(_plain(written.french), _plain(written.english))


def _plain(text: str) -> str:
    first = text.partition(" ")[0]
    return (text if first in _PROPER else text[0].lower() + text[1:]).removesuffix(".")


def counting(dice: Dice) -> Both:
    """``quatre-vingt-onze`` – ``ninety-one``."""
    n = dice.one(range(101))
    return Both(french.number(n), english.number(n))
