"""Stages 3 and 4: the tokenizer, learned only from training text, and the tokens of all pairs."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from translucid.built_in import built_in, find_model_directory
from translucid.config import read_generation_config, read_model_config
from translucid.data.cleaning import Reason
from translucid.data.config import PrepareConfig
from translucid.data.manifest import MANIFEST, Layout
from translucid.data.prepare.placeholders import PlaceholderInserter, WordLexicon
from translucid.data.prepare.report import PairExample, PairTallies
from translucid.data.prepare.selection import (
    CleanedPair,
    PairStatus,
    SampledPairs,
    Selection,
    has_status,
)
from translucid.data.prepare.workers import Workers
from translucid.data.prepare.workspace import (
    Workspace,
    draft_file,
    draft_path,
    load_chunk,
    read_json,
    write_json,
)
from translucid.data.shards import TOKENIZER, Record, open_data, write_part
from translucid.errors import InputError
from translucid.events import Emit, Notice, Progress
from translucid.text.sentencepiece import SentencePieceTokenizer
from translucid.text.sentencepiece_model import convert_model
from translucid.text.tokenizer import (
    FIRST_TAG,
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

# More text than this does not improve a vocabulary, but needs more memory: BPE takes about 4 bytes
# per byte of text and unigram 24, so neither needs more than 1 GB.
SAMPLE_PAIRS = 1_000_000
SAMPLE_BYTES = 200_000_000
UNIGRAM_SAMPLE_BYTES = 40_000_000

# (training pairs, pieces): the vocabulary size for up to that many pairs
_SUBWORD_SIZES = ((20_000, 4_000), (1_000_000, 8_000), (10_000_000, 16_000))
_LARGEST_SUBWORD_SIZE = 32_000
_WORD_SIZE = 32_000
_CHARACTER_SIZE = 4_000
_SENTENCES_AT_A_TIME = 2_000
SUBWORDS = ("bpe", "unigram")
_NORMALISED = {
    "lowercase": "lower case only",
    "plain_typography": "the apostrophes and quotes of a keyboard only",
}


@dataclass(frozen=True)
class BaseTokenizer:
    """A tokenizer to take over, with the language tags and the normalisation that belong to it.

    `target_pieces`: its first pieces, that many, are those of text in `target_lang`; None if they
    are not ordered like this. `is_of_model`: it is that of a trained model.
    """

    tokenizer: Path
    languages: Mapping[str, int]
    tagged: bool
    lowercase: bool
    plain_typography: bool = False
    target_lang: str | None = None
    target_pieces: int | None = None
    is_of_model: bool = False


def find_base(path: Path) -> BaseTokenizer:
    """Find the tokenizer of a data folder, of a model, or at the path itself if it is a file.

    A model is a model directory, the folder of a run or the name of a built-in model.
    """
    if (path / MANIFEST).is_file():
        return _base_of_data(path)
    if path.is_dir() or (not path.exists() and built_in(str(path))):
        return _base_of_model(find_model_directory(path))
    base = BaseTokenizer(path, {}, tagged=False, lowercase=False)
    load_base(base, placeholders=False)
    return base


def _base_of_data(folder: Path) -> BaseTokenizer:
    data = open_data(folder)
    manifest = data.manifest
    return BaseTokenizer(
        data.tokenizer_path,
        manifest.languages,
        manifest.tagged,
        manifest.lowercase,
        manifest.plain_typography,
        manifest.target_lang,
        manifest.tokenizer.target_pieces,
    )


def _base_of_model(folder: Path) -> BaseTokenizer:
    network, generation = read_model_config(folder), read_generation_config(folder)
    written = network.target_vocab_size
    return BaseTokenizer(
        folder / TOKENIZER,
        {language: tag - FIRST_TAG for language, tag in generation.tags.items()},
        bool(generation.tags),
        generation.lowercase,
        generation.plain_typography,
        generation.directions[0][1],
        written if written < network.source_vocab_size else None,
        is_of_model=True,
    )


def take_over_settings(
    config: PrepareConfig, base: BaseTokenizer, languages: tuple[str, str], emit: Emit
) -> PrepareConfig:
    """Return the config with the normalisation of the text that the tokenizer was learned from.

    Data for a model is also written with the pieces that its network can write.
    """
    taken: dict[str, Any] = {}
    for name in ("lowercase", "plain_typography"):
        if getattr(base, name) and not getattr(config.cleaning, name):
            if name in config.cleaning.model_fields_set:
                raise InputError(
                    f"{name} = false, but the text of {base.tokenizer.parent} has "
                    f"{_NORMALISED[name]}: leave the setting out, or take another tokenizer"
                )
            taken[name] = True
            emit(
                Notice(
                    f"note: like the text of {base.tokenizer.parent}, this one gets "
                    f"{_NORMALISED[name]}."
                )
            )
    if taken:
        config = config.replace(cleaning=config.cleaning.replace(**taken))
    writes_this = base.target_lang == languages[1] and not config.both
    if base.is_of_model and base.target_pieces and writes_this:
        config = config.replace(target_pieces_only=True)
    return config


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
    """Refuse `target_pieces_only` if the base tokenizer does not know the target's pieces."""
    if base.target_pieces is None or base.target_lang != target_lang:
        raise InputError(
            f"{base.tokenizer} does not know which pieces text in {target_lang!r} has: take the "
            f"tokenizer of a data folder that was prepared --to {target_lang} with "
            "--target-pieces-only, or leave the option out here"
        )


