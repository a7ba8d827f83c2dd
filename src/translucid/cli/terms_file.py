"""Terminology from a file: on each line a source word or phrase, a tab, and its translation."""

from __future__ import annotations

from pathlib import Path

from translucid.cli.line_files import existing_file
from translucid.errors import DataError

_REMEDY = "A line of terminology is: source words, a tab, target words."


def read_terms(path: Path) -> dict[str, str]:
    """Return the translations that a file demands; lines that are blank say nothing."""
    from translucid.data.corpus.lines import text_lines
    from translucid.data.corpus.report import ReadReport

    terms: dict[str, str] = {}
    lines = text_lines(existing_file("--terms", path), (), ReadReport())
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
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
