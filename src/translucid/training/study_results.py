"""What a study found: a result for each row and seed, and the table of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from translucid.anatomy import anatomy
from translucid.errors import DataError
from translucid.events import Trained, Validated
from translucid.training.metrics import read_metrics
from translucid.training.run_folder import RunFolder, read_record
from translucid.training.study import BASE


@dataclass(frozen=True)
class RowResult:
    """One row, trained once: its last validation, its size, and what training took."""

    name: str
    group: str
    seed: int
    parameters: int
    step: int
    perplexity: float
    bleu: float
    chrf: float
    signature: str
    tokens: int
    seconds: float


@dataclass(frozen=True)
class RowSummary:
    """One row over all its seeds: means, and the lowest and highest BLEU."""

    name: str
    group: str
    parameters: int
    perplexity: float
    bleu: float
    bleus: tuple[float, ...]


def result_of(run: Path, name: str, group: str) -> RowResult:
    """Return the result of a finished run from its own record."""
    record = read_record(run)
    events = list(read_metrics(RunFolder(run).metrics.path))
    validated = [event for event in events if isinstance(event, Validated)]
    trained = [event for event in events if isinstance(event, Trained)]
    if not validated:
        raise DataError(
            run, "the run was never validated", remedy="A study needs data with a dev set."
        )
    last = validated[-1]
    return RowResult(
        name=name,
        group=group,
        seed=record.training.seed,
        parameters=sum(block.parameters for block in anatomy(record.model, 1)),
        step=last.step,
        perplexity=last.perplexity,
        bleu=last.bleu,
        chrf=last.chrf,
        signature=last.signatures[0],
        tokens=sum(event.tokens for event in trained),
        seconds=sum(event.seconds for event in trained),
    )


def summaries(results: Iterable[RowResult]) -> list[RowSummary]:
    """Return a summary a row, in the order in which the rows come."""
    rows: dict[str, list[RowResult]] = {}
    for result in results:
        rows.setdefault(result.name, []).append(result)
    return [
        RowSummary(
            name=name,
            group=each[0].group,
            parameters=each[0].parameters,
            perplexity=fmean(result.perplexity for result in each),
            bleu=fmean(result.bleu for result in each),
            bleus=tuple(result.bleu for result in each),
        )
        for name, each in rows.items()
    ]


def table(about: str, results: Sequence[RowResult]) -> str:
    """Return the results as a table in Markdown, as the paper's table 3 has them."""
    rows = summaries(results)
    base = next((row.bleu for row in rows if row.name == BASE), None)
    seeds = sorted({result.seed for result in results})
    lines = [
        f"# {about}",
        "",
        "| | row | parameters | perplexity | BLEU | against base |",
        "|---|---|--:|--:|--:|--:|",
        *(_line(row, base) for row in rows),
        "",
        f"Perplexity and BLEU on the dev set, after {_steps(results)} steps; "
        + (f"means of the seeds {', '.join(map(str, seeds))}, " if len(seeds) > 1 else "")
        + "greedy search.",
        "",
        *(f"`{signature}`" for signature in dict.fromkeys(r.signature for r in results)),
    ]
    return "\n".join(lines) + "\n"


def _line(row: RowSummary, base: float | None) -> str:
    spread = f" ({min(row.bleus):.1f}–{max(row.bleus):.1f})" if len(row.bleus) > 1 else ""
    apart = "" if base is None or row.name == BASE else f"{row.bleu - base:+.1f}".replace("-", "−")
    return (
        f"| {row.group} | {row.name} | {row.parameters:,} | {row.perplexity:.2f} | "
        f"{row.bleu:.1f}{spread} | {apart} |"
    )


def _steps(results: Sequence[RowResult]) -> str:
    steps = sorted({result.step for result in results})
    return f"{steps[0]:,}" if len(steps) == 1 else f"{steps[0]:,} to {steps[-1]:,}"


def to_json(results: Sequence[RowResult]) -> str:
    """Return results as JSON, for programs."""
    return json.dumps([asdict(result) for result in results], ensure_ascii=False, indent=2) + "\n"
