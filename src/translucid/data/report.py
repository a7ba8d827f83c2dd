"""What became of the pairs: counts and examples, for report.json and for the table people see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

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
