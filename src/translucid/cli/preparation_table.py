"""The report of a preparation as tables that people can read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from translucid.data.cleaning import Repair


def print_report(
    console: Console, report: dict[str, Any], folder: Path, seconds: float | None
) -> None:
    """Print what was read, removed and written; `seconds` is None where nothing was done."""
    console.print(_read_table(report))
    console.print(_pairs_table(report))
    console.print(_absent(report), highlight=False, style="dim")
    console.print(_splits_table(report))
    console.print(_closing(report, folder, seconds), highlight=False, soft_wrap=True)


def _table(*columns: str) -> Table:
    """Make a table of names at the left and numbers at the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", overflow="fold")
    return table


def _read_table(report: dict[str, Any]) -> Table:
    table = _table("read", "format", "weight", "pairs", "not read")
    for corpus in report["read"]["corpora"]:
        skipped = [f"{tally['count']:,} {reason}" for reason, tally in corpus["skipped"].items()]
        table.add_row(
            " + ".join(corpus["files"]),
            corpus["format"],
            f"{corpus['weight']:g}",
            f"{corpus['pairs']:,}",
            ", ".join(skipped) or "–",
        )
    return table


def _pairs_table(report: dict[str, Any]) -> Table:
    """List repairs and removals that happened; those that did not are named below."""
    table = _table("pairs", "number", "share")
    table.add_row("read", f"{report['read']['pairs']:,}", "")
    for group in ("repaired", "removed"):
        for entry in report[group]:
            if entry["pairs"]:
                name = f"  {group}: {entry['title']}"
                table.add_row(name, f"{entry['pairs']:,}", f"{entry['share']:.3%}")
    table.add_row("left", f"{sum(split['pairs'] for split in _own_splits(report)):,}", "")
    return table


def _own_splits(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the splits whose pairs come from the corpora and not from files of their own."""
    given = {name for name, held in report["held_out"].items() if held["from"] == "files"}
    return [split for name, split in report["splits"].items() if name not in given]


def _absent(report: dict[str, Any]) -> str:
    entries = [
        entry
        for entry in report["repaired"] + report["removed"]
        if not entry["pairs"] and (entry["on"] or entry["name"] != Repair.LOWER_CASED)
    ]
    lines = []
    for label, on in (("nothing to do for", True), ("switched off", False)):
        titles = [entry["title"] for entry in entries if entry["on"] is on]
        if titles:
            lines.append(f"{label}: {', '.join(titles)}")
    return "\n".join(lines)


def _splits_table(report: dict[str, Any]) -> Table:
    languages = (report["source_lang"], report["target_lang"])
    table = _table("split", "pairs", *(f"{lang} tokens" for lang in languages), "unknown")
    for name, split in report["splits"].items():
        tokens, unknown = sum(split["tokens"].values()), sum(split["unknown_tokens"].values())
        table.add_row(
            name,
            f"{split['pairs']:,}",
            *(f"{split['tokens'][lang]:,}" for lang in languages),
            f"{unknown / tokens:.3%}" if tokens else "–",
        )
    return table


def _closing(report: dict[str, Any], folder: Path, seconds: float | None) -> str:
    tokenizer, padding = report["tokenizer"], report["padding"]
    share = "not known" if padding["share"] is None else f"{padding['share']:.1%}"
    size = tokenizer["vocab_size"]
    written = tokenizer.get("target_pieces", size)  # older reports do not say, and have all
    of_them = f", {written:,} of them in the target" if written < size else ""
    lines = [
        f"vocabulary  {size:,} pieces ({tokenizer['kind']}){of_them}",
        f"padding     {share} in batches of {padding['batch_tokens']:,} tokens",
        f"on disk     {report['bytes_on_disk'] / 1e6:,.1f} MB in {folder}",
    ]
    if seconds is not None:
        speed = report["read"]["pairs"] / seconds
        lines.append(f"time        {seconds:,.1f} s, {speed:,.0f} pairs a second")
    lines.append(f"examples    {folder / 'report.json'}")
    return "\n".join(lines)
