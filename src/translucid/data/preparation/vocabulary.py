"""Stage 3: the tokenizer, learned from training text alone, and the languages' tag slots."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from translucid.data.preparation.chunks import load_chunk, load_pair_hashes
from translucid.data.preparation.selection import Fate, Selection, have_fate
from translucid.data.preparation.settings import PrepareConfig
from translucid.data.preparation.workers import Workers
from translucid.data.preparation.workspace import Workspace, read_json, write_json
from translucid.data.shards import open_data
from translucid.data.shuffle import scramble
from translucid.errors import InputError
from translucid.events import Emit, Notice, Progress
from translucid.text.sentencepiece import SentencePieceTokenizer
from translucid.text.tokenizer import TAG_SLOTS, Tokenizers, load_tokenizer, train_tokenizer

# A vocabulary does not get better with more text than this, but training it would need more memory:
# BPE takes about 4 bytes for a byte of text and unigram 24, so that neither needs more than 1 GB.
SAMPLE_PAIRS = 1_000_000
SAMPLE_BYTES = {"bpe": 200_000_000, "unigram": 40_000_000, "word": 200_000_000, "char": 200_000_000}
_SAMPLE_KEY = 1  # an order of pairs that has nothing to do with the one a split uses

# Up to so many training pairs: so many pieces.
_SUBWORD_SIZES = ((20_000, 4_000), (1_000_000, 8_000), (10_000_000, 16_000))
_LARGEST_SUBWORD_SIZE = 32_000
_WORD_SIZE = 32_000
_CHARACTER_SIZE = 4_000
_SENTENCES_AT_A_TIME = 2_000
SUBWORDS = ("bpe", "unigram")  # kinds whose vocabularies can have placeholders


@dataclass(frozen=True)
class Base:
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


def find_base(path: Path) -> Base:
    """Find the tokenizer of a prepared data folder, or take the path for a tokenizer itself."""
    if path.is_dir():
        data = open_data(path)
        manifest = data.manifest
        return Base(
            data.tokenizer_path,
            manifest.languages,
            manifest.tagged,
            manifest.lowercase,
            manifest.target_lang,
            manifest.tokenizer.target_pieces,
        )
    load_tokenizer(path)
    return Base(path, {}, tagged=False, lowercase=False)


def check_target_pieces(base: Base, target_lang: str) -> None:
    """Refuse to let a network write target pieces only where the base does not tell them."""
    if base.target_pieces is None or base.target_lang != target_lang:
        raise InputError(
            f"{base.tokenizer} does not tell which pieces text in {target_lang!r} has: take the "
            f"tokenizer of a data folder that was prepared --to {target_lang} with "
            "--target-pieces-only, or leave the option out here"
        )


def assign_slots(known: Mapping[str, int], languages: Sequence[str]) -> dict[str, int]:
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


def automatic_size(kind: str, pairs: int) -> int:
    """Return a sensible vocabulary size for a tokenizer of this kind and so many training pairs."""
    if kind == "word":
        return _WORD_SIZE
    if kind == "char":
        return _CHARACTER_SIZE
    for limit, size in _SUBWORD_SIZES:
        if pairs <= limit:
            return size
    return _LARGEST_SUBWORD_SIZE


@dataclass(frozen=True)
class SampledPairs:
    """The training pairs of a selection, or a share of them chosen by hash.

    It knows where they are on the disk, and so can be sent to another process.
    """

    chunks: tuple[Path, ...]
    starts: tuple[int, ...]
    selection: Path
    share: float

    @classmethod
    def of(cls, selection: Selection, work: Workspace, share: float) -> SampledPairs:
        """Return a share of the training pairs; of 1 or more, all."""
        chunks = tuple(chunk.path for chunk in selection.chunks)
        return cls(chunks, tuple(selection.starts), work.selection, share)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        fates = np.load(self.selection, mmap_mode="r")
        limit = np.uint64(min(int(self.share * 2.0**64), (1 << 64) - 1))
        for path, start in zip(self.chunks, self.starts, strict=True):
            hashes = scramble(load_pair_hashes(path), 64, _SAMPLE_KEY)
            chosen = have_fate(fates[start : start + len(hashes)], Fate.TRAIN) & (hashes <= limit)
            chunk = load_chunk(path)
            for index in np.flatnonzero(chosen).tolist():
                yield chunk.sources[index], chunk.targets[index]


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
    return min(1.0, SAMPLE_PAIRS / max(1, pairs), SAMPLE_BYTES[kind] / max(1, text_bytes))


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
    size = vocab_size or automatic_size(kind, pairs)
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
            placeholders=config.placeholders > 0 and kind in SUBWORDS,
            capitals=config.capitals,
            path=work.tokenizer,
            target_pieces=work.target_pieces if target_first else None,
        )
        workers.apart(_train, training)
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
