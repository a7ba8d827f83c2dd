"""Two text files, where line n of one translates line n of the other; and reading lines at all.

A line ends at ``\\n`` or ``\\r\\n`` and nowhere else: U+2028, U+0085, form feeds and single
carriage returns are part of the text. The last line may lack its end. A file is UTF-8, with or
without a byte order mark, plain or compressed, and no line may be too long for memory. Where
carriage returns are the only ends of lines, or two bytes make a letter, the file is refused.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import lzma
import math
import re
import shlex
import zlib
from collections import deque
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, cast

from translucid.data.readers.corpus import Corpus, Pair, ReadReport, Skip, register_reader
from translucid.errors import DataError
from translucid.text.languages import parse_code

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# A longer line is not a sentence: the file is binary, or its lines end in something else.
MAX_LINE_BYTES = 1 << 20
# By file extension: the program that compresses, and the first bytes of such files.
_COMPRESSIONS = {".gz": ("gzip", b"\x1f\x8b"), ".xz": ("xz", b"\xfd7zXZ\x00")}
COMPRESSED_ENDINGS = tuple(_COMPRESSIONS)
COMPRESSION_FAULTS = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


class _CountedFile(io.FileIO):
    """A file that counts the bytes read from disk in a report."""

    def __init__(self, path: Path, report: ReadReport) -> None:
        super().__init__(path, "rb")
        self._report = report

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        count = cast("int | None", super().readinto(buffer))
        self._report.bytes_read += count or 0
        return count


@contextlib.contextmanager
def open_bytes(path: Path, report: ReadReport) -> Iterator[io.BufferedIOBase]:
    """Open a file for reading, decompressing it if its first bytes say so."""
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
                remedy=f"If it is not compressed, remove {ending} from its name, or get it again.",
            )
        else:
            yield file


def read_byte_lines(path: Path, report: ReadReport) -> Iterator[bytes]:
    """Yield the lines of a file as bytes, without line ends and byte order mark."""
    number = 0
    with open_bytes(path, report) as file:
        try:
            check_first_bytes(path, file)
            while line := file.readline(MAX_LINE_BYTES + len(b"\r\n")):
                number += 1
                if line.endswith(b"\n"):
                    line = line[:-2] if line.endswith(b"\r\n") else line[:-1]
                if len(line) > MAX_LINE_BYTES:
                    raise _too_long(path, number, line)
                yield strip_byte_order_mark(path, line) if number == 1 else line
        except COMPRESSION_FAULTS as error:
            raise broken_compression(path, number, error) from error
        except OSError as error:
            raise unreadable(path, error) from error


def read_text_lines(path: Path, languages: tuple[str, ...], report: ReadReport) -> Iterator[str]:
    """Yield the lines of a UTF-8 file; `languages` help to guess the encoding of another file."""
    for number, line in enumerate(read_byte_lines(path, report), start=1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise invalid_utf8(path, number, error, languages) from error
        yield text


def unreadable(path: Path, error: OSError) -> DataError:
    """Return the error for a file that the system does not let us read."""
    return DataError(
        path,
        f"cannot be read: {error.strerror or error}",
        remedy="Check that the file is there, that you may read it, and that its disk is sound.",
    )


def broken_compression(path: Path, lines: int, error: Exception) -> DataError:
    """Return the error that says after how many lines compressed data is cut off or damaged."""
    state = "ends too early" if isinstance(error, EOFError) else "is damaged"
    program = "xz" if path.suffix.lower() == ".xz" else "gzip"
    return DataError(
        path,
        f"its {program} data {state} after {lines:,} complete lines ({error})",
        remedy=f"Copy or download it again; `{program} -t {path}` tests it.",
        line=lines + 1,
    )


def _too_long(path: Path, number: int, line: bytes) -> DataError:
    remedy = "A corpus has one sentence per line: split the line, or remove it."
    if line.count(b"\r") > 1:
        remedy = f"It contains carriage returns, {_REPLACE_RETURNS}"
    elif b"\0" in line:
        remedy = "It contains NUL bytes: is this a text file?"
    return DataError(
        path,
        f"the line is longer than {MAX_LINE_BYTES:,} bytes, the limit",
        remedy=remedy,
        line=number,
    )


def read_text_pair(corpus: Corpus, report: ReadReport) -> Iterator[Pair]:
    """Yield the pairs of two line-aligned files; an empty line is an empty sentence."""
    sides = (
        read_text_lines(path, (language,), report)
        for path, language in zip(corpus.paths, corpus.languages, strict=True)
    )
    for number, (source, target) in enumerate(zip_longest(*sides), start=1):
        if source is None or target is None:
            raise _misaligned(corpus, shorter=number - 1, source_ended=source is None)
        yield Pair(source, target, number)


def _misaligned(corpus: Corpus, *, shorter: int, source_ended: bool) -> DataError:
    """Return the error that says how many lines each file has, and where they diverge."""
    short, long = corpus.paths if source_ended else reversed(corpus.paths)
    longer = sum(1 for _ in read_byte_lines(long, ReadReport()))
    counts = {short: shorter, long: longer}
    first, second = corpus.paths
    divergence = find_divergence(short, long, longer - shorter)
    if divergence is None:
        where = f"line {shorter + 1:,} of {long.name} has no partner"
        remedy = (
            "One of them lacks a line or has one too many, here or anywhere before: compare the "
            "two, and look for sentences that were broken over two lines."
        )
    else:
        where = f"they seem to diverge near line {divergence:,}"
        remedy = (
            f"Compare the two around line {divergence:,}: a line is missing in {short.name}, "
            f"or {long.name} has one too many."
        )
    return DataError(
        first,
        f"{first.name} has {counts[first]:,} lines and {second.name} has {counts[second]:,}, so "
        f"the two are not line-aligned; {where}",
        remedy=remedy,
        line=divergence or shorter + 1,
    )


# The share of bad rows is checked after this many rows, so that a wrong file stops soon, and at
# the end.
EARLY_ROWS = 1000


class RowCheck:
    """Count good and bad rows of a file, and raise a DataError if most of them are bad.

    A few bad rows are normal: they are counted with their lines, and the rest is read. If most are
    bad, the file is not what it seems to be.
    """

    def __init__(self, path: Path, report: ReadReport, *, remedy: str) -> None:
        self._path = path
        self._report = report
        self._remedy = remedy
        self._rows = 0
        self._bad = 0
        self._first: tuple[int, str] | None = None

    def good(self) -> None:
        """Count a row that gave a pair."""
        self._count()

    def bad(self, reason: Skip, line: int, text: str, *, detail: str) -> None:
        """Count a row that gave no pair; `detail` says what is wrong with it."""
        self._bad += 1
        self._first = self._first or (line, detail)
        self._report.skip(reason, line, text)
        self._count()

    def finish(self) -> None:
        """Check the rows seen so far."""
        if self._first and self._bad > self._rows / 2:
            line, detail = self._first
            raise DataError(
                self._path,
                f"{self._bad:,} of {self._rows:,} rows give no pair; the first: {detail}",
                remedy=self._remedy,
                line=line,
            )

    def _count(self) -> None:
        self._rows += 1
        if self._rows == EARLY_ROWS:
            self.finish()


# A few extra lines point at a slip, thousands at two files that never belonged together.
MAX_SHIFT = 1000
# Below this, the lines fit each other no better after a shift than before: it is unclear.
MIN_EVIDENCE = 6.0

_NUMBER = re.compile(r"\d+")


def find_divergence(short: Path, long: Path, shift: int) -> int | None:
    r"""Return about where the longer file has its extra lines, or None if it is unclear.

    The longer file has ``shift`` extra lines, somewhere before its end. If they are at line k,
    lines before k belong together as they are, and later ones after shifting::

        short   1  2  3  4  5  6        gain(k) = Σ fit(short[i], long[i])          for i < k
                |  |   \  \  \  \               + Σ fit(short[i], long[i + shift])  for i ≥ k
        long    1  2  x  3  4  5  6

    Up to a constant, gain(k) is the running sum of the differences of both fits, so one pass over
    the files finds its maximum with ``shift`` lines in memory.
    """
    if shift > MAX_SHIFT:
        return None
    total = best = 0.0
    best_line = 1
    line = 0
    for line, (here, straight, shifted) in enumerate(_align(short, long, shift), start=1):
        total += fit(here, straight) - fit(here, shifted)
        if total > best:
            best, best_line = total, line + 1
    return best_line if line and best - total >= MIN_EVIDENCE else None


def fit(one: str, other: str) -> float:
    """Return how much two lines look like translations of each other, in any languages.

    Translations have about the same length, mostly the same final punctuation, and the same
    numbers.
    """
    score = -2 * abs(math.log((len(one) + 5) / (len(other) + 5)))
    score += 0.5 if _ending(one) == _ending(other) else -0.5
    numbers, others = _NUMBER.findall(one), _NUMBER.findall(other)
    if numbers or others:
        score += 2 if sorted(numbers) == sorted(others) else -2
    return score


def _align(short: Path, long: Path, shift: int) -> Iterator[tuple[str, str, str]]:
    """Yield each line of the shorter file with the same and the shifted line of the longer one."""
    ahead = _lenient_lines(long)
    waiting = deque(islice(ahead, shift))
    for here, shifted in zip(_lenient_lines(short), ahead, strict=True):
        waiting.append(shifted)
        yield here, waiting.popleft(), shifted


def _lenient_lines(path: Path) -> Iterator[str]:
    return (line.decode("utf-8", errors="replace") for line in read_byte_lines(path, ReadReport()))


def _ending(line: str) -> str:
    """Return a line's last character if it is punctuation, the same letter for all others."""
    last = line.rstrip()[-1:]
    return "a" if last.isalnum() else last


