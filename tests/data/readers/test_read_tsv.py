"""Tab-separated values."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus_writers import corpus_of, read_all, save, skipped

from translucid.data.readers import Example, Pair, Skip
from translucid.errors import DataError, InputError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.tsv"


def test_the_first_two_columns(path: Path) -> None:
    save(path, 'un\tone\tCC-BY\r\n"deux"\t"two"\n\ttrois')
    pairs, report = read_all(corpus_of(path, "tsv"))
    assert pairs == [Pair("un", "one", 1), Pair('"deux"', '"two"', 2), Pair("", "trois", 3)]
    assert not report.skipped


def test_columns_by_number_need_no_header(path: Path) -> None:
    save(path, "1\tone\tun\n2\ttwo\tdeux\n")
    pairs, report = read_all(corpus_of(path, "tsv", fields=("3", "2")))
    assert pairs == [Pair("un", "one", 1), Pair("deux", "two", 2)]
    assert not report.skipped


def test_columns_by_name_mean_a_header(path: Path) -> None:
    save(path, "id\tanglais\tfrançais\n1\tone\tun\n")
    pairs, report = read_all(corpus_of(path, "tsv", fields=("français", "anglais")))
    assert pairs == [Pair("un", "one", 2)]
    assert skipped(report) == {"header": 1}
    assert report.skipped[Skip.HEADER].examples == [Example(1, "id\tanglais\tfrançais")]
    assert read_all(corpus_of(path, "tsv", fields=("3", "anglais")))[0] == pairs


def test_a_name_that_the_header_lacks(path: Path) -> None:
    save(path, "id\ten\n1\tone\n")
    with pytest.raises(DataError) as caught:
        read_all(corpus_of(path, "tsv", fields=("fr", "en")))
    assert caught.value.problem == "no column is named 'fr'; the first line names 'id', 'en'"
    assert caught.value.line == 1
    assert "--fields SOURCE,TARGET" in caught.value.remedy


def test_there_is_no_column_zero(path: Path) -> None:
    save(path, "un\tone\n")
    with pytest.raises(InputError, match="columns are numbered from 1: there is no column 0"):
        read_all(corpus_of(path, "tsv", fields=("0", "1")))


@pytest.mark.parametrize("header", ["en\tfr", "x\ten-GB\tfr_FR", "target\tsource", "ENG\tFRA"])
def test_a_first_line_that_names_the_languages_is_a_header(path: Path, header: str) -> None:
    padding = "-\t" * header.startswith("x")
    save(path, f"\ufeff{header}\n{padding}one\tun\n")
    pairs, report = read_all(corpus_of(path, "tsv"))
    assert pairs == [Pair("un", "one", 2)]
    assert skipped(report) == {"header": 1}


@pytest.mark.parametrize(
    ("name", "langs", "first"),
    [
        ("x.fr-en.tsv", "fr en", "a"),
        ("x.fr-en.tsv", "en fr", "b"),
        ("x.eng_fra.tsv", "fr en", "b"),
        ("fr_en-v2.tsv", "fr en", "a"),
        ("fr.tsv", "en fr", "a"),
        ("x.de-en.tsv", "fr en", "a"),
    ],
)
def test_a_name_tells_the_order_of_the_columns(
    tmp_path: Path, name: str, langs: str, first: str
) -> None:
    save(tmp_path / name, "a\tb\n")
    (pair,) = read_all(corpus_of(tmp_path / name, "tsv", langs=langs))[0]
    assert pair.source == first


def test_a_bad_row_is_counted_with_its_line_and_the_rest_is_read(path: Path) -> None:
    save(path, "un\tone\nno tab here\n\n   \ntrois\tthree\n")
    pairs, report = read_all(corpus_of(path, "tsv"))
    assert pairs == [Pair("un", "one", 1), Pair("trois", "three", 5)]
    assert skipped(report) == {"too few columns": 1, "blank line": 2}
    assert report.skipped[Skip.TOO_FEW_COLUMNS].examples == [Example(2, "no tab here")]


def test_a_file_that_is_mostly_bad_is_refused(path: Path) -> None:
    save(path, "un\tone\nun,one\ndeux,two\n")
    with pytest.raises(DataError) as caught:
        read_all(corpus_of(path, "tsv"))
    assert caught.value.problem == (
        "2 of 3 rows give no pair; the first: 1 of 2 columns ('un,one')"
    )
    assert caught.value.line == 2
    assert "Separate the columns by tabs" in caught.value.remedy


def test_half_of_the_rows_may_be_bad(path: Path) -> None:
    save(path, "un\tone\nun,one\n")
    assert read_all(corpus_of(path, "tsv"))[0] == [Pair("un", "one", 1)]


def test_a_wrong_file_is_refused_after_a_thousand_rows(path: Path) -> None:
    save(path, "a,b\n" * 1000 + "un\tone\n" * 5000)
    with pytest.raises(DataError, match="1,000 of 1,000 rows give no pair"):
        read_all(corpus_of(path, "tsv"))


def test_an_empty_file_has_no_pairs(path: Path) -> None:
    save(path, "")
    assert read_all(corpus_of(path, "tsv"))[0] == []
