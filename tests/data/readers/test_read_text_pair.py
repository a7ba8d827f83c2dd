"""Two line-aligned files, and two that are not."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from corpus_writers import read_all, save, text_corpus, write_text_pair

from translucid.data.readers import Pair, ReadReport, read_pairs
from translucid.data.readers.lines import MAX_SHIFT, find_divergence, fit
from translucid.errors import DataError


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "train.fr", tmp_path / "train.en"


def misaligned(paths: tuple[Path, Path]) -> DataError:
    with pytest.raises(DataError) as caught:
        read_all(text_corpus(*paths))
    return caught.value


def test_lines_come_in_pairs_with_their_numbers(paths: tuple[Path, Path]) -> None:
    write_text_pair(paths, [("un", "one"), ("", ""), ("trois", "")])
    pairs, report = read_all(text_corpus(*paths))
    assert pairs == [Pair("un", "one", 1), Pair("", "", 2), Pair("trois", "", 3)]
    assert (report.pairs, report.skipped, report.changed) == (3, {}, {})
    assert report.bytes_read == text_corpus(*paths).size()


def test_ends_of_lines_need_not_agree(paths: tuple[Path, Path]) -> None:
    paths[0].write_bytes(b"un\r\ndeux")
    paths[1].write_bytes(gzip.compress(b"\xef\xbb\xbfone\ntwo\n"))
    assert read_all(text_corpus(*paths))[0] == [Pair("un", "one", 1), Pair("deux", "two", 2)]


def test_two_empty_files_have_no_pairs(paths: tuple[Path, Path]) -> None:
    write_text_pair(paths, [])
    assert read_all(text_corpus(*paths))[0] == []


@pytest.mark.parametrize("swap", [False, True])
def test_different_counts_are_both_named(paths: tuple[Path, Path], swap: bool) -> None:
    short, long = reversed(paths) if swap else paths
    save(short, "a\nb\n")
    save(long, "a\nb\nc\nd")
    error = misaligned(paths)
    counts = {short: 2, long: 4}
    assert error.problem == (
        f"train.fr has {counts[paths[0]]} lines and train.en has {counts[paths[1]]}, so the two "
        f"are not line-aligned; line 3 of {long.name} has no partner"
    )
    assert error.line == 3
    assert "here or anywhere before" in error.remedy


def test_an_empty_file_beside_a_full_one(paths: tuple[Path, Path]) -> None:
    save(paths[0], "")
    save(paths[1], "one\n")
    assert "train.fr has 0 lines and train.en has 1" in misaligned(paths).problem


def test_pairs_before_the_end_were_given_first(paths: tuple[Path, Path]) -> None:
    save(paths[0], "a\nb\n")
    save(paths[1], "a\nb\nc\n")
    report = ReadReport()
    with pytest.raises(DataError):
        for _ in read_pairs(text_corpus(*paths), report):
            pass
    assert report.pairs == 2


def sentences(count: int) -> tuple[list[str], list[str]]:
    """Make pairs that look like translations: lengths, ends and numbers go together."""
    chance = random.Random(0)
    ones, others = [], []
    for _ in range(count):
        length, end = chance.randint(5, 60), chance.choice(".?!")
        number = str(chance.randint(2, 99)) if chance.random() < 0.2 else ""
        ones.append("a" * length + number + end)
        others.append("b" * (length + chance.randint(-3, 6)) + number + end)
    return ones, others


@pytest.mark.parametrize("lost", [1, 3])
@pytest.mark.parametrize("place", [40, 500, 1900])
def test_the_line_where_they_part_is_found(paths: tuple[Path, Path], lost: int, place: int) -> None:
    ones, others = sentences(2000)
    del others[place - 1 : place - 1 + lost]
    write_text_pair((paths[0], paths[0]), [(line, line) for line in ones])
    save(paths[1], "".join(f"{line}\n" for line in others))
    error = misaligned(paths)
    assert error.line is not None
    assert abs(error.line - place) <= 3
    assert f"train.fr has 2,000 lines and train.en has {2000 - lost:,}" in error.problem
    assert f"they seem to diverge near line {error.line:,}" in error.problem
    assert "a line is missing in train.en, or train.fr has one too many" in error.remedy


def test_the_search_agrees_with_trying_every_line(paths: tuple[Path, Path]) -> None:
    ones, others = sentences(60)
    del others[25]
    save(paths[0], "".join(f"{line}\n" for line in ones))
    save(paths[1], "".join(f"{line}\n" for line in others))

    def gain(line: int) -> float:
        return sum(
            fit(other, ones[i] if i < line - 1 else ones[i + 1]) for i, other in enumerate(others)
        )

    assert find_divergence(paths[1], paths[0], 1) == max(range(1, len(others) + 2), key=gain)


def test_files_that_never_belonged_together_are_not_searched(paths: tuple[Path, Path]) -> None:
    save(paths[0], "a\n")
    save(paths[1], "a\n" * (MAX_SHIFT + 2))
    assert find_divergence(*paths, MAX_SHIFT + 1) is None
    assert "line 2 of train.en has no partner" in misaligned(paths).problem


def test_another_encoding_beyond_the_shorter_end_does_not_hide_the_counts(
    paths: tuple[Path, Path],
) -> None:
    save(paths[0], "a\n")
    paths[1].write_bytes(b"a\nb\n\xe9\n")
    assert "train.fr has 1 lines and train.en has 3" in misaligned(paths).problem
