"""XLIFF 1.x and 2.x, the exchange format of translation jobs.

A version 1 ``trans-unit`` is one pair, or one for each ``mrk`` of its segmentation; a version 2
``unit`` gives one for each ``segment``. What has no target, or one that its state calls not yet
translated, is counted as untranslated; one marked as in need of review as fuzzy. The languages of a
file may stand either way round: pairs come out in the order asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from translucid.data.corpus.corpus import Corpus, Pair
from translucid.data.corpus.report import ReadReport, Skip
from translucid.data.corpus.xml_units import (
    XML_LANG,
    Element,
    XmlFile,
    inline_text,
    local_name,
)
from translucid.errors import DataError
from translucid.text.languages import are_compatible

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
    """Return source and target language of the file that a unit stands in; ``?`` where unsaid."""
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
    """Return 1 where a file's languages are those wanted, -1 the other way round, else None."""

    def fits(ours: tuple[str, str]) -> bool:
        return all(
            code == "?" or are_compatible(want, code)
            for code, want in zip(found, ours, strict=True)
        )

    if fits(wanted):
        return 1
    return -1 if fits((wanted[1], wanted[0])) else None


def _segments(unit: Element) -> Iterator[_Segment]:
    """Yield the smallest pieces of a unit, each with its source and its target."""
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
    """Return the marked segments by their number; none where the numbers are not unique."""
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
