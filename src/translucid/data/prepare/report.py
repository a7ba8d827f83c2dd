"""report.json: what was read, repaired, removed and why, and what the data looks like now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from translucid.data.cleaning import (
    REASON_TITLES,
    REPAIR_TITLES,
    CleaningConfig,
    Reason,
    switched_on,
)
from translucid.data.manifest import Manifest
from translucid.data.readers import Corpus

if TYPE_CHECKING:
    from translucid.data.prepare.clean import CleanedCorpora
    from translucid.data.prepare.config import Inputs
    from translucid.data.prepare.selection import HeldOut
    from translucid.data.prepare.tokenization import EncodingReport

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
            "corpora": _describe_corpora(facts.inputs.train, facts.cleaned.read_reports),
        },
        "repaired": _with_switch(findings.described(REPAIR_TITLES, read, names), facts.cleaning),
        "removed": _with_switch(findings.described(REASON_TITLES, read, names), facts.cleaning),
        "held_out": {
            name: _describe_held_out(facts, name, names)
            for name in manifest.splits
            if name != "train"
        },
        "splits": {name: _describe_split(facts, name) for name in manifest.splits},
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


def _describe_corpora(
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


def _describe_held_out(facts: Facts, name: str, names: list[str]) -> dict[str, Any]:
    """Describe a held-out set: where it is from, and for a given one what was found in it."""
    if name not in facts.given:
        return {"from": "split", "corpora": [], "repaired": [], "kept_although": []}
    held = facts.given[name]
    corpora = facts.inputs.dev if name == "dev" else facts.inputs.test
    empty = {Reason.EMPTY: REASON_TITLES[Reason.EMPTY]}
    return {
        "from": "files",
        "corpora": _describe_corpora(corpora, held.read_reports),
        "repaired": [
            entry
            for entry in held.findings.described(REPAIR_TITLES, len(held.rows), names)
            if entry["pairs"]
        ],
        "kept_although": held.findings.described(empty, len(held.rows), names),
    }


def _describe_split(facts: Facts, name: str) -> dict[str, Any]:
    entry = facts.manifest.splits[name]
    return {
        "pairs": entry.pairs,
        "tokens": entry.tokens,
        "unknown_tokens": {
            lang: facts.encoding[name].unknown.get(lang, 0) for lang in entry.tokens
        },
    }


MAX_EXAMPLES = 20
MAX_EXAMPLE_CHARACTERS = 300


@dataclass(frozen=True)
class PairExample:
    """One pair that something happened to: where it stands, how it read, what became of it."""

    corpus: int
    line: int
    source: str
    target: str
    became: tuple[str, str] | None

    @classmethod
    def of(
        cls, corpus: int, line: int, sides: tuple[str, str], became: tuple[str, str] | None
    ) -> PairExample:
        """Make an example; long texts are cut, with an ellipsis where they are."""
        after = None if became is None else (_cut(became[0]), _cut(became[1]))
        return cls(corpus, line, _cut(sides[0]), _cut(sides[1]), after)


def _cut(text: str) -> str:
    # Half of a surrogate pair, which a JSON file can hold and no other file, is shown as U+FFFD.
    text = (
        text[: MAX_EXAMPLE_CHARACTERS + 1]
        .encode("utf-16-le", "surrogatepass")
        .decode("utf-16-le", "replace")
    )
    return text if len(text) <= MAX_EXAMPLE_CHARACTERS else text[:MAX_EXAMPLE_CHARACTERS] + "…"


@dataclass
class Finding:
    """How many pairs something happened to, and the first of them."""

    pairs: int = 0
    examples: list[PairExample] = field(default_factory=list)


@dataclass
class Findings:
    """What happened to pairs, by name of the repair or reason.

    Findings of the parts of a corpus, merged in order, are those of the whole corpus: the examples
    are its first ones however it was cut.
    """

    by_name: dict[str, Finding] = field(default_factory=dict)

    def add(self, name: str, example: PairExample) -> None:
        """Count one more pair."""
        finding = self.by_name.setdefault(name, Finding())
        finding.pairs += 1
        if len(finding.examples) < MAX_EXAMPLES:
            finding.examples.append(example)

    def merge(self, later: Findings) -> None:
        """Add what was found in a part that comes after all parts added so far."""
        for name, other in later.by_name.items():
            finding = self.by_name.setdefault(name, Finding())
            finding.pairs += other.pairs
            room = MAX_EXAMPLES - len(finding.examples)
            finding.examples.extend(other.examples[:room])

    def count(self, name: str) -> int:
        """Return how many pairs something happened to."""
        return self.by_name[name].pairs if name in self.by_name else 0

    def to_json(self) -> dict[str, Any]:
        """Return plain values, from which `from_json` makes the same findings."""
        return {name: asdict(finding) for name, finding in self.by_name.items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Findings:
        """Read what `to_json` returned."""
        return cls(
            {
                name: Finding(finding["pairs"], [_example(e) for e in finding["examples"]])
                for name, finding in values.items()
            }
        )

    def described(
        self, titles: Mapping[Any, str], total: int, names: Sequence[str]
    ) -> list[dict[str, Any]]:
        """Return the entries of report.json: counts, shares of `total`, examples with their file.

        `titles` lists what is reported, `names` the corpora by number.
        """
        entries = []
        for name, title in titles.items():
            finding = self.by_name.get(name, Finding())
            entries.append(
                {
                    "name": str(name),
                    "title": title,
                    "pairs": finding.pairs,
                    "share": round(finding.pairs / total, 6) if total else 0.0,
                    "examples": [_shown(example, names) for example in finding.examples],
                }
            )
        return entries


def _example(values: Mapping[str, Any]) -> PairExample:
    became = values["became"]
    return PairExample(**{**values, "became": None if became is None else tuple(became)})


def _shown(example: PairExample, files: Sequence[str]) -> dict[str, Any]:
    shown = {
        "file": files[example.corpus],
        "line": example.line,
        "source": example.source,
        "target": example.target,
    }
    if example.became is not None:
        shown |= {"source_became": example.became[0], "target_became": example.became[1]}
    return shown
