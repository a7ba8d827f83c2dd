"""``translucid prepare``: from people's files to a data folder that training can read."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from translucid.cli import options
from translucid.data.cleaning import CleaningConfig, Repair
from translucid.data.config import PrepareConfig
from translucid.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_NOT_OPTIONS = ("split_dev", "split_test", "cleaning")  # --split sets the first two
_SEVERAL = ("--dev", "--test")  # options that take several files: --dev dev.fr dev.en


class PrepareCommand(options.Command):
    """The command ``prepare``, whose options --dev and --test take several files."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments in which such an option is given once for all its files."""
        return super().parse_args(ctx, options.repeat_option(args, _SEVERAL))


@options.add_settings(PrepareConfig, into="settings", leave_out=_NOT_OPTIONS)
@options.add_settings(CleaningConfig, into="cleaning")
def prepare(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="Training corpora: two line-aligned text files, .tsv, .jsonl, .tmx, .po, .xliff, "
            ".parquet, each plain, .gz or .xz; FILE@2 counts twice; 'lesson', 'copy', 'reverse' "
            "and 'sort' are built in.",
        ),
    ],
    source_lang: Annotated[str, typer.Option("--from", metavar="LANG", help="Source language.")],
    target_lang: Annotated[str, typer.Option("--to", metavar="LANG", help="Target language.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DATA", help="Folder for the data.")
    ],
    dev: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE...", help="Dev set: --dev dev.fr dev.en. All lines are kept."),
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE...", help="Test set. Training shares no sentence with either."),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            metavar="DEV,TEST",
            help="Hold out this many pairs of the corpora, chosen by hash: --split 1000,1000.",
        ),
    ] = None,
    fields: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Source and target field of .tsv, .jsonl, .parquet."),
    ] = None,
    tokenizer_from: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Use the tokenizer, language tags and normalisation of another DATA folder or a "
            "MODEL (directory, run or fr-en), or a tokenizer file.",
        ),
    ] = None,
    settings: options.Given = {},  # noqa: B006 - replaced by one option per setting
    cleaning: options.Given = {},  # noqa: B006 - replaced by one option per setting
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Processes; no influence on the result.  [default: all]"),
    ] = None,
    chunk_pairs: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Pairs per unit of work; no influence either.  [default: 20000]"
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace other prepared data in the folder.")
    ] = False,
) -> None:
    """Clean, split and tokenize corpora for training.

    What is removed and why is shown at the end and written, with examples, to DATA/report.json.
    Stopped at any moment, the same command continues where it was.

    \b
    Examples:
      translucid prepare lesson --from fr --to en -o data
      translucid prepare train.fr train.en --from fr --to en -o data --dev dev.fr dev.en
      translucid prepare memory.tmx extra.tsv@2 --from fr --to en -o data --split 1000,1000 --both
    """
    from translucid.cli.display import show_progress, stderr_console
    from translucid.data.prepare import prepare as prepare_data
    from translucid.machine import Machine

    console = stderr_console()
    begin = time.monotonic()
    with show_progress(console) as emit:
        done = prepare_data(
            files,
            source=source_lang,
            target=target_lang,
            output=output,
            dev=_listed(dev or ()),
            test=_listed(test or ()),
            split=None if split is None else _two_counts(split),
            fields=None if fields is None else _two_names(fields),
            tokenizer_from=tokenizer_from,
            force=force,
            workers=Machine().cores() if workers is None else workers,
            chunk_pairs=chunk_pairs,
            on_event=emit,
            **settings,
            **cleaning,
        )
    if done.was_complete:
        console.print(f"{output} is prepared already, from the same files in the same way.")
    seconds = None if done.was_complete else time.monotonic() - begin
    print_report(console, done.report, output, seconds)


def _listed(values: Sequence[str]) -> list[str]:
    """Take values apart at commas, unless there is a file of that very name."""
    listed: list[str] = []
    for value in values:
        listed += [value] if Path(value).exists() else [part for part in value.split(",") if part]
    return listed


def _two_counts(text: str) -> tuple[int, int]:
    dev, comma, test = text.partition(",")
    if not (comma and dev.strip().isdecimal() and test.strip().isdecimal()):
        raise InputError(
            f"--split {text}: give two whole numbers separated by a comma, the pairs of the dev "
            "set and of the test set, such as --split 1000,1000"
        )
    return int(dev), int(test)


def _two_names(text: str) -> tuple[str, str]:
    names = tuple(name.strip() for name in text.split(","))
    if len(names) != 2 or not all(names):
        raise InputError(
            f"--fields {text}: give two names separated by a comma, the source field and the "
            "target field, such as --fields french,english"
        )
    return names[0], names[1]


def print_report(
    console: Console, report: dict[str, Any], folder: Path, seconds: float | None
) -> None:
    """Print what was read, removed and written; `seconds` is None where nothing was done."""
    console.print(_read_table(report))
    console.print(_pairs_table(report))
    console.print(_absent(report), highlight=False, style="dim")
    console.print(_splits_table(report))
    console.print(_closing(report, folder, seconds), highlight=False, soft_wrap=True)


def _read_table(report: dict[str, Any]) -> Table:
    from translucid.cli.display import build_table

    table = build_table("read", "format", "weight", "pairs", "not read")
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
    from translucid.cli.display import build_table

    table = build_table("pairs", "number", "share")
    table.add_row("read", f"{report['read']['pairs']:,}", "")
    for group in ("repaired", "removed"):
        for entry in report[group]:
            if entry["pairs"]:
                name = f"  {group}: {entry['title']}"
                table.add_row(name, f"{entry['pairs']:,}", f"{entry['share']:.3%}")
    table.add_row("left", f"{sum(split['pairs'] for split in _own_splits(report)):,}", "")
    return table


def _own_splits(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the splits whose pairs come from the corpora, not from separate files."""
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
    from translucid.cli.display import build_table

    languages = (report["source_lang"], report["target_lang"])
    table = build_table("split", "pairs", *(f"{lang} tokens" for lang in languages), "unknown")
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
        lines.append(f"time        {seconds:,.1f} s, {speed:,.0f} pairs per second")
    lines.append(f"examples    {folder / 'report.json'}")
    return "\n".join(lines)
