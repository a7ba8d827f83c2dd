"""Clauses in both languages at once: tenses, negation, questions, infinitives.

A tense of the lesson is a French tense together with the English one that translates it, chosen so
that each determines the other in its context: *a mangé* – *ate*, *mangeait* – *was eating*.

>>> from lesson.phrases import SHE
>>> from lesson.verbs import verb
>>> eat_it = do(verb("manger", "eat"), Both("la pomme", "the apple"))
>>> tuple(say(SHE, eat_it, Tense.PAST))
('elle a mangé la pomme', 'she ate the apple')
>>> tuple(deny(SHE, eat_it, Tense.FUTURE, NOT))
('elle ne mangera pas la pomme', "she won't eat the apple")
>>> tuple(ask(SHE, eat_it, Tense.PRESENT))
("est-ce qu'elle mange la pomme", 'does she eat the apple')
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import NamedTuple

from lesson import english, french
from lesson.french_verbs import (
    auxiliary,
    conjugate,
    imperative,
    participle,
    reflexive_agrees,
)
from lesson.lexicon import Verb
from lesson.phrases import NOTHING, Both, Clitic, NounPhrase
from lesson.tables import names


class Tense(Enum):
    """A French tense and the English tense that translates it."""

    PRESENT = "présent", "present"
    NOW = "présent", "progressive"
    ONGOING = "en train de", "progressive"
    PAST = "passé composé", "past"
    PERFECT = "passé composé", "perfect"
    STATE = "imparfait", "past"
    BACKGROUND = "imparfait", "past progressive"
    FORMERLY = "imparfait", "used to"
    PLUPERFECT = "plus-que-parfait", "pluperfect"
    FUTURE = "futur", "future"
    GOING = "futur proche", "going to"
    WOULD = "conditionnel", "would"
    SINCE = "présent", "perfect progressive"


class Negation(NamedTuple):
    """A negation: the second French word, the English adverb or last word, and whether *not*."""

    french: str
    adverb: str
    not_: bool
    last: str


NOT = Negation("pas", "", True, "")
NEVER = Negation("jamais", "never", False, "")
ANYMORE = Negation("plus", "", True, "anymore")
NOTHING_AT_ALL = Negation("rien", "", True, "anything")
NOT_YET = Negation("pas encore", "", True, "yet")


class Predicate(NamedTuple):
    """A verb with its complement, an object pronoun and an adverb that stands by the verb."""

    verb: Verb
    complement: Both
    clitic: Clitic | None
    adverb: Both


def do(verb: Verb, *complement: Both) -> Predicate:
    """Return a predicate: a verb and what follows it."""
    return Predicate(verb, together(*complement), None, NOTHING)


def do_to(verb: Verb, clitic: Clitic, *complement: Both) -> Predicate:
    """Return a predicate whose object is a pronoun."""
    return Predicate(verb, together(*complement), clitic, NOTHING)


def together(*parts: Both) -> Both:
    """Write phrases one after another in both languages."""
    return Both(
        french.spell(*[part.french for part in parts]),
        english.spell(*[part.english for part in parts]),
    )


def say(subject: NounPhrase, predicate: Predicate, tense: Tense) -> Both:
    """Make a statement."""
    finite, after = _french_verb(predicate, subject, tense)
    adverb = predicate.adverb
    return Both(
        french.spell(subject.french, finite, adverb.french, after, predicate.complement.french),
        english.spell(subject.english, *_english_verb(predicate, subject, tense, adverb.english)),
    )


def deny(subject: NounPhrase, predicate: Predicate, tense: Tense, negation: Negation) -> Both:
    """Make a negative statement: ``ne … pas`` – ``didn't``; ``ne … jamais`` – ``never``."""
    finite, after = _french_verb(predicate, subject, tense)
    words = french.spell(
        *(subject.french, "ne", finite, negation.french, predicate.adverb.french, after),
        predicate.complement.french,
    )
    if negation.not_:
        first, rest = _split_english(predicate, subject, tense)
        meaning = (english.negated(first), predicate.adverb.english, *rest, negation.last)
    else:
        meaning = _english_verb(predicate, subject, tense, negation.adverb)
    return Both(words, english.spell(subject.english, *meaning))


