"""Stage 1: read the corpora and clean them, chunk by chunk, in several processes."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from translucid.data.cleaning import Cleaner, CleaningConfig, Sides
from translucid.data.prepare.report import PairExample, PairTallies
from translucid.data.prepare.workers import Workers
from translucid.data.prepare.workspace import (
    Chunk,
    ChunkSummary,
    Workspace,
    read_json,
    summarize_chunk,
    write_json,
)
from translucid.data.readers import Corpus, Pair, ReadReport, read_pairs
from translucid.events import Emit, Progress

CHUNK_CHARACTERS = 4_000_000  # a chunk of very long lines has fewer pairs


@dataclass(frozen=True)
class CleaningJob:
    """What cleaning a chunk depends on, apart from its pairs."""

    config: CleaningConfig
    languages: tuple[str, str]
    drafts: Path


@dataclass(frozen=True)
class _CleaningTask:
    job: CleaningJob
    path: Path
    corpus: int
    sources: list[str]
    targets: list[str]
    lines: list[int]


@dataclass(frozen=True)
class CleanedCorpora:
    """All chunks in the order of the corpora, their tallies, and the readers' reports."""

    chunks: list[ChunkSummary]
    tallies: PairTallies
    read_reports: list[dict[str, Any]]

    @property
    def read(self) -> int:
        """The number of pairs before cleaning."""
        return sum(chunk.read for chunk in self.chunks)


def clean_corpora(
    corpora: Sequence[Corpus],
    config: CleaningConfig,
    work: Workspace,
    *,
    chunk_pairs: int,
    workers: Workers,
    emit: Emit,
) -> CleanedCorpora:
    """Read and clean all corpora into chunks, unless that was done before."""
    if not work.all_cleaned.is_file():
        reports = [ReadReport() for _ in corpora]
        job = CleaningJob(config, corpora[0].languages, work.drafts)
        tasks = _make_tasks(corpora, reports, job, work, chunk_pairs)
        chunks = read_pairs = 0
        for pairs in workers.map_in_order(_clean, tasks):
            chunks += 1
            read_pairs += pairs
            emit(_progress(corpora, reports, read_pairs))
        emit(Progress("cleaning", read_pairs, read_pairs, "pairs"))
        write_json(
            work.all_cleaned,
            {"chunks": chunks, "read": [report.to_json() for report in reports]},
        )
    done = read_json(work.all_cleaned)
    summaries, tallies = [], PairTallies()
    for number in range(done["chunks"]):
        summary, found = summarize_chunk(work.chunk(number))
        summaries.append(summary)
        tallies.merge(found)
    return CleanedCorpora(summaries, tallies, done["read"])


def _progress(corpora: Sequence[Corpus], reports: Sequence[ReadReport], done: int) -> Progress:
    """Estimate the total from the bytes read so far; the lesson has none."""
    size = sum(corpus.size() for corpus in corpora)
    taken = sum(report.bytes_read for report in reports)
    taken_pairs = sum(report.pairs for report in reports)
    total = max(done, round(taken_pairs * size / taken)) if taken else None
    return Progress("cleaning", done, total, "pairs")


def _make_tasks(
    corpora: Sequence[Corpus],
    reports: Sequence[ReadReport],
    job: CleaningJob,
    work: Workspace,
    chunk_pairs: int,
) -> Iterator[_CleaningTask]:
    """Read everything; a chunk that is on disk already becomes an empty task."""
    numbers = itertools.count()
    for index, (corpus, report) in enumerate(zip(corpora, reports, strict=True)):
        for pairs in _cut_into_chunks(read_pairs(corpus, report), chunk_pairs):
            path = work.chunk(next(numbers))
            missing = [] if path.is_file() else pairs
            sources, targets, lines = (
                map(list, zip(*missing, strict=True)) if missing else ([],) * 3
            )
            yield _CleaningTask(job, path, index, sources, targets, lines)


def _cut_into_chunks(pairs: Iterator[Pair], chunk_pairs: int) -> Iterator[list[Pair]]:
    """Cut pairs into chunks by number and size, depending only on the pairs."""
    chunk: list[Pair] = []
    characters = 0
    for pair in pairs:
        chunk.append(pair)
        characters += len(pair.source) + len(pair.target)
        if len(chunk) == chunk_pairs or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _clean(task: _CleaningTask) -> int:
    """Clean one chunk and write it, unless it is there; return how many pairs it was read from."""
    if task.path.is_file():
        return summarize_chunk(task.path)[0].read
    cleaner = _cleaner(task.job.config, task.job.languages)
    kept: list[tuple[Sides, int]] = []
    tallies = PairTallies()
    for source, target, line in zip(task.sources, task.targets, task.lines, strict=True):
        sides = Sides(source, target)
        cleaned = cleaner.clean(sides)
        for repair in cleaned.repairs:
            example = PairExample.from_pair(task.corpus, line, sides, cleaned.sides)
            tallies.add(repair, example)
        if cleaned.reason is None:
            kept.append((cleaned.sides, line))
        else:
            tallies.add(cleaned.reason, PairExample.from_pair(task.corpus, line, sides, None))
    chunk = Chunk(
        corpus=task.corpus,
        read=len(task.sources),
        sources=[sides.source for sides, _ in kept],
        targets=[sides.target for sides, _ in kept],
        lines=np.array([line for _, line in kept], np.uint32),
        tallies=tallies,
    )
    chunk.save(task.path, task.job.drafts)
    return chunk.read


@functools.lru_cache(maxsize=1)
def _cleaner(config: CleaningConfig, languages: tuple[str, str]) -> Cleaner:
    """Make the cleaner once per process: some steps load a model."""
    return Cleaner(config, *languages)
