"""Whatever text a corpus holds, no reader loses a line, shifts one or changes a character."""

from __future__ import annotations

import gzip
import importlib
import json
import re
import string
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from translucid.data.readers import Corpus, Pair, ReadReport, Skip, find_corpora, read_pairs
from translucid.errors import DataError
from translucid.text.languages import find_sides

sys.path.insert(0, str(Path(__file__).parents[1] / "data" / "readers"))
writers = importlib.import_module("corpus_writers")

# What has broken readers before: line ends that are none, marks, escapes, scripts, other formats.
NASTY = (
    *("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\r", "\t", "\n", "\0"),
    *("\ufeff", "\ufffe", "\uffff", "\u200f", "\u202e", "e\u0301", "👩‍👩‍👧", "🇫🇷", "\U0010ffff"),
    *(
        '"',
        "\\",
        "\\n",
        '\\"',
        "&amp;",
        "<tu>",
        "]]>",
        "#, fuzzy",
        "msgid",
        "#~ ",
        "{}",
        "  ",
        "@2",
    ),
    *("שלום", "مرحبا", "日本語", "l’été"),
)
TEXT = st.lists(
    st.one_of(
        st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    ),
    max_size=5,
).map("".join)


def for_lines(text: str) -> str:
    """Make text fit on a line: no newline, carriage return or NUL.

    A file whose only line ends are carriage returns is refused, and one with many NULs as UTF-16.
    """
    return re.sub("[\n\r\0]", " ", text)


def for_cells(text: str) -> str:
    return for_lines(text).replace("\t", " ")


def for_xml(text: str) -> str:
    return str(writers.NOT_XML.sub(" ", text))


def not_empty(fit: Callable[[str], str]) -> Callable[[str], str]:
    """An empty side means "not translated" in this format."""
    return lambda text: fit(text) or "x"


FIT: dict[str, Callable[[str], str]] = {
    "corpus.tsv": for_cells,
    "corpus.jsonl": str,
    "corpus.tmx": for_xml,
    "corpus.po": not_empty(str),
    "corpus.xlf": not_empty(for_xml),
    "corpus-2.0.xlf": not_empty(for_xml),
    "corpus.parquet": str,
}
PAIRS = st.lists(st.tuples(TEXT, TEXT), max_size=8)


def read_back(corpus: Corpus) -> tuple[list[Pair], ReadReport]:
    report = ReadReport()
    return list(read_pairs(corpus, report)), report


def until_error(corpus: Corpus) -> tuple[list[Pair], DataError | None]:
    """Return what was read, and the error that stopped it if any did."""
    found: list[Pair] = []
    try:
        found.extend(read_pairs(corpus, ReadReport()))
    except DataError as error:
        return found, error
    return found, None


def test_every_writer_is_covered() -> None:
    assert FIT.keys() == writers.WRITERS.keys()


@pytest.mark.parametrize("name", FIT)
@settings(max_examples=60, deadline=None)
@given(pairs=PAIRS, compressed=st.booleans())
def test_any_pairs_read_back_in_order_with_their_lines(
    name: str, pairs: list[tuple[str, str]], compressed: bool
) -> None:
    kind, write = writers.WRITERS[name]
    pairs = [(FIT[name](source), FIT[name](target)) for source, target in pairs]
    if kind == "tsv" and pairs:
        assume(find_sides(pairs[0], ("fr", "en")) is None)  # a header
        assume(not pairs[0][0].startswith("\ufeff"))  # a byte order mark
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        lines = write(path, pairs, "fr", "en")
        if compressed and kind != "parquet":
            path = path.rename(path.with_name(f"{name}.gz"))
            path.write_bytes(gzip.compress(path.read_bytes()))
        (corpus,) = find_corpora([str(path)], source_lang="fr", target_lang="en", fields=None)
        found, report = read_back(corpus)
    assert found == [Pair(*pair, line) for pair, line in zip(pairs, lines, strict=True)]
    assert report.pairs == len(pairs)
    assert not report.changed
    assert report.skipped.keys() <= {Skip.HEADER}


@settings(max_examples=100, deadline=None)
@given(pairs=PAIRS, ends=st.tuples(*[st.sampled_from(["\n", "\r\n"])] * 2), last=st.booleans())
def test_two_text_files_read_back_whatever_their_line_ends(
    pairs: list[tuple[str, str]], ends: tuple[str, str], last: bool
) -> None:
    pairs = [(for_lines(source), for_lines(target)) for source, target in pairs]
    assume(not any(side.startswith("\ufeff") for side in (pairs[0] if pairs else ())))
    assume(last or not pairs or all(pairs[-1]))  # an empty last line without an end is no line
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "a.fr", Path(folder) / "a.en"
        for side, (path, end) in enumerate(zip(paths, ends, strict=True)):
            text = end.join(pair[side] for pair in pairs) + end * (last and bool(pairs))
            writers.save(path, text)
        found, _ = read_back(writers.text_corpus(*paths))
    assert found == [Pair(*pair, line) for line, pair in enumerate(pairs, start=1)]


SURROGATES = st.text(
    st.one_of(
        st.characters(categories=["Cs"]), st.characters(exclude_categories=["Cs"]), st.just("\\")
    ),
    max_size=6,
)


@settings(max_examples=200, deadline=None)
@given(rows=st.lists(st.tuples(SURROGATES, SURROGATES), max_size=6))
def test_lone_surrogates_in_json_never_lose_or_shift_a_line(rows: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        writers.write_jsonl(path, rows, "fr", "en")
        found, report = read_back(writers.corpus_of(path, "jsonl"))

    assert [pair.line for pair in found] == list(range(1, len(rows) + 1))
    replaced = 0
    for pair, row in zip(found, rows, strict=True):
        for got, written in zip(pair[:2], row, strict=True):
            joined = json.loads(json.dumps(written))  # two halves that meet are one character
            wanted = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in joined)
            assert got == wanted
            replaced += wanted != joined
    assert sum(tally.count for tally in report.changed.values()) == replaced


@pytest.mark.parametrize("name", [name for name in FIT if name != "corpus.parquet"])
@settings(max_examples=60, deadline=None)
@given(data=st.data(), compressed=st.booleans())
def test_a_file_cut_anywhere_gives_a_true_beginning_and_at_worst_a_data_error(
    name: str, data: st.DataObject, compressed: bool
) -> None:
    """Pairs before the cut are right ones; only the last may be a part of what it was."""
    kind, write = writers.WRITERS[name]
    words = st.text(string.ascii_letters + " é", min_size=1, max_size=10)
    pairs = data.draw(st.lists(st.tuples(words, words), min_size=1, max_size=6))
    assume(find_sides(pairs[0], ("fr", "en")) is None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path, pairs, "fr", "en")
        whole = gzip.compress(path.read_bytes()) if compressed else path.read_bytes()
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
        found, error = until_error(writers.corpus_of(path, kind))
    if error is not None:
        assert error.path == path
        assert error.remedy
    certain = found[:-1] if kind == "tsv" else found
    assert [pair[:2] for pair in certain] == pairs[: len(certain)]


@pytest.mark.parametrize("kind", ["tsv", "jsonl", "tmx", "po", "xliff", "parquet"])
@settings(max_examples=60, deadline=None)
@given(noise=st.binary(max_size=200))
def test_noise_is_read_or_refused_and_never_crashes(kind: str, noise: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "noise"
        path.write_bytes(noise)
        _, error = until_error(writers.corpus_of(path, kind))
    assert error is None or error.path == path
