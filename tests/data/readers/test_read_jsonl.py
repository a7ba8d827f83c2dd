"""JSON lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from corpus_writers import corpus_of, read_all, save, skipped

from translucid.data.readers import Change, Example, Pair, ReadReport, Skip
from translucid.errors import DataError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.jsonl"


def read_rows(
    path: Path, *rows: object, fields: tuple[str, str] | None = None
) -> tuple[list[Pair], ReadReport]:
    save(path, "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return read_all(corpus_of(path, "jsonl", fields=fields))


@pytest.mark.parametrize(
    "row",
    [
        {"fr": "un", "en": "one"},
        {"en-GB": "one", "id": 3, "fr_FR": "un"},
        {"translation": {"en": "one", "fr": "un"}},
        {"source": "un", "target": "one"},
        {"fr": "un", "en": "one", "source": "tatoeba", "target": "x"},
    ],
)
def test_fields_are_found_by_language(path: Path, row: dict[str, object]) -> None:
    assert read_rows(path, row)[0] == [Pair("un", "one", 1)]


@pytest.mark.parametrize(
    ("row", "fields"),
    [
        ({"a": "un", "b": "one", "fr": "x", "en": "x"}, ("a", "b")),
        ({"t": {"x": {"fr": "un"}, "en": "one"}}, ("t.x.fr", "t.en")),
        ({"t.fr": "un", "t": {"fr": "no", "en": "one"}}, ("t.fr", "t.en")),
    ],
)
def test_fields_by_name_and_by_dotted_path(
    path: Path, row: dict[str, object], fields: tuple[str, str]
) -> None:
    assert read_rows(path, row, fields=fields)[0] == [Pair("un", "one", 1)]


GOOD = {"fr": "un", "en": "one"}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{", Skip.NOT_JSON),
        ("[" * 100_000, Skip.NOT_JSON),
        ("9" * 5000, Skip.NOT_JSON),
        ('"text"', Skip.NOT_JSON),
        ("[1]", Skip.NOT_JSON),
        ({"fr": "un"}, Skip.MISSING_FIELD),
        ({"fr": "un", "en": None}, Skip.MISSING_FIELD),
        ({"fr": "un", "en": 1}, Skip.NOT_TEXT),
        ({"fr": ["un"], "en": "one"}, Skip.NOT_TEXT),
        ({"translation": "un"}, Skip.MISSING_FIELD),
        ("  \t", Skip.BLANK_LINE),
    ],
)
def test_a_bad_line_is_counted_and_the_rest_is_read(path: Path, row: object, reason: Skip) -> None:
    pairs, report = read_rows(path, GOOD, row, GOOD)
    assert [pair.line for pair in pairs] == [1, 3]
    assert skipped(report) == {str(reason): 1}
    assert report.skipped[reason].examples[0].line == 2


def refused(path: Path, *rows: object, fields: tuple[str, str] | None = None) -> DataError:
    with pytest.raises(DataError) as caught:
        read_rows(path, *rows, fields=fields)
    return caught.value


def test_fields_that_are_not_there_list_those_that_are(path: Path) -> None:
    error = refused(path, {"src_text": "un", "tgt_text": "one"})
    assert error.problem == (
        "1 of 1 rows give no pair; the first: no fields for fr and en among 'src_text', 'tgt_text'"
    )
    assert "--fields SOURCE,TARGET" in error.remedy
    error = refused(path, GOOD, GOOD, fields=("a.b", "en"))
    assert "the first: no field 'a.b'; it has 'fr', 'en'" in error.problem
    assert error.line == 1


@pytest.mark.parametrize(
    ("row", "detail"),
    [
        ({"fr": None, "en": "one"}, "field 'fr' is null"),
        ({"fr": 12, "en": "one"}, "field 'fr' is not text but 12"),
        ("nothing", "it is not JSON (Expecting value: line 1 column 1 (char 0))"),
        ("12", "it is not a JSON object but 12"),
        ('{"a":' * 100_000, "it is nested too deeply"),
    ],
)
def test_a_file_that_is_mostly_bad_says_why(path: Path, row: object, detail: str) -> None:
    assert f"2 of 3 rows give no pair; the first: {detail}" in refused(path, row, row, GOOD).problem


def test_an_array_is_not_json_lines(path: Path) -> None:
    save(path, '[\n{"fr": "un", "en": "one"}\n]\n')
    with pytest.raises(DataError) as caught:
        read_all(corpus_of(path, "jsonl"))
    assert caught.value.problem == "is one JSON array, not one JSON object per line"
    assert caught.value.remedy == f"Convert it: jq -c '.[]' {path} > NEW.jsonl"


def test_lone_surrogates_are_replaced_and_counted(path: Path) -> None:
    pairs, report = read_rows(
        path,
        r'{"fr": "a\ud800b", "en": "\udc00"}',
        r'{"fr": "\ud83d\ude00", "en": "\\ud800"}',
        GOOD,
    )
    assert pairs == [Pair("a\ufffdb", "\ufffd", 1), Pair("😀", r"\ud800", 2), Pair("un", "one", 3)]
    assert report.changed[Change.LONE_SURROGATE].count == 2
    assert report.changed[Change.LONE_SURROGATE].examples[0] == Example(1, "a\ufffdb")
    for pair in pairs:
        pair.source.encode()
        pair.target.encode()
