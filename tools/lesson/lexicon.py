"""What a word of the lesson is, and how the tables of words are read.

A word pairs one French lemma with one English lemma; every inflected form is built by rule. The
English lemma names the word in all other tables (``horse``), because French has two *fille*, a
girl and a daughter, whom the sentence must tell apart. Names of classes are plural (``animals``),
so that a list may mix them with nouns: ``animals, house, tree``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from lesson.french import Gender
from lesson.tables import names, rows

Place = Literal["before", "after", "alone"]


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun with its French gender and the classes of things it belongs to.

    `french` is the word used by default, so that English *the nurse* has one translation; `man`
    and `woman` are the two French words for someone of that trade.
    """

    french: str
    english: str
    gender: Gender
    classes: frozenset[str]
    man: str
    woman: str

    @property
    def key(self) -> str:
        """The name under which combinations of words are remembered."""
        return f"noun {self.english}"

    @property
    def countable(self) -> bool:
        """Whether the word has a plural; bread, water and the sun have none."""
        return not self.classes & {"mass", "single"}


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective, what it can describe, and where it stands: ``alone`` is only after *be*."""

    french: str
    english: str
    place: Place
    describes: tuple[Noun, ...]

    @property
    def key(self) -> str:
        """The name under which combinations of words are remembered."""
        return f"adjective {self.english}"


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb, who does it and to what.

    The French infinitive may begin with *se*; on both sides the first word is inflected and the
    others follow it: ``avoir faim`` and ``be hungry``.
    """

    french: str
    english: str
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]

    @property
    def key(self) -> str:
        """The name under which combinations are remembered; *wait* and *wait for* share it."""
        infinitive = self.french.removeprefix("se ").removeprefix("s'")
        return f"verb {infinitive}"


class Nouns:
    """All nouns, found by English name or by class."""

    def __init__(self, words: Iterable[Noun]) -> None:
        self._by_name = {word.english: word for word in words}
        self._by_class: dict[str, list[Noun]] = {}
        for word in self._by_name.values():
            for name in sorted(word.classes):
                self._by_class.setdefault(name, []).append(word)
        clash = self._by_class.keys() & self._by_name.keys()
        assert not clash, f"names of both a class and a noun: {sorted(clash)}"

    def __iter__(self) -> Iterator[Noun]:
        return iter(self._by_name.values())

    def __getitem__(self, english: str) -> Noun:
        return self._by_name[english]

    def among(self, listed: str) -> tuple[Noun, ...]:
        """Return the nouns of a list of classes and nouns: ``animals, house, tree``."""
        found: dict[str, Noun] = {}
        for name in names(listed):
            for word in self._by_class.get(name) or [self._by_name[name]]:
                found[word.english] = word
        return tuple(found.values())


def read_nouns(fields: Mapping[str, str], classes: Mapping[str, str]) -> Nouns:
    """Read tables of nouns: fields define words, classes group them further by English name.

    An entry is ``french:gender english``, or ``man/woman:gender english`` for a trade.
    """
    words: dict[str, tuple[str, Gender]] = {}
    groups: dict[str, set[str]] = {}
    for field, entries in fields.items():
        for entry in names(entries):
            french, _, rest = entry.partition(":")
            words[rest[2:]] = (french, "f" if rest[0] == "f" else "m")
            groups[rest[2:]] = set(field.split())
    for name, members in classes.items():
        for member in names(members):
            groups[member].add(name)
    return Nouns(_noun(english, *words[english], groups[english]) for english in words)


def _noun(english: str, french: str, gender: Gender, classes: set[str]) -> Noun:
    man, _, woman = french.partition("/")
    default = woman if woman and gender == "f" else man
    return Noun(default, english, gender, frozenset(classes), man, woman or man)


def read_adjectives(table: str, nouns: Nouns) -> tuple[Adjective, ...]:
    """Read rows of ``french | english | place | what it describes``."""
    places: dict[str, Place] = {"before": "before", "after": "after", "alone": "alone"}
    return tuple(
        Adjective(french, english, places[place], nouns.among(described))
        for french, english, place, described in rows(table)
    )


def read_verbs(table: str, nouns: Nouns) -> tuple[Verb, ...]:
    """Read rows of ``french | english | subjects | objects``."""
    return tuple(
        Verb(french, english, nouns.among(subjects), nouns.among(objects))
        for french, english, subjects, objects in rows(table)
    )