def assign_tag_slots(known: Mapping[str, int], languages: Sequence[str]) -> dict[str, int]:
    """Give each new language the next free tag slot; known ones keep theirs."""
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
    """Return a sensible vocabulary size for a kind of tokenizer and a number of training pairs."""
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
    """What training a tokenizer depends on, in a form that can be sent to another process."""

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


def learn_tokenizers(
    selection: Selection,
    work: Workspace,
    *,
    config: PrepareConfig,
    workers: Workers,
    emit: Emit,
) -> Tokenizers:
    """Learn the tokenizer from the training pairs of the selection, unless that was done.

    Return the tokenizers of sources and targets, which differ with `target_pieces_only`.
    """
    pairs = selection.count(PairStatus.TRAIN)
    kind, vocab_size, target_first = config.tokenizer, config.vocab_size, config.target_pieces_only
    size = vocab_size or default_vocab_size(kind, pairs)
    if not work.tokenizer.is_file():
        emit(Progress("learning the vocabulary", 0, None, "pieces"))
        training = _Training(
            kind=kind,
            vocab_size=size,
            pairs=SampledPairs.from_selection(
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
                f"note: the training text has only {tokenizer.vocab_size:,} pieces; the "
                f"vocabulary has these instead of {size:,}."
            )
        )
    size = read_json(work.target_pieces) if target_first else tokenizer.vocab_size
    return tokenizer, tokenizer.within(size)


def _train(training: _Training) -> None:
    """Learn the vocabulary; the tokenizer's file is written last and marks completion."""
    sentences = _add_capitals(training.pairs, training.capitals)
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


def _add_capitals(pairs: SampledPairs, share: float) -> Iterator[str]:
    """Yield the sentences of all pairs, and of a share of the pairs also in capitals."""
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
    """Pairs with too many tokens, and the number of unknown tokens of each language."""

    tallies: PairTallies = field(default_factory=PairTallies)
    unknown: dict[str, int] = field(default_factory=dict)

    def merge(self, later: EncodingReport) -> None:
        """Add the report of the next part."""
        self.tallies.merge(later.tallies)
        for lang, count in later.unknown.items():
            self.unknown[lang] = self.unknown.get(lang, 0) + count

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `from_json`."""
        return {"findings": self.tallies.to_json(), "unknown": self.unknown}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> EncodingReport:
        """Read what `to_json` returned."""
        return cls(PairTallies.from_json(values["findings"]), values["unknown"])


@dataclass(frozen=True)
class EncodingJob:
    """What encoding depends on, apart from the pairs; `max_tokens` 0 means no limit.

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


