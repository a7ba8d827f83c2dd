"""Stage 3: the tokenizer, learned from training text alone, and the languages' tag slots."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from translucid.data.cleaning import Reason
from translucid.data.manifest import Layout
from translucid.data.prepare.config import PrepareConfig
from translucid.data.prepare.placeholders import PlaceholderInserter, WordLexicon
from translucid.data.prepare.report import Findings, PairExample
from translucid.data.prepare.selection import Fate, Row, SampledPairs, Selection, have_fate
from translucid.data.prepare.workers import Workers
from translucid.data.prepare.workspace import (
    Workspace,
    drafted_file,
    load_chunk,
    read_json,
    unique_draft,
    write_json,
)
from translucid.data.shards import Record, open_data, write_part
from translucid.errors import InputError
from translucid.events import Emit, Notice, Progress
from translucid.text.sentencepiece import SentencePieceTokenizer
from translucid.text.sentencepiece_model import convert_model
from translucid.text.tokenizer import (
    TAG_SLOTS,
    UNK,
    BrokenFileError,
    Tokenizer,
    Tokenizers,
    get_tokenizer_kind,
    load_tokenizer,
    read_tokenizer_file,
    train_tokenizer,
    unusable_tokenizer,
)

# A vocabulary does not get better with more text than this, but training it would need more memory:
# BPE takes about 4 bytes for a byte of text and unigram 24, so that neither needs more than 1 GB.
SAMPLE_PAIRS = 1_000_000
SAMPLE_BYTES = 200_000_000
UNIGRAM_SAMPLE_BYTES = 40_000_000

# Up to so many training pairs: so many pieces.
_SUBWORD_SIZES = ((20_000, 4_000), (1_000_000, 8_000), (10_000_000, 16_000))
_LARGEST_SUBWORD_SIZE = 32_000
_WORD_SIZE = 32_000
_CHARACTER_SIZE = 4_000
_SENTENCES_AT_A_TIME = 2_000
SUBWORDS = ("bpe", "unigram")


@dataclass(frozen=True)
class BaseTokenizer:
    """The tokenizer to take over, and the tag slots and tagging that belong to it.

    `lowercase`: it was learned from text in lower case. `target_pieces`: that many of its pieces,
    the first ones, are those of text in `target_lang`; None where it was not ordered so.
    """

    tokenizer: Path
    languages: Mapping[str, int]
    tagged: bool
    lowercase: bool
    target_lang: str | None = None
    target_pieces: int | None = None


def find_base(path: Path) -> BaseTokenizer:
    """Find the tokenizer of a prepared data folder, or take the path for a tokenizer itself."""
    if path.is_dir():
        data = open_data(path)
        manifest = data.manifest
        return BaseTokenizer(
            data.tokenizer_path,
            manifest.languages,
            manifest.tagged,
            manifest.lowercase,
            manifest.target_lang,
            manifest.tokenizer.target_pieces,
        )
    base = BaseTokenizer(path, {}, tagged=False, lowercase=False)
    load_base(base, placeholders=False)
    return base


def load_base(base: BaseTokenizer, *, placeholders: bool) -> Tokenizer:
    """Load the tokenizer to take over; a SentencePiece model of another program is converted.

    With `placeholders`, a converted one has a piece for each placeholder.
    """
    data = read_tokenizer_file(base.tokenizer)
    if data.startswith(b"{"):
        return load_tokenizer(base.tokenizer)
    try:
        return SentencePieceTokenizer(convert_model(data, placeholders=placeholders))
    except BrokenFileError as error:
        raise unusable_tokenizer(base.tokenizer, error) from error


def check_target_pieces(base: BaseTokenizer, target_lang: str) -> None:
    """Refuse to let a network write target pieces only where the base does not tell them."""
    if base.target_pieces is None or base.target_lang != target_lang:
        raise InputError(
            f"{base.tokenizer} does not tell which pieces text in {target_lang!r} has: take the "
            f"tokenizer of a data folder that was prepared --to {target_lang} with "
            "--target-pieces-only, or leave the option out here"
        )


def assign_tag_slots(known: Mapping[str, int], languages: Sequence[str]) -> dict[str, int]:
    """Give each new language the next free tag slot; the ones that are known keep theirs."""
    slots = dict(known)
    for lang in languages:
        if lang not in slots:
            free = set(range(TAG_SLOTS)) - set(slots.values())
            if not free:
                raise InputError(
                    f"there is no tag left for {lang!r}: one tokenizer serves at most {TAG_SLOTS} "
                    f"languages, and it has {', '.join(slots)}. Train a new tokenizer (leave "
                    "--tokenizer-from out)."
                )
            slots[lang] = min(free)
    return slots


def default_vocab_size(kind: str, pairs: int) -> int:
    """Return a sensible vocabulary size for a tokenizer of this kind and so many training pairs."""
    if kind == "char":
        return _CHARACTER_SIZE
    if kind not in SUBWORDS:
        return _WORD_SIZE
    for limit, size in _SUBWORD_SIZES:
        if pairs <= limit:
            return size
    return _LARGEST_SUBWORD_SIZE


@dataclass(frozen=True)
class _Training:
    """All that training depends on, in a form that can be sent to another process."""

    kind: str
    vocab_size: int
    pairs: SampledPairs
    placeholders: bool
    capitals: float
    path: Path
    target_pieces: Path | None


def sample_share(kind: str, pairs: int, text_bytes: int) -> float:
    """Return the share of the training pairs that a tokenizer of this kind learns from."""
    most = UNIGRAM_SAMPLE_BYTES if kind == "unigram" else SAMPLE_BYTES
    return min(1.0, SAMPLE_PAIRS / max(1, pairs), most / max(1, text_bytes))


def make_tokenizer(
    selection: Selection,
    work: Workspace,
    *,
    config: PrepareConfig,
    workers: Workers,
    emit: Emit,
) -> Tokenizers:
    """Learn the tokenizer from the training pairs of the selection, or find that this was done.

    Return it as sources need it, and as targets do; they differ with `target_pieces_only`.
    """
    pairs = selection.count(Fate.TRAIN)
    kind, vocab_size, target_first = config.tokenizer, config.vocab_size, config.target_pieces_only
    size = vocab_size or default_vocab_size(kind, pairs)
    if not work.tokenizer.is_file():
        emit(Progress("learning the vocabulary", 0, None, "pieces"))
        training = _Training(
            kind=kind,
            vocab_size=size,
            pairs=SampledPairs.of(
                selection,
                work,
                sample_share(kind, pairs, sum(chunk.text_bytes for chunk in selection.chunks)),
            ),
            placeholders=config.placeholders > 0 and get_tokenizer_kind(kind).can_have_placeholders,
            capitals=config.capitals,
            path=work.tokenizer,
            target_pieces=work.target_pieces if target_first else None,
        )
        workers.run_in_process(_train, training)
    tokenizer = load_tokenizer(work.tokenizer)
    emit(Progress("learning the vocabulary", tokenizer.vocab_size, tokenizer.vocab_size, "pieces"))
    if tokenizer.vocab_size < size and (vocab_size or kind in SUBWORDS):
        emit(
            Notice(
                f"note: the training text offers {tokenizer.vocab_size:,} pieces only; the "
                f"vocabulary has these instead of {size:,}."
            )
        )
    size = read_json(work.target_pieces) if target_first else tokenizer.vocab_size
    return tokenizer, tokenizer.within(size)


def _train(training: _Training) -> None:
    """Learn the vocabulary; the tokenizer's file, which comes last, tells that all is done."""
    sentences = _with_capitals(training.pairs, training.capitals)
    path = training.path if training.target_pieces is None else training.path.with_suffix(".first")
    tokenizer = train_tokenizer(
        sentences,
        kind=training.kind,
        vocab_size=training.vocab_size,
        path=path,
        placeholders=training.placeholders,
    )
    if training.target_pieces is not None:
        assert isinstance(tokenizer, SentencePieceTokenizer), "other kinds are refused before"
        targets = (target for _, target in training.pairs)
        ordered, count = tokenizer.move_target_pieces_first(_batches(targets))
        write_json(training.target_pieces, count)
        ordered.save(training.path)


def _batches(sentences: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(itertools.islice(sentences, _SENTENCES_AT_A_TIME)):
        yield batch


def _with_capitals(pairs: SampledPairs, share: float) -> Iterator[str]:
    """Yield the sentences of all pairs, and a share of the pairs in capitals too."""
    due = 0.0
    for pair in pairs:
        yield from pair
        due += share
        if due >= 1:
            due -= 1
            yield from (sentence.upper() for sentence in pair)


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
class _EncodingTask:
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
        _EncodingTask(job, chunk.path, start, work.selection, part, work.drafts)
        for chunk, start, part in zip(selection.chunks, selection.starts, parts, strict=True)
    ]
    total = selection.count(Fate.TRAIN)
    report = EncodingReport()
    done = 0
    emit(Progress("encoding", 0, total, "pairs"))
    for number, found in enumerate(workers.map_in_order(_encode, tasks)):
        report.merge(EncodingReport.from_json(found))
        done += int(np.count_nonzero(have_fate(selection.of_chunk(number), Fate.TRAIN)))
        emit(Progress("encoding", done, total, "pairs"))
    return parts, report


def _encode(task: _EncodingTask) -> dict[str, Any]:
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


def _rows(task: _EncodingTask) -> Iterator[Row]:
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
