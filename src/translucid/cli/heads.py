"""``translucid heads``: what each attention head of a model does."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from translucid.cli import options
from translucid.cli.line_files import check_file, open_lines, survey
from translucid.errors import DataError, InputError
from translucid.events import Notice, silent

if TYPE_CHECKING:
    from rich.table import Table

    from translucid.interpret.head_roles import HeadStatistics
    from translucid.interpret.head_statistics import HeadReport
    from translucid.interpret.word_attention import WordAttention, WordHeads, WordQuestion
    from translucid.translator import Translator


def heads(
    source: Annotated[
        Path | None,
        typer.Option("--src", metavar="FILE", help="Source sentences to measure on, one per line."),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--ref", metavar="FILE", help="Their translations.  [default: the model's own]"
        ),
    ] = None,
    models: options.Models = None,
    lines: Annotated[int, typer.Option(min=1, metavar="N", help="Use the first N lines.")] = 1000,
    importance: Annotated[
        bool,
        typer.Option("--importance", help="Turn each head off, and measure the loss in log P."),
    ] = False,
    sentences: Annotated[
        list[str] | None,
        typer.Option(
            "--sentence", metavar="TEXT", help="Instead: find heads that attend from word to word."
        ),
    ] = None,
    look_from: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="Word of --sentence, or its translation, that looks."),
    ] = None,
    look_to: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="Word that it should look at,")
    ] = None,
    rival: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="and word that it should not.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="--sentence: heads shown.")] = 10,
    language: options.To = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    batch_size: options.BatchSize = 32,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Show what each attention head does: a table of all heads, measured over sentences.

    With --sentence, --look-from and --look-to: the heads that attend from one word to another. Give
    them several times, in the same order, to find heads that do so in all sentences.

    \b
    Examples:
      translucid heads -m model --src test.fr --ref test.en
      translucid heads -m model --src test.fr --json > heads.json
      translucid heads -m model \\
        --sentence "L'animal n'a pas traversé la rue parce qu'il était trop fatigué." \\
        --look-from il --look-to animal --rival rue \\
        --sentence "L'animal n'a pas traversé la rue parce qu'elle était trop large." \\
        --look-from elle --look-to rue --rival animal
    """
    from translucid.cli.display import exit_on_closed_pipe
    from translucid.interpret.word_attention import find_word_heads

    questions = parse_questions(sentences, look_from, look_to, rival)
    if bool(questions) == (source is not None):
        raise InputError("give --src FILE for the table of heads, or --sentence TEXT, not both")
    for name, given in (("--ref", reference is not None), ("--importance", importance)):
        if questions and given:
            raise InputError(f"{name} is for the table of heads (--src), not for --sentence")
    with exit_on_closed_pipe():
        if source is None:
            translator = options.load_models(models, threads, "pytorch")
            into = translator.target_language(language, [one.sentence for one in questions])
            found = find_word_heads(translator, questions, target=into)
            write_word_heads(questions, found, top, as_json=as_json)
            return
        pairs = read_sentences(source, reference, lines)
        translator = options.load_models(models, threads, "pytorch")
        into = translator.target_language(language, pairs.sources)
        table = measure(translator, pairs, into, batch_size, importance, quiet=quiet)
        write_heads(translator.name, table, as_json=as_json)


@dataclass(frozen=True)
class Sentences:
    """Sentences and, if there are any, their translations; `total` is how many the file has."""

    sources: tuple[str, ...]
    targets: tuple[str, ...] | None
    total: int


def read_sentences(source: Path, reference: Path | None, most: int) -> Sentences:
    """Return the first lines of a file, and those of its reference beside them."""
    total = survey(check_file("--src", source), "strict").lines
    sources = _first(source, most)
    if reference is None:
        return Sentences(sources, None, total)
    lines = survey(check_file("--ref", reference), "strict").lines
    if lines != total:
        raise DataError(
            reference,
            f"has {lines:,} lines, and {source} has {total:,}",
            remedy="Each line of --ref must translate the same line of --src.",
        )
    return Sentences(sources, _first(reference, most), total)


def _first(path: Path, most: int) -> tuple[str, ...]:
    return tuple(line.text for line in open_lines(path, "strict", skipped=0).take(most))


