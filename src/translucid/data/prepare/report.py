"""report.json: what was read, repaired, removed and why, and what the data looks like now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from translucid.data.cleaning import CleaningConfig, Reason, Repair, enabled_steps
from translucid.data.manifest import Manifest
from translucid.data.readers import Corpus

if TYPE_CHECKING:
    from translucid.data.prepare.clean import CleanedCorpora
    from translucid.data.prepare.config import Inputs
    from translucid.data.prepare.selection import HeldOutSet
    from translucid.data.prepare.tokenization import EncodingReport

REPORT = "report.json"
REPORT_VERSION = 1


@dataclass(frozen=True)
class Results:
    """All results of a preparation."""

    inputs: Inputs
    cleaning: CleaningConfig
    manifest: Manifest
    cleaned: CleanedCorpora
    selected: PairTallies
    given: Mapping[str, HeldOutSet]
    encoding: Mapping[str, EncodingReport]
    padding: float | None


def list_paths(corpus: Corpus) -> tuple[str, ...]:
    """Return the files of a corpus, or its name if it has none."""
    return tuple(map(str, corpus.paths)) or (corpus.name,)


def build_report(results: Results, output: Path) -> dict[str, Any]:
    """Return the content of report.json.

    It contains nothing that differs between two runs on the same data, such as times, so that it
    can be compared like all other files.
    """
    tallies = PairTallies()
    for found in (results.cleaned.tallies, results.selected, results.encoding["train"].tallies):
        tallies.merge(found)
    names = [corpus.name for corpus in results.inputs.corpora]
    read = results.cleaned.read
    manifest = results.manifest
    return {
        "version": REPORT_VERSION,
        "source_lang": manifest.source_lang,
        "target_lang": manifest.target_lang,
        "read": {
            "pairs": read,
            "corpora": _describe_corpora(results.inputs.train, results.cleaned.read_reports),
        },
        "repaired": _with_switch(tallies.describe(Repair, read, names), results.cleaning),
        "removed": _with_switch(tallies.describe(Reason, read, names), results.cleaning),
        "held_out": {
            name: _describe_held_out(results, name, names)
            for name in manifest.splits
            if name != "train"
        },
        "splits": {name: _describe_split(results, name) for name in manifest.splits},
        "tokenizer": {
            "kind": manifest.tokenizer.kind,
            "vocab_size": manifest.tokenizer.vocab_size,
            "target_pieces": manifest.tokenizer.sizes[1],
        },
        "padding": {
            "batch_tokens": manifest.settings["batch_tokens"],
            "share": None if results.padding is None else round(results.padding, 6),
        },
        "bytes_on_disk": sum(
            path.stat().st_size
            for path in sorted(output.rglob("*"))
            if path.is_file() and path.name != REPORT
        ),
    }


def _with_switch(entries: list[dict[str, Any]], cleaning: CleaningConfig) -> list[dict[str, Any]]:
    """Add to each repair and filter whether it was on, which a count of 0 does not show."""
    on = {str(name): value for name, value in enabled_steps(cleaning).items()}
    return [{**entry, "on": on[entry["name"]]} for entry in entries]


def _describe_corpora(
    corpora: tuple[Corpus, ...], read_reports: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    return [
        {
            "files": list(list_paths(corpus)),
            "format": corpus.format,
            "weight": corpus.weight,
            **report,
        }
        for corpus, report in zip(corpora, read_reports, strict=True)
    ]


def _describe_held_out(results: Results, name: str, names: list[str]) -> dict[str, Any]:
    """Describe a held-out set: where it is from, and what was repaired in a given one."""
    if name not in results.given:
        return {"from": "split", "corpora": [], "repaired": [], "kept_although": []}
    held = results.given[name]
    corpora = results.inputs.dev if name == "dev" else results.inputs.test
    return {
        "from": "files",
        "corpora": _describe_corpora(corpora, held.read_reports),
        "repaired": [
            entry
            for entry in held.tallies.describe(Repair, len(held.rows), names)
            if entry["pairs"]
        ],
        "kept_although": held.tallies.describe([Reason.EMPTY], len(held.rows), names),
    }


def _describe_split(results: Results, name: str) -> dict[str, Any]:
    entry = results.manifest.splits[name]
    return {
        "pairs": entry.pairs,
        "tokens": entry.tokens,
        "unknown_tokens": {
            lang: results.encoding[name].unknown.get(lang, 0) for lang in entry.tokens
        },
    }


MAX_EXAMPLES = 20
MAX_EXAMPLE_CHARACTERS = 300


@dataclass(frozen=True)
class PairExample:
    """One pair that was repaired or removed: its corpus, line and text, and the repaired text."""

    corpus: int
    line: int
    source: str
    target: str
    became: tuple[str, str] | None

    @classmethod
    def from_pair(
        cls, corpus: int, line: int, sides: tuple[str, str], became: tuple[str, str] | None
    ) -> PairExample:
        """Make an example; long texts are cut, with an ellipsis."""
        after = None if became is None else (_cut(became[0]), _cut(became[1]))
        return cls(corpus, line, _cut(sides[0]), _cut(sides[1]), after)


def _cut(text: str) -> str:
    # Half of a surrogate pair, which only a JSON file can contain, is shown as U+FFFD.
    text = (
        text[: MAX_EXAMPLE_CHARACTERS + 1]
        .encode("utf-16-le", "surrogatepass")
        .decode("utf-16-le", "replace")
    )
    return text if len(text) <= MAX_EXAMPLE_CHARACTERS else text[:MAX_EXAMPLE_CHARACTERS] + "…"


@dataclass
class PairTally:
    """How many pairs a repair or filter concerned, and the first of them."""

    pairs: int = 0
    examples: list[PairExample] = field(default_factory=list)


@dataclass
class PairTallies:
    """What was repaired and removed, by repair or reason.

    Those of the parts of a corpus, merged in order, are those of the whole corpus: the examples are
    its first ones, however it was cut.
    """

    by_name: dict[str, PairTally] = field(default_factory=dict)

    def add(self, name: str, example: PairExample) -> None:
        """Count one more pair."""
        tally = self.by_name.setdefault(name, PairTally())
        tally.pairs += 1
        if len(tally.examples) < MAX_EXAMPLES:
            tally.examples.append(example)

    def merge(self, later: PairTallies) -> None:
        """Add the tallies of the next part."""
        for name, other in later.by_name.items():
            tally = self.by_name.setdefault(name, PairTally())
            tally.pairs += other.pairs
            room = MAX_EXAMPLES - len(tally.examples)
            tally.examples.extend(other.examples[:room])

    def count(self, name: str) -> int:
        """Return how many pairs a repair or filter concerned."""
        return self.by_name[name].pairs if name in self.by_name else 0

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `from_json`."""
        return {name: asdict(tally) for name, tally in self.by_name.items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> PairTallies:
        """Read what `to_json` returned."""
        return cls(
            {
                name: PairTally(tally["pairs"], [_example(e) for e in tally["examples"]])
                for name, tally in values.items()
            }
        )

    def describe(
        self, steps: Iterable[Repair | Reason], total: int, names: Sequence[str]
    ) -> list[dict[str, Any]]:
        """Return the entries of report.json: counts, shares of `total`, examples with their file.

        `steps` lists what is reported, `names` the corpora by number.
        """
        entries = []
        for step in steps:
            tally = self.by_name.get(step, PairTally())
            entries.append(
                {
                    "name": str(step),
                    "title": step.heading,
                    "pairs": tally.pairs,
                    "share": round(tally.pairs / total, 6) if total else 0.0,
                    "examples": [_describe_example(example, names) for example in tally.examples],
                }
            )
        return entries


def _example(values: Mapping[str, Any]) -> PairExample:
    became = values["became"]
    return PairExample(**{**values, "became": None if became is None else tuple(became)})


def _describe_example(example: PairExample, files: Sequence[str]) -> dict[str, Any]:
    shown = {
        "file": files[example.corpus],
        "line": example.line,
        "source": example.source,
        "target": example.target,
    }
    if example.became is not None:
        shown |= {"source_became": example.became[0], "target_became": example.became[1]}
    return shown
