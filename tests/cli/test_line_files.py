"""Lines are read exactly: none lost, none made up, each with its own end."""

from __future__ import annotations

import gzip
import itertools
import lzma
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.cli.line_files import (
    Line,
    LineSplitter,
    LiveLines,
    check_file,
    decode_line,
    decode_lines,
    open_lines,
    survey,
)
from translucid.errors import DataError, InputError

HERE = Path("here.txt")
NASTY = "a\0b\n\r\n \n\u2028x\u0085y\x0c\x0b\x1c\n\rz\r\r\n\U0001f642 שלום\nlast"
BYTES = st.lists(
    st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"\0", "é".encode(), "\u2028".encode(), b"\xff"])
).map(b"".join)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    borders = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[a:b] for a, b in itertools.pairwise(borders)]


def split(chunks: list[bytes]) -> list[bytes]:
    splitter = LineSplitter()
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    return lines + splitter.finish()


@given(BYTES, st.lists(st.integers(0, 1000)))
def test_lines_are_the_same_however_the_bytes_come(data: bytes, places: list[int]) -> None:
    lines = split(cut(data, places))
    assert b"".join(lines) == data
    assert all(line.index(b"\n") == len(line) - 1 for line in lines[:-1])
    assert b"\n" not in lines[-1][:-1] if lines else not data


@given(BYTES)
def test_text_and_end_of_every_line_are_the_file_again(data: bytes) -> None:
    lines = list(decode_lines(split([data]), HERE, "replace"))
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    again = "".join(line.text + line.ending for line in lines)
    assert again == data.decode("utf-8", "replace")
    assert {line.ending for line in lines[:-1]} <= {"\n", "\r\n"}
    assert [line.replaced for line in lines] == ["\ufffd" in line.text for line in lines]
    assert not any(line.text.endswith("\r") and line.ending == "" for line in lines)


def test_only_a_newline_ends_a_line(tmp_path: Path) -> None:
    path = tmp_path / "nasty"
    path.write_bytes(NASTY.encode())
    lines = open_lines(path, "strict", skipped=0).take(100)
    assert [(line.text, line.ending) for line in lines] == [
        ("a\0b", "\n"),
        ("", "\r\n"),
        (" ", "\n"),
        ("\u2028x\u0085y\x0c\x0b\x1c", "\n"),
        ("\rz\r", "\r\n"),
        ("\U0001f642 שלום", "\n"),
        ("last", ""),
    ]


def test_a_file_is_taken_some_lines_at_a_time_and_from_any_line_on(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_text("".join(f"{n}\n" for n in range(1, 8)))
    lines = open_lines(path, "strict", skipped=2)
    taken = [[line.number for line in lines.take(2)] for _ in range(4)]
    assert taken == [[3, 4], [5, 6], [7], []]
    assert open_lines(path, "strict", skipped=3).take(1) == [Line(4, "4", "\n", False)]


@pytest.mark.parametrize(
    ("ending", "program", "compress"), [("gz", "gzip", gzip.compress), ("xz", "xz", lzma.compress)]
)
def test_a_compressed_file_reads_like_the_plain_one(
    tmp_path: Path, ending: str, program: str, compress: Callable[[bytes], bytes]
) -> None:
    plain, packed = tmp_path / "a.txt", tmp_path / f"a.txt.{ending}"
    plain.write_bytes(NASTY.encode())
    packed.write_bytes(compress(NASTY.encode()))
    assert survey(packed, "strict") == survey(plain, "strict")
    assert survey(plain, "strict").lines == 7
    packed.write_bytes(packed.read_bytes()[:-12])
    with pytest.raises(DataError, match=f"{program} data ends too early"):
        survey(packed, "strict")
    packed.write_bytes(b"plain text")
    with pytest.raises(DataError, match=f"is not {program}-compressed"):
        survey(packed, "strict")


def test_a_byte_order_mark_is_no_text() -> None:
    assert decode_line(b"\xef\xbb\xbfa\n", 1, HERE, "strict") == Line(1, "a", "\n", False)
    assert decode_line(b"\xef\xbb\xbfa\n", 2, HERE, "strict").text == "\ufeffa"
    with pytest.raises(DataError, match="is UTF-16"):
        decode_line("a\n".encode("utf-16"), 1, HERE, "replace")


def test_bytes_that_are_no_utf8_are_told_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "latin"
    path.write_bytes(b"one\ncaf\xe9 noir\n")
    with pytest.raises(DataError) as caught:
        survey(path, "strict")
    for part in ("line 2: not UTF-8: byte 4 of the line is 0xE9", "iconv -f", "--errors replace"):
        assert part in str(caught.value)
    assert survey(path, "replace").lines == 2
    assert open_lines(path, "replace", skipped=1).take(1)[0].text == "caf\ufffd noir"


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"-i .*: there is no such file"):
        check_file("-i", tmp_path / "none")
    with pytest.raises(InputError, match="is a folder; give a text file"):
        check_file("-i", tmp_path)


