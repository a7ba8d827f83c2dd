"""Questions, requests and orders; who is spoken to decides between *tu* and *vous*."""

from __future__ import annotations

from lesson import english, french
from lesson.adjectives import ADJECTIVES
from lesson.cast import (
    OWNERS,
    definite_object,
    described,
    either,
    known_object,
    named,
    somebody,
)
from lesson.clauses import (
    Tense,
    ask,
    command,
    do,
    do_to,
    exclamation,
    forbid,
    infinitive,
    invert,
    question,
    say,
    statement,
    together,
)
from lesson.constructions.describing import being, thing
from lesson.dice import Dice
from lesson.french_verbs import conjugate
from lesson.nouns import NOUNS
from lesson.phrases import (
    HE,
    NOTHING,
    SHE,
    SOME,
    THE,
    THEY,
    THOU,
    WE,
    WHICH,
    YOU,
    A,
    Both,
    Clitic,
    I,
    NounPhrase,
    after_be,
    bilingual,
    noun_phrase,
)
from lesson.places import PLACES
from lesson.tables import names
from lesson.times import near_time
from lesson.verbs import (
    ALONE,
    BE,
    HAVE,
    HUMAN,
    RESTING,
    anyone_can,
    select,
    verb,
    verbs,
)

_ASKED = (YOU, YOU, YOU, HE, SHE, THEY, WE)


def _asked(dice: Dice) -> NounPhrase:
    return dice.one(_ASKED) if dice.chance(0.6) else somebody(dice)


def yes_or_no(dice: Dice) -> Both:
    """``Est-ce que vous avez vu mon chat ?`` – ``Did you see my cat?``"""
    subject = _asked(dice)
    if dice.chance(0.25):
        where = dice.word(_HUMAN_RESTING)
        place = PLACES[dice.word(where.objects).english].at
        return question(ask(subject, do(where, place), dice.one((Tense.PRESENT, Tense.PAST))))
    if dice.chance(0.25):
        noun = dice.word(_ANYTHING)
        subject = thing(dice, noun)
        word = dice.word(after_be(noun))
        tense = dice.one((Tense.PRESENT, Tense.PRESENT, Tense.STATE))
        return question(ask(subject, do(BE, being(word, NOTHING, subject)), tense))
    action = dice.word(HUMAN)
    predicate = do(action, known_object(dice, action, subject).both)
    return question(ask(subject, predicate, dice.one((Tense.PAST, Tense.PAST, Tense.FUTURE))))


_HUMAN_RESTING = tuple(entry for entry in RESTING if anyone_can(entry))
_ANYTHING = tuple(noun for noun in NOUNS if after_be(noun) and "persons" not in noun.classes)
_MAKING = select(
    HUMAN,
    "buy, sell, find, hide, learn, repair, build, meet, see, translate, paint, plant, lose, "
    "wash, prepare, steal, open, close, read, write, cut, cross, visit, move, break",
)
_SKILLS = select(HUMAN, "repair, find, learn, build, open, move, break, cross, lift, win, save")


def question_word(dice: Dice) -> Both:
    """``Où est-ce que vous avez acheté ce chapeau ?`` – ``Where did you buy this hat?``"""
    subject = _asked(dice)
    word = dice.one((Both("quand", "when"), Both("où", "where"), Both("pourquoi", "why")))
    tenses = (Tense.PAST, Tense.PAST, Tense.FUTURE)
    if word.english != "where" and dice.chance(0.4):
        tense = dice.one(tenses) if word.english == "when" else Tense.PAST
        return question(together(word, ask(subject, do(dice.word(ALONE)), tense)))
    action = dice.word(_MAKING)
    if dice.chance(0.2):
        word, action = Both("comment", "how"), dice.word(_SKILLS)
    predicate = do(action, known_object(dice, action, subject).both)
    return question(together(word, ask(subject, predicate, dice.one(tenses))))


_WHAT = (
    *select(
        HUMAN, "eat, drink, buy, sell, read, write, choose, bring, prepare, see, hear, find, lose"
    ),
    *verbs("faire | do"),
    *verbs("dire | say"),
)


def what(dice: Dice) -> Both:
    """``Qu'est-ce que Marie a acheté ?`` – ``What did Marie buy?``"""
    action = dice.word(_WHAT)
    chancy = action.english in {"see", "hear", "find", "lose"}
    tense = Tense.PAST if chancy else dice.one((Tense.PAST, Tense.FUTURE, Tense.GOING))
    clause = ask(_asked(dice), do(action), tense)
    asked = Both(f"qu'{clause.french}", f"what {clause.english}")
    return question(together(asked, near_time(dice, tense)))


