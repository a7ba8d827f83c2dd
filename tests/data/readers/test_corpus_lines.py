"""The lines of a file: where they end, how long they may be, and what a broken file says."""

from __future__ import annotations

import codecs
import gzip
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.data.readers.corpus import ReadReport
from translucid.data.readers.lines import (
    MAX_LINE_BYTES,
    find_utf16,
    likely_encoding,
    read_byte_lines,
    read_text_lines,
)
from translucid.errors import DataError

MEGABYTE = 1 << 20


def lines_of(path: Path, *languages: str) -> list[str]:
    return list(read_text_lines(path, languages or ("fr",), ReadReport()))


def broken(path: Path, *languages: str) -> DataError:
    with pytest.raises(DataError) as caught:
        lines_of(path, *languages)
    assert caught.value.path == path
    assert caught.value.exit_code == 3
    return caught.value


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\r\n\r\n", ["a\r", ""]),
        (b"a\rb\n", ["a\rb"]),
        (b"a\r", ["a\r"]),
        (b"\n\na\n\n", ["", "", "a", ""]),
        (b"a\0b\n", ["a\0b"]),
        (codecs.BOM_UTF8 + b"a\nb\n", ["a", "b"]),
        (codecs.BOM_UTF8, [""]),
        (
            "a\u2028b\x85c\x0bd\x0ce\x1cf\x1dg\x1eh\u2029i\n".encode(),
            ["a\u2028b\x85c\x0bd\x0ce\x1cf\x1dg\x1eh\u2029i"],
        ),
        ("a\n\ufeffb\n".encode(), ["a", "\ufeffb"]),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_where_lines_end(tmp_path: Path, data: bytes, lines: list[str], compressed: bool) -> None:
    path = tmp_path / ("x.fr.gz" if compressed else "x.fr")
    path.write_bytes(gzip.compress(data) if compressed else data)
    report = ReadReport()
    assert list(read_text_lines(path, ("fr",), report)) == lines
    assert report.bytes_read == path.stat().st_size


def test_compressed_data_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x.fr"
    path.write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    assert lines_of(path) == ["a", "b"]


def test_a_name_that_says_gzip_and_a_file_that_is_not(tmp_path: Path) -> None:
    path = tmp_path / "x.fr.gz"
    path.write_bytes(b"plain\n")
    error = broken(path)
    assert "is not gzip-compressed (it begins with 70 6c, not with 1f 8b)" in error.problem
    assert "remove .gz from its name" in error.remedy
    path.write_bytes(b"")
    assert lines_of(path) == []


