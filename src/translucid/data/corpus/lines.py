"""The lines of a text file, plain or compressed, one at a time and never an unbounded one.

A line ends at ``\\n`` or ``\\r\\n`` and nowhere else: U+2028, U+0085, form feeds and single
carriage returns are characters of the text. A last line without an end is a line. A file is UTF-8,
with or without a byte order mark.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

from translucid.data.corpus.encodings import check_byte_order_mark, not_utf8
from translucid.data.corpus.report import ReadReport
from translucid.errors import DataError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# A line that is longer is no sentence: a binary file, or one whose lines end in something else.
MAX_LINE_BYTES = 1 << 20
# By the ending of a name: the program that compresses so, and how such files begin.
_COMPRESSIONS = {".gz": ("gzip", b"\x1f\x8b"), ".xz": ("xz", b"\xfd7zXZ\x00")}
COMPRESSED_ENDINGS = tuple(_COMPRESSIONS)
COMPRESSION_FAULTS = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


class _CountedFile(io.FileIO):
    """A file that adds the bytes taken from the disk to a report."""

    def __init__(self, path: Path, report: ReadReport) -> None:
        super().__init__(path, "rb")
        self._report = report

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        count = cast("int | None", super().readinto(buffer))
        self._report.bytes_read += count or 0
        return count


@contextlib.contextmanager
def open_bytes(path: Path, report: ReadReport) -> Iterator[io.BufferedIOBase]:
    """Open a file for reading; what is compressed, by its first bytes, is decompressed."""
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(io.BufferedReader(_CountedFile(path, report)))
            head = file.peek(6)[:6]
        except OSError as error:
            raise unreadable(path, error) from error
        ending = path.suffix.lower()
        if head.startswith(_COMPRESSIONS[".gz"][1]):
            yield stack.enter_context(gzip.GzipFile(fileobj=file, mode="rb"))
        elif head.startswith(_COMPRESSIONS[".xz"][1]):
            yield stack.enter_context(lzma.LZMAFile(file))
        elif ending in _COMPRESSIONS and head:
            program, magic = _COMPRESSIONS[ending]
            begins = head[: len(magic)].hex(" ")
            raise DataError(
                path,
                f"is not {program}-compressed (it begins with {begins}, not with {magic.hex(' ')})",
                remedy=f"If it is not compressed, take {ending} off its name; else get it again.",
            )
        else:
            yield file


def byte_lines(path: Path, report: ReadReport) -> Iterator[bytes]:
    """Yield the lines of a file as bytes, without their ends and without a byte order mark."""
    number = 0
    with open_bytes(path, report) as file:
        try:
            while line := file.readline(MAX_LINE_BYTES + len(b"\r\n")):
                number += 1
                if line.endswith(b"\n"):
                    line = line[:-2] if line.endswith(b"\r\n") else line[:-1]
                if len(line) > MAX_LINE_BYTES:
                    raise _too_long(path, number, line)
                yield check_byte_order_mark(path, line) if number == 1 else line
        except COMPRESSION_FAULTS as error:
            raise broken_compression(path, number, error) from error
        except OSError as error:
            raise unreadable(path, error) from error


def text_lines(path: Path, languages: tuple[str, ...], report: ReadReport) -> Iterator[str]:
    """Yield the lines of a UTF-8 file as text; languages help to name another encoding."""
    for number, line in enumerate(byte_lines(path, report), start=1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise not_utf8(path, number, error, languages) from error
        yield text


def unreadable(path: Path, error: OSError) -> DataError:
    """Say that the system does not let us read a file."""
    return DataError(
        path,
        f"cannot be read: {error.strerror or error}",
        remedy="Check that the file is there, that you may read it, and that its disk is sound.",
    )


def broken_compression(path: Path, lines: int, error: Exception) -> DataError:
    """Say after how many lines the compressed data is cut off or damaged."""
    state = "ends too early" if isinstance(error, EOFError) else "is damaged"
    program = "xz" if path.suffix.lower() == ".xz" else "gzip"
    return DataError(
        path,
        f"its {program} data {state} after {lines:,} complete lines ({error})",
        remedy=f"Copy or download it again; `{program} -t {path}` tests it.",
        line=lines + 1,
    )


def _too_long(path: Path, number: int, line: bytes) -> DataError:
    remedy = "A corpus has one sentence a line: split the line, or take it out."
    if line.count(b"\r") > 1:
        remedy = (
            "It holds carriage returns, which some programs write at the end of a line; "
            "put newlines in their place: tr '\\r' '\\n' < FILE > NEW"
        )
    elif b"\0" in line:
        remedy = "It holds NUL bytes: is this a text file?"
    return DataError(
        path,
        f"the line is longer than {MAX_LINE_BYTES:,} bytes, the most that a line may have",
        remedy=remedy,
        line=number,
    )