_WHO = NounPhrase("qui", "who", "m", False, 2, "person")


def who(dice: Dice) -> Both:
    """``Qui a cassé le vase ?`` – ``Who broke the vase?``"""
    action = dice.word(HUMAN)
    tense = dice.one((Tense.PAST, Tense.PAST, Tense.FUTURE, Tense.GOING))
    return question(say(_WHO, do(action, definite_object(dice, action).both), tense))


_COUNTED = {
    "have": NOUNS.among(
        "brother, sister, cousin, friend, pets, horse, cow, book, car, key, toy, hat"
    ),
    "see": NOUNS.among("animals, car, house, boat, plane, star, movie, bridge, castle, tourist"),
    "buy": NOUNS.among(
        "fruits, vegetables, egg, cake, ticket, book, bottle, chair, glass, plate, cup"
    ),
    "sell": NOUNS.among(
        "fruits, vegetables, egg, cake, ticket, book, chair, car, hat, flower, cow"
    ),
    "want": NOUNS.among(
        "fruits, vegetables, egg, cake, ticket, bottle, chair, glass, plate, pancake"
    ),
}
_COUNTING = (
    (HAVE, Tense.PRESENT),
    (verb("voir", "see"), Tense.PAST),
    (verb("acheter", "buy"), Tense.PAST),
    (verb("vendre", "sell"), Tense.PAST),
    (verb("vouloir", "want"), Tense.PRESENT),
)


def how_many(dice: Dice) -> Both:
    """``Combien de pommes est-ce que vous avez achetées ?`` – ``How many apples did you buy?``"""
    action, tense = dice.one(_COUNTING)
    noun = dice.word(_COUNTED[action.english])
    opening = Both(
        french.spell("combien de", french.plural(noun.french)),
        f"how many {english.plural(noun.english)}",
    )
    # The object stands before the participle, which agrees with it.
    before = Clitic("", "", noun.gender, True, True)
    return question(together(opening, ask(_asked(dice), do_to(action, before), tense)))


_CHOOSABLE = tuple(
    noun
    for noun in NOUNS.among("goods, gifts, clothes, fruits, belongings, movie, song, game")
    if noun.countable
)


def which(dice: Dice) -> Both:
    """``Quelle robe est-ce que vous préférez ?`` – ``Which dress do you prefer?``"""
    noun = dice.word(_CHOOSABLE)
    item = noun_phrase(WHICH, noun, "pairs" in noun.classes or dice.chance(0.3))
    action, tense = dice.one(_CHOOSING)
    before = Clitic("", "", item.gender, item.plural, True)
    return question(together(item.both, ask(_asked(dice), do_to(action, before), tense)))


_CHOOSING = (
    (verb("préférer", "prefer"), Tense.PRESENT),
    (verb("vouloir", "want"), Tense.PRESENT),
    (verb("choisir", "choose"), Tense.PAST),
    (verb("prendre", "take"), Tense.FUTURE),
)


_SOUGHT = NOUNS.among(
    "station, hotel, bank, post office, museum, library, pharmacy, bakery, hospital, market, "
    "school, church, castle, theater, kitchen, bathroom, beach, zoo, harbor, belongings, pets, "
    "clothes, texts, ball, ladder, hammer, relatives, friend, teacher, doctor, nurse, dentist, "
    "bridge"
)


def where_is(dice: Dice) -> Both:
    """``Où sont mes clés ?`` – ``Where are my keys?``"""
    noun = dice.word(_SOUGHT)
    several = noun.classes & {"belongings", "clothes", "pets", "texts"} and dice.chance(0.3)
    plural = "pairs" in noun.classes or bool(several)
    if noun.classes & {"relatives", "circle"}:
        determiner = dice.one(OWNERS)
    elif noun.classes & {"belongings", "pets", "clothes", "texts"}:
        determiner = dice.one((THE, dice.one(OWNERS), dice.one(OWNERS)))
    else:
        determiner = THE
    place = noun_phrase(determiner, noun, plural)
    tense = Tense.STATE if dice.chance(0.25) else Tense.PRESENT
    # With être French needs no est-ce que: say it the other way round.
    verb_form = conjugate("être", "imparfait" if tense is Tense.STATE else "présent", place.slot)
    return question(
        Both(
            f"où {verb_form} {place.french}",
            f"where {ask(place, do(BE), tense).english}",
        )
    )


