"""TMX and XLIFF, the XML formats of translation memories and translation jobs.

TMX 1.1 to 1.4: a unit (``tu``) has variants (``tuv``) in several languages. A unit with several
variants of a wanted language, such as ``fr-FR`` and ``fr-CA`` for ``fr``, gives every combination:
each is a translation that somebody approved. A unit that lacks one of the two languages is counted.

XLIFF 1.x and 2.x: a version 1 ``trans-unit`` is one pair, or one for each ``mrk`` of its
segmentation; a version 2 ``unit`` gives one for each ``segment``. A unit without a target, or whose
state says that it is not translated yet, is counted as untranslated; one that needs review as
fuzzy. A file may have its languages either way round: pairs come out in the wanted order.

Both are read with lxml's ``iterparse`` in constant memory: nothing is fetched, no entity is
expanded, and each unit is removed from the tree, with everything before it, after its use.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from translucid.data.readers.corpus import Corpus, Pair, ReadReport, Skip, register_reader
from translucid.data.readers.lines import (
    COMPRESSION_FAULTS,
    broken_compression,
    conversion_command,
    likely_encoding,
    open_bytes,
    unreadable,
)
from translucid.errors import DataError, optional
from translucid.text.languages import are_compatible, matches


def read_tmx(corpus: Corpus, report: ReadReport) -> Iterator[Pair]:
    """Yield the pairs of a translation memory."""
    (path,) = corpus.paths
    present: Counter[str] = Counter()
    found = False
    for unit in XmlFile(path, root="tmx", units=("tu",), languages=corpus.languages).read(report):
        variants = _variants(unit)
        sources, targets = (
            [text for code, text in variants if matches(language, code)]
            for language in corpus.languages
        )
        if sources and targets:
            found = True
        else:
            present.update({code for code, _ in variants})
            shown = " | ".join(f"{code}: {text}" for code, text in variants)
            report.skip(Skip.MISSING_LANGUAGE, unit.sourceline, shown)
        for source in sources:
            for target in targets:
                yield Pair(source, target, unit.sourceline)
    if present and not found:
        languages = ", ".join(f"{code} ({count:,})" for code, count in present.most_common(10))
        raise DataError(
            path,
            f"no unit has both {corpus.source_lang} and {corpus.target_lang}; "
            f"languages in the file: {languages}",
            remedy="Give two of these as --from and --to.",
        )


def _variants(unit: Element) -> list[tuple[str, str]]:
    """Return language and text of each variant, in the order of the file."""
    variants = []
    for tuv in unit.iterchildren("{*}tuv"):
        segment = tuv.find("{*}seg")
        if segment is not None:
            code = tuv.get(XML_LANG) or tuv.get("lang") or "?"
            variants.append((code, inline_text(segment)))
    return variants


_BY_STATE = {
    "new": Skip.UNTRANSLATED,
    "needs-translation": Skip.UNTRANSLATED,
    "needs-review-translation": Skip.FUZZY,
}


class _Segment(NamedTuple):
    source: str | None
    target: str
    line: int


def read_xliff(corpus: Corpus, report: ReadReport) -> Iterator[Pair]:
    """Yield the pairs of a translation job."""
    (path,) = corpus.paths
    xml = XmlFile(path, root="xliff", units=("trans-unit", "unit"), languages=corpus.languages)
    present: Counter[tuple[str, str]] = Counter()
    found = False
    for unit in xml.read(report):
        codes = _languages(unit)
        order = _order(codes, corpus.languages)
        found = found or order is not None
        for segment in _segments(unit):
            source, target, line = segment
            if order is None:
                present[codes] += 1
                report.skip(Skip.OTHER_LANGUAGES, line, source or target)
            elif reason := _reason_to_skip(unit, segment):
                report.skip(reason, line, source or target)
            elif source is not None:
                yield Pair(source, target, line) if order > 0 else Pair(target, source, line)
    if present and not found:
        languages = ", ".join(" to ".join(codes) for codes, _ in present.most_common(5))
        raise DataError(
            path,
            f"it translates {languages}, not {corpus.source_lang} to {corpus.target_lang}",
            remedy="Give its languages as --from and --to.",
        )


def _languages(unit: Element) -> tuple[str, str]:
    """Return source and target language of the file that a unit is in; ``?`` if missing."""
    holders = list(unit.iterancestors("{*}file", "{*}xliff"))
    source, target = (
        next((code for holder in holders for key in keys if (code := holder.get(key))), None)
        for keys in (("source-language", "srcLang"), ("target-language", "trgLang"))
    )
    if target is None and (element := unit.find("{*}target")) is not None:
        target = element.get(XML_LANG)
    return source or "?", target or "?"


@lru_cache(maxsize=64)
def _order(found: tuple[str, str], wanted: tuple[str, str]) -> int | None:
    """Return 1 if a file has the wanted languages, -1 for the other way round, else None."""

    def fits(ours: tuple[str, str]) -> bool:
        return all(
            code == "?" or are_compatible(want, code)
            for code, want in zip(found, ours, strict=True)
        )

    if fits(wanted):
        return 1
    return -1 if fits((wanted[1], wanted[0])) else None


def _segments(unit: Element) -> Iterator[_Segment]:
    """Yield the segments of a unit, each with its source and target."""
    if local_name(unit) == "unit":
        for segment in unit.iterchildren("{*}segment"):
            yield _segment(segment, segment.find("{*}source"), segment.find("{*}target"))
        return
    segmented, target = unit.find("{*}seg-source"), unit.find("{*}target")
    sources, targets = _marks(segmented), _marks(target)
    if sources and targets:
        for key in sources | targets:
            yield _segment(unit, sources.get(key), targets.get(key))
    else:
        source = unit.find("{*}source")
        yield _segment(unit, segmented if source is None else source, target)


def _segment(parent: Element, source: Element | None, target: Element | None) -> _Segment:
    return _Segment(
        source=None if source is None else inline_text(source),
        target="" if target is None else inline_text(target),
        line=parent.sourceline if source is None else source.sourceline,
    )


def _marks(element: Element | None) -> dict[str, Element]:
    """Return the marked segments by number; none if the numbers are not unique."""
    if element is None:
        return {}
    marks = [mark for mark in element.iter("{*}mrk") if mark.get("mtype") == "seg"]
    numbered = {mark.get("mid", ""): mark for mark in marks}
    return numbered if len(numbered) == len(marks) else {}


def _reason_to_skip(unit: Element, segment: _Segment) -> Skip | None:
    if unit.get("translate") == "no":
        return Skip.NOT_FOR_TRANSLATION
    if segment.source is None:
        return Skip.NO_SOURCE
    if not segment.target:
        return Skip.UNTRANSLATED
    whole = unit.find("{*}target")
    return None if whole is None else _BY_STATE.get(whole.get("state", ""))


Element: TypeAlias = Any  # lxml has no types of its own
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"

# More than this between the ends of two units is not a sentence pair, and would fill the memory.
MAX_UNIT_BYTES = 64 << 20

# Inline elements that hold the codes of the original format (tags, placeholders), not text.
_CODES = frozenset({"bpt", "ept", "ph", "it", "ut"})
_LINE_BREAKS = frozenset({"lb", "xlf:lb"})


@dataclass(frozen=True)
class XmlFile:
    """An XML file with units: its path, the name of its root, and the names of units."""

    path: Path
    root: str
    units: tuple[str, ...]
    languages: tuple[str, str]

    def read(self, report: ReadReport) -> Iterator[Element]:
        """Yield each unit, an lxml element that is valid until the next one is read."""
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
                        _discard(unit)
                        source.since_unit = 0
            except etree.XMLSyntaxError as error:
                raise self._malformed(error, context.error_log, source.lines) from error
            if not tags:
                self._tags(context.root.getroottree())

    def _tags(self, tree: Element) -> set[str]:
        """Return the full names of units, which share the namespace of the root.

        Refuse another kind of document, and one that declares entities.
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
        """Return the error that says where the XML breaks; the log begins with the cause."""
        message = log[0].message if len(log) else error.msg
        line = log[0].line if len(log) else max(lines, 1)
        remedy = f"Repair that line or export the file again; `xmllint --noout {self.path}` checks."
        if "EntityRef" in message:
            remedy = "A plain & must be written &amp;. " + remedy
        elif "entity" in message.lower():
            remedy = self._entity_remedy()
        elif "encoding" in message.lower():
            encoding = likely_encoding(b"", self.languages)
            remedy = (
                "Its XML declaration must name the encoding that it is in "
                f'(<?xml version="1.0" encoding="{encoding}"?>), or convert it to UTF-8: '
                + conversion_command(self.path, encoding)
            )
        elif "Premature end" in message:
            remedy = "The file ends too early: copy, download or export it again."
        elif "too long" in message:
            remedy = "A text of more than 10 MB is not a sentence: remove it."
        return DataError(self.path, f"is not well-formed XML: {message}", remedy=remedy, line=line)

    def _entity_remedy(self) -> str:
        return (
            "Entities other than &amp; &lt; &gt; &quot; &apos; are refused, since a few lines of "
            "them can expand without bound: write the characters themselves. "
            f"If you trust the file: xmllint --noent {self.path} > NEW"
        )