def encode_pairs(
    rows: Iterable[CleanedPair], tokenizers: Tokenizers, job: EncodingJob, report: EncodingReport
) -> Iterator[Record]:
    """Yield the pairs with their tokens; those that are too long are counted in the report."""
    source_lang, target_lang = job.layout.languages
    source_tokenizer, target_tokenizer = tokenizers
    remaining = iter(rows)
    while block := list(itertools.islice(remaining, _ROWS_AT_A_TIME)):
        sources = source_tokenizer.encode_batch([row.source for row in block])
        targets = target_tokenizer.encode_batch([row.target for row in block])
        for row, source, target in zip(block, sources, targets, strict=True):
            if job.max_tokens and max(len(source), len(target)) > job.max_tokens:
                example = PairExample.from_pair(
                    row.corpus, row.line, (row.source, row.target), None
                )
                report.tallies.add(Reason.TOO_MANY_TOKENS, example)
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
    """Write the shards of every chunk's training pairs, unless an earlier run has done it."""
    parts = [work.part(number) for number in range(len(selection.chunks))]
    tasks = [
        _EncodingTask(job, chunk.path, start, work.selection, part, work.drafts)
        for chunk, start, part in zip(selection.chunks, selection.starts, parts, strict=True)
    ]
    total = selection.count(PairStatus.TRAIN)
    report = EncodingReport()
    done = 0
    emit(Progress("encoding", 0, total, "pairs"))
    for number, found in enumerate(workers.map_in_order(_encode, tasks)):
        report.merge(EncodingReport.from_json(found))
        done += int(
            np.count_nonzero(has_status(selection.chunk_statuses(number), PairStatus.TRAIN))
        )
        emit(Progress("encoding", done, total, "pairs"))
    return parts, report


def _encode(task: _EncodingTask) -> dict[str, Any]:
    """Encode one chunk, unless that was done; the folder of shards is written last."""
    report_path = task.part.with_suffix(".json")
    if not task.part.is_dir():
        report = EncodingReport()
        job = task.job
        tokenizers = _tokenizers(job.tokenizer, job.fingerprint, job.target_pieces)
        draft = draft_path(task.drafts)
        write_part(draft, encode_pairs(_rows(task), tokenizers, job, report), job.layout)
        with draft_file(task.drafts, report_path) as file:
            file.write(json.dumps(report.to_json()).encode())
        draft.rename(task.part)
    values: dict[str, Any] = read_json(report_path)
    return values


def _rows(task: _EncodingTask) -> Iterator[CleanedPair]:
    chunk = load_chunk(task.chunk)
    statuses = np.load(task.selection, mmap_mode="r")
    job = task.job
    insert: PlaceholderInserter | None = None
    if job.lexicon is not None:
        lexicon = _lexicon(job.lexicon, job.fingerprint)
        insert = PlaceholderInserter.for_languages(lexicon, job.placeholders, job.layout.languages)
    here = statuses[task.start : task.start + len(chunk.sources)]
    for index in np.flatnonzero(has_status(here, PairStatus.TRAIN)).tolist():
        pair = chunk.sources[index], chunk.targets[index]
        if insert is not None:
            pair = insert(pair)
        yield CleanedPair(*pair, chunk.corpus, int(chunk.lines[index]))


@functools.lru_cache(maxsize=1)
def _lexicon(path: Path, fingerprint: str) -> WordLexicon:
    """Load the lexicon once per process; the fingerprint distinguishes jobs with the same path."""
    del fingerprint
    return WordLexicon.load(path)


@functools.lru_cache(maxsize=1)
def _tokenizers(path: Path, fingerprint: str, target_pieces: int) -> Tokenizers:
    """Load the tokenizer once per process; the fingerprint distinguishes files of one path."""
    tokenizer = load_tokenizer(path)
    assert tokenizer.fingerprint == fingerprint, "the tokenizer changed while it was in use"
    return tokenizer, tokenizer.within(target_pieces)
