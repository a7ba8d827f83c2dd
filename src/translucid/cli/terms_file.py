"""Files of words: terminology, and words that are not translated.

A line of terminology has a source word or phrase, a tab, and its translation; one of words to keep
has a word or a phrase.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from translucid.cli.line_files import existing_file
from translucid.errors import DataError

_REMEDY = "A line of terminology is: source words, a tab, target words."


def read_terms(path: Path) -> dict[str, str]:
    """Return the translations that a file demands; lines that are blank say nothing."""
    terms: dict[str, str] = {}
    for number, line in _lines("--terms", path):
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) != 2 or not all(columns):
            raise DataError(
                path, f"{line!r} is not two columns with words in both", remedy=_REMEDY, line=number
            )
        source, target = columns
        if terms.setdefault(source, target) != target:
            raise DataError(
                path,
                f"{source!r} is to become {target!r} here and {terms[source]!r} before",
                remedy="Keep one of the two.",
                line=number,
            )
    if not terms:
        raise DataError(path, "holds no terms", remedy=_REMEDY)
    return terms


def read_keep(path: Path) -> tuple[str, ...]:
    """Return the words and phrases that a file says are not to be translated."""
    kept = tuple(line.strip() for _, line in _lines("--keep", path))
    if not kept:
        raise DataError(
            path, "holds no words", remedy="Write a word or a phrase that is kept on each line."
        )
    return kept


def _lines(option: str, path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something, with their numbers from 1."""
    from translucid.data.readers.corpus import ReadReport
    from translucid.data.readers.lines import read_text_lines

    lines = read_text_lines(existing_file(option, path), (), ReadReport())
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