class _Bytes:
    """What the parser reads from: counts lines, and stops if no unit ends for too long."""

    def __init__(self, xml: XmlFile, file: io.BufferedIOBase) -> None:
        self._xml = xml
        self._file = file
        self.lines = 0
        self.since_unit = 0

    def read(self, size: int) -> bytes:
        """Return what is available, so that everything before a damaged place is still parsed."""
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


def _discard(unit: Element) -> None:
    """Remove a unit from the tree, with everything before it at every level."""
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
    A code for a line break becomes a space, so that words do not run together.
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
        return str(child.text)  # an undeclared entity: kept as it is
    if not _LINE_BREAKS.isdisjoint(child.get(key, "") for key in ("type", "ctype", "subType")):
        return " "
    name = local_name(child)
    if name == "cp":
        return _code_point(child.get("hex", ""))
    return "" if name in _CODES else inline_text(child)


def _code_point(digits: str) -> str:
    """Return the character of XLIFF 2's ``<cp hex="001A"/>``, which XML itself cannot contain."""
    try:
        character = chr(int(digits, 16))
    except (ValueError, OverflowError):
        return "\ufffd"
    return "\ufffd" if "\ud800" <= character <= "\udfff" else character


register_reader("tmx", read_tmx, extensions=("tmx",))
register_reader(
    "xliff", read_xliff, extensions=("xlf", "xliff", "xlf2", "sdlxliff", "mqxliff", "mxliff")
)