def parse_questions(
    sentences: Sequence[str] | None,
    look_from: Sequence[str] | None,
    look_to: Sequence[str] | None,
    rival: Sequence[str] | None,
) -> tuple[WordQuestion, ...]:
    """Return one question per --sentence, with the other options in the same order."""
    from translucid.interpret.word_attention import WordQuestion

    given = [tuple(values or ()) for values in (sentences, look_from, look_to, rival)]
    texts, froms, tos, rivals = given
    if not len(texts) == len(froms) == len(tos) or len(rivals) not in {0, len(texts)}:
        names = ("--sentence", "--look-from", "--look-to", "--rival")
        counts = ", ".join(f"{len(v)} {n}" for v, n in zip(given, names, strict=True))
        raise InputError(
            f"{counts}: give each sentence one --look-from and one --look-to; --rival to all of "
            "them or to none"
        )
    others: Sequence[str | None] = rivals or [None] * len(texts)
    return tuple(map(WordQuestion, texts, froms, tos, others))


def measure(
    translator: Translator,
    pairs: Sentences,
    language: str | None,
    batch_size: int,
    importance: bool,
    *,
    quiet: bool,
) -> HeadReport:
    """Measure all heads over some sentences, and show the progress."""
    from translucid.cli.display import show_progress, stderr_console
    from translucid.interpret.head_statistics import measure_heads

    with nullcontext(silent) if quiet else show_progress(stderr_console()) as emit:
        if pairs.total > len(pairs.sources):
            emit(Notice(f"the first {len(pairs.sources):,} of {pairs.total:,} lines are used"))
        return measure_heads(
            translator,
            pairs.sources,
            pairs.targets,
            target=language,
            importance=importance,
            batch_size=batch_size,
            on_event=emit,
        )


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
    "source word gets most.\nEntropy in nats, distance in tokens; layer.head from 1."
)


def write_heads(name: str, found: HeadReport, *, as_json: bool) -> None:
    """Write the table of all heads."""
    from translucid.cli.display import print_whole_table, stdout_console

    if as_json:
        _write_json({"model": name, "sentences": found.sentences, "heads": _rows(found)})
        return
    console = stdout_console()
    sentences = "sentence" if found.sentences == 1 else "sentences"
    console.print(f"{name}: {len(found.heads)} heads, {found.sentences:,} {sentences}")
    print_whole_table(console, _head_table(found))
    roles = Counter(head.role for head in found.heads)
    console.print(", ".join(f"{count} {role}" for role, count in roles.most_common()))
    console.print(_LEGEND, soft_wrap=True, style="dim")


def write_word_heads(
    questions: Sequence[WordQuestion], found: WordHeads, top: int, *, as_json: bool
) -> None:
    """Write the heads that look from word to word, in every sentence that was asked about."""
    from translucid.cli.display import print_whole_table, stdout_console

    if as_json:
        _write_json(
            {
                "questions": [
                    {**asdict(question), "translation": trace.translation}
                    for question, trace in zip(questions, found.traces, strict=True)
                ],
                "heads": [
                    {
                        **row[0].where.head._asdict(),
                        "row": row[0].where.row,
                        "looks": [
                            {"weight": one.weight, "rival": one.rival, "even": one.even}
                            for one in row
                        ],
                    }
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
    print_whole_table(console, _word_table(questions, found.rows[:top]))
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
    columns = zip(*rows, strict=True)
    best = [max(column, key=lambda one: one.margin) for column in columns]
    each = "; ".join(f"{n}. {one.where} {one.weight:.2f}" for n, one in enumerate(best, start=1))
    return f"none of {len(rows)} looks there {rule}; the best of each sentence: {each}"


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
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in names:
        table.add_column(name, no_wrap=True)
    for name in numbers:
        table.add_column(Text(name), justify="right", no_wrap=True)
    return table


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _rows(found: HeadReport) -> list[dict[str, Any]]:
    rows = [_row(head) for head in found.heads]
    if found.importance is not None:
        for row, one in zip(rows, found.importance, strict=True):
            row["importance"] = one.loss
    return rows


def _row(head: HeadStatistics) -> dict[str, Any]:
    values = {name: value for name, value in vars(head).items() if name != "head"}
    return {**head.head._asdict(), **values}


def _write_json(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
