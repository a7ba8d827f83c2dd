"""Dev and test sets that were given, not split off: every line stays, whatever it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from translucid.data.cleaning import Cleaner, Reason, Sides, refuse_empty
from translucid.data.readers import Corpus, ReadReport, read_pairs
from translucid.data.readers.built_in import read_lesson
from translucid.data.report import Findings, PairExample
from translucid.data.splits import HeldOutKeys, sentence_hashes

SetName = Literal["dev", "test"]


class Row(NamedTuple):
    """A cleaned pair with the number of its corpus and its line there."""

    source: str
    target: str
    corpus: int
    line: int


@dataclass(frozen=True)
class HeldOut:
    """A held-out set in the order of its files, and what was found in it."""

    rows: list[Row]
    findings: Findings
    read_reports: list[dict[str, Any]]


def read_held_out(
    name: SetName, corpora: Sequence[Corpus], first_number: int, cleaner: Cleaner
) -> HeldOut:
    """Read and repair a given set. Nothing is removed; an empty side is only counted.

    `first_number` is the number of its first corpus among all corpora of the data.
    """
    rows: list[Row] = []
    findings = Findings()
    reports = [ReadReport() for _ in corpora]
    for number, (corpus, report) in enumerate(zip(corpora, reports, strict=True), first_number):
        lesson = corpus.format == "lesson"
        pairs = read_lesson(corpus, report, name) if lesson else read_pairs(corpus, report)
        for source, target, line in pairs:
            report.pairs += lesson  # other corpora count for themselves
            sides = Sides(source, target)
            cleaned = cleaner.repair(sides)
            for repair in cleaned.repairs:
                findings.add(repair, PairExample.of(number, line, sides, cleaned.sides))
            if refuse_empty(cleaned.sides) is Reason.EMPTY:
                findings.add(Reason.EMPTY, PairExample.of(number, line, sides, None))
            rows.append(Row(*cleaned.sides, number, line))
    return HeldOut(rows, findings, [report.to_json() for report in reports])


def keys_of(rows: Iterable[Row]) -> HeldOutKeys:
    """Return the sentences of held-out pairs; an empty side is no sentence."""
    rows = list(rows)
    return HeldOutKeys(
        sentence_hashes(row.source for row in rows if row.source),
        sentence_hashes(row.target for row in rows if row.target),
    )
