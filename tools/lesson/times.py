"""When: expressions of time, each with the tense that goes with it."""

from __future__ import annotations

from lesson import english, french
from lesson.clauses import Predicate, Tense, say, together
from lesson.dice import Dice
from lesson.lexicon import Verb
from lesson.phrases import NOTHING, Both, NounPhrase, bilingual
from lesson.tables import names

DAYS: tuple[Both, ...] = tuple(
    Both(*pair)
    for pair in zip(
        names("lundi, mardi, mercredi, jeudi, vendredi, samedi, dimanche"),
        names("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday"),
        strict=True,
    )
)
MONTHS: tuple[Both, ...] = tuple(
    Both(*pair)
    for pair in zip(
        names(
            "janvier, février, mars, avril, mai, juin, juillet, août, septembre, octobre, "
            "novembre, décembre"
        ),
        names(
            "January, February, March, April, May, June, July, August, September, October, "
            "November, December"
        ),
        strict=True,
    )
)


_NEAR_PAST = bilingual("""
    hier | yesterday
    hier matin | yesterday morning
    hier soir | last night
    ce matin | this morning
""")
_DAYS_PAST = tuple(Both(f"{day.french} dernier", f"last {day.english}") for day in DAYS)
_FAR_PAST = bilingual("""
    la semaine dernière | last week
    le mois dernier | last month
    l'année dernière | last year
    l'été dernier | last summer
    l'hiver dernier | last winter
""")
_NEAR_FUTURE = bilingual("""
    demain | tomorrow
    demain matin | tomorrow morning
    demain soir | tomorrow night
    ce soir | tonight
""")
_DAYS_FUTURE = tuple(Both(f"{day.french} prochain", f"next {day.english}") for day in DAYS)
_FAR_FUTURE = bilingual("""
    bientôt | soon
    la semaine prochaine | next week
    le mois prochain | next month
    l'année prochaine | next year
    l'été prochain | next summer
""")
_INTENDED = bilingual("""
    demain | tomorrow
    ce soir | tonight
    cet après-midi | this afternoon
    ce week-end | this weekend
""")
HABITS: tuple[Both, ...] = bilingual("""
    tous les jours | every day
    tous les matins | every morning
    tous les soirs | every evening
    toutes les semaines | every week
    le matin | in the morning
    le soir | in the evening
    l'après-midi | in the afternoon
    le week-end | on weekends
    en été | in summer
    en hiver | in winter
    au printemps | in spring
    en automne | in autumn
""") + tuple(Both(f"le {day.french}", f"on {day.english}s") for day in DAYS)
ADVERBS: tuple[Both, ...] = bilingual("""
    souvent | often
    toujours | always
    parfois | sometimes
    rarement | rarely
""")
_NOW = bilingual("""
    maintenant | now
    en ce moment | at the moment
""")
_SPANS = bilingual("""
    jours | days
    semaines | weeks
    mois | months
    ans | years
""")
# What one does on purpose and over some time may be dated by months and years.
_PROJECTS = names(
    "build, buy, discover, draw, learn, leave, meet, paint, plant, receive, repair, save, "
    "sell, translate, travel, visit, win, work, write"
)
# What takes but a moment is not going on now; what happens by mishap is not planned either.
_MOMENTS = names(
    "arrive, catch, come back, discover, fall, find, greet, hear, invite, lose, meet, "
    "receive, save, see, understand, wake up, win, buy, sell, forget, break, miss, steal, "
    "bite, leave, put on, take off, thank, call, throw, choose, take, cross, help, stay, "
    "get up, go to bed"
)
_MISHAPS = names("bite, break, fall, forget, hear, lose, miss, steal, find, discover")
_OUTBURSTS = names("laugh, cry, shout")


def ago(dice: Dice, spans: int) -> Both:
    """Return a time in the past: ``il y a trois jours`` – ``three days ago``."""
    amount = _amount(dice, spans)
    return Both(f"il y a {amount.french}", f"{amount.english} ago")


