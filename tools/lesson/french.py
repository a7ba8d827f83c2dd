"""French spelling: elision, contraction, plurals, feminines and numbers, each a pure function.

The grammar writes words one after another (``le``, ``animal``) and `spell` puts them on the page
as French does (``l'animal``).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from lesson.tables import names

Gender = Literal["m", "f"]

_VOWELS = "aàâeéèêëiîïoôuùûœ"
# Words whose first letter does not call for elision: the aspirated h, and a few vowels.
_ASPIRATED = (
    *("hache", "haie", "halte", "hamster", "haricot", "harpe", "haut", "hérisson", "héros"),
    *("hibou", "homard", "huit", "onze", "oui", "yaourt"),
)


@cache
def begins_with_vowel(word: str) -> bool:
    """Tell whether the word before may lose its vowel: ``l'école, l'homme`` but ``le hibou``.

    >>> [begins_with_vowel(word) for word in ("école", "homme", "hibou", "yeux", "chat")]
    [True, True, False, True, False]
    """
    word = word.lower()
    if word.startswith(_ASPIRATED):
        return False
    return word[0] in _VOWELS or word[0] == "h" or word == "y" or word.startswith("yeux")


# le, la, je, me, te, se, ne, de, que before a vowel; ce before est; si before il.
_ELISION = re.compile(
    r"(?<!\S)(?:"
    rf"(l|j|m|t|s|n|d|qu|jusqu)[ea] (?=(?!{'|'.join(_ASPIRATED)})(?:[{''.join(_VOWELS)}h]|y |yeux))"
    r"|(c)e (?=est\b|était\b)"
    r"|(s)i (?=ils?\b)"
    r")",
    re.IGNORECASE,
)


def spell(*words: str) -> str:
    """Write words one after another with the elisions between them; empty ones are left out.

    >>> spell("je", "ne", "ai", "pas vu", "le animal", "parce que", "il", "dort")
    "je n'ai pas vu l'animal parce qu'il dort"
    """
    return _ELISION.sub(_elided, " ".join(filter(None, words)))


def _elided(match: re.Match[str]) -> str:
    return f"{match[match.lastindex or 0]}'"


def contract(preposition: str, phrase: str) -> str:
    """Put ``à`` or ``de`` (or what ends in it) before a phrase: ``au, aux, du, des``.

    >>> contract("à", "le marché"), contract("près de", "les arbres"), contract("de", "l'eau")
    ('au marché', 'près des arbres', "de l'eau")
    """
    head, _, last = preposition.rpartition(" ")
    article, _, rest = phrase.partition(" ")
    fused = {"à le": "au", "à les": "aux", "de le": "du", "de les": "des"}.get(f"{last} {article}")
    return spell(head, fused, rest) if fused else spell(preposition, phrase)


_IRREGULAR_PLURALS = {
    "œil": "yeux",
    "bleu": "bleus",
    "grand-père": "grands-pères",
    "grand-mère": "grands-mères",
    "chauve-souris": "chauves-souris",
    "carte postale": "cartes postales",
}
_OU_WITH_X = names("bijou, caillou, chou, genou, hibou, joujou, pou")


@cache
def plural(word: str) -> str:
    """Return the plural of a noun or of a masculine adjective.

    >>> [plural(word) for word in ("chat", "cheval", "œil", "oiseau", "souris", "pomme de terre")]
    ['chats', 'chevaux', 'yeux', 'oiseaux', 'souris', 'pommes de terre']
    """
    if word in _IRREGULAR_PLURALS:
        return _IRREGULAR_PLURALS[word]
    if " " in word:  # the head comes first: pommes de terre
        head, _, rest = word.partition(" ")
        return f"{plural(head)} {rest}"
    if word[-1] in "sxz":
        return word
    if word.endswith("al"):
        return word[:-1] + "ux"
    if word.endswith(("au", "eu")) or word in _OU_WITH_X:
        return word + "x"
    return word + "s"


_IRREGULAR_FEMININES = {
    "bas": "basse",
    "beau": "belle",
    "blanc": "blanche",
    "doux": "douce",
    "épais": "épaisse",
    "frais": "fraîche",
    "gentil": "gentille",
    "grec": "grecque",
    "gros": "grosse",
    "inquiet": "inquiète",
    "jaloux": "jalouse",
    "long": "longue",
    "nouveau": "nouvelle",
    "sec": "sèche",
    "vieux": "vieille",
}
_BEFORE_VOWEL = {"beau": "bel", "nouveau": "nouvel", "vieux": "vieil"}
_INVARIABLE = ("marron",)


@cache
def feminine(adjective: str) -> str:
    """Return the feminine singular of an adjective or participle.

    >>> [feminine(word) for word in ("grand", "rouge", "léger", "heureux", "neuf", "bon", "blanc")]
    ['grande', 'rouge', 'légère', 'heureuse', 'neuve', 'bonne', 'blanche']
    """
    if adjective in _INVARIABLE:
        return adjective
    if adjective in _IRREGULAR_FEMININES:
        return _IRREGULAR_FEMININES[adjective]
    if adjective.endswith("e"):
        return adjective
    if adjective.endswith("er"):
        return adjective[:-2] + "ère"
    if adjective.endswith("eux"):
        return adjective[:-1] + "se"
    if adjective.endswith("f"):
        return adjective[:-1] + "ve"
    if adjective.endswith(("en", "el", "on", "et")):
        return adjective + adjective[-1] + "e"
    return adjective + "e"


@cache
def agree(adjective: str, gender: Gender, is_plural: bool) -> str:
    """Return the form of an adjective or participle that agrees with a noun.

    >>> agree("beau", "m", True), agree("blanc", "f", True), agree("marron", "f", True)
    ('beaux', 'blanches', 'marron')
    """
    head, _, rest = adjective.partition(" ")
    if head in _INVARIABLE:
        return adjective
    form = feminine(head) if gender == "f" else head
    form = plural(form) if is_plural else form
    return f"{form} {rest}" if rest else form


def before(adjective: str, gender: Gender, is_plural: bool, following: str) -> str:
    """Return the form of an adjective that stands before its noun: ``bel arbre, vieil homme``.

    >>> before("beau", "m", False, "arbre"), before("vieux", "m", True, "arbres")
    ('bel', 'vieux')
    """
    if gender == "m" and not is_plural and begins_with_vowel(following):
        return _BEFORE_VOWEL.get(adjective, adjective)
    return agree(adjective, gender, is_plural)


_UNITS = names(
    "zéro, un, deux, trois, quatre, cinq, six, sept, huit, neuf, dix, onze, douze, "
    "treize, quatorze, quinze, seize, dix-sept, dix-huit, dix-neuf"
)
_TENS = {20: "vingt", 30: "trente", 40: "quarante", 50: "cinquante", 60: "soixante"}


@cache
def number(n: int) -> str:
    """Write a number from 0 to 100 in words (masculine).

    >>> [number(n) for n in (21, 71, 80, 81, 99)]
    ['vingt et un', 'soixante et onze', 'quatre-vingts', 'quatre-vingt-un', 'quatre-vingt-dix-neuf']
    """
    if n < 20:
        return _UNITS[n]
    if n >= 80:
        return {80: "quatre-vingts", 100: "cent"}.get(n, f"quatre-vingt-{number(n - 80)}")
    tens = min(n // 10 * 10, 60)
    rest = n - tens
    if rest == 0:
        return _TENS[tens]
    return (
        f"{_TENS[tens]} et {number(rest)}" if rest in {1, 11} else f"{_TENS[tens]}-{number(rest)}"
    )
