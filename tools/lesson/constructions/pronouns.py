"""Pronouns whose noun is in the sentence: *la clé … je l'ai perdue* – *the key … I lost it*."""

from __future__ import annotations

from lesson import english, french
from lesson.adjectives import gradable
from lesson.cast import (
    OWNERS,
    any_relative,
    described,
    either,
    my_relative,
    named,
    relative,
    someone,
)
from lesson.clauses import (
    NOT,
    Tense,
    deny,
    do,
    do_to,
    question,
    say,
    statement,
    together,
)
from lesson.constructions.describing import being
from lesson.dice import Dice
from lesson.nouns import NOUNS
from lesson.phrases import (
    HE,
    NOTHING,
    SHE,
    THE,
    THEY,
    THIS,
    WE,
    YOU,
    A,
    Both,
    Clitic,
    I,
    NounPhrase,
    after_be,
    belonging_to,
    bilingual,
    indirect_pronoun,
    noun_phrase,
    number,
    object_pronoun,
    pronoun_for,
)
from lesson.tables import names, rows
from lesson.times import HABITS, near_time
from lesson.verbs import BE, HAVE, select, verb, verbs

# What one does first | in English | and then | in English | with what.
_CHAINS = tuple(
    (verb(*row[:2]), verb(*row[2:4]), NOUNS.among(row[4]))
    for row in rows("""
        acheter    | buy     | manger    | eat       | fruits, dishes, cheese, bread, fish
        acheter    | buy     | lire      | read      | book, newspaper, novel, magazine
        acheter    | buy     | réparer   | repair    | bike, car, boat, clock, radio, chair, tractor
        acheter    | buy     | porter    | wear      | hat, coat, scarf, shirt, tie, sweater, jacket
        trouver    | find    | cacher    | hide      | key, ring, treasure, letter, photo, map, bone
        trouver    | find    | perdre    | lose      | key, ring, ball, ticket, pen, glove, phone
        trouver    | find    | vendre    | sell      | ring, painting, watch, camera, statue, bike
        écrire     | write   | envoyer   | send      | letter, message, postcard, poem
        écrire     | write   | lire      | read      | poem, letter, story, recipe
        ouvrir     | open    | fermer    | close     | door, window, box, book, suitcase, drawer
        laver      | wash    | ranger    | put away  | shirt, plate, glass, cup, dress, towel, bowl
        casser     | break   | réparer   | repair    | chair, toy, lamp, bike, clock, radio
        construire | build   | vendre    | sell      | house, boat, table, wall, bench
        préparer   | prepare | manger    | eat       | cake, soup, salad, pie, omelet, sandwich
        cueillir   | pick    | manger    | eat       | apple, cherry, strawberry, pear, peach
        prendre    | take    | oublier   | forget    | umbrella, bag, key, book, coat, ticket, scarf
        planter    | plant   | arroser   | water     | tree, rose, tulip, flower
        attraper   | catch   | libérer   | set free  | bird, fish, frog, mouse, squirrel, owl
        emprunter  | borrow  | rendre    | give back | book, bike, car, pen, ladder, guitar
        remplir    | fill    | vider     | empty     | glass, bottle, bucket, basket, bag, carafe
        choisir    | choose  | acheter   | buy       | dress, hat, car, table, lamp, watch, rug
        voler      | steal   | cacher    | hide      | ring, painting, watch, jewel, statue
        peindre    | paint   | vendre    | sell      | chair, boat, bench, house, painting
        recevoir   | receive | lire      | read      | letter, message, postcard, answer, newspaper
        voir       | see     | suivre    | follow    | fox, dog, thief, bird, truck, deer, doe
        goûter     | taste   | manger    | eat       | cheese, soup, cake, pie, jam, omelet
    """)
)


def _silent(subject: NounPhrase) -> NounPhrase:
    """Return the same subject left unsaid: ``et l'a mangée`` – ``and ate it``.

    French says *je, nous, vous* again.
    """
    return subject._replace(french=subject.french if subject.slot in {0, 3, 4} else "", english="")


def chain(dice: Dice) -> Both:
    """``Elle a cueilli une pomme et l'a mangée.`` – ``She picked an apple and ate it.``"""
    first, second, nouns = dice.one(_CHAINS)
    dice.note(first, second)
    noun = dice.word(nouns)
    subject = someone(dice)
    determiner = dice.one((THE, THE, A)) if noun.countable else THE
    plural = noun.countable and dice.chance(0.3)
    adjectives = () if first.english == "fill" else described(dice, noun, 0.2)
    thing = noun_phrase(determiner, noun, plural, *adjectives)
    done = say(subject, do(first, thing.both), Tense.PAST)
    again = say(_silent(subject), do_to(second, object_pronoun(thing)), Tense.PAST)
    link = dice.one((Both("et", "and"), Both("puis", "and then")))
    return statement(together(done, link, again))


