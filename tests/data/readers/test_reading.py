"""One corpus in every format reads the same."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import pytest
from corpus_writers import WRITERS, read_all, skipped, text_corpus, write_text_pair

from translucid.data.readers import Corpus, Pair, ReadReport, find_corpora, read_pairs
from translucid.data.readers.corpus import known_formats

PAIRS = [
    ("Le chat dort.", "The cat is sleeping."),
    ("« Où ? »", "“Where?”"),
    ('<b>5 > 3 & 2 < 4</b> "guillemets" \\ barre', '<b>5 > 3 & 2 < 4</b> "quotes" \\ slash'),
    ("مرحبا بالعالم", "שלום עולם"),
    ("e\u0301 \u200d👩‍👩‍👧 🇫🇷", "\u00a0no-break\u2028line\u0085next "),
    (" espaces  ", "&amp; @2 %s {0}"),
    ("Le chat dort.", "The cat is sleeping."),
]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("langs", [("fr", "en"), ("en", "fr")])
def test_every_format_gives_the_same_pairs(
    tmp_path: Path, name: str, compressed: bool, langs: tuple[str, str]
) -> None:
    """The file is written from French to English; the pairs come out as asked for."""
    kind, write = WRITERS[name]
    path = tmp_path / name.replace("corpus", "corpus.fr-en")
    lines = write(path, PAIRS, "fr", "en")
    if compressed and kind != "parquet":
        packed = path.with_name(path.name + ".gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path = packed
    (corpus,) = find_corpora([str(path)], source_lang=langs[0], target_lang=langs[1], fields=None)
    pairs, report = read_all(corpus)
    expected = PAIRS if langs == ("fr", "en") else [(en, fr) for fr, en in PAIRS]
    assert [(pair.source, pair.target) for pair in pairs] == expected
    assert [pair.line for pair in pairs] == lines
    assert report.pairs == len(PAIRS)
    assert skipped(report) == ({"header": 1} if kind == "po" else {})
    assert report.bytes_read == corpus.size() == path.stat().st_size


def test_two_text_files_give_the_same_pairs(tmp_path: Path) -> None:
    paths = tmp_path / "a.fr.gz", tmp_path / "a.en"
    write_text_pair(paths, PAIRS)
    pairs, _ = read_all(text_corpus(*paths))
    assert pairs == [Pair(*pair, line) for line, pair in enumerate(PAIRS, start=1)]


def test_every_format_has_a_reader_and_is_tested_here() -> None:
    built_in = {"lesson", "copy", "reverse", "sort"}
    assert {name for name, entry in known_formats().items() if not entry.needs_file} == built_in
    assert {kind for kind, _ in WRITERS.values()} | {"text", *built_in} == set(known_formats())


def test_reading_is_lazy(tmp_path: Path) -> None:
    """A pair is given before the rest of the file is looked at."""
    path = tmp_path / "x.tsv"
    path.write_bytes(b"un\tone\n" * 100_000 + b"\xff\n")
    corpus = Corpus((path,), "tsv", 1.0, "fr", "en", None)
    report = ReadReport()
    assert len(list(itertools.islice(read_pairs(corpus, report), 3))) == 3
    assert report.pairs == 3
    assert report.bytes_read < corpus.size() / 2


def lesson(source: str, target: str) -> list[Pair]:
    (corpus,) = find_corpora(["lesson"], source_lang=source, target_lang=target, fields=None)
    return list(itertools.islice(read_pairs(corpus, ReadReport()), 2000))


def test_the_built_in_lesson_either_way_round() -> None:
    pairs = lesson("fr", "en")
    assert [pair.line for pair in pairs] == list(range(1, 2001))
    assert [(pair.target, pair.source) for pair in pairs] == [
        pair[:2] for pair in lesson("en", "fr")
    ]
    french, english = ("".join(pair[side] for pair in pairs) for side in (0, 1))
    assert french.count("é") > english.count("é")


@pytest.mark.parametrize("task", ["copy", "reverse", "sort"])
def test_string_tasks_are_what_their_names_say(task: str) -> None:
    (corpus,) = find_corpora([task], source_lang="qaa", target_lang="qab", fields=None)
    pairs = list(read_pairs(corpus, ReadReport()))
    assert pairs == list(read_pairs(corpus, ReadReport()))
    for source, target, _ in pairs:
        letters, answer = source.split(), target.split()
        assert {"copy": letters, "reverse": letters[::-1], "sort": sorted(letters)}[task] == answer
    lengths = {len(pair.source.split()) for pair in pairs}
    assert lengths == set(range(1, 13))
    assert len({pair.source for pair in pairs}) > 20_000