# Lines that are still being written.


@pytest.fixture
def pipe() -> Iterator[tuple[LiveLines, Callable[[bytes], int], int]]:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as stream:
        yield LiveLines(stream, HERE, "strict"), lambda data: os.write(writing, data), writing


def test_lines_of_a_pipe_are_handed_on_before_it_ends(pipe) -> None:  # type: ignore[no-untyped-def]
    lines, write, writing = pipe
    write(b"one\ntwo\nthr")
    got = []
    while len(got) < 2:  # the pipe stays open: waiting for a full batch would never end
        got += lines.take(64)
    write(b"ee\nlast\r")
    os.close(writing)
    while more := lines.take(64):
        got += more
    assert [(line.number, line.text, line.ending) for line in got] == [
        (1, "one", "\n"),
        (2, "two", "\n"),
        (3, "three", "\n"),
        (4, "last", "\r"),
    ]


def test_no_more_lines_are_taken_than_asked_for(pipe) -> None:  # type: ignore[no-untyped-def]
    lines, write, writing = pipe
    write(b"".join(b"%d\n" % n for n in range(10)))
    os.close(writing)
    assert [[line.text for line in lines.take(4)] for _ in range(4)] == [
        ["0", "1", "2", "3"],
        ["4", "5", "6", "7"],
        ["8", "9"],
        [],
    ]


def test_a_line_longer_than_any_buffer(pipe) -> None:  # type: ignore[no-untyped-def]
    lines, write, writing = pipe
    write(b"x" * 60_000)
    write(b"y" * 60_000 + b"\n")
    os.close(writing)
    (line,) = lines.take(64)
    assert line.text == "x" * 60_000 + "y" * 60_000


def test_a_pipe_that_does_not_block_is_waited_for() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with os.fdopen(reading, "rb", buffering=0) as stream:
        lines = LiveLines(stream, HERE, "strict")
        time.sleep(0.1)  # the pipe was looked into, and there was nothing yet
        os.write(writing, b"one\n")
        os.close(writing)
        assert [line.text for line in lines.take(64)] == ["one"]
        assert lines.take(64) == []


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"un\rdeux\r", "carriage returns alone"), ("un\ndeux\n".encode("utf-16-le"), "is UTF-16LE")],
)
def test_what_would_not_be_read_line_by_line_is_refused(  # type: ignore[no-untyped-def]
    pipe, tmp_path: Path, data: bytes, words: str
) -> None:
    lines, write, writing = pipe
    write(data)
    os.close(writing)
    with pytest.raises(DataError, match=words):
        lines.take(10)
    path = tmp_path / "in"
    path.write_bytes(data)
    with pytest.raises(DataError, match=words):
        survey(path, "strict")


def test_a_stream_that_cannot_be_read() -> None:
    class Broken:
        def read(self, _size: int, /) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(InputError, match=r"here.txt cannot be read: Input/output error"):
        LiveLines(Broken(), HERE, "strict").take(1)
