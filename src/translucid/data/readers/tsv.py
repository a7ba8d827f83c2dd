"""Tab-separated values: one sentence pair per line, in two of its columns.

The columns are, in this order of preference:

1. ``fields``: numbers from 1, or names in the first line, which is then a header;
2. those that the first line names by their language (``fr``, ``en-GB``) or as ``source`` and
   ``target``; it is then a header;
3. the first two: source and target, or the other way round where the file's name says so
   (``corpus.en-fr.tsv`` read from French to English).

Cells are taken literally: a quotation mark is a character like any other. A row that lacks a column
is counted and skipped; a file in which most rows do is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from translucid.data.readers.corpus import Corpus, Pair, ReadReport, Skip, register_reader
from translucid.data.readers.lines import RowCheck, read_text_lines
from translucid.errors import DataError, InputError
from translucid.text.languages import find_side, find_sides


def read_tsv(corpus: Corpus, report: ReadReport) -> Iterator[Pair]:
    """Yield the pairs of a tab-separated file."""
    (path,) = corpus.paths
    check = RowCheck(
        path,
        report,
        remedy="Separate the columns by tabs, or choose them: --fields SOURCE,TARGET "
        "(numbers from 1, or names in the first line).",
    )
    columns = (0, 1)
    for number, line in enumerate(read_text_lines(path, corpus.languages, report), start=1):
        cells = line.split("\t")
        if number == 1:
            columns, header = _columns(corpus, cells)
            if header:
                report.skip(Skip.HEADER, number, line)
                continue
        if max(columns) < len(cells):
            check.good()
            yield Pair(cells[columns[0]], cells[columns[1]], number)
        elif not line.strip():
            report.skip(Skip.BLANK_LINE, number, line)
        else:
            check.bad(
                Skip.TOO_FEW_COLUMNS,
                number,
                line,
                detail=f"{len(cells)} of {max(columns) + 1} columns ({line[:60]!r})",
            )
    check.finish()


def _columns(corpus: Corpus, first: list[str]) -> tuple[tuple[int, int], bool]:
    """Return the columns of source and target, and whether the first line is a header."""
    if corpus.fields:
        source, target = (_column(corpus.paths[0], field, first) for field in corpus.fields)
        return (source, target), not all(field.isdecimal() for field in corpus.fields)
    if named := find_sides(tuple(first), corpus.languages):
        return named, True
    return ((1, 0) if _is_reversed(corpus) else (0, 1)), False


def _column(path: Path, field: str, header: list[str]) -> int:
    if field.isdecimal():
        if int(field) == 0:
            raise InputError("columns are numbered from 1: there is no column 0")
        return int(field) - 1
    if field not in header:
        raise DataError(
            path,
            f"no column is named {field!r}; the first line names {', '.join(map(repr, header))}",
            remedy="Give the names of two of these, or the numbers of two columns from 1: "
            "--fields SOURCE,TARGET",
            line=1,
        )
    return header.index(field)


def _is_reversed(corpus: Corpus) -> bool:
    """Return whether the file name has the target language first (``x.en-fr.tsv``)."""
    sides = [find_side(part, corpus.languages) for part in re.split(r"[._-]", corpus.paths[0].name)]
    neighbours = list(pairwise(sides))
    return (1, 0) in neighbours and (0, 1) not in neighbours


register_reader("tsv", read_tsv, extensions=("tsv", "tab"), has_fields=True)