_FATES = verbs("""
    perdre  | lose
    vendre  | sell
    cacher  | hide
    oublier | forget
    prendre | take
    donner  | give away
""")
_KEPT = NOUNS.among("belongings, clothes, toy, doll, ball, car, bike, guitar, letter, photo, map")


def where_it_went(dice: Dice) -> Both:
    """``Où est ma clé ? Je l'ai perdue.`` – ``Where is my key? I lost it.``"""
    noun = dice.word(_KEPT)
    plural = "pairs" in noun.classes or dice.chance(0.25)
    thing = noun_phrase(dice.one(OWNERS), noun, plural)
    asked = Both(
        f"où {'sont' if thing.plural else 'est'} {thing.french}",
        f"where {'are' if thing.plural else 'is'} {thing.english}",
    )
    subject = someone(dice)
    fate = say(subject, do_to(dice.word(_FATES), object_pronoun(thing)), Tense.PAST)
    return _after(question(asked), statement(fate))


def _after(first: Both, second: Both) -> Both:
    return Both(f"{first.french} {second.french}", f"{first.english} {second.english}")


_NEWS = verbs("""
    acheter | buy
    trouver | find
    voir    | see
    choisir | choose
    vendre  | sell
""")
_NEW_THINGS = tuple(
    noun
    for noun in NOUNS.among(
        "goods, pets, livestock, clothes, jewels, furniture, vehicles, fruits, gifts"
    )
    if noun.countable and after_be(noun)
)


def and_it_is(dice: Dice) -> Both:
    """``J'ai acheté une voiture. Elle est rouge.`` – ``I bought a car. It is red.``"""
    noun = dice.word(_NEW_THINGS)
    plural = "pairs" in noun.classes or dice.chance(0.2)
    thing = noun_phrase(A, noun, plural)
    found = say(someone(dice), do(dice.word(_NEWS), thing.both), Tense.PAST)
    pronoun = pronoun_for(thing)
    word = dice.word([word for word in after_be(noun) if word.english != "hidden"])
    tense = dice.one((Tense.PRESENT, Tense.STATE))
    degree = dice.one((NOTHING, Both("très", "very"))) if gradable(word) else NOTHING
    like = say(pronoun, do(BE, being(word, degree, pronoun)), tense)
    if dice.chance(0.25):
        like = deny(pronoun, do(BE, being(word, NOTHING, pronoun)), tense, NOT)
    return _after(statement(found), statement(like))


_TOWARD = verbs("""
    connaître  | know
    comprendre | understand
    aider      | help
    inviter    | invite
    remercier  | thank
    voir       | see
    attendre   | wait for
    suivre     | follow
    chercher   | look for
    appeler    | call
    saluer     | greet
    détester   | hate
    rencontrer | meet
""")
_STATIVE = names("know, understand, hate, see")


def _others(subject: NounPhrase, people: tuple[NounPhrase, ...]) -> list[NounPhrase]:
    """Leave out the subject itself; *I* and *we* overlap."""
    same = {0, 3} if subject.slot in {0, 3} else {subject.slot}
    return [one for one in people if one.slot not in same]


def each_other(dice: Dice) -> Both:
    """``Nous les avons invités.`` – ``We invited them.``; ``Je ne la connais pas.``"""
    subject = someone(dice)
    target = dice.one(_others(subject, (I, HE, SHE, WE, YOU, THEY)))
    action = dice.word(_TOWARD)
    clitic = object_pronoun(target)
    if action.english in _STATIVE[:3]:
        tense = Tense.PRESENT
    else:
        tense = dice.one((Tense.PAST, Tense.PAST, Tense.FUTURE, Tense.GOING))
    # Before a vowel le and la are alike; only an agreeing participle tells him from her.
    hidden = clitic.english in {"him", "her"} and french.begins_with_vowel(action.french)
    if hidden:
        tense = Tense.PAST
    time = NOTHING if tense is Tense.PRESENT else near_time(dice, tense)
    if dice.chance(0.35):
        return statement(together(deny(subject, do_to(action, clitic), tense, NOT), time))
    return statement(together(say(subject, do_to(action, clitic), tense), time))


_GIVING = verbs("""
    donner   | give
    montrer  | show
    envoyer  | send
    prêter   | lend
    vendre   | sell
    apporter | bring
    offrir   | offer
""")
_HANDING = select(_GIVING, "give, show, lend, bring, offer")
_GIFTS = NOUNS.among("gifts")


def giving(dice: Dice) -> Both:
    """``Paul a donné un livre à Marie.``, ``Elle m'a prêté son vélo.``"""
    subject = someone(dice)
    action = dice.word(_GIVING)
    noun = dice.word(_GIFTS)
    own = belonging_to(subject) if noun.classes & {"belongings", "vehicles", "objects"} else A
    thing = noun_phrase(
        dice.one((A, A, THE, own)), noun, dice.chance(0.2), *described(dice, noun, 0.2)
    )
    tense = dice.one((Tense.PAST, Tense.PAST, Tense.FUTURE, Tense.GOING))
    if dice.chance(0.5):
        person = named(dice) if dice.chance(0.5) else relative(dice, belonging_to(subject))
        to = Both(french.contract("à", person.french), f"to {person.english}")
        return statement(say(subject, do(action, together(thing.both, to)), tense))
    target = dice.one(_others(subject, (I, WE, YOU, THEY)))
    return statement(say(subject, do_to(action, indirect_pronoun(target), thing.both), tense))


