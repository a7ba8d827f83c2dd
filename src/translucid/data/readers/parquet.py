"""Parquet tables, with the two sentences in two of their columns.

Columns are chosen like the fields of a JSON object (see ``jsonl``): by ``fields``, with dots for
structures, or by their language, at the top or inside ``translation``, as in public datasets. A row
with a missing value is counted and skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from translucid.data.readers.corpus import Corpus, Pair, ReadReport, Skip, register_reader
from translucid.data.readers.lines import unreadable
from translucid.errors import DataError, optional
from translucid.text.languages import find_sides

_ROWS_AT_ONCE = 1024


def read_parquet(corpus: Corpus, report: ReadReport) -> Iterator[Pair]:
    """Yield the pairs of a table."""
    (path,) = corpus.paths
    pyarrow = optional("pyarrow", extra="parquet", job=f"Reading {path.name}")
    parquet = optional("pyarrow.parquet", extra="parquet", job=f"Reading {path.name}")
    try:
        with parquet.ParquetFile(path) as table:
            fields = _fields(pyarrow, table.schema_arrow, corpus)
            row = 0
            for batch in table.iter_batches(_ROWS_AT_ONCE, columns=list(fields)):
                sides = (_column(batch, field) for field in fields)
                for source, target in zip(*sides, strict=True):
                    row += 1
                    if source is None or target is None:
                        report.skip(Skip.MISSING_FIELD, row, source or target or "")
                    else:
                        yield Pair(source, target, row)
                report.bytes_read = path.stat().st_size * row // max(table.metadata.num_rows, 1)
    except (OSError, pyarrow.ArrowException, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise unreadable(path, error) from error
        raise DataError(
            path,
            f"is not a valid Parquet file: {error}",
            remedy="Write or download it again.",
        ) from error


def _fields(pyarrow: Any, schema: Any, corpus: Corpus) -> tuple[str, str]:
    """Return the dotted paths of the two columns, both of text."""
    fields = corpus.fields or _default_fields(pyarrow, schema, corpus.languages)
    known = _text_columns(pyarrow, schema)
    missing = [field for field in fields or () if field not in known]
    if fields is None or missing:
        what = f"no text column {missing[0]!r}" if missing else "no two text columns by language"
        raise DataError(
            corpus.paths[0],
            f"{what}; its text columns: {', '.join(known) or 'none'}",
            remedy="Say which columns contain the two sentences: --fields SOURCE,TARGET",
        )
    return fields


def _default_fields(
    pyarrow: Any, schema: Any, languages: tuple[str, str]
) -> tuple[str, str] | None:
    for prefix in ("", "translation."):
        names = [
            path.removeprefix(prefix)
            for path in _text_columns(pyarrow, schema)
            if path.startswith(prefix)
        ]
        if sides := find_sides(tuple(names), languages):
            return prefix + names[sides[0]], prefix + names[sides[1]]
    return None


def _text_columns(pyarrow: Any, schema: Any) -> list[str]:
    """Return the dotted paths of all text columns, including those inside structures."""

    def walk(prefix: str, fields: Any) -> Iterator[str]:
        for field in fields:
            kind = field.type
            if pyarrow.types.is_dictionary(kind):
                kind = kind.value_type
            if pyarrow.types.is_struct(kind):
                yield from walk(
                    f"{prefix}{field.name}.", [kind.field(i) for i in range(kind.num_fields)]
                )
            elif pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
                yield prefix + field.name

    return list(walk("", schema))


def _column(batch: Any, field: str) -> list[str | None]:
    """Return the texts of a column, which may be a dotted path into structures."""
    if field in batch.schema.names:
        return list(batch.column(field).to_pylist())
    first, *rest = field.split(".")
    column = batch.column(first)
    for name in rest:
        column = column.field(name)
    return list(column.to_pylist())


register_reader("parquet", read_parquet, extensions=("parquet",), has_fields=True)