# The encodings of these languages before UTF-8, as iconv and Python call them.
_OLD_ENCODINGS = {
    **dict.fromkeys(("be", "bg", "mk", "ru", "sr", "uk"), ("WINDOWS-1251", "KOI8-R")),
    **dict.fromkeys(("bs", "cs", "hr", "hu", "pl", "ro", "sk", "sl", "sq"), ("WINDOWS-1250",)),
    **dict.fromkeys(("et", "lt", "lv"), ("WINDOWS-1257",)),
    "ar": ("WINDOWS-1256",),
    "el": ("WINDOWS-1253",),
    "fa": ("WINDOWS-1256",),
    "he": ("WINDOWS-1255",),
    "ja": ("SHIFT_JIS", "EUC-JP"),
    "ko": ("EUC-KR",),
    "tr": ("WINDOWS-1254",),
    "vi": ("WINDOWS-1258",),
    "zh": ("GB18030", "BIG5"),
}
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def likely_encoding(data: bytes, languages: tuple[str, ...]) -> str:
    """Return the encoding that bytes in these languages probably have."""
    candidates = [
        name for code in languages for name in _OLD_ENCODINGS.get(parse_code(code)[0], ())
    ]
    for name in [*candidates, "WINDOWS-1252"]:
        try:
            data.decode(name)
        except UnicodeDecodeError:
            continue
        return name
    return "ISO-8859-1"