def ask(subject: NounPhrase, predicate: Predicate, tense: Tense) -> Both:
    """Ask yes or no: ``est-ce que`` and *do, does, did*."""
    first, rest = _split_english(predicate, subject, tense)
    return Both(
        french.spell("est-ce que", say(subject, predicate, tense).french),
        english.spell(first, subject.english, predicate.adverb.english, *rest),
    )


def invert(subject: NounPhrase, predicate: Predicate, tense: Tense) -> Both:
    """Ask by inversion, for a pronoun subject: ``as-tu vu`` – ``did you see``."""
    finite, after = _french_verb(predicate, subject, tense)
    return Both(
        french.spell(f"{finite}-{subject.french}", after, predicate.complement.french),
        ask(subject, predicate, tense).english,
    )


def infinitive(subject: NounPhrase, predicate: Predicate) -> Both:
    """Return what comes after *want to* or *can*: ``le voir`` – ``see him``."""
    return Both(
        french.spell(_french_infinitive(predicate, subject), predicate.complement.french),
        english.spell(_base(predicate), *_english_tail(predicate)),
    )


def command(predicate: Predicate, slot: int) -> Both:
    """Return an imperative, of *tu* (slot 1) or *vous* (slot 4)."""
    _, head, rest = _parse(predicate.verb.french)
    return Both(
        french.spell(imperative(head, slot), rest, predicate.complement.french),
        english.spell(_base(predicate), *_english_tail(predicate)),
    )


def forbid(predicate: Predicate, slot: int) -> Both:
    """Return a negative imperative: ``n'ouvrez pas`` – ``don't open``."""
    _, head, rest = _parse(predicate.verb.french)
    return Both(
        french.spell("ne", imperative(head, slot), "pas", rest, predicate.complement.french),
        english.spell("don't", _base(predicate), *_english_tail(predicate)),
    )


_REFLEXIVES = ("me", "te", "se", "nous", "vous", "se")


@cache
def _parse(infinitive_phrase: str) -> tuple[bool, str, str]:
    """Split an entry into (reflexive?, infinitive, rest): ``se casser le bras``."""
    reflexive = infinitive_phrase.startswith(("se ", "s'"))
    words = infinitive_phrase.removeprefix("se ").removeprefix("s'")
    head, _, rest = words.partition(" ")
    return reflexive, head, rest


def _french_infinitive(predicate: Predicate, subject: NounPhrase) -> str:
    reflexive, head, rest = _parse(predicate.verb.french)
    pronoun = _REFLEXIVES[subject.slot] if reflexive else ""
    clitic = predicate.clitic.french if predicate.clitic else ""
    return french.spell(pronoun, clitic, head, rest)


def _french_verb(predicate: Predicate, subject: NounPhrase, tense: Tense) -> tuple[str, str]:
    """Return the finite verb with its pronouns, and what follows the place of *pas*."""
    name = tense.value[0]
    if name == "futur proche":
        return conjugate("aller", "présent", subject.slot), _french_infinitive(predicate, subject)
    if name == "en train de":
        after = french.spell("en train de", _french_infinitive(predicate, subject))
        return conjugate("être", "présent", subject.slot), after
    reflexive, head, rest = _parse(predicate.verb.french)
    pronoun = _REFLEXIVES[subject.slot] if reflexive else ""
    clitic = predicate.clitic.french if predicate.clitic else ""
    if name == "passé composé" or name == "plus-que-parfait":
        helper = "être" if reflexive else auxiliary(head)
        finite = conjugate(
            helper, "présent" if name == "passé composé" else "imparfait", subject.slot
        )
        after = french.spell(_agreeing_participle(predicate, subject, helper), rest)
    else:
        finite = conjugate(head, name, subject.slot)
        after = rest
    return french.spell(pronoun, clitic, finite), after


