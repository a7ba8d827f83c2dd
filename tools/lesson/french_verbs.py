"""French conjugation: from an infinitive to every form the lesson uses.

Regular verbs follow the rules of their group, with the changes of spelling that the ear asks for
(*nous mangeons*, *il achète*, *elle nettoie*). The others are a table of principal parts.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple

from lesson.tables import names

FrenchTense = Literal["présent", "imparfait", "futur", "conditionnel"]

_IMPARFAIT = ("ais", "ais", "ait", "ions", "iez", "aient")
_FUTUR = ("ai", "as", "a", "ons", "ez", "ont")
# Infinitive: present (je tu il nous vous ils) | participle | stem of the future.
_IRREGULAR = {
    "aller": "vais vas va allons allez vont | allé | ir",
    "avoir": "ai as a avons avez ont | eu | aur",
    "boire": "bois bois boit buvons buvez boivent | bu | boir",
    "connaître": "connais connais connaît connaissons connaissez connaissent | connu | connaîtr",
    "courir": "cours cours court courons courez courent | couru | courr",
    "croire": "crois crois croit croyons croyez croient | cru | croir",
    "cueillir": "cueille cueilles cueille cueillons cueillez cueillent | cueilli | cueiller",
    "devoir": "dois dois doit devons devez doivent | dû | devr",
    "dire": "dis dis dit disons dites disent | dit | dir",
    "écrire": "écris écris écrit écrivons écrivez écrivent | écrit | écrir",
    "envoyer": "envoie envoies envoie envoyons envoyez envoient | envoyé | enverr",
    "être": "suis es est sommes êtes sont | été | ser",
    "faire": "fais fais fait faisons faites font | fait | fer",
    "lire": "lis lis lit lisons lisez lisent | lu | lir",
    "mettre": "mets mets met mettons mettez mettent | mis | mettr",
    "naître": "nais nais naît naissons naissez naissent | né | naîtr",
    "pleuvoir": "- - pleut pleuvons - - | plu | pleuvr",
    "pouvoir": "peux peux peut pouvons pouvez peuvent | pu | pourr",
    "prendre": "prends prends prend prenons prenez prennent | pris | prendr",
    "recevoir": "reçois reçois reçoit recevons recevez reçoivent | reçu | recevr",
    "rire": "ris ris rit rions riez rient | ri | rir",
    "savoir": "sais sais sait savons savez savent | su | saur",
    "suivre": "suis suis suit suivons suivez suivent | suivi | suivr",
    "tenir": "tiens tiens tient tenons tenez tiennent | tenu | tiendr",
    "venir": "viens viens vient venons venez viennent | venu | viendr",
    "voir": "vois vois voit voyons voyez voient | vu | verr",
    "vouloir": "veux veux veut voulons voulez veulent | voulu | voudr",
}
# Verbs made from another: comprendre is con + prendre.
_DERIVED = {
    "apprendre": "prendre",
    "comprendre": "prendre",
    "devenir": "venir",
    "revenir": "venir",
}
_LIKE_PARTIR = names("dormir, partir, servir, sortir")
_LIKE_OUVRIR = names("découvrir, offrir, ouvrir")
_DOUBLING = names("appeler")
_WITH_ETRE = names(
    "aller, arriver, devenir, entrer, naître, partir, passer, "
    "rentrer, rester, retourner, revenir, sortir, tomber, venir"
)


class Forms(NamedTuple):
    """The principal parts of a verb, from which the other tenses are built."""

    present: tuple[str, ...]
    participle: str
    future_stem: str


@cache
def forms(infinitive: str) -> Forms:
    """Return the principal parts of a verb.

    >>> forms("comprendre").present[5], forms("peindre").participle, forms("acheter").future_stem
    ('comprennent', 'peint', 'achèter')
    """
    if infinitive in _IRREGULAR:
        present, participle, future = _IRREGULAR[infinitive].split(" | ")
        return Forms(tuple(present.split()), participle, future)
    if infinitive in _DERIVED:
        base = forms(_DERIVED[infinitive])
        prefix = infinitive.removesuffix(_DERIVED[infinitive])
        return Forms(
            tuple(prefix + form for form in base.present),
            prefix + base.participle,
            prefix + base.future_stem,
        )
    if infinitive.endswith("er"):
        return _first_group(infinitive)
    if infinitive.endswith("ir"):
        return _second_group(infinitive)
    return _third_group(infinitive)


def _endings(singular: str, plural: str, endings: str) -> tuple[str, ...]:
    return tuple(
        (singular if slot < 3 else plural) + ("" if ending == "-" else ending)
        for slot, ending in enumerate(endings.split())
    )


def _first_group(infinitive: str) -> Forms:
    stem = infinitive[:-2]
    silent = _before_silent_e(infinitive)
    present = (f"{silent}e", f"{silent}es", f"{silent}e")
    nous = {"g": stem + "eons", "c": stem[:-1] + "çons"}.get(stem[-1], stem + "ons")
    # é stays é in the future (il protégera); the other changes are kept (il achètera).
    future = infinitive if "é" in stem[-3:] else silent + "er"
    return Forms((*present, nous, f"{stem}ez", f"{silent}ent"), f"{stem}é", future)


def _before_silent_e(infinitive: str) -> str:
    """Return the stem of an -er verb before a silent e: achèt-, appell-, préfèr-, nettoi-."""
    stem = infinitive[:-2]
    if infinitive in _DOUBLING:
        return stem + stem[-1]
    if stem[-1] == "y":
        return stem[:-1] + "i"
    vowel = 3 if stem.endswith(("ch", "gn", "tr")) else 2
    if len(stem) > vowel and stem[-vowel] in "eé" and stem[-1] not in "aeiouéè":
        return stem[:-vowel] + "è" + stem[len(stem) - vowel + 1 :]
    return stem


def _second_group(infinitive: str) -> Forms:
    stem = infinitive[:-2]
    if infinitive in _LIKE_PARTIR:
        return Forms(
            _endings(stem[:-1], stem, "s s t ons ez ent"),
            f"{stem}i",
            infinitive,
        )
    if infinitive in _LIKE_OUVRIR:
        return Forms(_endings(stem, stem, "e es e ons ez ent"), f"{stem[:-1]}ert", infinitive)
    return Forms(_endings(f"{stem}i", f"{stem}iss", "s s t ons ez ent"), f"{stem}i", infinitive)


def _third_group(infinitive: str) -> Forms:
    stem = infinitive[:-2]
    if infinitive.endswith("uire"):
        return Forms(_endings(stem, f"{stem}s", "s s t ons ez ent"), f"{stem}t", infinitive[:-1])
    if infinitive.endswith(("eindre", "aindre")):
        nasal = stem[:-1]
        return Forms(
            _endings(nasal, f"{nasal[:-1]}gn", "s s t ons ez ent"), f"{nasal}t", infinitive[:-1]
        )
    return Forms(_endings(stem, stem, "s s - ons ez ent"), f"{stem}u", infinitive[:-1])


@cache
def conjugate(infinitive: str, tense: FrenchTense, slot: int) -> str:
    """Return a simple form; slot 0 to 5 is je, tu, il, nous, vous, ils.

    >>> conjugate("manger", "imparfait", 2), conjugate("être", "imparfait", 5)
    ('mangeait', 'étaient')
    """
    parts = forms(infinitive)
    if tense == "présent":
        return parts.present[slot]
    if tense == "futur":
        return parts.future_stem + _FUTUR[slot]
    if tense == "conditionnel":
        return parts.future_stem + _IMPARFAIT[slot]
    stem = "ét" if infinitive == "être" else parts.present[3].removesuffix("ons")
    ending = _IMPARFAIT[slot]
    if ending.startswith("i"):  # mangeons but mangions, commençons but commencions
        stem = stem.removesuffix("e") if stem.endswith("ge") else stem.replace("ç", "c")
    return stem + ending


@cache
def imperative(infinitive: str, slot: int) -> str:
    """Return the imperative of tu (slot 1) or vous (slot 4).

    >>> imperative("ouvrir", 4), imperative("manger", 1), imperative("être", 4)
    ('ouvrez', 'mange', 'soyez')
    """
    irregular = {"être": ("sois", "soyez"), "avoir": ("aie", "ayez")}
    if infinitive in irregular:
        return irregular[infinitive][slot == 4]
    form = forms(infinitive).present[slot]
    return form.removesuffix("s") if form.endswith(("es", "vas")) and slot == 1 else form


def participle(infinitive: str) -> str:
    """Return the past participle, masculine singular: ``vu``."""
    return forms(infinitive).participle


# Reflexive verbs whose pronoun is not the direct object: elle s'est cassé le bras.
_INDIRECT = frozenset({"casser"})


def reflexive_agrees(infinitive: str) -> bool:
    """Tell whether the participle of a reflexive verb agrees: ``elle s'est levée``."""
    return infinitive not in _INDIRECT


def auxiliary(infinitive: str) -> str:
    """Return the verb that forms the compound tenses: ``être`` for motion, else ``avoir``."""
    return "être" if infinitive in _WITH_ETRE else "avoir"
