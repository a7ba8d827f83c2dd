"""Clauses joined by because, when, while and if."""

from __future__ import annotations

from lesson.cast import (
    either,
    known_object,
    my_relative,
    named,
    object_of,
    somebody,
    someone,
    subject_of,
)
from lesson.clauses import (
    NOT,
    Predicate,
    Tense,
    deny,
    do,
    say,
    statement,
    together,
)
from lesson.constructions.describing import being
from lesson.constructions.world import IT, WEATHER
from lesson.dice import Dice
from lesson.lexicon import read_verbs
from lesson.nouns import NOUNS
from lesson.phrases import (
    NOTHING,
    WE,
    YOU,
    Both,
    I,
    NounPhrase,
    adjective,
    pronoun_for,
)
from lesson.places import PLACES
from lesson.tables import names
from lesson.verbs import (
    ALONE,
    BE,
    HUMAN,
    RESTING,
    select,
    verbs,
)

_BECAUSE = Both("parce que", "because")

# How one feels, and what one has done to feel so.
_MOODS = (
    (
        tuple(adjective(name) for name in names("sad, angry, worried")),
        read_verbs(
            """
perdre  | lose   | persons | belongings, dog, cat, match, ball
casser  | break  | persons | vase, cup, mirror, toy, lamp, glass, window, watch
rater   | miss   | persons | bus, train, plane, party, boat, movie
oublier | forget | persons | key, umbrella, passport, ticket, gift, bag, poem, lesson
vendre  | sell   | persons | house, horse, car, piano, boat, ring, painting
""",
            NOUNS,
        ),
    ),
    (
        tuple(adjective(name) for name in names("happy, pleased, proud")),
        read_verbs(
            """
trouver  | find    | persons | belongings, dog, cat, treasure, answer
gagner   | win     | persons | match, game, trophy
recevoir | receive | persons | letter, gift, message, postcard, answer
acheter  | buy     | persons | house, car, bike, horse, guitar, boat, dog, camera
réparer  | repair  | persons | car, bike, watch, roof, radio, computer, boat, clock
finir    | finish  | persons | book, exam, exercise, letter, painting, game, article
""",
            NOUNS,
        ),
    ),
)


def mood_because(dice: Dice) -> Both:
    """``Marie est triste parce qu'elle a perdu sa clé.``"""
    moods, deeds = dice.one(_MOODS)
    subject = someone(dice)
    feeling = being(dice.word(moods), dice.one((NOTHING, Both("très", "very"))), subject)
    deed = dice.word(deeds)
    done = do(deed, known_object(dice, deed, subject).both)
    state, before = dice.one(((Tense.PRESENT, Tense.PAST), (Tense.STATE, Tense.PLUPERFECT)))
    return statement(
        together(
            say(subject, do(BE, feeling), state), _BECAUSE, say(pronoun_for(subject), done, before)
        )
    )


_PLANS = verbs("""
    venir       | come
    sortir      | go out
    travailler  | work
    manger      | eat
    chanter     | sing
    danser      | dance
    nager       | swim
    courir      | run
    se promener | go for a walk
    partir      | leave
    jouer       | play
""")
_EXCUSES = tuple(adjective(name) for name in names("tired, sick, busy, nervous, worried"))
_FELT = verbs("""
    avoir froid   | be cold
    avoir peur    | be afraid
    avoir sommeil | be sleepy
""")
_WEATHER_THEN = tuple(
    say(IT, do(sky), Tense.BACKGROUND if sky.english in {"rain", "snow"} else Tense.STATE)
    for sky in WEATHER
    if sky.english not in {"be sunny", "be cool"}
)
_TOO_LATE = Both("il était trop tard", "it was too late")


def absence_because(dice: Dice) -> Both:
    """``Il n'est pas venu parce qu'il était malade.``, ``… parce qu'il pleuvait.``"""
    subject = someone(dice)
    plan = deny(subject, do(dice.word(_PLANS)), Tense.PAST, NOT)
    if dice.chance(0.3):
        return statement(together(plan, _BECAUSE, dice.one((*_WEATHER_THEN, _TOO_LATE))))
    pronoun = pronoun_for(subject)
    if dice.chance(0.3):
        return statement(together(plan, _BECAUSE, say(pronoun, do(dice.word(_FELT)), Tense.STATE)))
    degree = dice.one((NOTHING, Both("trop", "too"), Both("très", "very")))
    state = being(dice.word(_EXCUSES), degree, pronoun)
    return statement(together(plan, _BECAUSE, say(pronoun, do(BE, state), Tense.STATE)))


_LASTING = select(
    HUMAN,
    "read, write, wash, clean, repair, prepare, look for, listen to, watch, look at, wait for, "
    "cut, paint, draw, water, feed, eat, drink, plant, translate, correct, drive, explain",
)
_STAYING = tuple(
    entry for entry in RESTING if entry.english not in {"fall", "stay", "hide", "go for a walk"}
)
_EVENTS = verbs("""
    arriver      | arrive
    revenir      | come back
    partir       | leave
    sortir       | go out
    tomber       | fall
    se réveiller | wake up
    crier        | shout
    entrer       | come in
""")


def _scene(dice: Dice) -> tuple[NounPhrase, Predicate]:
    """Return someone and something that goes on for a while."""
    if dice.chance(0.5):
        where = dice.word(_STAYING)
        return subject_of(dice, where), do(where, PLACES[dice.word(where.objects).english].at)
    subject = someone(dice)
    action = dice.word(_LASTING)
    return subject, do(action, known_object(dice, action, subject).both)