def _agreeing_participle(predicate: Predicate, subject: NounPhrase, helper: str) -> str:
    """Return the participle; with être the subject rules it, with avoir an object before it."""
    reflexive, head, _ = _parse(predicate.verb.french)
    form = participle(head)
    clitic = predicate.clitic
    if helper == "être":
        if reflexive and not reflexive_agrees(head):
            return form
        return french.agree(form, subject.gender, subject.plural)
    if clitic is not None and clitic.direct:
        return french.agree(form, clitic.gender, clitic.plural)
    return form


_MODALS = {"can": "could", "must": "had to"}
_AM = ("am", "are", "is", "are", "are", "are")
_WAS = ("was", "were", "was", "were", "were", "were")
_DO = ("do", "do", "does", "do", "do", "do")
_HAVE = ("have", "have", "has", "have", "have", "have")
# English tense: the auxiliary by person, and the form of the verb after it.
_ENGLISH: dict[str, tuple[tuple[str, ...], Callable[[str], str]]] = {
    "present": (_DO, str),
    "past": (("did",) * 6, str),
    "future": (("will",) * 6, str),
    "would": (("would",) * 6, str),
    "progressive": (_AM, english.gerund),
    "past progressive": (_WAS, english.gerund),
    "going to": (_AM, "going to {}".format),
    "perfect": (_HAVE, english.participle),
    "perfect progressive": (_HAVE, lambda base: f"been {english.gerund(base)}"),
    "pluperfect": (("had",) * 6, english.participle),
    "used to": (("used",) * 6, "to {}".format),
}


def _english_verb(
    predicate: Predicate, subject: NounPhrase, tense: Tense, adverb: str
) -> tuple[str, ...]:
    """Return the words of an affirmative verb: ``never eats``, ``has never eaten``."""
    base, name = _base(predicate), tense.value[1]
    simple = name in {"present", "past"} and base != "be" and base not in _MODALS
    if not simple:
        first, rest = _split_english(predicate, subject, tense)
        return (first, adverb, *rest)
    if name == "past":
        form = english.past(base)
    else:
        form = english.third(base) if subject.slot == 2 else base
    return (adverb, form, *_english_tail(predicate))


def _split_english(
    predicate: Predicate, subject: NounPhrase, tense: Tense
) -> tuple[str, tuple[str, ...]]:
    """Return the auxiliary, which *not* and inversion need, and the words after it."""
    base, name = _base(predicate), tense.value[1]
    tail = _english_tail(predicate)
    if base in _MODALS and name in {"present", "past"}:
        return (base if name == "present" else _MODALS[base]), tail
    if base == "be" and name in {"present", "past"}:
        return (_AM if name == "present" else _WAS)[subject.slot], tail
    auxiliaries, form = _ENGLISH[name]
    return auxiliaries[subject.slot], (form(base), *tail)


def _base(predicate: Predicate) -> str:
    return predicate.verb.english.partition(" ")[0]


# Particles that let an object pronoun pass: give it back, but look at it.
_SEPARABLE = names("away, back, free, off, on")


def _english_tail(predicate: Predicate) -> tuple[str, ...]:
    """Return the words after the inflected one: particle, object pronoun, complement."""
    particle = predicate.verb.english.partition(" ")[2]
    pronoun = predicate.clitic.english if predicate.clitic else ""
    if particle in _SEPARABLE:
        return (pronoun, particle, predicate.complement.english)
    return (particle, pronoun, predicate.complement.english)


def statement(clause: Both) -> Both:
    """Write a clause as a sentence: a capital and a full stop."""
    return Both(_capital(clause.french) + ".", _capital(clause.english) + ".")


def question(clause: Both) -> Both:
    """Write a clause as a question; French puts a space before the mark."""
    return Both(_capital(clause.french) + " ?", _capital(clause.english) + "?")


def exclamation(clause: Both) -> Both:
    """Write a clause as an exclamation."""
    return Both(_capital(clause.french) + " !", _capital(clause.english) + "!")


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
