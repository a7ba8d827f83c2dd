"""``translucid translate``: texts, standard input or a file; one line in, one line out.

Lines are translated a window at a time, so that sentences of similar length share a batch. The
first window is one batch, so that the first results come soon; each is twice as large as the one
before, up to eight batches, so that a long file is translated at full speed. A file always has the
same windows, whether it is translated in one go or in several.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from translucid import __version__
from translucid.cli import options
from translucid.cli.line_files import (
    ERRORS,
    STANDARD_INPUT,
    Errors,
    Line,
    LineSource,
    LiveLines,
    Survey,
    check_file,
    detect_target,
    open_lines,
    open_pipe,
    read_keep,
    read_terms,
    refuse_document,
    split_texts,
    standard_input,
    survey,
)
from translucid.cli.resumable_output import (
    Output,
    ResumableOutput,
    Work,
    is_unfinished,
    resumable_output,
)
from translucid.cli.translation_output import (
    DASH,
    FORMATS,
    Form,
    StreamOutput,
    Tally,
    check_output,
    open_output,
    render_translation,
    show_line_progress,
)
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.events import Emit, Event, Notice, Progress, silent

if TYPE_CHECKING:
    from translucid.translator import Reranker, Translation, TranslationRequest, Translator


@options.add_settings(SearchConfig, into="search")
def translate(
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT", show_default=False, help="What to translate.  [default: standard input]"
        ),
    ] = None,
    models: options.Models = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--input", "-i", metavar="FILE", help="Text file to translate: plain, .gz or .xz."
        ),
    ] = None,
    read_as: Annotated[
        str | None,
        typer.Option(
            "--as", metavar="text", help="Read -i FILE as lines of text, whatever its name."
        ),
    ] = None,
    output: options.Output = None,
    target: options.To = None,
    format_name: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="text|tsv|jsonl",
            help="Lines of text, source and translation in columns, or JSON objects.",
        ),
    ] = "text",
    alignment: Annotated[
        bool,
        typer.Option("--alignment", help="Add links between words: 0-0 1-2 (Pharaoh format)."),
    ] = False,
    word_scores: options.WordScores = False,
    search: options.Given = {},  # noqa: B006 - replaced by one option per setting
    sample: options.Sample = False,
    rerank: options.Rerank = None,
    rerank_weight: options.RerankWeight = None,
    terms: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Terminology: lines of source words, tab, target words."),
    ] = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="Never write the token that is this word; repeatable."),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Words that are not translated, one per line."),
    ] = None,
    prefix: Annotated[
        str, typer.Option(metavar="TEXT", help="Begin every translation with this.")
    ] = "",
    errors: options.Errors = "strict",
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue -o FILE where it was stopped.")
    ] = False,
    batch_size: options.BatchSize = 64,
    engine: options.Engine = "auto",
    precision: options.EnginePrecision = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Translate texts, standard input or a file.

    One line in, one line out: order, blank lines and line ends are kept. Standard input is
    translated as it comes. A file (-i FILE -o FILE) that was stopped continues with --resume.
    Addresses, file names, code in backticks, tags, emoji and placeholders such as %s and {name}
    are not translated, nor are the words of a list (--keep FILE).

    \b
    Examples:
      translucid translate "Je suis étudiant."
      translucid translate "I am a student." --to fr
      translucid translate -m model -i book.fr -o book.en
      translucid translate -m model -i book.fr -o book.en --resume
      tail -f log.fr | translucid translate -m model --format jsonl
      translucid translate -m model -i test.fr --beam 5 --n-best 5
      translucid translate -i book.fr -o book.en --beam 8 --rerank fr-en
      translucid translate -i strings.txt -o strings.en --keep products.txt
      translucid translate -m model "Bonjour." --sample --temperature 0.8 --seed 7
    """
    search = options.with_sample(search, sample=sample)
    reranker = options.load_reranker(rerank, rerank_weight)
    handling = options.choose("--errors", errors, ERRORS)
    as_text = read_as is not None and options.choose("--as", read_as, FILE_TYPES) == "text"
    endpoints = parse_endpoints(texts, source, output, handling, resume=resume, as_text=as_text)
    form = Form(
        options.choose("--format", format_name, FORMATS), "n_best" in search, alignment, word_scores
    )
    terminology = {} if terms is None else read_terms(terms)
    kept = () if keep is None else read_keep(keep)
    facts = None if endpoints.file is None else survey(endpoints.file, handling)
    if resume and facts is not None and endpoints.is_complete(facts.lines, form):
        if not quiet:
            again = "leave --resume out to translate it again"
            typer.echo(f"{output} is complete, with {facts.lines:,} lines: {again}", err=True)
        return
    translator = options.load_models(models, threads, engine, precision)
    if target is None and endpoints.file is not None:
        target = detect_target(translator, endpoints.file, endpoints.errors, quiet=quiet)
    request = translator.build_request(
        target=target,
        terms=terminology,
        forbidden=forbid or (),
        keep=kept,
        prefix=prefix,
        alignment=alignment,
        token_scores=form.needs_token_scores,
        **search,
    )
    Run(
        endpoints,
        facts,
        options.choose_models(models),
        translator,
        request,
        reranker,
        form,
        batch_size,
        quiet,
    ).execute()


