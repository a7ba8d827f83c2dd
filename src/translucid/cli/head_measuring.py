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
    from translucid.interpret.head_statistics import HeadReport
    from translucid.interpret.word_attention import WordQuestion
    from translucid.translator import Translator


@dataclass(frozen=True)
class Sentences:
    """Sentences and, if there are any, their translations; `total` is how many the file has."""

    sources: tuple[str, ...]
    targets: tuple[str, ...] | None
    total: int


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
    from translucid.interpret.head_statistics import measure_heads

    with _told(quiet=quiet) as emit:
        if pairs.total > len(pairs.sources):
            emit(Notice(f"the first {len(pairs.sources):,} of {pairs.total:,} lines are used"))
        return measure_heads(
            translator,
            pairs.sources,
            pairs.targets,
            target=language,
            importance=importance,
            batch_size=batch_size,
            emit=emit,
        )


@contextmanager
def _told(*, quiet: bool) -> Iterator[Emit]:
    if quiet:
        yield silent
        return
    with shown(stderr_console()) as emit:
        yield emit
