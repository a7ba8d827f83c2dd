"""What one does in vain, on purpose, or beforehand: but, to, before."""

from __future__ import annotations

from lesson.cast import known_object, object_of, someone
from lesson.clauses import (
    NOT,
    Tense,
    deny,
    do,
    do_to,
    infinitive,
    say,
    statement,
    together,
)
from lesson.dice import Dice
from lesson.english import gerund
from lesson.lexicon import Verb
from lesson.nouns import NOUNS
from lesson.phrases import (
    THE,
    Both,
    belonging_to,
    noun_phrase,
    object_pronoun,
    pronoun_for,
)
from lesson.places import PLACES
from lesson.tables import rows
from lesson.verbs import HUMAN, select, verb, verbs

# What one tries | in English | and does not reach | in English | with what.
_ATTEMPTS = tuple(
    (verb(*row[:2]), verb(*row[2:4]), NOUNS.among(row[4]))
    for row in rows("""
        chercher | look for  | trouver    | find       | belongings, dog, cat, ball, treasure, ring
        lire     | read      | comprendre | understand | book, letter, poem, article, message, novel
        voir     | see       | acheter    | buy        | dress, hat, car, watch, painting, boat, rug
        acheter  | buy       | porter     | wear       | hat, coat, scarf, tie, sweater, cap, shirt
        attendre | wait for  | voir       | see        | bus, train, taxi, plane, boat, mail carrier
        pousser  | push      | ouvrir     | open       | door, window, drawer, trunk, chest
        écrire   | write     | envoyer    | send       | letter, message, postcard
        préparer | prepare   | manger     | eat        | cake, soup, salad, pie, omelet, sandwich
        prendre  | take      | lire       | read       | book, newspaper, letter, map, magazine
        entendre | hear      | voir       | see        | train, owl, bird, plane, wolf, dog, truck
        recevoir | receive   | ouvrir     | open       | letter, gift, message, box
        goûter   | taste     | aimer      | like       | soup, cheese, cake, wine, tea, salad, honey
        réparer  | repair    | vendre     | sell       | car, bike, boat, clock, radio, chair
    """)
)


def in_vain(dice: Dice) -> Both:
    """``Il a cherché sa clé, mais il ne l'a pas trouvée.``"""
    first, second, nouns = dice.one(_ATTEMPTS)
    dice.note(first, second)
    noun = dice.word(nouns)
    subject = someone(dice)
    own = belonging_to(subject) if noun.classes & {"belongings", "clothes"} else THE
    plural = noun.countable and dice.chance(0.25)
    target = noun_phrase(dice.one((THE, THE, own)), noun, plural)
    tried = say(subject, do(first, target.both), Tense.PAST)
    failed = deny(pronoun_for(subject), do_to(second, object_pronoun(target)), Tense.PAST, NOT)
    return statement(
        Both(f"{tried.french}, mais {failed.french}", f"{tried.english}, but {failed.english}")
    )


# Where one goes, and what for.
_ERRANDS = tuple(
    (NOUNS[place], Verb(words, meaning, (), NOUNS.among(listed)))
    for place, words, meaning, listed in rows("""
        market      | acheter   | buy      | fruits, vegetables, cheese, fish, flower, egg, meat
        bakery      | acheter   | buy      | bread, cake, pie, cookie, sandwich
        farm        | acheter   | buy      | egg, milk, honey, cheese, apple, butter
        farm        | nourrir   | feed     | livestock
        library     | lire      | read     | book, newspaper, magazine, novel
        library     | emprunter | borrow   | book, novel, magazine
        station     | attendre  | wait for | train, bus, taxi
        station     | prendre   | take     | train, bus
        post office | envoyer   | send     | letter, postcard, gift
        museum      | voir      | see      | painting, statue
        cinema      | voir      | see      | movie
        zoo         | voir      | see      | lion, giraffe, elephant, monkey, tiger, bear, otter
        kitchen     | préparer  | prepare  | meals, cake, soup, tea, salad
        kitchen     | boire     | drink    | water, milk, coffee, tea
        garden      | cueillir  | pick     | flower, rose, apple, tomato, strawberry
        garden      | arroser   | water    | flower, rose, tulip
        restaurant  | manger    | eat      | fish, meat, pancake, soup, chicken, omelet
        forest      | cueillir  | pick     | mushroom, flower, strawberry
        cellar      | chercher  | look for | wine, ladder, hammer, bottle, wood
        attic       | chercher  | look for | trunk, photo, letter, lamp, painting, toy
    """)
)


def in_order_to(dice: Dice) -> Both:
    """``Elle est allée au marché pour acheter du poisson.`` – ``She went … to buy some fish.``"""
    place, deed = dice.one(_ERRANDS)
    dice.note(place, deed)
    subject = someone(dice)
    aim = infinitive(subject, do(deed, object_of(dice, deed, subject).both))
    went = say(
        subject,
        do(verb("aller", "go"), PLACES[place.english].to),
        dice.one((Tense.PAST, Tense.PAST, Tense.FUTURE)),
    )
    return statement(together(went, Both("pour", "to"), aim))


_BEFOREHAND = verbs("""
    partir      | leave
    sortir      | go out
    dormir      | sleep
    manger      | eat
    se coucher  | go to bed
    travailler  | work
    jouer       | play
""")


def before_doing(dice: Dice) -> Both:
    """``Avant de partir, elle a fermé la porte.`` – ``Before leaving, she closed the door.``"""
    subject = someone(dice)
    later = do(dice.word(_BEFOREHAND))
    action = dice.word(_CHORES)
    first, _, rest = later.verb.english.partition(" ")
    before = Both(
        f"avant de {infinitive(subject, later).french}", f"before {gerund(first)} {rest}".strip()
    )
    done = say(subject, do(action, known_object(dice, action, subject).both), Tense.PAST)
    if dice.chance(0.5):
        return statement(together(done, before))
    return statement(Both(f"{before.french}, {done.french}", f"{before.english}, {done.english}"))


_CHORES = select(
    HUMAN,
    "close, open, wash, clean, read, call, thank, feed, water, put on, take off, take, hide, "
    "prepare, drink, eat, greet, look at, fill, correct, sing, buy",
)
