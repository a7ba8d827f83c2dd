from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from translucid.errors import DataError, InputError
from translucid.evaluation.reference_set import ReferenceSet, read_reference_set, read_split, stem
from word_data import word_data, word_pairs


def test_files_are_read_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "test.fr").write_bytes("un\r\n\r\ndeux\u2028trois\x85\x00\nquatre".encode())
    with gzip.open(tmp_path / "test.en.gz", "wt", encoding="utf-8") as file:
        file.write("one\n\ntwo\nfour\n")
    found = read_reference_set(tmp_path / "test.fr", [tmp_path / "test.en.gz"] * 2)
    assert found.sources == ("un", "", "deux\u2028trois\x85\x00", "quatre")
    assert found.references == (("one", "", "two", "four"),) * 2
    assert (found.name, len(found)) == ("test.fr", 4)


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n3\n")
    (tmp_path / "b").write_text("1\n2\n")
    with pytest.raises(DataError, match=r"b: it has 2 lines, but .*a has 3"):
        read_reference_set(tmp_path / "a", [tmp_path / "b"])


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(DataError, match="the file has no lines"):
        read_reference_set(tmp_path / "a", [tmp_path / "a"])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere: cannot be read"):
        read_reference_set(tmp_path / "nowhere", [tmp_path / "nowhere"])


def test_a_subset_keeps_sources_and_references_together() -> None:
    given = ReferenceSet("x", ("a", "b", "c"), (("A", "B", "C"), ("1", "2", "3")))
    assert given.subset([2, 0]) == ReferenceSet("x", ("c", "a"), (("C", "A"), ("3", "1")))


def test_a_split_of_prepared_data(tmp_path: Path) -> None:
    pairs = word_pairs(5, seed=1)
    data = word_data(tmp_path / "data", {"train": word_pairs(3, seed=2), "test": pairs})
    source, target = data.manifest.source_lang, data.manifest.target_lang
    found = read_split(data, "test", source, target)
    assert list(zip(found.sources, *found.references, strict=True)) == list(pairs)
    assert found.name == "data-test"
    turned = read_split(data, "test", target, source)
    assert (turned.sources, turned.references[0]) == (found.references[0], found.sources)
    with pytest.raises(InputError, match="holds no language 'xx'"):
        read_split(data, "test", source, "xx")
    with pytest.raises(InputError, match="no split 'dev'"):
        read_split(data, "dev", source, target)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("d/test.en.gz", "test.en"), ("out.txt", "out"), ("out.txt.gz", "out"), (".gz", ".gz")],
)
def test_the_name_of_a_file(name: str, expected: str) -> None:
    assert stem(Path(name)) == expected