_ORDERS = select(
    HUMAN,
    "open, close, wash, clean, repair, take, bring, prepare, read, write, eat, drink, listen "
    "to, wait for, call, help, thank, push, lift, put on, take off, fill, cut, water, explain, "
    "correct, translate, look at, feed, follow, hide, choose, look for",
)
_WARNINGS = _ORDERS + select(HUMAN, "forget, lose, break, miss")


def order(dice: Dice) -> Both:
    """``Ouvrez la fenêtre, s'il vous plaît.``, ``N'oubliez pas vos clés !``"""
    if dice.chance(0.4):
        action = dice.word(_WARNINGS)
        clause = forbid(do(action, known_object(dice, action, YOU).both), YOU.slot)
    else:
        action = dice.word(_ORDERS)
        clause = command(do(action, known_object(dice, action, YOU).both), YOU.slot)
        if dice.chance(0.5):
            return statement(please(clause))
    return exclamation(clause) if dice.chance(0.4) else statement(clause)


def please(clause: Both) -> Both:
    """Add a polite word at the end."""
    return Both(f"{clause.french}, s'il vous plaît", f"{clause.english}, please")


def request(dice: Dice) -> Both:
    """``Pouvez-vous réparer ma montre ?`` – ``Can you repair my watch?``"""
    action = dice.word(_ORDERS)
    subject, opening = dice.one(
        (
            (YOU, Both("pouvez-vous", "can you")),
            (YOU, Both("pourriez-vous", "could you")),
            (I, Both("puis-je", "may I")),
            (WE, Both("pouvons-nous", "can we")),
        )
    )
    deed = infinitive(subject, do(action, known_object(dice, action, subject).both))
    return question(together(opening, deed))


_DESIRED = NOUNS.among(
    "foods, drinks, ticket, book, newspaper, umbrella, map, pen, chair, blanket, hat, coat, scarf, "
    "bike, lamp, watch, flower, rose"
)


def wish(dice: Dice) -> Both:
    """``Je voudrais une pomme, s'il vous plaît.`` – ``I would like an apple, please.``"""
    noun = dice.word(_DESIRED)
    small = "vegetables" in noun.classes or noun.english in {"cherry", "strawberry", "cookie"}
    item = noun_phrase(A if noun.countable else SOME, noun, small, *described(dice, noun, 0.25))
    subject = either(dice, I, I, WE, HE, SHE, somebody)
    clause = say(subject, do(verb("vouloir", "like"), item.both), Tense.WOULD)
    return statement(please(clause) if subject in (I, WE) and dice.chance(0.5) else clause)


_TU_VERBS = select(
    HUMAN,
    "see, buy, read, eat, drink, find, lose, wash, clean, open, close, prepare, take, call, "
    "forget, hide, repair, choose, bring, visit, understand, write, break, cut, feed",
)
_TITLES = bilingual("""
    Monsieur | Sir
    Madame   | Madam
""")


_STATES = tuple(
    word
    for word in ADJECTIVES
    if word.english
    in names("tired, sick, ready, busy, angry, worried, pleased, surprised, sad, happy, alone")
)


def addressed(dice: Dice) -> Both:
    """``Marie, as-tu vu mon chat ?`` but ``Madame, avez-vous vu mon chat ?``: the name decides."""
    if dice.chance(0.65):
        name = named(dice)
        address, listener = name.both, THOU._replace(gender=name.gender)
    else:
        address = dice.one(_TITLES)
        listener = YOU._replace(gender="f" if address.english == "Madam" else "m")
    if dice.chance(0.25):
        action = dice.word(_ORDERS)
        target = known_object(dice, action, listener)
        return statement(_to(address, command(do(action, target.both), listener.slot)))
    if dice.chance(0.35):
        state = being(dice.word(_STATES), NOTHING, listener)
        return question(_to(address, invert(listener, do(BE, state), Tense.PRESENT)))
    action = dice.word(_TU_VERBS)
    predicate = do(action, known_object(dice, action, listener).both)
    return question(_to(address, invert(listener, predicate, Tense.PAST)))


def _to(address: Both, clause: Both) -> Both:
    return Both(f"{address.french}, {clause.french}", f"{address.english}, {clause.english}")
