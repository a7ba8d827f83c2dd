"""What reading a corpus skipped or had to change, by reason, with a few examples of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

MAX_EXAMPLES = 20
MAX_EXAMPLE_CHARACTERS = 200


class Skip(StrEnum):
    """Why a line or unit of a file gave no pair."""

    HEADER = "header"
    BLANK_LINE = "blank line"
    TOO_FEW_COLUMNS = "too few columns"
    NOT_JSON = "not a JSON object"
    MISSING_FIELD = "missing field"
    NOT_TEXT = "field is not text"
    MISSING_LANGUAGE = "missing language"
    OTHER_LANGUAGES = "other languages"
    UNTRANSLATED = "untranslated"
    NO_SOURCE = "no source"
    FUZZY = "fuzzy"
    OBSOLETE = "obsolete"
    NOT_FOR_TRANSLATION = "not for translation"


class Change(StrEnum):
    """How the text of a pair differs from what its file says, where it cannot be kept."""

    LONE_SURROGATE = "lone surrogate replaced"


class Example(NamedTuple):
    """One case: its line in the file, and the beginning of its text."""

    line: int
    text: str


@dataclass
class Tally:
    """How often something happened, and the first few cases of it."""

    count: int = 0
    examples: list[Example] = field(default_factory=list)

    def add(self, line: int, text: str) -> None:
        """Count one case; keep it as an example while there are few."""
        self.count += 1
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(Example(line, text[:MAX_EXAMPLE_CHARACTERS]))

    def to_json(self) -> dict[str, Any]:
        """Return plain values for a JSON file."""
        return {"count": self.count, "examples": [case._asdict() for case in self.examples]}


@dataclass
class ReadReport:
    """What became of one corpus: pairs given, lines and units skipped, texts changed.

    A reader fills it while it runs. ``bytes_read`` counts bytes of the files as they lie on the
    disk (compressed or not), so that ``bytes_read / corpus.size()`` tells how far reading has come.
    """

    pairs: int = 0
    bytes_read: int = 0
    skipped: dict[Skip, Tally] = field(default_factory=dict)
    changed: dict[Change, Tally] = field(default_factory=dict)

    def skip(self, reason: Skip, line: int, text: str) -> None:
        """Count a line or unit that gives no pair."""
        self.skipped.setdefault(reason, Tally()).add(line, text)

    def change(self, reason: Change, line: int, text: str) -> None:
        """Count a pair whose text is not exactly what the file says."""
        self.changed.setdefault(reason, Tally()).add(line, text)

    def to_json(self) -> dict[str, Any]:
        """Return plain values for a JSON file."""
        return {
            "pairs": self.pairs,
            "skipped": _by_reason(self.skipped),
            "changed": _by_reason(self.changed),
        }


def _by_reason(tallies: Mapping[Any, Tally]) -> dict[str, Any]:
    return {str(reason): tally.to_json() for reason, tally in tallies.items()}
