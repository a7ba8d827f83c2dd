"""A corpus, the sentence pairs that reading it gives, and the registry of the formats.

A reader is a function from a `Corpus` and a `ReadReport` to pairs. Its module registers it::

    register_reader("tsv", read_tsv, extensions=("tsv", "tab"), has_fields=True)

Every reader streams: its memory does not grow with the file. Text is returned as it is in the
file; cleaning repairs it later. Nothing is lost silently: what gives no pair is counted in the
report with its line, and a file that cannot be trusted raises a DataError that names the file, the
line and the remedy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from translucid.errors import InputError


class Pair(NamedTuple):
    """Two sentences that translate each other, and their line in the file.

    ``line`` counts from 1. In XML it is the line where the unit or segment opens; in Parquet, which
    has no lines, the row; in a built-in corpus, the number of the pair.
    """

    source: str
    target: str
    line: int


@dataclass(frozen=True)
class Corpus:
    """Where sentence pairs come from: one file, two line-aligned files, or no file at all.

    ``paths`` are the source file and the target file of a line-aligned pair (format ``text``), the
    one file of any other format, or nothing for a built-in corpus. ``weight`` says how often each
    pair is seen per epoch. ``fields`` names the source and the target column of a TSV or Parquet
    file or field of a JSON object; ``None``: they are recognised by their names.
    """

    paths: tuple[Path, ...]
    format: str
    weight: float
    source_lang: str
    target_lang: str
    fields: tuple[str, str] | None

    @property
    def name(self) -> str:
        """The files of the corpus, or its format if it has none."""
        return " + ".join(str(path) for path in self.paths) or self.format

    @property
    def languages(self) -> tuple[str, str]:
        """The source and the target language."""
        return self.source_lang, self.target_lang

    def size(self) -> int:
        """Return the bytes of its files, the total that `ReadReport.bytes_read` reaches."""
        return sum(path.stat().st_size for path in self.paths)


# ---- what reading skips and changes -------------------------------------------------------------

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
    """How the text of a pair differs from the file, where it cannot be kept."""

    LONE_SURROGATE = "lone surrogate replaced"


class Example(NamedTuple):
    """One case: its line in the file, and the beginning of its text."""

    line: int
    text: str


@dataclass
class Tally:
    """How often something happened, and the first few cases."""

    count: int = 0
    examples: list[Example] = field(default_factory=list)

    def add(self, line: int, text: str) -> None:
        """Count one case; keep it as an example if there are few."""
        self.count += 1
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(Example(line, text[:MAX_EXAMPLE_CHARACTERS]))

    def to_json(self) -> dict[str, Any]:
        """Return plain values for a JSON file."""
        return {"count": self.count, "examples": [case._asdict() for case in self.examples]}


@dataclass
class ReadReport:
    """The result of reading one corpus: pairs read, lines and units skipped, texts changed.

    A reader fills it while it runs. ``bytes_read`` counts bytes of the files on disk (compressed or
    not), so that ``bytes_read / corpus.size()`` is the progress.
    """

    pairs: int = 0
    bytes_read: int = 0
    skipped: dict[Skip, Tally] = field(default_factory=dict)
    changed: dict[Change, Tally] = field(default_factory=dict)

    def skip(self, reason: Skip, line: int, text: str) -> None:
        """Count a line or unit that gives no pair."""
        self.skipped.setdefault(reason, Tally()).add(line, text)

    def change(self, reason: Change, line: int, text: str) -> None:
        """Count a pair whose text is not exactly that of the file."""
        self.changed.setdefault(reason, Tally()).add(line, text)

    def to_json(self) -> dict[str, Any]:
        """Return plain values for a JSON file."""
        return {
            "pairs": self.pairs,
            "skipped": _tallies_to_json(self.skipped),
            "changed": _tallies_to_json(self.changed),
        }


def _tallies_to_json(tallies: Mapping[Any, Tally]) -> dict[str, Any]:
    return {str(reason): tally.to_json() for reason, tally in tallies.items()}


# ---- the registry of formats --------------------------------------------------------------------

Reader: TypeAlias = Callable[[Corpus, ReadReport], Iterator[Pair]]


class Format(NamedTuple):
    """A format of corpora: its reader, the extensions of its files, whether it has named fields."""

    read: Reader
    extensions: tuple[str, ...]
    has_fields: bool

    @property
    def needs_file(self) -> bool:
        """Whether its corpora are files; others are known by the name of the format."""
        return bool(self.extensions)


_FORMATS: dict[str, Format] = {}


def register_reader(
    name: str, read: Reader, *, extensions: tuple[str, ...] = (), has_fields: bool = False
) -> None:
    """Add a format of corpora, so that `translucid.data.readers.find_corpora` recognises it.

    Files are recognised by their `extensions`, in lower case and without the dot. Without
    extensions, the format is a corpus that needs no file and is called by its name, such as
    ``lesson``. With `has_fields`, users can choose source and target field (``--fields``).
    """
    entry = Format(read, extensions, has_fields)
    if _FORMATS.get(name, entry) != entry:
        raise InputError(f"a reader for the format {name!r} is registered already")
    for extension in extensions:
        if (taken := find_format(extension)) not in (None, name):
            raise InputError(f"files that end in .{extension} are read as {taken} already")
    _FORMATS[name] = entry


def known_formats() -> Mapping[str, Format]:
    """Return all formats by name."""
    return _FORMATS


def find_format(extension: str) -> str | None:
    """Return the name of the format that files with this extension have."""
    return next((name for name, entry in _FORMATS.items() if extension in entry.extensions), None)


def read_pairs(corpus: Corpus, report: ReadReport) -> Iterator[Pair]:
    """Yield the pairs of a corpus, source first, and count in the report what is read and skipped.

    Sides come in the order of the corpus's languages, whatever the order in the file. A text may
    contain line breaks and control characters if its format can (JSON, XML, PO, Parquet), and
    either side may be empty.
    """
    for pair in _FORMATS[corpus.format].read(corpus, report):
        report.pairs += 1
        yield pair