INTERRUPTED = 130


@dataclass(frozen=True)
class Run:
    """One run of the command; `survey` is that of the input, where it is a file."""

    endpoints: Endpoints
    survey: Survey | None
    models: tuple[Path, ...]
    translator: Translator
    request: TranslationRequest
    reranker: Reranker | None
    form: Form
    batch_size: int
    quiet: bool

    def execute(self) -> None:
        """Translate all lines, and print a summary on stderr."""
        from translucid.cli.display import exit_on_closed_pipe

        if self.endpoints.reads_terminal and not self.quiet:
            typer.echo("One line, one translation; Ctrl-D ends.", err=True)
        with exit_on_closed_pipe():
            try:
                tally = self._translate_all()
            except KeyboardInterrupt:
                if self.endpoints.output is not None and is_unfinished(self.endpoints.output):
                    typer.echo("Continue:  the same command with --resume", err=True)
                raise typer.Exit(INTERRUPTED) from None
            for warning in tally.warnings():
                typer.echo(warning, err=True)
            if not self.quiet:
                typer.echo(tally.summary(), err=True)

    def _translate_all(self) -> Tally:
        quiet = self.quiet or bool(self.endpoints.texts)
        self._translate([""], silent)  # refuses an impossible request before anything is written
        with ExitStack() as stack:
            output = stack.enter_context(self._output())
            done = output.lines if isinstance(output, ResumableOutput) else 0
            source = stack.enter_context(self.endpoints.lines(skipped=done))
            emit = stack.enter_context(show_line_progress(self.endpoints.output, quiet=quiet))
            if done:
                emit(Notice(f"{done:,} lines are done already"))
            pipeline = Pipeline(
                source=source,
                translate=self._translate,
                form=self.form,
                output=output,
                sizes=remaining_windows(done, self.batch_size),
                total=None if self.survey is None else self.survey.lines - done,
            )
            return translate_lines(pipeline, emit)

    def _translate(self, texts: Sequence[str], emit: Emit) -> Sequence[Translation]:
        return self.translator.translate(
            texts,
            self.request,
            rerank=self.reranker,
            batch_size=self.batch_size,
            on_event=emit,
        )

    @contextmanager
    def _output(self) -> Iterator[ResumableOutput | StreamOutput]:
        output = self.endpoints.output
        if output is not None and self.endpoints.resumable:
            with resumable_output(output, self._work(), resume=self.endpoints.resume) as file:
                yield file
        else:
            with open_output(output) as stream:
                yield stream

    def _work(self) -> Work:
        """Return, by name, all that what is written depends on."""
        from translucid.translator.loading import fingerprint

        assert self.survey is not None
        request, form = self.request, self.form
        search = request.search or self.translator.default_search
        reranker = {}
        if self.reranker is not None:
            models = fingerprint(self.reranker.model.folders)
            reranker = {"fingerprint": models, "weight": self.reranker.weight}
        return {
            "translucid": __version__,
            "input": f"a file of {self.survey.lines:,} lines (SHA-256 {self.survey.sha256})",
            "model": fingerprint(self.models),
            "engine": self.translator.engines.description,
            "errors": self.endpoints.errors,
            "target": str(request.target),
            "rerank": json.dumps(reranker),
            "terms": json.dumps(request.terms, ensure_ascii=False),
            "forbid": json.dumps(request.forbidden, ensure_ascii=False),
            "keep": json.dumps(request.keep, ensure_ascii=False),
            "prefix": json.dumps(request.prefix, ensure_ascii=False),
            "batch_size": str(self.batch_size),
            "format": form.format,
            "n_best_list": str(form.n_best),
            "alignment": str(form.alignment),
            "word_scores": str(form.word_scores),
            **{name: str(value) for name, value in search.model_dump().items()},
        }


FILE_TYPES = ("text",)


