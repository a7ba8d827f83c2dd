"""Input of commands that work line by line: files, pipes, texts, and files of terms.

A line ends at ``\\n``; a ``\\r`` before it belongs to the end, not to the text. Nothing else ends a
line: NUL, U+0085, U+2028 and form feeds are characters of the text. A last line without an end is a
line too. Text and end of all lines, joined, are the file again (but for a byte order mark).

Lines of a pipe or a terminal are handed on as they arrive, without waiting for a batch to fill up.
"""

from __future__ import annotations

import hashlib
import io
import os
import queue
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import typer

from translucid.errors import DataError, InputError

if TYPE_CHECKING:
    from translucid.translator import Translator

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
    """A source of lines in their order."""

    def take(self, most: int) -> list[Line]:
        """Return at least one and at most `most` of the next lines, or none at the end."""


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


def decode_line(raw: bytes, number: int, name: Path, errors: Errors) -> Line:
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


def decode_lines(raw_lines: Iterable[bytes], name: Path, errors: Errors) -> Iterator[Line]:
    """Read lines of UTF-8 one after another."""
    for number, raw in enumerate(raw_lines, start=1):
        yield decode_line(raw, number, name, errors)


def raw_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a plain or compressed file, each with its end."""
    from translucid.data.readers.corpus import ReadReport
    from translucid.data.readers.lines import (
        COMPRESSION_FAULTS,
        broken_compression,
        check_first_bytes,
        open_bytes,
        unreadable,
    )

    number = 0
    with open_bytes(path, ReadReport()) as file:
        try:
            check_first_bytes(path, file)
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
    """Read a file once without keeping it, to find its faults before work begins."""
    digest = hashlib.sha256()
    count = 0
    for raw in raw_lines(path):
        count += 1
        digest.update(raw)
        decode_line(raw, count, path, errors)
    return Survey(count, digest.hexdigest())


def check_file(option: str, path: Path) -> Path:
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
        """Return the next `most` lines, or all that are left."""
        return list(islice(self._lines, most))


def open_lines(path: Path, errors: Errors, *, skipped: int) -> ReadyLines:
    """Open a file for reading line by line, without the first `skipped` lines."""
    return ReadyLines(islice(decode_lines(raw_lines(path), path, errors), skipped, None))


ARGUMENTS = Path("TEXT")
_DOCUMENTS = {
    **dict.fromkeys((".po", ".pot"), "a PO file of messages"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "an HTML page"),
    **dict.fromkeys((".xlf", ".xliff", ".sdlxliff", ".mxliff"), "an XLIFF file"),
    **dict.fromkeys((".tmx", ".tbx"), "a translation memory or term base"),
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf"), "a word processor's document"),
    **dict.fromkeys((".pptx", ".ppt", ".odp"), "a presentation"),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "a spreadsheet"),
    **dict.fromkeys((".csv", ".tsv"), "a table"),
    **dict.fromkeys((".json", ".jsonl", ".arb", ".yaml", ".yml", ".toml"), "structured data"),
    **dict.fromkeys((".properties", ".strings", ".resx", ".ini"), "a file of program messages"),
    **dict.fromkeys((".srt", ".vtt", ".ass", ".sub"), "a file of subtitles"),
    **dict.fromkeys((".md", ".rst", ".adoc", ".tex"), "text with markup"),
    **dict.fromkeys((".xml", ".svg", ".dita", ".qm"), "an XML file"),
    **dict.fromkeys((".pdf", ".epub", ".mobi", ".zip"), "a document in a binary format"),
}
_BEGINNINGS = {
    b"%pdf-": "a PDF document",
    b"pk\x03\x04": "a packed document, such as DOCX",
    b"{\\rtf": "a word processor's document",
    b"<?xml": "an XML file",
    b"<!doctype html": "an HTML page",
    b"<html": "an HTML page",
}


def split_texts(texts: Sequence[str], errors: Errors) -> LineSource:
    """Return the lines of texts from the command line; a text may have several."""
    splitter = LineSplitter()
    raw = splitter.feed(b"".join(os.fsencode(text) + b"\n" for text in texts))
    return ReadyLines(decode_lines(raw, ARGUMENTS, errors))


def refuse_document(path: Path) -> None:
    """Refuse a file whose lines are not text alone: translated as such, it would be destroyed."""
    from translucid.data.readers.lines import COMPRESSED_ENDINGS

    suffixes = [
        suffix.lower() for suffix in path.suffixes if suffix.lower() not in COMPRESSED_ENDINGS
    ]
    known = _DOCUMENTS.get(suffixes[-1] if suffixes else "")
    if known is None and path.is_file():
        known = _document_by_content(path)
    if known is not None:
        raise InputError(
            f"-i {path}: this is {known}, and translated as lines of text it would be destroyed.\n"
            "  Only plain text, with a sentence or paragraph per line, can be translated: extract "
            "the text first.\n"
            "  To translate each line of the file anyway, use --as text."
        )


def _document_by_content(path: Path) -> str | None:
    """Tell by its beginning what kind of document a file is; None for plain text."""
    from translucid.data.readers.corpus import ReadReport
    from translucid.data.readers.lines import COMPRESSION_FAULTS, open_bytes

    with open_bytes(path, ReadReport()) as file, suppress(*COMPRESSION_FAULTS):
        head = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
        if re.search(rb'^msgid "', head, re.MULTILINE):
            return "a PO file of messages"
        lower = head[:64].lower()
        return next((name for begin, name in _BEGINNINGS.items() if lower.startswith(begin)), None)
    return None


STANDARD_INPUT = Path("/dev/stdin")
PAUSE = 0.05  # seconds in which no new line came, after which those that are there are handed on
_CHUNK = 1 << 16
_CHUNKS_AHEAD = 16  # read while the network is busy, at most


class ByteStream(Protocol):
    """A stream of bytes that returns what has arrived instead of waiting for more."""

    def read(self, size: int, /) -> bytes | None:
        """Return at most `size` bytes, as soon as there are any; no bytes: the end.

        None: a stream that does not block has nothing yet.
        """


class LiveLines:
    """Lines of a stream that another process, or a person, is still writing.

    A thread reads ahead, within bounds, so that the writer need not wait for the network.
    """

    def __init__(self, stream: ByteStream, name: Path, errors: Errors) -> None:
        self._name = name
        self._errors = errors
        self._splitter = LineSplitter()
        self._ready: list[bytes] = []
        self._taken = 0
        self._ended = False
        self._chunks: queue.Queue[bytes | OSError] = queue.Queue(_CHUNKS_AHEAD)
        threading.Thread(target=_pump, args=(stream, self._chunks), daemon=True).start()

    def take(self, most: int) -> list[Line]:
        """Wait for a line, then return it with those that follow at once, at most `most`."""
        from translucid.data.readers.lines import check_head

        while not self._ended and len(self._ready) < most:
            try:
                chunk = self._chunks.get(timeout=PAUSE if self._ready else None)
            except queue.Empty:
                break
            if isinstance(chunk, OSError):
                raise InputError(f"{self._name} cannot be read: {chunk.strerror or chunk}")
            self._ended = not chunk
            self._ready += self._splitter.feed(chunk) if chunk else self._splitter.finish()
        taken, self._ready = self._ready[:most], self._ready[most:]
        if taken and not self._taken:
            check_head(self._name, taken[0], is_whole=not taken[0].endswith(b"\n"))
        first = self._taken + 1
        self._taken += len(taken)
        return [
            decode_line(raw, number, self._name, self._errors)
            for number, raw in enumerate(taken, start=first)
        ]


def _pump(stream: ByteStream, chunks: queue.Queue[bytes | OSError]) -> None:
    """Hand over what a stream gives, and at last nothing, or the error that ended it."""
    try:
        while (chunk := stream.read(_CHUNK)) != b"":
            if chunk is None:
                time.sleep(PAUSE)
            else:
                chunks.put(chunk)
    except OSError as error:
        chunks.put(error)
    else:
        chunks.put(b"")


def standard_input() -> ByteStream:
    """Return standard input as a stream of bytes without a buffer that would wait to be full."""
    if sys.stdin is None:
        raise InputError("standard input is closed; give TEXT, or a file with -i FILE")
    stream = sys.stdin.buffer
    return stream.raw if isinstance(stream, io.BufferedReader) else stream


def open_pipe(path: Path) -> io.FileIO:
    """Open a named pipe or another thing that gives bytes as they come."""
    try:
        return path.open("rb", buffering=0)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


LINES_TO_KNOW = 1000


def detect_target(translator: Translator, file: Path, errors: Errors, *, quiet: bool) -> str:
    """Return the language to translate a file into, and print it where there is a choice."""
    first = open_lines(file, errors, skipped=0).take(LINES_TO_KNOW)
    if not first:  # nothing to translate, into whatever language
        return translator.directions[0][1]
    target = translator.target_language(None, [line.text for line in first])
    if not quiet and len({into for _, into in translator.directions}) > 1:
        typer.echo(f"{file}: into {target}; --to LANG chooses another language", err=True)
    return target


_REMEDY = "A line of terminology is: source words, a tab, target words."


def read_terms(path: Path) -> dict[str, str]:
    """Return the translations that a file demands; lines that are blank say nothing."""
    terms: dict[str, str] = {}
    for number, line in _lines("--terms", path):
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) != 2 or not all(columns):
            raise DataError(
                path, f"{line!r} is not two columns with words in both", remedy=_REMEDY, line=number
            )
        source, target = columns
        if terms.setdefault(source, target) != target:
            raise DataError(
                path,
                f"{source!r} is translated as {target!r} here, but as {terms[source]!r} above",
                remedy="Keep one of the two.",
                line=number,
            )
    if not terms:
        raise DataError(path, "has no terms", remedy=_REMEDY)
    return terms


def read_keep(path: Path) -> tuple[str, ...]:
    """Return the words and phrases that a file says are not to be translated."""
    kept = tuple(line.strip() for _, line in _lines("--keep", path))
    if not kept:
        raise DataError(path, "has no words", remedy="Write one word or phrase to keep per line.")
    return kept


def _lines(option: str, path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something, with their numbers from 1."""
    from translucid.data.readers.corpus import ReadReport
    from translucid.data.readers.lines import read_text_lines

    lines = read_text_lines(check_file(option, path), (), ReadReport())
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
