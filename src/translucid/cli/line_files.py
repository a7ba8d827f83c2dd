"""Lines of text exactly as they stand: where they end, and how.

A line ends at ``\\n``; a ``\\r`` before it belongs to the end, not to the text. Nothing else ends a
line: NUL, U+0085, U+2028 and form feeds are characters of the text. A last line without an end is a
line too. Text and end of all lines, joined, are the file again (but for a byte order mark).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, Protocol

from translucid.errors import DataError, InputError

Errors = Literal["strict", "replace"]
ERRORS: tuple[Errors, ...] = ("strict", "replace")


@dataclass(frozen=True)
class Line:
    """A line's number from 1, its text, how it ends, and whether bytes of it were replaced."""

    number: int
    text: str
    ending: str
    replaced: bool


class LineSource(Protocol):
    """Lines in their order, so many at a time."""

    def take(self, most: int) -> list[Line]:
        """Return the next lines, at least one and at most so many; none: there are no more."""


class LineSplitter:
    """Cuts bytes that come in pieces into lines; whatever the pieces, the lines are the same."""

    def __init__(self) -> None:
        self._open: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that these bytes complete, each with its end."""
        *complete, rest = chunk.split(b"\n")
        if complete:
            complete[0] = b"".join([*self._open, complete[0]])
            self._open = []
        if rest:
            self._open.append(rest)
        return [line + b"\n" for line in complete]

    def finish(self) -> list[bytes]:
        """Return the last line, if it has no end."""
        rest = b"".join(self._open)
        self._open = []
        return [rest] if rest else []


def decoded(raw: bytes, number: int, name: Path, errors: Errors) -> Line:
    """Read one line of UTF-8, its end included; `name` is where it comes from, for messages."""
    from translucid.data.readers.lines import strip_byte_order_mark

    content = raw.removesuffix(b"\n").removesuffix(b"\r")
    ending = raw[len(content) :].decode("ascii")
    if number == 1:
        content = strip_byte_order_mark(name, content)
    try:
        return Line(number, content.decode("utf-8"), ending, replaced=False)
    except UnicodeDecodeError as error:
        if errors == "strict":
            raise _not_utf8(name, number, error) from error
    return Line(number, content.decode("utf-8", "replace"), ending, replaced=True)


def _not_utf8(name: Path, number: int, error: UnicodeDecodeError) -> DataError:
    from translucid.data.readers.lines import invalid_utf8

    found = invalid_utf8(name, number, error, ())
    return DataError(
        name,
        found.problem,
        remedy=f"{found.remedy}\n  Or read � in place of such bytes: --errors replace",
        line=number,
    )


def all_decoded(raw_lines: Iterable[bytes], name: Path, errors: Errors) -> Iterator[Line]:
    """Read lines of UTF-8 one after another."""
    for number, raw in enumerate(raw_lines, start=1):
        yield decoded(raw, number, name, errors)


def raw_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a plain or compressed file, each with its end."""
    from translucid.data.readers.corpus import ReadReport
    from translucid.data.readers.lines import (
        COMPRESSION_FAULTS,
        broken_compression,
        open_bytes,
        unreadable,
    )

    number = 0
    with open_bytes(path, ReadReport()) as file:
        try:
            for number, line in enumerate(file, start=1):  # noqa: B007 - told if reading fails
                yield line
        except COMPRESSION_FAULTS as error:
            raise broken_compression(path, number, error) from error
        except OSError as error:
            raise unreadable(path, error) from error


@dataclass(frozen=True)
class Survey:
    """What a first reading of a file tells: how many lines, and which bytes (SHA-256)."""

    lines: int
    sha256: str


def survey(path: Path, errors: Errors) -> Survey:
    """Read a file once without keeping it, so that a fault in it is known before work begins."""
    digest = hashlib.sha256()
    count = 0
    for raw in raw_lines(path):
        count += 1
        digest.update(raw)
        decoded(raw, count, path, errors)
    return Survey(count, digest.hexdigest())


def existing_file(option: str, path: Path) -> Path:
    """Return a path that can be read from, or say which option names none."""
    if not path.exists():
        raise InputError(f"{option} {path}: there is no such file")
    if path.is_dir():
        raise InputError(f"{option} {path}: is a folder; give a text file")
    return path


class ReadyLines:
    """Lines that are all there already: those of a file, or of the command line."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines

    def take(self, most: int) -> list[Line]:
        """Return the next lines, as many as are asked for as long as there are."""
        return list(islice(self._lines, most))


def lines_of_file(path: Path, errors: Errors, *, skipped: int) -> ReadyLines:
    """Open a file for reading line by line, leaving out so many at the beginning."""
    return ReadyLines(islice(all_decoded(raw_lines(path), path, errors), skipped, None))
