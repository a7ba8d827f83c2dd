"""A file that is not UTF-8: which line, which byte, and what it probably is instead."""

from __future__ import annotations

import codecs
import shlex
from pathlib import Path

from translucid.errors import DataError
from translucid.text.languages import parse_code

# What files in these languages were written in before UTF-8; the names are iconv's and Python's.
_BY_LANGUAGE = {
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
_BY_MARK = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def likely_encoding(data: bytes, languages: tuple[str, ...]) -> str:
    """Return the name of the encoding that such bytes in such languages probably are in."""
    candidates = [name for code in languages for name in _BY_LANGUAGE.get(parse_code(code)[0], ())]
    for name in [*candidates, "WINDOWS-1252"]:
        try:
            data.decode(name)
        except UnicodeDecodeError:
            continue
        return name
    return "ISO-8859-1"


def conversion(path: Path, encoding: str) -> str:
    """Return the command that converts a file to UTF-8."""
    name = shlex.quote(str(path))
    for ending, program in ((".gz", "gzip"), (".xz", "xz")):
        if path.suffix.lower() == ending:
            return f"{program} -dc {name} | iconv -f {encoding} -t UTF-8 | {program} > NEW{ending}"
    return f"iconv -f {encoding} -t UTF-8 {name} > NEW"


def not_utf8(
    path: Path, line: int, error: UnicodeDecodeError, languages: tuple[str, ...]
) -> DataError:
    """Say which byte of which line is not UTF-8, and how to convert the file."""
    encoding = likely_encoding(error.object, languages)
    remedy = f"It is probably {encoding}; convert it: {conversion(path, encoding)}"
    if error.reason == "unexpected end of data":
        remedy = f"If this is the last line, the file was cut off: get it again. Else: {remedy}"
    return DataError(
        path,
        f"not UTF-8: byte {error.start + 1} of the line is 0x{error.object[error.start]:02X} "
        f"({error.reason})",
        remedy=remedy,
        line=line,
    )


def check_byte_order_mark(path: Path, line: bytes) -> bytes:
    """Take UTF-8's mark off the first line of a file, and refuse those of UTF-16 and UTF-32."""
    for mark, encoding in _BY_MARK.items():
        if line.startswith(mark):
            raise DataError(
                path,
                f"is {encoding} (it begins with the bytes {mark.hex(' ')}), not UTF-8",
                remedy=f"Convert it: {conversion(path, encoding)}",
                line=1,
            )
    return line.removeprefix(codecs.BOM_UTF8)