def conversion_command(path: Path, encoding: str) -> str:
    """Return the command that converts a file to UTF-8."""
    name = shlex.quote(str(path))
    for ending, program in ((".gz", "gzip"), (".xz", "xz")):
        if path.suffix.lower() == ending:
            return f"{program} -dc {name} | iconv -f {encoding} -t UTF-8 | {program} > NEW{ending}"
    return f"iconv -f {encoding} -t UTF-8 {name} > NEW"


def invalid_utf8(
    path: Path, line: int, error: UnicodeDecodeError, languages: tuple[str, ...]
) -> DataError:
    """Return the error that says which byte is not UTF-8, and how to convert the file."""
    encoding = likely_encoding(error.object, languages)
    remedy = f"It is probably {encoding}; convert it: {conversion_command(path, encoding)}"
    if error.reason == "unexpected end of data":
        remedy = f"If this is the last line, the file was cut off: get it again. Else: {remedy}"
    return DataError(
        path,
        f"not UTF-8: byte {error.start + 1} of the line is 0x{error.object[error.start]:02X} "
        f"({error.reason})",
        remedy=remedy,
        line=line,
    )


_HEAD = 8192  # bytes from which the encoding and the line ends are recognised
_REPLACE_RETURNS = (
    "which some programs write at the end of a line; replace them by newlines: "
    "tr '\\r' '\\n' < FILE > NEW"
)