def when_they_came(dice: Dice) -> Both:
    """``Quand Marie est arrivée, Paul lui a montré une photo.`` – *her*, for Marie."""
    person = either(dice, named, any_relative)
    came = say(person, do(dice.word(_COMING)), Tense.PAST)
    noun = dice.word(_GIFTS)
    thing = noun_phrase(dice.one((A, A, THE)), noun, dice.chance(0.2))
    giver = dice.until(
        lambda dice: either(dice, I, WE, named, any_relative),
        lambda one: one.english != person.english,
    )
    gave = do_to(dice.word(_HANDING), indirect_pronoun(person), thing.both)
    given = say(giver, gave, Tense.PAST)
    return statement(
        Both(f"quand {came.french}, {given.french}", f"when {came.english}, {given.english}")
    )


_COMING = verbs("""
    arriver    | arrive
    partir     | leave
    revenir    | come back
    se réveiller | wake up
    sortir     | go out
    tomber malade | fall sick
""")
_COMPANY = bilingual("""
    avec moi   | with me
    avec lui   | with him
    avec elle  | with her
    avec nous  | with us
    avec vous  | with you
    avec eux   | with them
    sans moi   | without me
    sans lui   | without him
    sans elle  | without her
    sans nous  | without us
    sans eux   | without them
    chez moi   | at my house
    chez vous  | at your house
    chez nous  | at our house
    chez lui   | at his house
""")
_TOGETHER = verbs("""
    manger     | eat
    travailler | work
    jouer      | play
    chanter    | sing
    danser     | dance
    étudier    | study
    cuisiner   | cook
    rester     | stay
    attendre   | wait
    dîner      | have dinner
""")


# Nobody dances with himself.
_BARRED: dict[int, set[str]] = {
    0: {"me", "my", "us", "our"},
    2: {"him", "his", "her"},
    3: {"me", "my", "us", "our"},
    4: {"you", "your"},
    5: {"them"},
}


def company(dice: Dice) -> Both:
    """``Elle a dansé avec lui.`` – ``She danced with him.``"""
    subject = someone(dice)
    options = [
        entry for entry in _COMPANY if not _BARRED[subject.slot] & set(entry.english.split())
    ]
    tense = dice.one((Tense.PAST, Tense.PAST, Tense.FUTURE, Tense.GOING))
    predicate = do(dice.word(_TOGETHER), dice.one(options))
    time = near_time(dice, tense)
    if not predicate.complement.french.startswith("sans") and dice.chance(0.25):
        return statement(together(deny(subject, predicate, tense, NOT), time))
    return statement(together(say(subject, predicate, tense), time))


_COUNTABLE = NOUNS.among(
    "brother, sister, son, daughter, cousin, uncle, aunt, pets, horse, cow, goat, car, bike, book, "
    "apple, orange, key, hat, ticket, chair, cup, plate, suitcase, umbrella, song, question"
)


def and_two(dice: Dice) -> Both:
    """``Paul a trois frères et Marie en a deux.`` – ``… and Marie has two.``"""
    subject = either(dice, named, I, my_relative)
    other = named(dice)
    second = dice.one((other, HE, SHE, YOU) if subject is I else (other, YOU))
    if second.english == subject.english:
        second = YOU
    noun = dice.word(_COUNTABLE)
    most = 5 if "persons" in noun.classes else 9
    n, m = dice.one(range(2, most)), dice.one(range(2, most))
    things = noun_phrase(number(n), noun, True)
    has = say(subject, do(HAVE, things.both), Tense.PRESENT)
    of_them = Clitic("en", "", "m", False, False)
    amount = Both(french.number(m), english.number(m))
    has_too = say(second, do_to(HAVE, of_them, amount), Tense.PRESENT)
    return statement(together(has, Both("et", "and"), has_too))


_HAUNTS = NOUNS.among(
    "museum, library, restaurant, theater, zoo, beach, pool, park, garden, farm, castle, market, "
    "bakery, stadium, forest, village"
)


def going_there(dice: Dice) -> Both:
    """``Marie aime cette plage et y va tous les jours.`` – ``… and goes there every day.``"""
    subject = someone(dice)
    place = noun_phrase(THIS, dice.word(_HAUNTS), False, *())
    like = verb("aimer", "like")
    go = do_to(verb("aller", "go"), Clitic("y", "there", "m", False, False))
    when = dice.one(HABITS)
    liked = say(subject, do(like, place.both), Tense.PRESENT)
    gone = say(_silent(subject), go, Tense.PRESENT)
    return statement(together(liked, Both("et", "and"), gone, when))