@dataclass(frozen=True)
class Endpoints:
    """Texts of the command line, or a file, or (None) standard input; a file or standard output."""

    texts: tuple[str, ...]
    source: Path | None
    output: Path | None
    errors: Errors
    resume: bool

    @property
    def file(self) -> Path | None:
        """The file that is read, if it is one that can be read twice."""
        return self.source if self.source is not None and self.source.is_file() else None

    @property
    def resumable(self) -> bool:
        """Whether both ends are files, which can be taken up again where they were left."""
        if self.file is None or self.output is None:
            return False
        return self.output.is_file() or not self.output.exists()

    def is_complete(self, lines: int, form: Form) -> bool:
        """Return whether the file of results is there, finished, and has this many of them."""
        path = self.output
        if path is None or is_unfinished(path) or not path.is_file() or not path.stat().st_size:
            return False
        with path.open("rb") as file:
            count, last = 0, b""
            for count, last in enumerate(file, start=1):  # noqa: B007 - what counts is the last
                pass
        if form.format == "text" and form.n_best:  # several per line, which is numbered from 0
            number = last.partition(b" ")[0]
            return number.isdigit() and int(number) == lines - 1
        return count == lines

    @property
    def reads_terminal(self) -> bool:
        """Whether a person types what is translated."""
        waits = not self.texts and self.source is None
        return waits and sys.stdin is not None and sys.stdin.isatty()

    @contextmanager
    def lines(self, *, skipped: int) -> Iterator[LineSource]:
        """Give the lines, without the first `skipped` ones of a file."""
        if self.texts:
            yield split_texts(self.texts, self.errors)
        elif self.source is None:
            yield LiveLines(standard_input(), STANDARD_INPUT, self.errors)
        elif self.file is None:
            with open_pipe(self.source) as pipe:
                yield LiveLines(pipe, self.source, self.errors)
        else:
            yield open_lines(self.file, self.errors, skipped=skipped)


def parse_endpoints(
    texts: Sequence[str] | None,
    source: Path | None,
    output: Path | None,
    errors: Errors,
    *,
    resume: bool,
    as_text: bool,
) -> Endpoints:
    """Return the endpoints that the command line names, ``-`` being standard input or output."""
    source = None if source == DASH else source
    if texts and source is not None:
        raise InputError(f"TEXT and -i {source}: give one of the two")
    if source is not None:
        check_file("-i", source)
        if not as_text:
            refuse_document(source)
    output = check_output(output, () if source is None else (source,))
    endpoints = Endpoints(tuple(texts or ()), source, output, errors, resume)
    if resume and not endpoints.resumable:
        raise InputError(
            "--resume continues a file that was translated into a file: give -i FILE and "
            "-o FILE, both of them plain files"
        )
    return endpoints


MOST_BATCHES = 8

Translate: TypeAlias = "Callable[[Sequence[str], Emit], Sequence[Translation]]"


def windows(batch_size: int) -> Iterator[int]:
    """Yield how many lines each window has: one batch, two, four, and so on up to eight."""
    batches = 1
    while True:
        yield batches * batch_size
        batches = min(2 * batches, MOST_BATCHES)


def remaining_windows(lines: int, batch_size: int) -> Iterator[int]:
    """Yield the windows after the first `lines` lines, which are whole windows themselves."""
    sizes = windows(batch_size)
    while lines > 0:
        lines -= next(sizes)
    return sizes


@dataclass(frozen=True)
class Pipeline:
    """From where lines come, how they are translated and written, and to where."""

    source: LineSource
    translate: Translate
    form: Form
    output: Output
    sizes: Iterator[int]
    total: int | None  # number of lines, if that is known


def translate_lines(pipeline: Pipeline, emit: Emit) -> Tally:
    """Translate all lines; return the count of them."""
    tally = Tally()

    def tell(done: int) -> None:
        emit(Progress("translating", done, pipeline.total, "lines"))

    if pipeline.total is not None:
        tell(0)
    for size in pipeline.sizes:
        lines = pipeline.source.take(size)
        if not lines:
            break
        begin = time.monotonic()
        consume = _report_lines(tell, tally, lines)
        with _name_lines(lines[0].number, lines[-1].number):
            translations = pipeline.translate([line.text for line in lines], consume)
        tally.seconds += time.monotonic() - begin
        results = [
            render_translation(line, translation, pipeline.form)
            for line, translation in zip(lines, translations, strict=True)
        ]
        pipeline.output.write(b"".join(results), len(lines))
        tally.add(lines, translations)
        tell(tally.lines)
    return tally


@contextmanager
def _name_lines(first: int, last: int) -> Iterator[None]:
    """Say of an error that counts the texts of a window which lines these are."""
    try:
        yield
    except InputError as error:
        raise InputError(
            f"lines {first:,} to {last:,}, of which {first:,} is text 1: {error}"
        ) from error


def _report_lines(tell: Callable[[int], None], tally: Tally, window: Sequence[Line]) -> Emit:
    """Return a consumer that tells how far a window has come in lines, as a share of its work.

    What follows when all are translated, such as reading back, is not counted. Notices are kept
    for the end.
    """
    before = tally.lines

    def consume(event: Event) -> None:
        if isinstance(event, Notice):
            place = f"lines {window[0].number:,} to {window[-1].number:,}"
            tally.notices.append(f"{place}: {event.message}")
        elif isinstance(event, Progress) and event.stage == "translate" and event.total:
            tell(before + len(window) * event.done // event.total)

    return consume
