"""report.json: what was read, repaired, removed and why, and what the data looks like now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from translucid.data.cleaning import (
    REASON_TITLES,
    REPAIR_TITLES,
    CleaningConfig,
    Reason,
    switched_on,
)
from translucid.data.preparation.cleaned import CleanedCorpora
from translucid.data.preparation.encoded import EncodingReport
from translucid.data.preparation.held_out import HeldOut
from translucid.data.preparation.settings import Inputs
from translucid.data.readers import Corpus
from translucid.data.report import Findings
from translucid.data.shards import Manifest

REPORT = "report.json"
REPORT_VERSION = 1


@dataclass(frozen=True)
class Facts:
    """All that a preparation has found out."""

    inputs: Inputs
    cleaning: CleaningConfig
    manifest: Manifest
    cleaned: CleanedCorpora
    selected: Findings
    given: Mapping[str, HeldOut]
    encoding: Mapping[str, EncodingReport]
    padding: float | None


def paths_of(corpus: Corpus) -> tuple[str, ...]:
    """Return the files of a corpus as people know them; the lesson goes by its name."""
    return tuple(map(str, corpus.paths)) or (corpus.name,)


def build_report(facts: Facts, output: Path) -> dict[str, Any]:
    """Return the content of report.json.

    It holds nothing that differs between two runs on the same data, such as times, so that it can
    be compared like all other files.
    """
    findings = Findings()
    for found in (facts.cleaned.findings, facts.selected, facts.encoding["train"].findings):
        findings.merge(found)
    names = [corpus.name for corpus in facts.inputs.corpora]
    read = facts.cleaned.read
    manifest = facts.manifest
    return {
        "version": REPORT_VERSION,
        "source_lang": manifest.source_lang,
        "target_lang": manifest.target_lang,
        "read": {
            "pairs": read,
            "corpora": _corpora(facts.inputs.train, facts.cleaned.read_reports),
        },
        "repaired": _with_switch(findings.described(REPAIR_TITLES, read, names), facts.cleaning),
        "removed": _with_switch(findings.described(REASON_TITLES, read, names), facts.cleaning),
        "held_out": {
            name: _held_out(facts, name, names) for name in manifest.splits if name != "train"
        },
        "splits": {name: _split(facts, name) for name in manifest.splits},
        "tokenizer": {
            "kind": manifest.tokenizer.kind,
            "vocab_size": manifest.tokenizer.vocab_size,
            "target_pieces": manifest.tokenizer.sizes[1],
        },
        "padding": {
            "batch_tokens": manifest.settings["batch_tokens"],
            "share": None if facts.padding is None else round(facts.padding, 6),
        },
        "bytes_on_disk": sum(
            path.stat().st_size
            for path in sorted(output.rglob("*"))
            if path.is_file() and path.name != REPORT
        ),
    }


def _with_switch(entries: list[dict[str, Any]], cleaning: CleaningConfig) -> list[dict[str, Any]]:
    """Say of each repair and filter whether it was on, which a count of 0 does not tell."""
    on = {str(name): value for name, value in switched_on(cleaning).items()}
    return [{**entry, "on": on[entry["name"]]} for entry in entries]


def _corpora(
    corpora: tuple[Corpus, ...], read_reports: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    return [
        {
            "files": list(paths_of(corpus)),
            "format": corpus.format,
            "weight": corpus.weight,
            **report,
        }
        for corpus, report in zip(corpora, read_reports, strict=True)
    ]


def _held_out(facts: Facts, name: str, names: list[str]) -> dict[str, Any]:
    """Describe a held-out set: where it is from, and for a given one what was found in it."""
    if name not in facts.given:
        return {"from": "split", "corpora": [], "repaired": [], "kept_although": []}
    held = facts.given[name]
    corpora = facts.inputs.dev if name == "dev" else facts.inputs.test
    empty = {Reason.EMPTY: REASON_TITLES[Reason.EMPTY]}
    return {
        "from": "files",
        "corpora": _corpora(corpora, held.read_reports),
        "repaired": [
            entry
            for entry in held.findings.described(REPAIR_TITLES, len(held.rows), names)
            if entry["pairs"]
        ],
        "kept_although": held.findings.described(empty, len(held.rows), names),
    }


def _split(facts: Facts, name: str) -> dict[str, Any]:
    entry = facts.manifest.splits[name]
    return {
        "pairs": entry.pairs,
        "tokens": entry.tokens,
        "unknown_tokens": {
            lang: facts.encoding[name].unknown.get(lang, 0) for lang in entry.tokens
        },
    }
