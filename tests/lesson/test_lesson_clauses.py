"""Noun phrases and clauses: agreement and word order in both languages at once."""

from __future__ import annotations

import doctest

import pytest

from lesson import clauses, phrases
from lesson.clauses import (
    ANYMORE,
    NEVER,
    NOT,
    NOT_YET,
    Negation,
    Tense,
    ask,
    command,
    deny,
    do,
    do_to,
    exclamation,
    forbid,
    infinitive,
    invert,
    question,
    say,
    statement,
)
from lesson.lexicon import Adjective
from lesson.nouns import NOUNS
from lesson.phrases import (
    A_LOT_OF,
    HER,
    HIS,
    ITS,
    MY,
    NO,
    SHE,
    SOME,
    THAT,
    THE,
    THEIR,
    THEY,
    THIS,
    THOU,
    TOO_MUCH,
    WE,
    WHICH,
    YOU,
    A,
    Both,
    Determiner,
    I,
    NounPhrase,
    adjective,
    and_,
    belonging_to,
    indirect_pronoun,
    noun_phrase,
    number,
    object_pronoun,
    of,
    person_named,
    pronoun_for,
)
from lesson.verbs import BE, HAVE, verb

MARIE = person_named("Marie", "f")
PAUL = person_named("Paul", "m")
CAT = noun_phrase(THE, NOUNS["cat"], False)
KEY = noun_phrase(THE, NOUNS["key"], False)
KEYS = noun_phrase(THE, NOUNS["key"], True)
EAT, SEE, GO, GET_UP = (
    verb(*words)
    for words in (("manger", "eat"), ("voir", "see"), ("aller", "go"), ("se lever", "get up"))
)