def when_suddenly(dice: Dice) -> Both:
    """``Le chat dormait dans la cuisine quand Marie est revenue.``"""
    going_on = say(*_scene(dice), Tense.BACKGROUND)
    happened = say(somebody(dice), do(dice.word(_EVENTS)), Tense.PAST)
    if dice.chance(0.3):
        return statement(
            Both(
                f"quand {happened.french}, {going_on.french}",
                f"when {happened.english}, {going_on.english}",
            )
        )
    return statement(together(going_on, Both("quand", "when"), happened))


def while_(dice: Dice) -> Both:
    """``Paul lisait pendant que Marie préparait le dîner.``"""
    subject, predicate = _scene(dice)
    other = dice.until(somebody, lambda one: one.english != subject.english)
    action = dice.word(_LASTING)
    meanwhile = do(action, known_object(dice, action, other).both)
    return statement(
        together(
            say(subject, predicate, Tense.BACKGROUND),
            Both("pendant que", "while"),
            say(other, meanwhile, Tense.BACKGROUND),
        )
    )


def when_it_will(dice: Dice) -> Both:
    """``Quand Paul arrivera, nous mangerons.`` – ``When Paul arrives, we will eat.``"""
    subject = somebody(dice)
    event = do(dice.word(_COMING))
    when = Both(
        f"quand {say(subject, event, Tense.FUTURE).french}",
        f"when {say(subject, event, Tense.PRESENT).english}",
    )
    then = _consequence(dice, subject)
    return statement(Both(f"{when.french}, {then.french}", f"{when.english}, {then.english}"))


_COMING = select(_EVENTS, "arrive, come back, leave, wake up")


def _consequence(dice: Dice, other: NounPhrase) -> Both:
    """Return what someone else will do then."""
    actor = dice.until(
        lambda dice: either(dice, I, WE, YOU, named, my_relative),
        lambda one: one.english != other.english,
    )
    if dice.chance(0.35):
        return say(actor, do(dice.word(_THEN)), Tense.FUTURE)
    action = dice.word(_LASTING)
    return say(actor, do(action, known_object(dice, action, actor).both), Tense.FUTURE)


_THEN = select(ALONE, "leave, go out, eat, sing, dance, sleep, rest, go to bed, get up, work")
_FINE = select(WEATHER, "be sunny, be hot")
_FOUL = select(WEATHER, "rain, snow, be cold")
_OUTDOORS = read_verbs(
    """
nager       | swim          | persons | lake, sea, river, pool
se promener | go for a walk | persons | forest, park, garden, beach, countryside, harbor
manger      | eat           | persons | garden, park, beach
jouer       | play          | persons | park, garden, beach, courtyard, stadium
travailler  | work          | persons | garden, field
lire        | read          | persons | garden, park, beach
""",
    NOUNS,
)
_INDOORS = read_verbs(
    """
rester      | stay   | persons | library, office, hotel, bedroom, kitchen
lire        | read   | persons | library, living room, bedroom, kitchen
jouer       | play   | persons | bedroom, living room, attic, garage
travailler  | work   | persons | office, library, kitchen, garage
manger      | eat    | persons | kitchen, living room, restaurant
dormir      | sleep  | persons | hotel, living room, attic
""",
    NOUNS,
)
_REACTIONS = tuple(
    adjective(name) for name in names("sad, happy, pleased, angry, proud, surprised")
)


def if_(dice: Dice) -> Both:
    """``S'il pleut demain, nous resterons dans la cuisine.``"""
    if dice.chance(0.5):
        skies, deeds = dice.one(((_FINE, _OUTDOORS), (_FOUL, _INDOORS)))
        when = dice.one((NOTHING, Both("demain", "tomorrow")))
        cause = together(say(IT, do(dice.word(skies)), Tense.PRESENT), when)
        deed = dice.word(deeds)
        place = PLACES[dice.word(deed.objects).english].at
        result = say(someone(dice), do(deed, place), Tense.FUTURE)
    else:
        cause = say(somebody(dice), do(dice.word(_COMING)), Tense.PRESENT)
        actor = either(dice, I, WE, named, my_relative)
        mood = being(dice.word(_REACTIONS), dice.one((NOTHING, Both("très", "very"))), actor)
        result = say(actor, do(BE, mood), Tense.FUTURE)
    condition = together(Both("si", "if"), cause)
    if dice.chance(0.3):
        return statement(together(result, condition))
    return statement(
        Both(f"{condition.french}, {result.french}", f"{condition.english}, {result.english}")
    )


# What one would do if one were so.
_DREAMS = tuple(
    (adjective(ideal), select(HUMAN, deeds))
    for ideal, deeds in (
        ("rich", "buy, build, visit"),
        ("young", "learn, visit, write, paint"),
        ("famous", "write, meet, visit"),
        ("strong", "lift, push, move, carry"),
        ("brave", "help, save, cross, follow"),
    )
)


def if_only(dice: Dice) -> Both:
    """``Si j'étais riche, j'achèterais une maison.`` – ``If I were rich, I would buy a house.``"""
    subject = someone(dice)
    word, deeds = dice.one(_DREAMS)
    dice.note(word)
    ideal = being(word, NOTHING, subject)
    fact = say(subject, do(BE, ideal), Tense.STATE)
    # English keeps an old form here: if I were.
    condition = together(
        Both("si", "if"), Both(fact.french, f"{subject.english} were {ideal.english}")
    )
    action = dice.word(deeds)
    pronoun = pronoun_for(subject)
    dream = say(pronoun, do(action, object_of(dice, action, pronoun).both), Tense.WOULD)
    return statement(
        Both(f"{condition.french}, {dream.french}", f"{condition.english}, {dream.english}")
    )