def check_first_bytes(path: Path, file: io.BufferedIOBase) -> None:
    """Refuse a file whose first bytes show that its lines would not be found."""
    head = cast("io.BufferedReader", file).peek(_HEAD)[:_HEAD]  # all three kinds can peek
    check_head(path, head, is_whole=len(head) < _HEAD)


def check_head(path: Path, head: bytes, *, is_whole: bool) -> None:
    """Refuse UTF-16 without a byte order mark, and lines that end in carriage returns alone.

    `is_whole`: there is nothing more in the file.
    """
    if head.startswith(tuple(_BYTE_ORDER_MARKS)):
        return  # which says more
    if encoding := find_utf16(head):
        raise DataError(
            path,
            f"is {encoding}, not UTF-8: every other byte of its letters is 0x00 or a control",
            remedy=f"Convert it: {conversion_command(path, encoding)}",
            line=1,
        )
    returns = head.removesuffix(b"\n").removesuffix(b"\r").count(b"\r")
    is_one_line = b"\n" not in (head[:-1] if is_whole else head)
    allowed = int(not is_whole or head.endswith(b"\n"))  # a single one may be part of the text
    if is_one_line and returns > allowed:
        raise DataError(
            path,
            "its lines end in carriage returns alone, so that all of it would be one line",
            remedy=f"These are the ends {_REPLACE_RETURNS}",
            line=1,
        )


def find_utf16(head: bytes) -> str | None:
    r"""Return the kind of UTF-16 that the first bytes of a file are, or None.

    The upper bytes of its characters, every other one, are 0 for Latin letters, spaces and line
    ends, and small for most other alphabets; no text in UTF-8 has as many control characters. What
    is no UTF-8 anyway needs less to be recognised.

    >>> find_utf16(b"c\0h\0a\0t\0\n\0"), find_utf16("чат\n".encode("utf-16-be"))
    ('UTF-16LE', 'UTF-16BE')
    >>> find_utf16(b"a\0b\n"), find_utf16(b"chat\n")
    (None, None)
    """
    controls = sum(byte < 32 and byte not in b"\t\n\r" for byte in head)
    many = controls >= 0.3 * len(head)
    if 0 not in head or not (many or _is_not_utf8(head)):
        return None
    for name, lower, upper in (
        ("UTF-16LE", head[::2], head[1::2]),
        ("UTF-16BE", head[1::2], head[::2]),
    ):
        in_place = 10 * lower.count(0) <= upper.count(0)
        # The last line end of a piece may lack its second byte.
        ends = (10, 0) in zip_longest(lower, upper, fillvalue=0)
        if in_place and (ends or (many and b"\n" not in head)):
            return name
    return None


def _is_not_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def strip_byte_order_mark(path: Path, line: bytes) -> bytes:
    """Remove UTF-8's mark from the first line of a file; refuse those of UTF-16 and UTF-32."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if line.startswith(mark):
            raise DataError(
                path,
                f"is {encoding} (it begins with the bytes {mark.hex(' ')}), not UTF-8",
                remedy=f"Convert it: {conversion_command(path, encoding)}",
                line=1,
            )
    return line.removeprefix(codecs.BOM_UTF8)


register_reader("text", read_text_pair, extensions=("txt", "text"))