@pytest.mark.parametrize("module", [phrases, clauses], ids=lambda module: module.__name__)
def test_the_examples_in_the_documentation_hold(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(
    ("determiner", "noun", "plural", "adjectives", "expected"),
    [
        (THE, "school", False, (), Both("l'école", "the school")),
        (THE, "hedge", False, (), Both("la haie", "the hedge")),
        (A, "tree", False, ("old",), Both("un vieil arbre", "an old tree")),
        (A, "horse", True, ("beautiful",), Both("de beaux chevaux", "some beautiful horses")),
        (A, "horse", True, ("white",), Both("des chevaux blancs", "some white horses")),
        (A, "cat", False, ("small", "black"), Both("un petit chat noir", "a small black cat")),
        (THIS, "man", False, (), Both("cet homme", "this man")),
        (THIS, "hotel", False, ("new",), Both("ce nouvel hôtel", "this new hotel")),
        (THIS, "friend", False, (), Both("cet ami", "this friend")),
        (THAT, "house", True, (), Both("ces maisons-là", "those houses")),
        (MY, "school", False, (), Both("mon école", "my school")),
        (MY, "school", False, ("small",), Both("ma petite école", "my small school")),
        (THEIR, "child", True, (), Both("leurs enfants", "their children")),
        (SOME, "water", False, (), Both("de l'eau", "some water")),
        (SOME, "bread", False, (), Both("du pain", "some bread")),
        (SOME, "meat", False, (), Both("de la viande", "some meat")),
        (NO, "cat", False, (), Both("de chat", "a cat")),
        (NO, "tree", True, (), Both("d'arbres", "any trees")),
        (NO, "water", False, (), Both("d'eau", "any water")),
        (A_LOT_OF, "egg", True, (), Both("beaucoup d'œufs", "a lot of eggs")),
        (TOO_MUCH, "car", True, (), Both("trop de voitures", "too many cars")),
        (WHICH, "dress", True, (), Both("quelles robes", "which dresses")),
        (number(3), "mouse", True, (), Both("trois souris", "three mice")),
        (number(2), "sheep", True, (), Both("deux moutons", "two sheep")),
    ],
)
def test_noun_phrases(
    determiner: Determiner, noun: str, plural: bool, adjectives: tuple[str, ...], expected: Both
) -> None:
    words: list[Adjective] = [adjective(name) for name in adjectives]
    assert noun_phrase(determiner, NOUNS[noun], plural, *words).both == expected


def test_a_hidden_number_is_one() -> None:
    assert noun_phrase(THE, NOUNS["sheep"], True).both == Both("le mouton", "the sheep")
    assert not noun_phrase(THE, NOUNS["sheep"], True).plural
    assert noun_phrase(A, NOUNS["sheep"], True).both == Both("des moutons", "some sheep")


def test_possession() -> None:
    book = noun_phrase(THE, NOUNS["book"], False)
    king = noun_phrase(THE, NOUNS["king"], False)
    assert of(book, king).both == Both("le livre du roi", "the king's book")
    assert of(book, person_named("Alice", "f")).both == Both("le livre d'Alice", "Alice's book")
    assert [belonging_to(owner) for owner in (PAUL, MARIE, CAT)] == [HIS, HER, ITS]


def test_pronouns_stand_for_their_noun() -> None:
    street, cats = noun_phrase(THE, NOUNS["street"], False), noun_phrase(THE, NOUNS["cat"], True)
    assert pronoun_for(street).both == Both("elle", "it")
    assert pronoun_for(CAT).both == Both("il", "it")
    assert pronoun_for(MARIE).both == Both("elle", "she")
    assert pronoun_for(and_(MARIE, person_named("Anne", "f"))).both == Both("elles", "they")
    assert pronoun_for(and_(MARIE, PAUL)).both == Both("ils", "they")
    assert object_pronoun(street)[:2] == ("la", "it")
    assert object_pronoun(cats)[:2] == ("les", "them")
    assert indirect_pronoun(MARIE)[:2] == ("lui", "her")


@pytest.mark.parametrize(
    ("subject", "tense", "expected"),
    [
        (MARIE, Tense.PRESENT, Both("Marie mange", "Marie eats")),
        (I, Tense.PRESENT, Both("je mange", "I eat")),
        (I, Tense.NOW, Both("je mange", "I am eating")),
        (WE, Tense.ONGOING, Both("nous sommes en train de manger", "we are eating")),
        (THEY, Tense.PAST, Both("ils ont mangé", "they ate")),
        (CAT, Tense.PERFECT, Both("le chat a mangé", "the cat has eaten")),
        (WE, Tense.BACKGROUND, Both("nous mangions", "we were eating")),
        (SHE, Tense.FORMERLY, Both("elle mangeait", "she used to eat")),
        (SHE, Tense.PLUPERFECT, Both("elle avait mangé", "she had eaten")),
        (YOU, Tense.FUTURE, Both("vous mangerez", "you will eat")),
        (I, Tense.GOING, Both("je vais manger", "I am going to eat")),
        (I, Tense.WOULD, Both("je mangerais", "I would eat")),
        (PAUL, Tense.SINCE, Both("Paul mange", "Paul has been eating")),
    ],
)
def test_tenses(subject: NounPhrase, tense: Tense, expected: Both) -> None:
    assert say(subject, do(EAT), tense) == expected


def test_the_participle_agrees_with_the_subject_of_etre() -> None:
    assert say(MARIE, do(GO), Tense.PAST) == Both("Marie est allée", "Marie went")
    assert say(and_(MARIE, PAUL), do(GO), Tense.PAST).french == "Marie et Paul sont allés"
    assert say(THEY._replace(gender="f"), do(GO), Tense.PAST).french == "ils sont allées"
    assert say(YOU, do(GO), Tense.PAST).french == "vous êtes allé"


def test_reflexive_verbs() -> None:
    assert say(I, do(GET_UP), Tense.PAST) == Both("je me suis levé", "I got up")
    assert say(MARIE, do(GET_UP), Tense.PAST).french == "Marie s'est levée"
    assert deny(WE, do(GET_UP), Tense.FUTURE, NOT).french == "nous ne nous lèverons pas"
    assert say(I, do(GET_UP), Tense.GOING).french == "je vais me lever"
    arm = do(verb("se casser", "break"), Both("le bras", "her arm"))
    assert say(MARIE, arm, Tense.PAST) == Both("Marie s'est cassé le bras", "Marie broke her arm")


def test_the_participle_agrees_with_an_object_before_it() -> None:
    lose = verb("perdre", "lose")
    assert say(I, do_to(lose, object_pronoun(KEY)), Tense.PAST) == (
        Both("je l'ai perdue", "I lost it")
    )
    assert deny(I, do_to(lose, object_pronoun(KEYS)), Tense.PAST, NOT) == (
        Both("je ne les ai pas perdues", "I didn't lose them")
    )
    assert say(I, do_to(verb("donner", "give"), indirect_pronoun(MARIE), KEY.both), Tense.PAST) == (
        Both("je lui ai donné la clé", "I gave her the key")
    )
    assert say(I, do_to(SEE, object_pronoun(MARIE)), Tense.GOING) == (
        Both("je vais la voir", "I am going to see her")
    )


def test_a_pronoun_stands_between_an_english_verb_and_its_particle() -> None:
    give_back = do_to(verb("rendre", "give back"), object_pronoun(KEY))
    assert say(SHE, give_back, Tense.PAST) == Both("elle l'a rendue", "she gave it back")
    look_at = do_to(verb("regarder", "look at"), object_pronoun(KEY))
    assert say(SHE, look_at, Tense.PRESENT) == Both("elle la regarde", "she looks at it")


@pytest.mark.parametrize(
    ("negation", "tense", "expected"),
    [
        (NOT, Tense.PRESENT, Both("elle ne mange pas", "she doesn't eat")),
        (NOT, Tense.PAST, Both("elle n'a pas mangé", "she didn't eat")),
        (NOT, Tense.FUTURE, Both("elle ne mangera pas", "she won't eat")),
        (NEVER, Tense.PRESENT, Both("elle ne mange jamais", "she never eats")),
        (NEVER, Tense.PERFECT, Both("elle n'a jamais mangé", "she has never eaten")),
        (ANYMORE, Tense.PRESENT, Both("elle ne mange plus", "she doesn't eat anymore")),
        (NOT_YET, Tense.PERFECT, Both("elle n'a pas encore mangé", "she hasn't eaten yet")),
    ],
)
def test_negation(negation: Negation, tense: Tense, expected: Both) -> None:
    assert deny(SHE, do(EAT), tense, negation) == expected


def test_be_and_modals_need_no_do() -> None:
    tired = do(BE, Both("fatigué", "tired"))
    assert deny(I, tired, Tense.PRESENT, NOT) == Both("je ne suis pas fatigué", "I am not tired")
    assert deny(CAT, tired, Tense.STATE, NOT).english == "the cat wasn't tired"
    assert ask(CAT, tired, Tense.PRESENT).english == "is the cat tired"
    often = tired._replace(adverb=Both("souvent", "often"))
    assert say(SHE, often, Tense.PRESENT) == (
        Both("elle est souvent fatigué", "she is often tired")
    )
    swim = do(verb("pouvoir", "can"), Both("nager", "swim"))
    assert deny(SHE, swim, Tense.PRESENT, NOT) == Both("elle ne peut pas nager", "she can't swim")
    assert say(SHE, swim, Tense.STATE).english == "she could swim"


def test_a_feeling_that_french_has_and_english_is() -> None:
    hungry = do(verb("avoir faim", "be hungry"))
    assert say(I, hungry, Tense.PRESENT) == Both("j'ai faim", "I am hungry")
    assert deny(I, hungry, Tense.STATE, NOT) == Both("je n'avais pas faim", "I wasn't hungry")


def test_questions() -> None:
    assert question(ask(YOU, do(EAT, CAT.both), Tense.PAST)) == (
        Both("Est-ce que vous avez mangé le chat ?", "Did you eat the cat?")
    )
    assert ask(SHE, do(HAVE, KEY.both), Tense.PRESENT) == (
        Both("est-ce qu'elle a la clé", "does she have the key")
    )
    assert invert(THOU, do(SEE, CAT.both), Tense.PAST) == (
        Both("as-tu vu le chat", "did you see the cat")
    )


def test_orders() -> None:
    take_off = do(verb("enlever", "take off"), Both("votre manteau", "your coat"))
    assert exclamation(command(take_off, 4)) == (
        Both("Enlevez votre manteau !", "Take off your coat!")
    )
    assert forbid(do(verb("ouvrir", "open"), KEY.both), 4) == (
        Both("n'ouvrez pas la clé", "don't open the key")
    )
    assert command(do(verb("ouvrir", "open")), 1).french == "ouvre"


def test_infinitives() -> None:
    assert infinitive(WE, do(GET_UP)) == Both("nous lever", "get up")
    assert infinitive(I, do_to(SEE, object_pronoun(PAUL))) == Both("le voir", "see him")


def test_a_sentence_has_a_capital_and_a_full_stop() -> None:
    assert statement(Both("école", "school")) == Both("École.", "School.")
