"""PO and POT, the message catalogues of gettext.

An entry gives its ``msgid`` and ``msgstr``; one with plural forms gives the singular with the form
that the language uses for one, and the plural with each other form. The header, fuzzy, obsolete and
untranslated entries are skipped and counted; ``msgctxt`` is ignored. A catalogue names only the
language it translates into: if that is the source language of the corpus, the sides are swapped.

polib expects a whole file, so it gets one block of entries at a time: memory stays constant.
"""

from __future__ import annotations

import codecs
import gettext
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from translucid.data.readers.corpus import Corpus, Pair, ReadReport, Skip, register_reader
from translucid.data.readers.lines import invalid_utf8, read_byte_lines
from translucid.errors import DataError, optional
from translucid.text.languages import find_side, is_code

_BLOCK_LINES = 4096
# No header is longer than this many lines.
_HEADER_LINES = 200

_CHARSET = re.compile(rb'\s*"Content-Type:[^"]*charset=([\w.:-]+)')
_CONTINUED = re.compile(r'(#~\s*)?"')
_MSGSTR = re.compile(r"(#~\s*)?msgstr\b")
_OPENS_STRING = re.compile(r'(#~\s*)?(msg[a-z_]+(\[\d+\])?\s*)?"')
_STRING = re.compile(r'(#~\s*)?(msg[a-z_]+(\[\d+\])?\s*)?"(?:[^"\\]|\\.)*"')
_POLIB_PLACE = re.compile(r"\(line (\d+)\)(?:: (.*))?")


class _Text(str):
    """Text for polib, whose lines end only at newlines, not at U+2028 and the like."""

    def splitlines(self, keepends: bool = False) -> list[str]:
        del keepends
        return self.split("\n")


class _Header(NamedTuple):
    swapped: bool
    singular_form: int


def read_po(corpus: Corpus, report: ReadReport) -> Iterator[Pair]:
    """Yield the pairs of a catalogue."""
    (path,) = corpus.paths
    polib = optional("polib", extra="data", job=f"Reading {path.name}")
    header: _Header | None = None
    for first, block in _blocks(_text_lines(corpus, report)):
        entries = _parse(polib, path, first, block)
        if entries.metadata:
            report.skip(Skip.HEADER, first, "")
        header = header or _header(corpus, entries.metadata)
        for entry in entries:
            line = first - 1 + max(entry.linenum, 1)  # polib gives 0 to the first of a block
            for source, target in _sentences(entry, line, header, report):
                if header.swapped:
                    source, target = target, source
                yield Pair(source, target, line)


def _sentences(
    entry: Any, line: int, header: _Header, report: ReadReport
) -> Iterator[tuple[str, str]]:
    """Yield each (msgid, msgstr) of an entry, or count why there is none."""
    if entry.obsolete:
        report.skip(Skip.OBSOLETE, line, entry.msgid)
    elif entry.fuzzy:
        report.skip(Skip.FUZZY, line, entry.msgid)
    elif not entry.msgid:
        report.skip(Skip.HEADER, line, entry.msgstr)
    else:
        for source, target in _forms(entry, header.singular_form):
            if target:
                yield source, target
            else:
                report.skip(Skip.UNTRANSLATED, line, source)


def _forms(entry: Any, singular_form: int) -> Iterator[tuple[str, str]]:
    if not entry.msgid_plural:
        yield entry.msgid, entry.msgstr
        return
    forms: dict[int, str] = entry.msgstr_plural
    if len(forms) == 1:  # the language has one form for all numbers
        (form,) = forms.values()
        yield entry.msgid, form
        yield entry.msgid_plural, form
        return
    for number, form in sorted(forms.items()):
        yield entry.msgid if number == singular_form else entry.msgid_plural, form