def test_truncated_gzip_says_after_which_line(tmp_path: Path) -> None:
    path = tmp_path / "x.fr.gz"
    text = b"".join(b"%d\n" % number for number in range(20_000))
    whole = gzip.compress(text)
    path.write_bytes(whole[: len(whole) // 2])
    got: list[str] = []
    with pytest.raises(DataError) as caught:
        got.extend(read_text_lines(path, ("fr",), ReadReport()))
    assert got == [str(number) for number in range(len(got))]  # none lost, none made up
    assert len(got) > 5_000
    assert f"its gzip data ends too early after {len(got):,} complete lines" in caught.value.problem
    assert caught.value.line == len(got) + 1
    assert f"gzip -t {path}" in caught.value.remedy


@pytest.mark.parametrize("place", [0.5, 1.0])
def test_damaged_gzip(tmp_path: Path, place: float) -> None:
    path = tmp_path / "x.fr.gz"
    data = bytearray(gzip.compress(b"".join(b"%d\n" % number for number in range(20_000))))
    position = min(int(len(data) * place), len(data) - 8)  # the middle, or the checksum
    data[position : position + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(data)
    assert "its gzip data is damaged after" in broken(path).problem


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_the_longest_line_allowed(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "x.fr"
    path.write_bytes(b"a\n" + b"b" * MAX_LINE_BYTES + end)
    assert [len(line) for line in lines_of(path)] == [1, MAX_LINE_BYTES]
    path.write_bytes(b"a\n" + b"b" * (MAX_LINE_BYTES + 1) + end)
    error = broken(path)
    assert error.line == 2
    assert error.problem == "the line is longer than 1,048,576 bytes, the limit"
    assert "split the line, or remove it" in error.remedy


@pytest.mark.parametrize("compressed", [False, True])
def test_a_line_of_50_megabytes_is_refused_without_being_read(
    tmp_path: Path, compressed: bool
) -> None:
    path = tmp_path / "x.fr"
    with path.open("wb") as file:
        for _ in range(50):
            piece = b"x" * MEGABYTE
            file.write(gzip.compress(piece, 1) if compressed else piece)
    tracemalloc.start()
    try:
        error = broken(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert error.line == 1
    assert peak < 6 * MEGABYTE


def test_a_long_line_with_other_line_ends_or_of_a_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "x.fr"
    path.write_bytes(b"one\rtwo\r" * MEGABYTE)
    assert "tr '\\r' '\\n' < FILE > NEW" in broken(path).remedy
    path.write_bytes(b"\0" * 2 * MEGABYTE)
    assert "It contains NUL bytes: is this a text file?" in broken(path).remedy


@pytest.mark.parametrize("data", [b"un\rdeux\rtrois", b"un\rdeux\r", b"un\rdeux\rtrois\n"])
@pytest.mark.parametrize("repeated", [1, 5000])
@pytest.mark.parametrize("compressed", [False, True])
def test_lines_that_end_in_carriage_returns_alone_are_refused(
    tmp_path: Path, data: bytes, repeated: int, compressed: bool
) -> None:
    data = data.replace(b"un", b"un\r" * repeated) if repeated > 1 else data
    path = tmp_path / "x.fr"
    path.write_bytes(gzip.compress(data) if compressed else data)
    error = broken(path)
    assert error.line == 1
    assert "end in carriage returns alone" in error.problem
    assert "tr '\\r' '\\n' < FILE > NEW" in error.remedy


TEXTS = (
    "un\ndeux\n",
    "Où est l’eau ?\n",
    "Съешь ещё этих булок.\nДа выпей чаю.\n",
    "Ξεσκεπάζω την ψυχοφθόρα\nσου\n",
    "日本語の文章です。\n上上上\n二行目\n",
    "לא יודע\n",
    "a single line without an end",
)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    ("encoding", "name"), [("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE")]
)
def test_utf_16_without_a_mark_is_refused_by_name(
    tmp_path: Path, text: str, encoding: str, name: str
) -> None:
    path = tmp_path / "x.fr"
    for times in (1, 3000):
        path.write_bytes(text.encode(encoding) * times)
        error = broken(path)
        assert f"is {name}, not UTF-8" in error.problem
        assert f"iconv -f {name} -t UTF-8" in error.remedy
    path.write_bytes(text.encode())
    assert "\n".join(lines_of(path)) == text.removesuffix("\n")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=8))
def test_text_in_utf_8_is_not_taken_for_utf_16(text: str) -> None:
    controls = sum(ord(c) < 32 for c in text)
    assert find_utf16(text.encode()) is None or controls >= 0.3 * len(text)


def test_another_encoding_names_line_byte_and_command(tmp_path: Path) -> None:
    path = tmp_path / "été.fr"
    path.write_bytes(b"un\n" + "l’été\n".encode("cp1252"))
    error = broken(path)
    assert error.line == 2
    assert error.problem == "not UTF-8: byte 2 of the line is 0x92 (invalid start byte)"
    assert error.remedy == (
        f"It is probably WINDOWS-1252; convert it: iconv -f WINDOWS-1252 -t UTF-8 '{path}' > NEW"
    )
    compressed = tmp_path / "x.fr.gz"
    compressed.write_bytes(gzip.compress("été".encode("cp1252")))
    assert f"gzip -dc {compressed} | iconv -f WINDOWS-1252" in broken(compressed).remedy


@pytest.mark.parametrize(
    ("text", "encoding", "language", "named"),
    [
        ("съешь ещё этих булок", "cp1251", "ru", "WINDOWS-1251"),
        ("zażółć gęślą jaźń", "cp1250", "pl", "WINDOWS-1250"),
        ("日本語の文章", "shift_jis", "ja-JP", "SHIFT_JIS"),
        ("日本語の文章", "euc_jp", "jpn", "EUC-JP"),
        ("中文", "gb18030", "zh", "GB18030"),
        ("été", "latin-1", "fr", "WINDOWS-1252"),
        ("\x81", "latin-1", "fr", "ISO-8859-1"),
    ],
)
def test_the_likely_encoding(text: str, encoding: str, language: str, named: str) -> None:
    data = text.encode(encoding)
    assert likely_encoding(data, ("en", language)) == named
    assert data.decode(named)


def test_a_file_cut_off_inside_a_character(tmp_path: Path) -> None:
    path = tmp_path / "x.fr"
    path.write_bytes("a\né".encode()[:-1])
    error = broken(path)
    assert (error.line, "unexpected end of data" in error.problem) == (2, True)
    assert error.remedy.startswith("If this is the last line, the file was cut off: get it again.")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_utf_16_and_utf_32_are_refused_by_name(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "x.fr"
    path.write_bytes("un\ndeux\n".encode(encoding))
    error = broken(path)
    assert error.line == 1
    assert f"is {encoding.upper()} (it begins with the bytes ff fe" in error.problem
    assert f"iconv -f {encoding.upper()} -t UTF-8 {path} > NEW" in error.remedy


def test_what_the_system_does_not_let_us_read(tmp_path: Path) -> None:
    missing = broken(tmp_path / "none.fr")
    assert "cannot be read: No such file or directory" in missing.problem
    assert "that you may read it" in missing.remedy
    folder = tmp_path / "folder"
    folder.mkdir()
    assert "cannot be read: Is a directory" in broken(folder).problem
    loop = tmp_path / "loop.fr"
    loop.symlink_to(loop)
    assert "cannot be read: Too many levels of symbolic links" in broken(loop).problem


def test_a_reader_that_is_left_closes_its_file(tmp_path: Path) -> None:
    path = tmp_path / "x.fr"
    path.write_bytes(b"a\nb\n")
    lines = read_byte_lines(path, ReadReport())
    assert next(lines) == b"a"
    del lines  # an open file would be a ResourceWarning, which is an error here
