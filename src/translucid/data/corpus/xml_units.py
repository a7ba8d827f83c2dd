"""The units of an XML file, one at a time, in memory that does not grow with the file.

Read with lxml's ``iterparse``: nothing is fetched, no entity is expanded, and each unit is taken
off the tree, with all that stands before it, once it has been used.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from translucid.data.corpus.encodings import conversion, likely_encoding
from translucid.data.corpus.lines import (
    COMPRESSION_FAULTS,
    broken_compression,
    open_bytes,
    unreadable,
)
from translucid.data.corpus.report import ReadReport
from translucid.errors import DataError, optional

Element: TypeAlias = Any  # lxml has no types of its own
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"

# More than this between the ends of two units is no sentence pair; it would all lie in memory.
MAX_UNIT_BYTES = 64 << 20

# Inline elements that hold the codes of the original format (tags, placeholders), not text.
_CODES = frozenset({"bpt", "ept", "ph", "it", "ut"})
_LINE_BREAKS = frozenset({"lb", "xlf:lb"})


class XmlFile:
    """An XML file that gives its units: its path, what its root must be, and what a unit is."""

    def __init__(
        self, path: Path, *, root: str, units: tuple[str, ...], languages: tuple[str, str]
    ) -> None:
        self.path = path
        self.root = root
        self.units = units
        self.languages = languages

    def read(self, report: ReadReport) -> Iterator[Element]:
        """Yield each unit, an lxml element that is good until the next one is asked for."""
        etree = optional("lxml.etree", extra="data", job=f"Reading {self.path.name}")
        with open_bytes(self.path, report) as file:
            source = _Bytes(self, file)
            context = etree.iterparse(
                source,
                events=("end",),
                tag=tuple(f"{{*}}{name}" for name in self.units),
                resolve_entities=False,
                no_network=True,
                load_dtd=False,
                huge_tree=False,
                remove_comments=True,
                remove_pis=True,
                collect_ids=False,
            )
            tags: set[str] = set()
            try:
                for _, unit in context:
                    tags = tags or self._tags(unit.getroottree())
                    if unit.tag in tags:
                        yield unit
                        _forget(unit)
                        source.since_unit = 0
            except etree.XMLSyntaxError as error:
                raise self._malformed(error, context.error_log, source.lines) from error
            if not tags:
                self._tags(context.root.getroottree())

    def _tags(self, tree: Element) -> set[str]:
        """Return the full names of the units, which share the namespace of the root.

        A document of another kind is refused, and one that declares entities.
        """
        name = local_name(tree.getroot())
        if name != self.root:
            raise DataError(
                self.path,
                f"is not what its name says: the root element is <{name}>, not <{self.root}>",
                remedy="Give the file the extension of its format, or export it again.",
                line=tree.getroot().sourceline,
            )
        dtd = tree.docinfo.internalDTD
        if dtd is not None and (names := [entity.name for entity in dtd.iterentities()]):
            raise DataError(
                self.path,
                f"declares XML entities of its own ({', '.join(names[:3])})",
                remedy=self._entity_remedy(),
                line=1,
            )
        namespace = str(tree.getroot().tag).removesuffix(name)
        return {namespace + unit for unit in self.units}

    def _malformed(self, error: Any, log: Any, lines: int) -> DataError:
        """Say where the XML breaks; the log's first entry is the cause, the error a consequence."""
        message = log[0].message if len(log) else error.msg
        line = log[0].line if len(log) else max(lines, 1)
        remedy = f"Repair that line or export the file again; `xmllint --noout {self.path}` checks."
        if "EntityRef" in message:
            remedy = "An & that stands for itself must be written &amp;. " + remedy
        elif "entity" in message.lower():
            remedy = self._entity_remedy()
        elif "encoding" in message.lower():
            encoding = likely_encoding(b"", self.languages)
            remedy = (
                "Its XML declaration must name the encoding that it is in "
                f'(<?xml version="1.0" encoding="{encoding}"?>), or convert it to UTF-8: '
                + conversion(self.path, encoding)
            )
        elif "Premature end" in message:
            remedy = "The file ends too early: copy, download or export it again."
        elif "too long" in message:
            remedy = "A text of more than 10 MB is no sentence: take it out."
        return DataError(self.path, f"is not well-formed XML: {message}", remedy=remedy, line=line)

    def _entity_remedy(self) -> str:
        return (
            "Entities other than &amp; &lt; &gt; &quot; &apos; are refused, since a few lines of "
            "them can expand without bound: write the characters themselves. "
            f"If you trust the file: xmllint --noent {self.path} > NEW"
        )


class _Bytes:
    """What the parser reads from: counts lines, and stops where no unit ends for too long."""

    def __init__(self, xml: XmlFile, file: io.BufferedIOBase) -> None:
        self._xml = xml
        self._file = file
        self.lines = 0
        self.since_unit = 0

    def read(self, size: int) -> bytes:
        """Return what is at hand: all that comes before a damaged place is still parsed."""
        try:
            data = self._file.read1(size)
        except COMPRESSION_FAULTS as error:
            raise broken_compression(self._xml.path, self.lines, error) from error
        except OSError as error:
            raise unreadable(self._xml.path, error) from error
        self.lines += data.count(b"\n")
        self.since_unit += len(data)
        if self.since_unit > MAX_UNIT_BYTES:
            names = " or ".join(f"<{name}>" for name in self._xml.units)
            raise DataError(
                self._xml.path,
                f"no {names} ends within {MAX_UNIT_BYTES >> 20} MB",
                remedy="No sentence pair is that large: check what this file is.",
                line=self.lines + 1,
            )
        return data


def _forget(unit: Element) -> None:
    """Take a unit off the tree, with everything before it at every level."""
    unit.clear()
    for element in (unit, *unit.iterancestors()):
        parent = element.getparent()
        while parent is not None and element.getprevious() is not None:
            del parent[0]


def local_name(element: Element) -> str:
    """Return an element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def inline_text(element: Element) -> str:
    """Return the text of a segment: markup stripped, the codes of the original format dropped.

    ``Press <bpt i="1">&lt;b&gt;</bpt><hi>OK</hi><ept i="1">&lt;/b&gt;</ept>`` → ``Press OK``.
    A code that says it is a line break becomes a space, so that no two words run together.
    """
    if not len(element):
        return element.text or ""
    parts = [element.text or ""]
    for child in element:
        parts.append(_child_text(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _child_text(child: Element) -> str:
    if not isinstance(child.tag, str):
        return str(child.text)  # an entity that is declared nowhere: kept as it is written
    if not _LINE_BREAKS.isdisjoint(child.get(key, "") for key in ("type", "ctype", "subType")):
        return " "
    name = local_name(child)
    if name == "cp":
        return _code_point(child.get("hex", ""))
    return "" if name in _CODES else inline_text(child)


def _code_point(digits: str) -> str:
    """Return the character of XLIFF 2's ``<cp hex="001A"/>``, which XML itself cannot hold."""
    try:
        character = chr(int(digits, 16))
    except (ValueError, OverflowError):
        return "\ufffd"
    return "\ufffd" if "\ud800" <= character <= "\udfff" else character
