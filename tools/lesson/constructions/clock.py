"""Numbers at work: the clock, the calendar, sums and prices."""

from __future__ import annotations

from collections.abc import Sequence

from lesson import english, french
from lesson.cast import someone
from lesson.clauses import NOT, Tense, deny, do, say, statement, together
from lesson.dice import Dice
from lesson.lexicon import read_verbs
from lesson.nouns import NOUNS
from lesson.phrases import NOTHING, OUR, THE, THIS, Both, bilingual, noun_phrase
from lesson.tables import names
from lesson.times import DAYS, MONTHS
from lesson.verbs import BE, verb, verbs

_OPENINGS = bilingual("""
    il est              | it is
    il est déjà         | it is already
    il est presque      | it is almost
    il était            | it was
    il n'est pas encore | it isn't
""")


def clock(dice: Dice) -> Both:
    """``Il est trois heures et demie.`` – ``It is half past three.``"""
    opening = dice.one(_OPENINGS)
    yet = Both("", "yet") if opening.english == "it isn't" else NOTHING
    return statement(together(opening, time_of_day(dice, range(13)), yet))


def time_of_day(dice: Dice, hours_of_day: Sequence[int]) -> Both:
    """Return a time in words: ``trois heures moins le quart`` – ``a quarter to three``."""
    hour = dice.one(hours_of_day)
    if hour in {0, 12}:
        hours, name = ("midi", "noon") if hour else ("minuit", "midnight")
        half, plain = f"{hours} et demi", name
    else:
        hours = "une heure" if hour == 1 else f"{french.number(hour)} heures"
        name = english.number(hour)
        half, plain = f"{hours} et demie", f"{name} o'clock"
    n = dice.one((5, 10, 20, 25))
    return dice.one(
        (
            Both(hours, plain),
            Both(hours, plain),
            Both(half, f"half past {name}"),
            Both(f"{hours} et quart", f"a quarter past {name}"),
            Both(f"{hours} moins le quart", f"a quarter to {name}"),
            Both(f"{hours} {french.number(n)}", f"{english.number(n)} past {name}"),
            Both(f"{hours} moins {french.number(n)}", f"{english.number(n)} to {name}"),
        )
    )


_SCHEDULED = read_verbs(
    """
partir    | leave  | train, bus, plane, boat |
arriver   | arrive | train, bus, plane, boat |
commencer | start  | movie, match, lesson, party, exam |
ouvrir    | open   | store, bank, museum, library, bakery |
fermer    | close  | store, bank, museum, library, bakery, pharmacy |
""",
    NOUNS,
)
_ROUTINE = verbs("""
    se lever            | get up
    se réveiller        | wake up
    partir              | leave
    arriver             | arrive
    rentrer à la maison | go home
    dîner               | have dinner
    déjeuner            | have lunch
    se coucher          | go to bed
""")
_HOURS = {
    "get up": (5, 6, 7, 8, 9),
    "wake up": (5, 6, 7, 8, 9),
    "go home": (4, 5, 6, 7, 8),
    "have dinner": (6, 7, 8, 9),
    "have lunch": (12, 1, 2),
    "go to bed": (8, 9, 10, 11, 0),
}


def timetable(dice: Dice) -> Both:
    """``Le train part à sept heures et quart.``, ``Elle s'est levée à six heures.``"""
    tense = dice.one((Tense.PRESENT, Tense.PAST, Tense.FUTURE))
    if dice.chance(0.3):
        event = dice.word(_SCHEDULED)
        subject = noun_phrase(THE, dice.word(event.subjects), False)
    else:
        event = dice.word(_ROUTINE)
        subject = someone(dice)
    time = time_of_day(dice, _HOURS.get(event.english, range(1, 13)))
    at = Both(f"à {time.french}", f"at {time.english}")
    return statement(together(say(subject, do(event), tense), at))


_EVENTS = NOUNS.among("exam, party, match, trip, lesson")


def calendar(dice: Dice) -> Both:
    """``Aujourd'hui, c'est lundi.``, ``L'examen est le cinq mai.``"""
    n, month = dice.one(range(1, 29)), dice.one(MONTHS)
    day = "premier" if n == 1 else french.number(n)
    date = Both(f"le {day} {month.french}", f"{month.english} {ordinal(n)}")
    if dice.chance(0.3):
        return statement(together(Both("aujourd'hui, c'est", "today is"), date))
    if dice.chance(0.3):
        weekday = dice.one(DAYS)
        return statement(
            Both(
                f"nous sommes le {weekday.french} {day} {month.french}",
                f"it is {weekday.english}, {date.english}",
            )
        )
    event = noun_phrase(dice.one((THE, THIS, OUR)), dice.word(_EVENTS), False)
    tense = dice.one((Tense.PRESENT, Tense.STATE, Tense.FUTURE))
    return statement(say(event, do(BE, Both(date.french, f"on {date.english}")), tense))


_ORDINALS = {
    1: "first",
    2: "second",
    3: "third",
    5: "fifth",
    8: "eighth",
    9: "ninth",
    12: "twelfth",
}


def ordinal(n: int) -> str:
    """Return the English ordinal of a day of the month: ``twenty-first``."""
    if n in _ORDINALS:
        return _ORDINALS[n]
    if n > 20 and n % 10:
        return f"{english.number(n - n % 10)}-{ordinal(n % 10)}"
    word = english.number(n)
    return (word[:-1] + "ie" if word.endswith("y") else word) + "th"


def sum_(dice: Dice) -> Both:
    """``Sept et huit font quinze.`` – ``Seven and eight are fifteen.``"""
    first, second = dice.one(range(1, 50)), dice.one(range(1, 51))
    words = [(french.number(n), english.number(n)) for n in (first, second, first + second)]
    return statement(
        Both(
            "{} et {} font {}".format(*(word for word, _ in words)),
            "{} and {} are {}".format(*(word for _, word in words)),
        )
    )


_SOLD = tuple(noun for noun in NOUNS.among("goods, clothes, jewels, ticket") if noun.countable)
_CHEAP = frozenset({"foods", "texts", "plants"})
_DEAR = names("house, apartment, car, truck, boat, piano, horse, cow, goat")


def price(dice: Dice) -> Both:
    """``Cette robe coûte quarante euros.``"""
    noun = dice.word([noun for noun in _SOLD if noun.english not in _DEAR])
    n = dice.one(range(2, 10) if noun.classes & _CHEAP else range(10, 101))
    plural = "pairs" in noun.classes or dice.chance(0.25)
    subject = noun_phrase(dice.one((THE, THIS)), noun, plural)
    amount = Both(f"{french.number(n)} euros", f"{english.number(n)} euros")
    cost = do(verb("coûter", "cost"), amount)
    if dice.chance(0.2):
        return statement(deny(subject, cost, Tense.PRESENT, NOT))
    return statement(say(subject, cost, Tense.PRESENT))
