"""Where lines to translate come from and where translations go, as the command line says it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from translucid.cli.closed_pipe import into_nowhere
from translucid.cli.line_files import (
    Errors,
    LineSource,
    LineSplitter,
    ReadyLines,
    all_decoded,
    existing_file,
    lines_of_file,
)
from translucid.cli.live_lines import STANDARD_INPUT, LiveLines, opened_pipe, standard_input
from translucid.cli.progress import shown, stderr_console
from translucid.errors import InputError, TranslucidError
from translucid.events import Emit, silent

ARGUMENTS = Path("TEXT")
_DASH = Path("-")
FILE_TYPES = ("text",)
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
    **dict.fromkeys((".pdf", ".epub", ".mobi", ".zip"), "a document in a format of its own"),
}
_BEGINNINGS = {
    b"%pdf-": "a PDF document",
    b"pk\x03\x04": "a packed document, such as DOCX",
    b"{\\rtf": "a word processor's document",
    b"<?xml": "an XML file",
    b"<!doctype html": "an HTML page",
    b"<html": "an HTML page",
}


@dataclass(frozen=True)
class Places:
    """Texts of the command line, or a file, or (None) standard input; a file or standard output."""

    texts: tuple[str, ...]
    source: Path | None
    output: Path | None
    errors: Errors
    resume: bool

    @property
    def file(self) -> Path | None:
        """The file that is read, if it is one that can be read twice."""
        return self.source if self.source is not None and self.source.is_file() else None

    @property
    def resumable(self) -> bool:
        """Whether both ends are files, which can be taken up again where they were left."""
        if self.file is None or self.output is None:
            return False
        return self.output.is_file() or not self.output.exists()

    @property
    def reads_terminal(self) -> bool:
        """Whether a person types what is translated."""
        waits = not self.texts and self.source is None
        return waits and sys.stdin is not None and sys.stdin.isatty()

    @contextmanager
    def lines(self, *, skipped: int) -> Iterator[LineSource]:
        """Give the lines, without so many at the beginning of a file."""
        if self.texts:
            yield lines_of_texts(self.texts, self.errors)
        elif self.source is None:
            yield LiveLines(standard_input(), STANDARD_INPUT, self.errors)
        elif self.file is None:
            with opened_pipe(self.source) as pipe:
                yield LiveLines(pipe, self.source, self.errors)
        else:
            yield lines_of_file(self.file, self.errors, skipped=skipped)


def places_of(
    texts: Sequence[str] | None,
    source: Path | None,
    output: Path | None,
    errors: Errors,
    *,
    resume: bool,
    as_text: bool,
) -> Places:
    """Return the places that the command line names, ``-`` being standard input or output."""
    source = None if source == _DASH else source
    if texts and source is not None:
        raise InputError(f"TEXT and -i {source}: give one of the two")
    if source is not None:
        existing_file("-i", source)
        if not as_text:
            _refuse_document(source)
    output = output_of(output, () if source is None else (source,))
    places = Places(tuple(texts or ()), source, output, errors, resume)
    if resume and not places.resumable:
        raise InputError(
            "--resume goes on with a file that was translated into a file: give -i FILE and "
            "-o FILE, both of them plain files"
        )
    return places


def _refuse_document(path: Path) -> None:
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
            "  To translate each line of the file all the same, say --as text."
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


def output_of(output: Path | None, inputs: Sequence[Path]) -> Path | None:
    """Return the file to write, None for standard output; it must be none of those read."""
    if output is None or output == _DASH:
        return None
    if output.is_dir():
        raise InputError(f"-o {output}: is a folder; give a file")
    if not output.parent.is_dir():
        raise InputError(f"-o {output}: there is no folder {output.parent}; make it first")
    if output.exists() and any(output.samefile(path) for path in inputs):
        raise InputError(f"-o {output} is a file that is read; give another name")
    return output


def lines_of_texts(texts: Sequence[str], errors: Errors) -> LineSource:
    """Return the lines of texts from the command line; a text may have several."""
    splitter = LineSplitter()
    raw = splitter.feed(b"".join(os.fsencode(text) + b"\n" for text in texts))
    return ReadyLines(all_decoded(raw, ARGUMENTS, errors))


class StreamOutput:
    """Results that go on to a program, a person or a plain file as soon as they are there."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name

    def write(self, results: bytes, lines: int) -> None:
        """Hand over the results."""
        del lines
        try:
            self._stream.write(results)
            self._stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            into_nowhere(self._stream)
            reason = error.strerror or error
            raise TranslucidError(f"{self._name} cannot be written: {reason}") from error


@contextmanager
def stream_output(path: Path | None) -> Iterator[StreamOutput]:
    """Give standard output, or a file that is written anew."""
    if path is None:
        if sys.stdout is None:
            raise InputError("standard output is closed; give a file with -o FILE")
        yield StreamOutput(sys.stdout.buffer, "standard output")
        return
    try:
        file = path.open("wb")
    except OSError as error:
        raise InputError(f"-o {path} cannot be written: {error.strerror or error}") from error
    with file:
        yield StreamOutput(file, f"-o {path}")


@contextmanager
def progress_shown(output: Path | None, *, quiet: bool) -> Iterator[Emit]:
    """Give a consumer of progress; where results scroll by on a terminal, it shows none."""
    if quiet or (output is None and sys.stdout.isatty()):
        yield silent
    else:
        with shown(stderr_console()) as emit:
            yield emit