def _text_lines(corpus: Corpus, report: ReadReport) -> Iterator[str]:
    """Yield the lines of a catalogue, decoded as its header says; check that strings end."""
    (path,) = corpus.paths
    charset = "utf-8"
    for number, line in enumerate(read_byte_lines(path, report), start=1):
        if number <= _HEADER_LINES and (named := _CHARSET.match(line)):
            charset = _known_charset(path, number, named[1].decode())
        try:
            text = line.decode(charset)
        except UnicodeDecodeError as error:
            if charset != "utf-8":
                raise _not_in_charset(path, number, error) from error
            raise invalid_utf8(path, number, error, corpus.languages) from error
        stripped = text.strip()
        if _OPENS_STRING.match(stripped) and not _STRING.fullmatch(stripped):
            raise DataError(
                path,
                f"a string does not end properly: {stripped[:80]}",
                remedy='Each string is between two ", and a " inside it is written \\". '
                "If this is the last line, the file was cut off.",
                line=number,
            )
        yield text


def _known_charset(path: Path, line: int, name: str) -> str:
    if name == "CHARSET":  # a template that was not filled in
        return "utf-8"
    try:
        found = codecs.lookup(name).name
        b"msgid".decode(found)
    except (LookupError, UnicodeDecodeError) as error:
        raise DataError(
            path,
            f"its header names the charset {name!r}, which is unknown or not one for PO files",
            remedy="Write the right one, such as UTF-8, after charset= in the header.",
            line=line,
        ) from error
    return found


def _not_in_charset(path: Path, line: int, error: UnicodeDecodeError) -> DataError:
    return DataError(
        path,
        f"byte {error.start + 1} of the line is 0x{error.object[error.start]:02X}, which "
        f"{error.encoding}, the charset that its header names, does not have",
        remedy="Write the right charset, such as UTF-8, into the header.",
        line=line,
    )


def _blocks(lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line and the lines of each block of complete entries."""
    block: list[str] = []
    first = 1
    translated = False  # the last line that is not blank belongs to a msgstr
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        if not stripped and not block:
            first = number + 1
            continue
        if stripped and not _CONTINUED.match(stripped):
            begins = translated and not _MSGSTR.match(stripped)
            if begins and len(block) >= _BLOCK_LINES:
                yield first, block
                block, first = [], number
            translated = bool(_MSGSTR.match(stripped))
        block.append(line)
    if block:
        yield first, block


def _parse(polib: Any, path: Path, first: int, block: list[str]) -> Any:
    try:
        return polib.pofile(_Text("\n".join(block)), encoding="utf-8")
    except OSError as error:  # what polib raises for a syntax error
        place = _POLIB_PLACE.search(str(error))
        line = first if place is None else first - 1 + int(place[1])
        raise DataError(
            path,
            f"is not a PO file here: {block[line - first].strip()[:80]}",
            remedy=f"Repair the entry; `msgfmt -c -o /dev/null {path}` checks the whole file.",
            line=line,
        ) from error


def _header(corpus: Corpus, metadata: dict[str, str]) -> _Header:
    return _Header(
        swapped=_is_swapped(corpus, metadata.get("Language", "").strip()),
        singular_form=_singular_form(metadata.get("Plural-Forms", "")),
    )


def _is_swapped(corpus: Corpus, language: str) -> bool:
    """Return whether the catalogue translates into the source language of the corpus."""
    if is_code(language):
        side = find_side(language, corpus.languages)
        if side is not None:
            return side == 0
        raise DataError(
            corpus.paths[0],
            f"translates into {language!r}, which is neither {corpus.source_lang} nor "
            f"{corpus.target_lang}",
            remedy="Give its language as --from or --to, or correct Language: in its header.",
        )
    path = corpus.paths[0]
    folder = path.parent.parent.name if path.parent.name == "LC_MESSAGES" else ""
    parts = [folder, *re.split(r"[._-]", path.name)]
    named = [side for part in parts if (side := find_side(part, corpus.languages)) is not None]
    return bool(named) and named[-1] == 0


def _singular_form(plural_forms: str) -> int:
    """Return the number of the singular form: the first, if the header does not say."""
    formula = re.search(r"plural\s*=\s*([^;]+)", plural_forms)
    if formula is None:
        return 0
    try:
        return int(gettext.c2py(formula[1])(1))
    except (ValueError, ArithmeticError):
        return 0


register_reader("po", read_po, extensions=("po", "pot"))
