"""Noun phrases in both languages at once: determiners, adjectives, pronouns.

>>> from lesson.nouns import NOUNS
>>> noun_phrase(THIS, NOUNS["tree"], False, adjective("old"))[:2]
('ce vieil arbre', 'this old tree')
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Literal, NamedTuple

from lesson import english, french
from lesson.adjectives import ADJECTIVES
from lesson.french import Gender
from lesson.lexicon import Adjective, Noun
from lesson.tables import rows

Kind = Literal["person", "thing"]


class Both(NamedTuple):
    """The same words in French and in English."""

    french: str
    english: str


NOTHING = Both("", "")


def bilingual(table: str) -> tuple[Both, ...]:
    """Read lines of ``french | english``."""
    return tuple(Both(*row) for row in rows(table))


class Determiner(NamedTuple):
    """What stands before a noun.

    French: masculine, masculine before a vowel, feminine, feminine before a vowel, plural, and an
    ending such as *-là*. English: singular, plural.
    """

    french: tuple[str, str, str, str, str]
    ending: str
    singular: str
    plural: str


def _determiner(forms: str, meaning: str) -> Determiner:
    """Read ``mon mon ma mon mes``, ``my/my``; one French form alone never changes."""
    words = [form.replace("_", " ") for form in forms.split()]
    masculine, masculine_vowel, feminine, feminine_vowel, plural = (
        words if len(words) == 5 else [*words] * 5
    )
    return Determiner(
        (masculine, masculine_vowel, feminine, feminine_vowel, plural),
        "",
        *meaning.split("/"),
    )


THE = _determiner("le le la la les", "the/the")
GENERIC = _determiner("le le la la les", "/")
A = _determiner("un un une une des", "a/some")
SOME = _determiner("du de_le de_la de_la des", "some/some")
BARE = _determiner("du de_le de_la de_la des", "/")
NO = _determiner("de", "a/any")
NO_BARE = _determiner("de", "/")
THIS = _determiner("ce cet cette cette ces", "this/these")
THAT = THIS._replace(ending="-là", singular="that", plural="those")
EVERY = _determiner("chaque", "every/every")
WHICH = _determiner("quel quel quelle quelle quels", "which/which")
A_LOT_OF = _determiner("beaucoup_de", "a lot of/a lot of")
TOO_MUCH = _determiner("trop_de", "too much/too many")
ENOUGH = _determiner("assez_de", "enough/enough")
SEVERAL = _determiner("plusieurs", "several/several")
MY = _determiner("mon mon ma mon mes", "my/my")
THY = _determiner("ton ton ta ton tes", "your/your")
HIS = _determiner("son son sa son ses", "his/his")
HER = HIS._replace(singular="her", plural="her")
ITS = HIS._replace(singular="its", plural="its")
OUR = _determiner("notre notre notre notre nos", "our/our")
YOUR = _determiner("votre votre votre votre vos", "your/your")
THEIR = _determiner("leur leur leur leur leurs", "their/their")
# With these, the English article does not show whether it is one sheep or several.
_HIDING_NUMBER = (THE, WHICH, MY, THY, HIS, HER, ITS, OUR, YOUR, THEIR)


@cache
def number(n: int) -> Determiner:
    """Return a number from two on as a determiner."""
    return _determiner(
        french.number(n).replace(" ", "_"), f"{english.number(n)}/{english.number(n)}"
    )


class NounPhrase(NamedTuple):
    """Someone or something, ready to be a subject or an object.

    `slot` is the place in a conjugation table: je, tu, il, nous, vous, ils. `plural` is what
    adjectives agree with; polite *vous* is one man, so it is False there.
    """

    french: str
    english: str
    gender: Gender
    plural: bool
    slot: int
    kind: Kind

    @property
    def both(self) -> Both:
        """The words alone."""
        return Both(self.french, self.english)


I = NounPhrase("je", "I", "m", False, 0, "person")  # noqa: E741 - the word is I
THOU = NounPhrase("tu", "you", "m", False, 1, "person")
HE = NounPhrase("il", "he", "m", False, 2, "person")
SHE = NounPhrase("elle", "she", "f", False, 2, "person")
WE = NounPhrase("nous", "we", "m", True, 3, "person")
YOU = NounPhrase("vous", "you", "m", False, 4, "person")
THEY = NounPhrase("ils", "they", "m", True, 5, "person")
NOBODY = NounPhrase("personne ne", "nobody", "m", False, 2, "person")


def person_named(name: str, gender: Gender) -> NounPhrase:
    """Return someone called by name."""
    return NounPhrase(name, name, gender, False, 2, "person")


@lru_cache(maxsize=20_000)
def noun_phrase(
    determiner: Determiner, noun: Noun, plural: bool, *adjectives: Adjective
) -> NounPhrase:
    """Put a determiner and adjectives around a noun, with every agreement.

    *The sheep* says nothing of number, so there it is always one.
    """
    if plural and determiner in _HIDING_NUMBER and english.plural(noun.english) == noun.english:
        plural = False
    head = french.plural(noun.french) if plural else noun.french
    words = [head]
    for word in adjectives:
        if word.place == "before":
            words.insert(0, french.before(word.french, noun.gender, plural, words[0]))
        else:
            words.append(french.agree(word.french, noun.gender, plural))
    article = _article(determiner, noun, plural, words[0])
    if plural and determiner is A and words[0] != head:
        article = "de"  # de beaux chevaux
    english_head = english.plural(noun.english) if plural else noun.english
    return NounPhrase(
        french.spell(article, *words) + determiner.ending,
        english.spell(
            _english_determiner(determiner, noun, plural),
            *(word.english for word in adjectives),
            english_head,
        ),
        noun.gender,
        plural,
        5 if plural else 2,
        "person" if "persons" in noun.classes else "thing",
    )


def _article(determiner: Determiner, noun: Noun, plural: bool, following: str) -> str:
    if plural:
        if determiner is WHICH and noun.gender == "f":
            return "quelles"
        return determiner.french[4]
    vowel = french.begins_with_vowel(following)
    return determiner.french[(2 if noun.gender == "f" else 0) + vowel]


def _english_determiner(determiner: Determiner, noun: Noun, plural: bool) -> str:
    if determiner is NO and "mass" in noun.classes:
        return "any"
    return determiner.plural if plural else determiner.singular


def and_(first: NounPhrase, second: NounPhrase) -> NounPhrase:
    """Join two phrases; the masculine wins: ``Paul et Marie sont fatigués``."""
    gender: Gender = "f" if first.gender == second.gender == "f" else "m"
    return NounPhrase(
        f"{first.french} et {second.french}",
        f"{first.english} and {second.english}",
        gender,
        True,
        5,
        first.kind,
    )


def of(thing: NounPhrase, owner: NounPhrase) -> NounPhrase:
    """Say whose a thing is: ``le livre de mon frère`` – ``my brother's book``.

    The thing is given with the definite article, which English leaves out.
    """
    words = thing.english.removeprefix("the ")
    return thing._replace(
        french=f"{thing.french} {french.contract('de', owner.french)}",
        english=f"{english.possessive(owner.english)} {words}",
    )


def belonging_to(owner: NounPhrase) -> Determiner:
    """Return the possessive that points back to a phrase: ``son`` is *his*, *her* or *its*."""
    if owner.slot != 2:
        return (MY, THY, HIS, OUR, YOUR, THEIR)[owner.slot]
    if owner.kind == "thing":
        return ITS
    return HER if owner.gender == "f" else HIS


def pronoun_for(phrase: NounPhrase) -> NounPhrase:
    """Return the subject pronoun that stands for a phrase: il, elle – he, she, it."""
    if phrase.slot not in {2, 5}:
        return phrase
    words = (
        ("ils" if phrase.gender == "m" else "elles")
        if phrase.plural
        else ("il" if phrase.gender == "m" else "elle")
    )
    return phrase._replace(french=words, english=_english_pronoun(phrase))


def _english_pronoun(phrase: NounPhrase) -> str:
    if phrase.plural:
        return "they"
    if phrase.kind == "thing":
        return "it"
    return "he" if phrase.gender == "m" else "she"


class Clitic(NamedTuple):
    """An object pronoun, before the verb in French; a direct one makes the participle agree."""

    french: str
    english: str
    gender: Gender
    plural: bool
    direct: bool


_OBJECTS = {"I": "me", "he": "him", "she": "her", "we": "us", "they": "them"}


def object_pronoun(phrase: NounPhrase) -> Clitic:
    """Return the direct object pronoun for a phrase: le, la, les – him, her, it, them."""
    third = "les" if phrase.plural else ("le" if phrase.gender == "m" else "la")
    words = ("me", "te", third, "nous", "vous", "les")[phrase.slot]
    meaning = pronoun_for(phrase).english
    return Clitic(words, _OBJECTS.get(meaning, meaning), phrase.gender, phrase.plural, True)


def indirect_pronoun(phrase: NounPhrase) -> Clitic:
    """Return the indirect object pronoun for a phrase: lui, leur – (to) him, her, them."""
    words = ("me", "te", "lui", "nous", "vous", "leur")[phrase.slot]
    return object_pronoun(phrase)._replace(french=words, direct=False)


_BY_NAME = {word.english: word for word in ADJECTIVES}
_FITTING: dict[str, tuple[Adjective, ...]] = {}
for _word in ADJECTIVES:
    for _noun in _word.describes:
        _FITTING[_noun.english] = (*_FITTING.get(_noun.english, ()), _word)


def adjective(english_name: str) -> Adjective:
    """Return the adjective with this English name."""
    return _BY_NAME[english_name]


@cache
def beside(noun: Noun) -> tuple[Adjective, ...]:
    """Return the adjectives that can stand beside a noun: ``un nouveau vélo``."""
    return tuple(word for word in _FITTING.get(noun.english, ()) if word.place != "alone")


@cache
def after_be(noun: Noun) -> tuple[Adjective, ...]:
    """Return the adjectives that can stand after *be*, with the noun as its subject."""
    words = _FITTING.get(noun.english, ())
    return tuple(word for word in words if word.english not in {"new", "little"})
