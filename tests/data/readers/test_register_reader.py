"""A format that a user adds: recognised by its extension or its name, and read like any other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from translucid.data.readers import (
    Corpus,
    Pair,
    ReadReport,
    find_corpora,
    read_pairs,
    register_reader,
)
from translucid.data.readers import corpus as registry
from translucid.data.readers.lines import read_text_lines
from translucid.errors import InputError


def read_semicolons(corpus: Corpus, report: ReadReport) -> Iterator[Pair]:
    for number, line in enumerate(read_text_lines(corpus.paths[0], ("fr",), report), start=1):
        source, target = line.split(";")
        yield Pair(source, target, number)


def read_digits(corpus: Corpus, report: ReadReport) -> Iterator[Pair]:
    del corpus, report
    yield Pair("1", "one", 1)


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_FORMATS", dict(registry._FORMATS))


def find(*arguments: str) -> list[Corpus]:
    return find_corpora(arguments, source_lang="fr", target_lang="en", fields=None)


def test_a_format_is_recognised_by_its_extension(tmp_path: Path) -> None:
    register_reader("semicolons", read_semicolons, extensions=("csv",))
    path = tmp_path / "memory.csv"
    path.write_text("oui;yes\nnon;no\n", encoding="utf-8")
    (corpus,) = find(f"{path}@2")
    assert (corpus.format, corpus.weight) == ("semicolons", 2)
    report = ReadReport()
    assert list(read_pairs(corpus, report)) == [Pair("oui", "yes", 1), Pair("non", "no", 2)]
    assert report.pairs == 2


def test_a_format_without_extensions_is_a_corpus_by_its_name() -> None:
    register_reader("digits", read_digits)
    (corpus,) = find("digits")
    assert list(read_pairs(corpus, ReadReport())) == [Pair("1", "one", 1)]


def test_names_and_extensions_are_not_taken_twice() -> None:
    with pytest.raises(InputError, match=r"the format 'tsv' is registered already"):
        register_reader("tsv", read_semicolons)
    with pytest.raises(InputError, match=r"that end in \.tsv are read as tsv already"):
        register_reader("semicolons", read_semicolons, extensions=("tsv",))
