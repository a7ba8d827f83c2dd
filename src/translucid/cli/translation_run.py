"""One run of ``translucid translate``: open both ends, translate all lines, tell how it went."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from translucid import __version__
from translucid.cli.closed_pipe import ended_quietly
from translucid.cli.line_files import Survey
from translucid.cli.line_translation import Way, translate_lines, windows_after
from translucid.cli.resumable_output import ResumableOutput, Work, is_unfinished, resumable_output
from translucid.cli.translation_output import Form
from translucid.cli.translation_places import Places, StreamOutput, progress_shown, stream_output
from translucid.cli.translation_summary import Tally
from translucid.events import Emit, Notice, silent
from translucid.translator.loading import fingerprint

if TYPE_CHECKING:
    from translucid.translator import Reranker, Translation, TranslationRequest, Translator

INTERRUPTED = 130


@dataclass(frozen=True)
class Run:
    """All that one call of the command is about; `survey`: of a file, what it was found to be."""

    places: Places
    survey: Survey | None
    models: tuple[Path, ...]
    translator: Translator
    request: TranslationRequest
    reranker: Reranker | None
    form: Form
    batch_size: int
    quiet: bool

    def to_the_end(self) -> None:
        """Translate all there is, and tell on stderr how it went."""
        if self.places.reads_terminal and not self.quiet:
            typer.echo("One line, one translation; Ctrl-D ends.", err=True)
        with ended_quietly():
            try:
                tally = self._translate_all()
            except KeyboardInterrupt:
                if self.places.output is not None and is_unfinished(self.places.output):
                    typer.echo("Go on:  the same command with --resume", err=True)
                raise typer.Exit(INTERRUPTED) from None
            for warning in tally.warnings():
                typer.echo(warning, err=True)
            if not self.quiet:
                typer.echo(tally.summary(), err=True)

    def _translate_all(self) -> Tally:
        quiet = self.quiet or bool(self.places.texts)
        self._translate([""], silent)  # refuses an impossible request before anything is written
        with ExitStack() as stack:
            output = stack.enter_context(self._output())
            done = output.lines if isinstance(output, ResumableOutput) else 0
            source = stack.enter_context(self.places.lines(skipped=done))
            emit = stack.enter_context(progress_shown(self.places.output, quiet=quiet))
            if done:
                emit(Notice(f"{done:,} lines are done already"))
            way = Way(
                source=source,
                translate=self._translate,
                form=self.form,
                output=output,
                sizes=windows_after(done, self.batch_size),
                total=None if self.survey is None else self.survey.lines - done,
            )
            return translate_lines(way, emit)

    def _translate(self, texts: Sequence[str], emit: Emit) -> Sequence[Translation]:
        return self.translator.translate(
            texts,
            self.request,
            rerank=self.reranker,
            batch_size=self.batch_size,
            emit=emit,
        )

    @contextmanager
    def _output(self) -> Iterator[ResumableOutput | StreamOutput]:
        output = self.places.output
        if output is not None and self.places.resumable:
            with resumable_output(output, self._work(), resume=self.places.resume) as file:
                yield file
        else:
            with stream_output(output) as stream:
                yield stream

    def _reranker_identity(self) -> dict[str, Any]:
        if self.reranker is None:
            return {}
        models = fingerprint(self.reranker.model.folders)
        return {"fingerprint": models, "weight": self.reranker.weight}

    def _work(self) -> Work:
        """Return, by name, all that what is written depends on."""
        assert self.survey is not None
        request, form = self.request, self.form
        search = request.search or self.translator.default_search
        return {
            "translucid": __version__,
            "input": f"a file of {self.survey.lines:,} lines (SHA-256 {self.survey.sha256})",
            "model": fingerprint(self.models),
            "errors": self.places.errors,
            "target": str(request.target),
            "rerank": json.dumps(self._reranker_identity()),
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
