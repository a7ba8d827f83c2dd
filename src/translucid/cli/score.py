"""``translucid score``: how probable given translations are to a model."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from translucid.cli import options
from translucid.cli.line_files import (
    ERRORS,
    Errors,
    Line,
    check_file,
    detect_target,
    open_lines,
    survey,
)
from translucid.cli.translation_output import (
    check_output,
    format_float,
    open_output,
    round_float,
    show_line_progress,
    word_scores,
)
from translucid.errors import DataError, InputError
from translucid.events import Progress

if TYPE_CHECKING:
    from translucid.translator import ScoredTranslation


def score(
    source: Annotated[
        Path, typer.Option("--src", metavar="FILE", help="Source sentences, one per line.")
    ],
    target: Annotated[
        Path, typer.Option("--tgt", metavar="FILE", help="Their translations, one per line.")
    ],
    models: options.Models = None,
    output: options.Output = None,
    language: options.To = None,
    format_name: Annotated[
        str, typer.Option("--format", metavar="text|jsonl", help="Numbers, or JSON objects.")
    ] = "text",
    word_scores: options.WordScores = False,
    errors: options.Errors = "strict",
    batch_size: options.BatchSize = 64,
    engine: options.Engine = "auto",
    precision: options.EnginePrecision = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Score given translations: the natural logarithm of P(target | source).

    One line in, one number out: the sum over all tokens of the target, its end symbol among them.
    --format jsonl adds the tokens, the log P of each, and the perplexity.

    \b
    Examples:
      translucid score -m model --src test.fr --tgt test.en
      translucid score -m model --src test.fr --tgt test.en --format jsonl -o scores.jsonl
      translucid score -m model --src test.fr --tgt test.en --word-scores
    """
    from translucid.cli.display import exit_on_closed_pipe

    form = options.choose("--format", format_name, FORMATS)
    pairs = open_pairs(source, target, options.choose("--errors", errors, ERRORS))
    destination = check_output(output, (source, target))
    translator = options.load_models(models, threads, engine, precision)
    if language is None and pairs.lines is not None:
        language = detect_target(translator, source, pairs.errors, quiet=quiet)
    total = ScoreTotal(0, 0, 0.0)
    begin = time.monotonic()
    with exit_on_closed_pipe():
        with (
            open_output(destination) as stream,
            show_line_progress(destination, quiet=quiet) as emit,
        ):
            for window in pairs.windows(_BATCHES * batch_size):
                with pairs.naming_lines(window):
                    scores = translator.score(
                        [source.text for source, _ in window],
                        [target.text for _, target in window],
                        target=language,
                        batch_size=batch_size,
                    )
                results = [
                    f"{render(*pair, one, form, with_words=word_scores)}\n"
                    for pair, one in zip(window, scores, strict=True)
                ]
                stream.write("".join(results).encode("utf-8", "replace"), len(window))
                total = total.add(scores)
                emit(Progress("scoring", total.lines, pairs.lines, "lines"))
        if not quiet:
            typer.echo(total.summary(time.monotonic() - begin), err=True)


Format = Literal["text", "jsonl"]
FORMATS: tuple[Format, ...] = ("text", "jsonl")
_BATCHES = 8  # read and scored at once, so that pairs of like length share a batch


@dataclass(frozen=True)
class Pairs:
    """Two files with the same number of lines; `lines` is None if not known in advance."""

    source: Path
    target: Path
    errors: Errors
    lines: int | None

    def windows(self, size: int) -> Iterator[list[tuple[Line, Line]]]:
        """Yield pairs of lines, `size` at a time."""
        sides = [open_lines(path, self.errors, skipped=0) for path in (self.source, self.target)]
        while True:
            sources, targets = (side.take(size) for side in sides)
            if len(sources) != len(targets):
                longer = "more" if len(targets) > len(sources) else "fewer"
                raise unequal_lines(self.target, f"has {longer} lines than {self.source}")
            if not sources:
                return
            yield list(zip(sources, targets, strict=True))

    @contextmanager
    def naming_lines(self, window: Sequence[tuple[Line, Line]]) -> Iterator[None]:
        """Say of an error that counts the pairs of a window which lines these are."""
        try:
            yield
        except InputError as error:
            first, last = window[0][0].number, window[-1][0].number
            raise InputError(
                f"{self.target}, lines {first:,} to {last:,}, of which {first:,} is pair 1: {error}"
            ) from error


def open_pairs(source: Path, target: Path, errors: Errors) -> Pairs:
    """Open two files whose lines belong together, and check that they have as many."""
    check_file("--src", source)
    check_file("--tgt", target)
    if not (source.is_file() and target.is_file()):  # a pipe, which can be read only once
        return Pairs(source, target, errors, lines=None)
    lines, others = (survey(path, errors).lines for path in (source, target))
    if lines != others:
        raise unequal_lines(target, f"has {others:,} lines, and {source} has {lines:,}")
    return Pairs(source, target, errors, lines)


def unequal_lines(target: Path, problem: str) -> DataError:
    """Return the error for files with different numbers of lines."""
    return DataError(
        target, problem, remedy="Each line of --tgt is to translate that line of --src."
    )


@dataclass(frozen=True)
class ScoreTotal:
    """Lines, tokens (end symbols counted) and log P of all pairs so far."""

    lines: int
    tokens: int
    log_prob: float

    def add(self, scores: Sequence[ScoredTranslation]) -> ScoreTotal:
        """Return the total with more pairs added."""
        return ScoreTotal(
            self.lines + len(scores),
            self.tokens + sum(len(one.log_probs) for one in scores),
            math.fsum([self.log_prob, *(one.log_prob for one in scores)]),
        )

    def summary(self, seconds: float) -> str:
        """Return the summary line at the end."""
        speed = self.tokens / seconds if seconds > 0 else 0.0
        perplexity = math.exp(min(-self.log_prob / max(1, self.tokens), 700.0))
        plural = "" if self.lines == 1 else "s"
        return (
            f"{self.lines:,} line{plural}, {self.tokens:,} tokens in {seconds:.1f} s "
            f"({speed:,.0f} tokens/s): log P {self.log_prob:,.2f}, perplexity {perplexity:,.4g}"
        )


def render(
    source: Line, target: Line, scored: ScoredTranslation, form: Format, *, with_words: bool
) -> str:
    """Return the output for one pair."""
    words = None
    if with_words:
        words = word_scores(target.text, scored.tokens, scored.log_probs)
    if form == "text":
        fields = [] if words is None else ["||| WordScores=", *map(format_float, words)]
        return " ".join([format_float(scored.log_prob), *fields])
    values: dict[str, Any] = {
        "line": source.number,
        "source": source.text,
        "target": target.text,
        "log_prob": round_float(scored.log_prob),
        "perplexity": round_float(scored.perplexity),
        "tokens": scored.tokens,
        "log_probs": [round_float(value) for value in scored.log_probs],
    }
    if words is not None:
        values["word_scores"] = [round_float(value) for value in words]
    return json.dumps(values, ensure_ascii=False)
