"""Parquet tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus_writers import corpus_of, read_all, skipped

from translucid.data.readers import Example, Pair, Skip
from translucid.errors import DataError, MissingPackageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.parquet"


def write(path: Path, columns: dict[str, Any], **options: Any) -> None:
    pq.write_table(pa.table(columns), path, **options)


TRANSLATION = [{"en": "one", "fr": "un"}, {"en": "two", "fr": "deux"}]


@pytest.mark.parametrize(
    "columns",
    [
        {"id": [1, 2], "en": ["one", "two"], "fr": ["un", "deux"]},
        {"en-GB": ["one", "two"], "fr_FR": pa.array(["un", "deux"]).dictionary_encode()},
        {"target": pa.array(["one", "two"], pa.large_string()), "source": ["un", "deux"]},
        {"id": ["a", "b"], "translation": TRANSLATION},
    ],
)
def test_columns_are_found_by_language(path: Path, columns: dict[str, Any]) -> None:
    write(path, columns)
    pairs, report = read_all(corpus_of(path, "parquet"))
    assert pairs == [Pair("un", "one", 1), Pair("deux", "two", 2)]
    assert report.bytes_read == path.stat().st_size


def test_columns_by_name_and_by_dotted_path(path: Path) -> None:
    write(
        path, {"a": ["un"], "t": [{"x": {"b": "one"}}], "fr": ["no"], "en": ["no"], "u.v": ["dot"]}
    )
    assert read_all(corpus_of(path, "parquet", fields=("a", "t.x.b")))[0] == [Pair("un", "one", 1)]
    assert read_all(corpus_of(path, "parquet", fields=("u.v", "a")))[0] == [Pair("dot", "un", 1)]


def test_missing_values_are_counted(path: Path) -> None:
    write(path, {"translation": [*TRANSLATION, {"en": "three", "fr": None}, None, *TRANSLATION]})
    pairs, report = read_all(corpus_of(path, "parquet"))
    assert [pair.line for pair in pairs] == [1, 2, 5, 6]
    assert skipped(report) == {"missing field": 2}
    assert report.skipped[Skip.MISSING_FIELD].examples == [Example(3, "three"), Example(4, "")]


def test_rows_keep_their_order_over_batches_and_row_groups(path: Path) -> None:
    numbers = [str(number) for number in range(5000)]
    write(path, {"translation": [{"fr": n, "en": n} for n in numbers]}, row_group_size=1700)
    pairs, _ = read_all(corpus_of(path, "parquet"))
    assert pairs == [Pair(text, text, line) for line, text in enumerate(numbers, start=1)]


def test_an_empty_table_has_no_pairs(path: Path) -> None:
    write(path, {"fr": pa.array([], pa.string()), "en": pa.array([], pa.string())})
    assert read_all(corpus_of(path, "parquet"))[0] == []


def refused(path: Path, fields: tuple[str, str] | None = None) -> DataError:
    with pytest.raises(DataError) as caught:
        read_all(corpus_of(path, "parquet", fields=fields))
    assert caught.value.path == path
    return caught.value


def test_columns_that_are_not_there_list_those_that_are(path: Path) -> None:
    write(path, {"id": [1], "text": ["x"], "t": [{"fr": "un", "n": 1}]})
    error = refused(path)
    assert error.problem == "no two text columns by language; its text columns: text, t.fr"
    assert "--fields SOURCE,TARGET" in error.remedy
    assert (
        "no text column 'id'; its text columns: text, t.fr" in refused(path, ("id", "text")).problem
    )
    write(path, {"id": [1]})
    assert refused(path).problem.endswith("its text columns: none")


def test_broken_files(path: Path) -> None:
    path.write_bytes(b"not parquet at all")
    assert refused(path).problem.startswith("is not a valid Parquet file: ")
    assert refused(path).remedy == "Write or download it again."
    path.write_bytes(b"")
    assert "is not a valid Parquet file" in refused(path).problem
    numbers = [str(number) for number in range(5000)]
    write(path, {"fr": numbers, "en": numbers})
    data = bytearray(path.read_bytes())
    data[200:2000] = bytes(1800)
    path.write_bytes(data)
    assert refused(path).problem.startswith("is not a valid Parquet file: ")
    path.unlink()
    path.symlink_to(path)
    assert "cannot be read: " in refused(path).problem


def test_text_that_is_not_utf_8(path: Path) -> None:
    bad = pa.array([b"\xe9t\xe9"], pa.binary()).view(pa.string())
    pq.write_table(pa.Table.from_arrays([bad, bad], names=["fr", "en"]), path)
    assert "is not a valid Parquet file: 'utf-8' codec can't decode" in refused(path).problem


def test_without_pyarrow_the_message_says_what_to_install(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "pyarrow")
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(MissingPackageError, match=r"Reading x\.parquet needs .*'pyarrow'"):
        read_all(corpus_of(path, "parquet"))
