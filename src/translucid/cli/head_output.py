"""Heads as tables that people can read, or as JSON, on standard output."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from translucid.cli.score_table import stdout_console

if TYPE_CHECKING:
    from translucid.interpret.head_roles import HeadStatistics
    from translucid.interpret.head_statistics import HeadReport
    from translucid.interpret.network import AttentionHead
    from translucid.interpret.word_attention import WordAttention, WordHeads, WordQuestion

_SHARES = {
    "previous": "previous",
    "next": "next",
    "same_position": "itself",
    "same_word": "same word",
    "first": "first",
    "end": "end",
    "alignment": "aligned",
}
_LEGEND = (
    "Shares of attention, 0 to 1, where a head could look there; aligned: share of words whose "
    "source word gets most.\nEntropy in nats, distance in tokens; layer.head from 0."
)


def write_heads(name: str, found: HeadReport, *, as_json: bool) -> None:
    """Write the table of all heads."""
    if as_json:
        _write_json({"model": name, "sentences": found.sentences, "heads": _rows(found)})
        return
    console = stdout_console()
    sentences = "sentence" if found.sentences == 1 else "sentences"
    console.print(f"{name}: {len(found.heads)} heads, {found.sentences:,} {sentences}")
    _show(console, _head_table(found))
    roles = Counter(head.role for head in found.heads)
    console.print(", ".join(f"{count} {role}" for role, count in roles.most_common()))
    console.print(_LEGEND, soft_wrap=True, style="dim")


def write_word_heads(
    questions: Sequence[WordQuestion], found: WordHeads, top: int, *, as_json: bool
) -> None:
    """Write the heads that look from word to word, in every sentence that was asked about."""
    if as_json:
        _write_json(
            {
                "questions": [
                    {**asdict(question), "translation": trace.translation}
                    for question, trace in zip(questions, found.traces, strict=True)
                ],
                "heads": [
                    {**_head(row[0].where.head), "row": row[0].where.row, "looks": _looks(row)}
                    for row in found.rows
                ],
            }
        )
        return
    console = stdout_console()
    for number, (question, trace) in enumerate(zip(questions, found.traces, strict=True), start=1):
        console.print(f"{number}. {question.sentence}", soft_wrap=True)
        console.print(f"   {trace.translation}", soft_wrap=True)
    if not found.rows:
        console.print("no attention goes from word to word in all of these sentences")
        return
    _show(console, _word_table(questions, found.rows[:top]))
    if len(found.rows) > top:
        console.print(f"the first {top} of {len(found.rows)}; --top shows more", style="dim")
    console.print(_verdict(found.rows, len(questions)), soft_wrap=True)


def _verdict(rows: Sequence[Sequence[WordAttention]], sentences: int) -> str:
    """Say which heads look to the word in all sentences; without any, the best of each sentence."""
    sure = [str(row[0].where) for row in rows if all(one.attends for one in row)]
    where = "in the sentence" if sentences == 1 else f"in all {sentences} sentences"
    rule = f"more than evenly, and more than to a rival, {where}"
    if sure:
        return f"{len(sure)} of {len(rows)} look there {rule}: {'; '.join(sure)}"
    best = [max((row[number] for row in rows), key=_margin) for number in range(sentences)]
    each = "; ".join(f"{n}. {one.where} {one.weight:.2f}" for n, one in enumerate(best, start=1))
    return f"none of {len(rows)} looks there {rule}; the best of each sentence: {each}"


def _margin(one: WordAttention) -> float:
    return one.margin


def _head_table(found: HeadReport) -> Table:
    extra = [] if found.importance is None else ["off costs"]
    table = _table(["head", "role"], ["entropy", "distance", *_SHARES.values(), *extra])
    for number, head in enumerate(found.heads):
        if number and head.head.side != found.heads[number - 1].head.side:
            table.add_section()
        cells = [f"{head.entropy:.2f}", f"{head.distance:.1f}"]
        cells += [_share(getattr(head, name)) for name in _SHARES]
        if found.importance is not None:
            cells.append(f"{found.importance[number].loss:+.3f}")
        table.add_row(str(head.head), head.role, *cells)
    return table


def _word_table(
    questions: Sequence[WordQuestion], rows: Sequence[Sequence[WordAttention]]
) -> Table:
    columns = []
    for number, question in enumerate(questions, start=1):
        columns.append(f"{number}. {question.look_from} → {question.look_to}")
        columns += [] if question.rival is None else [f"→ {question.rival}"]
        columns.append("even")
    table = _table(["head", "row"], columns)
    for row in rows:
        cells = []
        for one in row:
            cells.append(_share(one.weight))
            cells += [] if one.rival is None else [_share(one.rival)]
            cells.append(_share(one.even))
        table.add_row(str(row[0].where.head), row[0].where.row, *cells)
    return table


def _table(names: Sequence[str], numbers: Sequence[str]) -> Table:
    """Make a table of names at the left and numbers at the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in names:
        table.add_column(name, no_wrap=True)
    for name in numbers:
        table.add_column(Text(name), justify="right", no_wrap=True)
    return table


def _show(console: Console, table: Table) -> None:
    """Print a table whole: a narrow terminal wraps its lines rather than hiding digits."""
    unbounded = console.options.update_width(10_000)
    console.width = max(console.width, console.measure(table, options=unbounded).maximum)
    console.print(table)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _head(head: AttentionHead) -> dict[str, Any]:
    return head._asdict()


def _looks(row: Sequence[WordAttention]) -> list[dict[str, float | None]]:
    return [{"weight": one.weight, "rival": one.rival, "even": one.even} for one in row]


def _rows(found: HeadReport) -> list[dict[str, Any]]:
    rows = [_row(head) for head in found.heads]
    if found.importance is not None:
        for row, one in zip(rows, found.importance, strict=True):
            row["importance"] = one.loss
    return rows


def _row(head: HeadStatistics) -> dict[str, Any]:
    values = {name: value for name, value in vars(head).items() if name != "head"}
    return {**_head(head.head), **values}


def _write_json(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
