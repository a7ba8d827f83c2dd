"""Stage 4: from cleaned text to token shards, chunk by chunk, in several processes."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from translucid.data.cleaning import Reason
from translucid.data.preparation.chunks import load_chunk
from translucid.data.preparation.held_out import Row
from translucid.data.preparation.placeholders import PlaceholderInserter, WordLexicon
from translucid.data.preparation.selection import Fate, Selection, have_fate
from translucid.data.preparation.workers import Workers
from translucid.data.preparation.workspace import Workspace, drafted_file, read_json, unique_draft
from translucid.data.report import Findings, PairExample
from translucid.data.shards import Layout, Record, write_part
from translucid.events import Emit, Progress
from translucid.text.tokenizer import UNK, Tokenizers, load_tokenizer

_ROWS_AT_A_TIME = 2_000


@dataclass
class EncodingReport:
    """What encoding found: pairs with too many tokens, and unknown tokens of each language."""

    findings: Findings = field(default_factory=Findings)
    unknown: dict[str, int] = field(default_factory=dict)

    def merge(self, later: EncodingReport) -> None:
        """Add what was found in a part that comes later."""
        self.findings.merge(later.findings)
        for lang, count in later.unknown.items():
            self.unknown[lang] = self.unknown.get(lang, 0) + count

    def to_json(self) -> dict[str, Any]:
        """Return plain values, from which `from_json` makes the same report."""
        return {"findings": self.findings.to_json(), "unknown": self.unknown}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> EncodingReport:
        """Read what `to_json` returned."""
        return cls(Findings.from_json(values["findings"]), values["unknown"])


@dataclass(frozen=True)
class EncodingJob:
    """What encoding depends on beside the pairs; `max_tokens` is 0 where any number will do.

    Targets are encoded with the first `target_pieces` of the vocabulary. With a `lexicon`, training
    pairs get placeholders, a share of them (`placeholders`) synthetic ones.
    """

    tokenizer: Path
    fingerprint: str
    target_pieces: int
    layout: Layout
    max_tokens: int
    lexicon: Path | None
    placeholders: float


def encoded(
    rows: Iterable[Row], tokenizers: Tokenizers, job: EncodingJob, report: EncodingReport
) -> Iterator[Record]:
    """Yield the rows with their tokens; what is too long goes to the report instead."""
    source_lang, target_lang = job.layout.languages
    of_sources, of_targets = tokenizers
    remaining = iter(rows)
    while block := list(itertools.islice(remaining, _ROWS_AT_A_TIME)):
        sources = of_sources.encode_batch([row.source for row in block])
        targets = of_targets.encode_batch([row.target for row in block])
        for row, source, target in zip(block, sources, targets, strict=True):
            if job.max_tokens and max(len(source), len(target)) > job.max_tokens:
                example = PairExample.of(row.corpus, row.line, (row.source, row.target), None)
                report.findings.add(Reason.TOO_MANY_TOKENS, example)
                continue
            for lang, ids in ((source_lang, source), (target_lang, target)):
                report.unknown[lang] = report.unknown.get(lang, 0) + ids.count(UNK)
            yield Record(row.source, row.target, source, target, row.corpus, row.line)


@dataclass(frozen=True)
class _Task:
    job: EncodingJob
    chunk: Path
    start: int
    selection: Path
    part: Path
    drafts: Path


def encode_training(
    selection: Selection, job: EncodingJob, work: Workspace, *, workers: Workers, emit: Emit
) -> tuple[list[Path], EncodingReport]:
    """Write the shards of every chunk's training pairs, where an earlier run has not done it."""
    parts = [work.part(number) for number in range(len(selection.chunks))]
    tasks = [
        _Task(job, chunk.path, start, work.selection, part, work.drafts)
        for chunk, start, part in zip(selection.chunks, selection.starts, parts, strict=True)
    ]
    total = selection.count(Fate.TRAIN)
    report = EncodingReport()
    done = 0
    emit(Progress("encoding", 0, total, "pairs"))
    for number, found in enumerate(workers.in_order(_encode, tasks)):
        report.merge(EncodingReport.from_json(found))
        done += int(np.count_nonzero(have_fate(selection.of_chunk(number), Fate.TRAIN)))
        emit(Progress("encoding", done, total, "pairs"))
    return parts, report


def _encode(task: _Task) -> dict[str, Any]:
    """Encode one chunk, unless that was done; the folder of shards, which comes last, tells."""
    report_path = task.part.with_suffix(".json")
    if not task.part.is_dir():
        report = EncodingReport()
        job = task.job
        tokenizers = _tokenizers(job.tokenizer, job.fingerprint, job.target_pieces)
        draft = unique_draft(task.drafts)
        write_part(draft, encoded(_rows(task), tokenizers, job, report), job.layout)
        with drafted_file(task.drafts, report_path) as file:
            file.write(json.dumps(report.to_json()).encode())
        draft.rename(task.part)
    values: dict[str, Any] = read_json(report_path)
    return values


def _rows(task: _Task) -> Iterator[Row]:
    chunk = load_chunk(task.chunk)
    fates = np.load(task.selection, mmap_mode="r")
    job = task.job
    insert: Callable[[tuple[str, str]], tuple[str, str]] = _unchanged
    if job.lexicon is not None:
        lexicon = _lexicon(job.lexicon, job.fingerprint)
        insert = PlaceholderInserter.of(lexicon, job.placeholders, job.layout.languages)
    here = fates[task.start : task.start + len(chunk.sources)]
    for index in np.flatnonzero(have_fate(here, Fate.TRAIN)).tolist():
        pair = insert((chunk.sources[index], chunk.targets[index]))
        yield Row(*pair, chunk.corpus, int(chunk.lines[index]))


def _unchanged(pair: tuple[str, str]) -> tuple[str, str]:
    return pair


@functools.lru_cache(maxsize=1)
def _lexicon(path: Path, fingerprint: str) -> WordLexicon:
    """Load the lexicon once per process; the fingerprint tells two jobs of one path apart."""
    del fingerprint
    return WordLexicon.load(path)


@functools.lru_cache(maxsize=1)
def _tokenizers(path: Path, fingerprint: str, target_pieces: int) -> Tokenizers:
    """Load the tokenizer once a process; the fingerprint tells two files of one path apart."""
    tokenizer = load_tokenizer(path)
    assert tokenizer.fingerprint == fingerprint, "the tokenizer changed while it was in use"
    return tokenizer, tokenizer.within(target_pieces)