def in_future(dice: Dice, spans: int) -> Both:
    """Return a time to come: ``dans trois jours`` – ``in three days``."""
    amount = _amount(dice, spans)
    return Both(f"dans {amount.french}", f"in {amount.english}")


def duration(dice: Dice) -> Both:
    """Return how long something has lasted: ``depuis trois ans`` – ``for three years``."""
    amount = _amount(dice, len(_SPANS))
    return Both(f"depuis {amount.french}", f"for {amount.english}")


def _amount(dice: Dice, spans: int) -> Both:
    """Return an amount of time in one of the shortest spans: days, weeks, months, years."""
    n, span = dice.one(range(2, 9)), dice.one(_SPANS[:spans])
    return Both(
        f"{french.number(n)} {span.french}",
        f"{english.number(n)} {span.english}",
    )


def tense_for(dice: Dice, verb: Verb) -> Tense:
    """Choose a tense in which a verb can tell of one event."""
    if verb.english in _MISHAPS:
        return Tense.PAST
    if verb.english in _MOMENTS:
        return dice.one((Tense.PAST, Tense.PAST, Tense.FUTURE, Tense.GOING))
    if verb.english in _OUTBURSTS:
        return dice.one((Tense.PAST, Tense.PAST, Tense.ONGOING, Tense.NOW))
    if verb.french == "aller":
        return dice.one((Tense.PAST, Tense.FUTURE, Tense.NOW))
    return dice.one((Tense.PAST, Tense.PAST, Tense.FUTURE, Tense.GOING, Tense.ONGOING, Tense.NOW))


def time_for(dice: Dice, tense: Tense, verb: Verb) -> Both:
    """Choose a time that fits a tense and a verb; often none where none is needed."""
    if tense is Tense.NOW:
        return dice.one(_NOW)
    if tense is Tense.ONGOING or dice.chance(0.45):
        return NOTHING
    if tense is Tense.GOING:
        return dice.one(_INTENDED)
    spans = len(_SPANS) if verb.english in _PROJECTS else 1
    if tense is Tense.PAST:
        far = _FAR_PAST if verb.english in _PROJECTS else ()
        return ago(dice, spans) if dice.chance(0.2) else dice.one(_NEAR_PAST + _DAYS_PAST + far)
    far = _FAR_FUTURE if verb.english in _PROJECTS else ()
    if dice.chance(0.2):
        return in_future(dice, spans)
    return dice.one(_NEAR_FUTURE + _DAYS_FUTURE + far)


def near_time(dice: Dice, tense: Tense) -> Both:
    """Choose a time around now, for what does not happen."""
    if dice.chance(0.5):
        return NOTHING
    return dice.one(
        {Tense.PAST: _NEAR_PAST, Tense.FUTURE: _NEAR_FUTURE, Tense.GOING: _INTENDED}[tense]
    )


def at_time(dice: Dice, clause: Both, time: Both) -> Both:
    """Put a time at the end of a clause, or now and then in front of it."""
    if time.french and dice.chance(0.2):
        return Both(f"{time.french}, {clause.french}", f"{time.english}, {clause.english}")
    return together(clause, time)


def tell(dice: Dice, subject: NounPhrase, predicate: Predicate) -> Both:
    """Say that something happens, happened or will happen, at a fitting time.

    Animals keep no calendar: what they do is told of today and yesterday.
    """
    if subject.kind == "thing":
        tense = dice.one((Tense.PAST, Tense.PAST, tense_for(dice, predicate.verb)))
        times = {Tense.PAST: (NOTHING, *_NEAR_PAST), Tense.NOW: _NOW}.get(tense, (NOTHING,))
        return at_time(dice, say(subject, predicate, tense), dice.one(times))
    tense = tense_for(dice, predicate.verb)
    return at_time(dice, say(subject, predicate, tense), time_for(dice, tense, predicate.verb))
