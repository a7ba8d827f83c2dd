"""What ``translucid heads`` measures: sentences of a file, or questions about single words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from translucid.cli.line_files import existing_file, lines_of_file, survey
from translucid.cli.progress import shown, stderr_console
from translucid.errors import DataError, InputError
from translucid.events import Emit, Notice, silent

if TYPE_CHECKING:
    from translucid.interpret.ablation import HeadImportance
    from translucid.interpret.head_roles import HeadStatistics
    from translucid.interpret.trace import Trace
    from translucid.interpret.word_attention import Pointing
    from translucid.translator import Translator


@dataclass(frozen=True)
class Sentences:
    """Sentences and, if there are any, their translations; `total` is how many the file has."""

    sources: tuple[str, ...]
    targets: tuple[str, ...] | None
    total: int


@dataclass(frozen=True)
class MeasuredHeads:
    """The table of heads and how many sentences it is of; `importance` only where asked for."""

    sentences: int
    heads: tuple[HeadStatistics, ...]
    importance: tuple[HeadImportance, ...] | None


@dataclass(frozen=True)
class Question:
    """Who looks from one word of a sentence to another, rather than to a third?"""

    sentence: str
    look_from: str
    look_to: str
    rival: str | None


@dataclass(frozen=True)
class Answer:
    """The translations of the sentences, and for each head its pointing in each of them."""

    traces: tuple[Trace, ...]
    rows: tuple[tuple[Pointing, ...], ...]


def sentences_of(source: Path, reference: Path | None, most: int) -> Sentences:
    """Return the first lines of a file, and those of its reference beside them."""
    total = survey(existing_file("--src", source), "strict").lines
    sources = _first(source, most)
    if reference is None:
        return Sentences(sources, None, total)
    lines = survey(existing_file("--ref", reference), "strict").lines
    if lines != total:
        raise DataError(
            reference,
            f"has {lines:,} lines, and {source} has {total:,}",
            remedy="Each line of --ref is to translate that line of --src.",
        )
    return Sentences(sources, _first(reference, most), total)


def _first(path: Path, most: int) -> tuple[str, ...]:
    return tuple(line.text for line in lines_of_file(path, "strict", skipped=0).take(most))


def questions_of(
    sentences: Sequence[str] | None,
    look_from: Sequence[str] | None,
    look_to: Sequence[str] | None,
    rival: Sequence[str] | None,
) -> tuple[Question, ...]:
    """Return the questions that options given in step make; none at all is no fault."""
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
    return tuple(map(Question, texts, froms, tos, others))


def measured(
    translator: Translator,
    pairs: Sentences,
    language: str | None,
    batch_size: int,
    importance: bool,
    *,
    quiet: bool,
) -> MeasuredHeads:
    """Measure all heads over some sentences."""
    from translucid.interpret.ablation import head_importance
    from translucid.interpret.head_statistics import head_statistics, measurable_pairs

    with _told(quiet=quiet) as emit:
        if pairs.total > len(pairs.sources):
            emit(Notice(f"the first {len(pairs.sources):,} of {pairs.total:,} lines are used"))
        targets = pairs.targets
        if targets is None:
            found = translator.translate(
                pairs.sources, target=language, batch_size=batch_size, emit=emit
            )
            targets = tuple(translation.text for translation in found)
        usable = measurable_pairs(translator, pairs.sources, targets, target=language, emit=emit)
        sources, targets = zip(*usable, strict=True)
        heads = head_statistics(
            translator, sources, targets, target=language, batch_size=batch_size, emit=emit
        )
        weighed = None
        if importance:
            weighed = head_importance(
                translator,
                sources,
                targets,
                target=language,
                batch_size=batch_size,
                emit=emit,
            )
    return MeasuredHeads(len(sources), heads, weighed)


def pointing(translator: Translator, questions: Sequence[Question], language: str | None) -> Answer:
    """Answer questions about single words."""
    from translucid.interpret.explain import explain
    from translucid.interpret.word_attention import pointing_heads, pointing_in_all

    traces = tuple(
        explain(translator, one.sentence, target=language, level="light") for one in questions
    )
    tables = [
        pointing_heads(trace, one.look_from, one.look_to, rival=one.rival)
        for trace, one in zip(traces, questions, strict=True)
    ]
    return Answer(traces, pointing_in_all(tables))


@contextmanager
def _told(*, quiet: bool) -> Iterator[Emit]:
    if quiet:
        yield silent
        return
    with shown(stderr_console()) as emit:
        yield emit
