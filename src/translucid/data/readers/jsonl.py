"""JSON lines: one object per line, with the two sentences in two of its fields.

The fields are named by ``fields``, with dots for nested objects (``translation.fr``), or recognised
by their language (``fr``, ``en-GB``) or the names ``source`` and ``target``, at the top or inside
``translation``. A line that is not an object or lacks a field is counted and skipped; a file in
which most lines do is refused. JSON can contain half of a surrogate pair, which no text can: such
halves are replaced by U+FFFD and counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from translucid.data.readers.corpus import Change, Corpus, Pair, ReadReport, Skip, register_reader
from translucid.data.readers.lines import RowCheck, read_text_lines
from translucid.errors import DataError
from translucid.text.languages import find_sides

_SURROGATE = re.compile("[\ud800-\udfff]")


class _BadLineError(Exception):
    """A line that gives no pair."""

    def __init__(self, reason: Skip, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def read_jsonl(corpus: Corpus, report: ReadReport) -> Iterator[Pair]:
    """Yield the pairs of a file of JSON objects, one per line."""
    (path,) = corpus.paths
    check = RowCheck(
        path,
        report,
        remedy="Say which fields contain the two sentences: --fields SOURCE,TARGET "
        "(with dots for nested ones, such as translation.fr).",
    )
    for number, line in enumerate(read_text_lines(path, corpus.languages, report), start=1):
        if not line.strip():
            report.skip(Skip.BLANK_LINE, number, line)
            continue
        if number == 1:
            _refuse_array(path, line)
        try:
            source, target = _sentences(line, corpus)
        except _BadLineError as bad:
            check.bad(bad.reason, number, line, detail=bad.detail)
            continue
        check.good()
        if "\\u" in line:
            source, target = (
                _replace_surrogates(text, number, report) for text in (source, target)
            )
        yield Pair(source, target, number)
    check.finish()


def _sentences(line: str, corpus: Corpus) -> tuple[str, str]:
    try:
        row = json.loads(line)
    except RecursionError as error:
        raise _BadLineError(Skip.NOT_JSON, "it is nested too deeply") from error
    except ValueError as error:
        raise _BadLineError(Skip.NOT_JSON, f"it is not JSON ({error})") from error
    if not isinstance(row, dict):
        raise _BadLineError(Skip.NOT_JSON, f"it is not a JSON object but {line[:60]}")
    source, target = corpus.fields or _default_fields(row, corpus.languages)
    return _text(row, source), _text(row, target)


def _default_fields(row: dict[str, object], languages: tuple[str, str]) -> tuple[str, str]:
    names = tuple(row)
    if sides := find_sides(names, languages):
        return names[sides[0]], names[sides[1]]
    nested = row.get("translation")
    if isinstance(nested, dict) and (sides := find_sides(tuple(nested), languages)):
        names = tuple(nested)
        return f"translation.{names[sides[0]]}", f"translation.{names[sides[1]]}"
    raise _BadLineError(
        Skip.MISSING_FIELD,
        f"no fields for {languages[0]} and {languages[1]} among {', '.join(map(repr, names))}",
    )


def _text(row: dict[str, object], field: str) -> str:
    """Return the text of a field: the one of exactly that name, or at the dotted path."""
    value: object = row
    for name in [field] if field in row else field.split("."):
        if not isinstance(value, dict) or name not in value:
            names = ", ".join(map(repr, row))
            raise _BadLineError(Skip.MISSING_FIELD, f"no field {field!r}; it has {names}")
        value = value[name]
    if value is None:
        raise _BadLineError(Skip.MISSING_FIELD, f"field {field!r} is null")
    if not isinstance(value, str):
        raise _BadLineError(Skip.NOT_TEXT, f"field {field!r} is not text but {str(value)[:60]}")
    return value


def _replace_surrogates(text: str, line: int, report: ReadReport) -> str:
    """Replace halves of surrogate pairs, which cannot be written or tokenized."""
    if not _SURROGATE.search(text):
        return text
    text = _SURROGATE.sub("\ufffd", text)
    report.change(Change.LONE_SURROGATE, line, text)
    return text


def _refuse_array(path: Path, line: str) -> None:
    if line.lstrip().startswith("["):
        raise DataError(
            path,
            "is one JSON array, not one JSON object per line",
            remedy=f"Convert it: jq -c '.[]' {path} > NEW.jsonl",
            line=1,
        )


register_reader("jsonl", read_jsonl, extensions=("jsonl", "ndjson", "json"), has_fields=True)
