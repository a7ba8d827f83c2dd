"""The prepared data folder: tokens and text on disk, read through memory maps.

::

    DATA/manifest.json        what is in the folder; written last, so its presence means "complete"
    DATA/checksums.json       the SHA-256 of each file
    DATA/tokenizer.model
    DATA/train/fr.tokens      the token ids of all sentences, concatenated, without special tokens
    DATA/train/fr.offsets     where each sentence begins; n + 1 numbers, the last is the end
    DATA/train/fr.text        the same sentences as UTF-8
    DATA/train/fr.text_offsets
    DATA/train/en.…           the other side
    DATA/train/origin         for each pair, its corpus number and its line there

    tokens    12  7  431  9 │ 55  8 │ 310  4  4      Sentence 1 is tokens[4:6]; an empty sentence
    offsets    0             4       6           9   has two equal offsets.

Numbers are little-endian: token ids uint16 for a vocabulary of up to 65,536, otherwise uint32;
offsets uint64; origin two uint32. A folder is written under a temporary name, synced and renamed,
so a process killed at any moment leaves either all of it or nothing. Any number of processes write
parts, which are then merged.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import mmap
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from translucid.checksums import Checksum, verify, write_checksums
from translucid.data.manifest import MANIFEST, Layout, Manifest, SplitEntry
from translucid.errors import DataError, InputError, nearest
from translucid.files import new_file, new_folder, synced
from translucid.text.tokenizer import PAD, utf8

_SMALL = 1 << 28  # bytes of a split that may stay in memory
_SENTENCES_BETWEEN_RELEASES = 256


class Rows(NamedTuple):
    """Token rows of different lengths, concatenated, without special tokens; and their lengths."""

    tokens: NDArray[np.integer]
    lengths: NDArray[np.int64]

    @classmethod
    def from_lists(cls, rows: Sequence[Sequence[int]]) -> Rows:
        """Return the rows of a list of lists."""
        tokens = np.fromiter(itertools.chain.from_iterable(rows), np.int64)
        return cls(tokens, np.fromiter(map(len, rows), np.int64, len(rows)))

    @classmethod
    def concatenate(cls, parts: Sequence[Rows]) -> Rows:
        """Return the rows of several parts, in their order."""
        tokens, lengths = zip(*parts, strict=True)
        return cls(np.concatenate(tokens), np.concatenate(lengths))


class Origin(NamedTuple):
    """Where a pair came from: the number of the corpus in the manifest, and the line."""

    corpus: int
    line: int


@dataclass(frozen=True)
class PreparedData:
    """A complete data folder, checked by `open_data`."""

    folder: Path
    manifest: Manifest

    @property
    def tokenizer_path(self) -> Path:
        """The tokenizer that made the ids of this folder."""
        return self.folder / TOKENIZER

    def verify(self) -> None:
        """Raise DataError that names the first file which is not what it was, if there is one."""
        verify(self.folder)

    @property
    def parts(self) -> tuple[tuple[PreparedData, float], ...]:
        """The folders to train on and the weight of each: this one (see `data.mixture`)."""
        return ((self, 1.0),)

    def split(self, name: str) -> Split:
        """Return a split: ``train``, ``dev`` or ``test``."""
        splits = self.manifest.splits
        if name not in splits:
            raise InputError(f"{self.folder} has no split {name!r}; {nearest(name, splits)}")
        return Split(self.folder / name, splits[name], self.manifest.layout)


def open_data(folder: Path | str) -> PreparedData:
    """Open a folder that `translucid prepare` has made, after checking that it is complete.

    Raises DataError for a folder that is missing, unfinished, from a newer version, whose files do
    not have the sizes in the manifest or their checksums, or that has another tokenizer. The
    checksums of large data are left to `PreparedData.verify`, with which training begins.
    """
    folder = Path(folder)
    path = folder / MANIFEST
    if not path.is_file():
        problem = "preparation was not finished" if folder.is_dir() else "there is no such folder"
        raise DataError(
            folder,
            f"{problem} (no {MANIFEST})",
            remedy="Run `translucid prepare FILE... --from fr --to en -o FOLDER`; it continues "
            "where it was stopped.",
        )
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(path, f"not valid UTF-8: {error}", remedy=PREPARE_AGAIN) from error
    manifest = Manifest.from_json(text, path)
    size = 0
    for name, entry in manifest.splits.items():
        check_sizes(folder / name, entry, manifest.layout)
        size += sum(file_sizes(entry, manifest.layout).values())
    _check_tokenizer(folder / TOKENIZER, manifest.tokenizer.fingerprint)
    data = PreparedData(folder, manifest)
    if size <= _SMALL:
        data.verify()
    return data


def _check_tokenizer(path: Path, fingerprint: str) -> None:
    file_size(path)
    actual = hashlib.sha256(path.read_bytes()).hexdigest()
    if actual != fingerprint:
        raise DataError(
            path,
            f"this is not the tokenizer that made the tokens: its SHA-256 is {actual}, "
            f"not {fingerprint}",
            remedy="Put the right tokenizer back, or run `translucid prepare` again.",
        )


class Split:
    """The sentence pairs of one split, read through memory maps.

    Files are opened when they are needed; a copy sent to another process opens them again.

    A mapped page counts as memory of the process, and each sentence maps many pages around it (half
    a megabyte on some systems), so that reading in random order would soon keep a large split in
    memory. Therefore the pages of a large split are released every few hundred sentences.
    """

    def __init__(self, folder: Path, entry: SplitEntry, layout: Layout) -> None:
        self.folder, self.entry, self.layout = folder, entry, layout
        self._maps: dict[str, _Map] = {}
        self._read = 0
        self._large = sum(file_sizes(entry, layout).values()) > _SMALL

    def __reduce__(self) -> tuple[object, ...]:
        return Split, (self.folder, self.entry, self.layout)

    def __len__(self) -> int:
        return self.entry.pairs

    def tokens(self, lang: str, pair: int) -> NDArray[np.unsignedinteger]:
        """Return the token ids of one sentence, a view of the file."""
        begin, end = self._bounds(lang, "offsets", pair)
        self._count_read(1)
        return self._map(f"{lang}.tokens", self.layout.token_type)[begin:end]

    def text(self, lang: str, pair: int) -> str:
        """Return one sentence as text."""
        begin, end = self._bounds(lang, "text_offsets", pair)
        self._count_read(1)
        return self._map(f"{lang}.text", np.dtype("u1"))[begin:end].tobytes().decode()

    def lengths(self, lang: str, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of tokens of some sentences of one side."""
        offsets = self._index(lang, "offsets")
        return (offsets[pairs + 1] - offsets[pairs]).astype(np.int64)

    def rows(self, lang: str, pairs: NDArray[np.int64]) -> Rows:
        """Return the tokens of some sentences of one side."""
        offsets = self._index(lang, "offsets")
        tokens = self._map(f"{lang}.tokens", self.layout.token_type)
        found = [Rows(tokens[:0], np.empty(0, np.int64))]
        for first in range(0, len(pairs), _SENTENCES_BETWEEN_RELEASES):
            some = pairs[first : first + _SENTENCES_BETWEEN_RELEASES]
            begins, ends = offsets[some], offsets[some + 1]
            bounds = zip(begins.tolist(), ends.tolist(), strict=True)
            read = np.concatenate([tokens[begin:end] for begin, end in bounds])
            found.append(Rows(read, (ends - begins).astype(np.int64)))
            self._count_read(len(some))
        return Rows.concatenate(found)

    def origin(self, pair: int) -> Origin:
        """Return the corpus and line that a pair came from."""
        self._check_pair(pair)
        corpus, line = self._map("origin", ORIGIN)[pair]
        return Origin(int(corpus), int(line))

    def corpora(self, pairs: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the corpus numbers of some pairs."""
        corpora: NDArray[np.uint32] = self._map("origin", ORIGIN)["corpus"][pairs]
        return corpora

    def release(self) -> None:
        """Release the memory of the pages read so far; the system can read them again."""
        for mapped in self._maps.values():
            mapped.release()
        self._read = 0

    def _count_read(self, sentences: int) -> None:
        self._read += sentences
        if self._large and self._read >= _SENTENCES_BETWEEN_RELEASES:
            self.release()

    def _bounds(self, lang: str, kind: str, pair: int) -> tuple[int, int]:
        self._check_pair(pair)
        begin, end = self._index(lang, kind)[pair : pair + 2]
        return int(begin), int(end)

    def _check_pair(self, pair: int) -> None:
        if not 0 <= pair < len(self):
            raise InputError(
                f"{self.folder} has no pair {pair}: it has {len(self):,}, counted from 0"
            )

    def _index(self, lang: str, kind: str) -> NDArray[np.uint64]:
        if lang not in self.layout.languages:
            known = " and ".join(self.layout.languages)
            raise InputError(f"{self.folder} has no language {lang!r}; it has {known}")
        return self._map(f"{lang}.{kind}", OFFSET)

    def _map(self, name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
        if name not in self._maps:
            self._maps[name] = _Map(self.folder / name, dtype)
        return self._maps[name].array


class _Map:
    """A file as a read-only array of numbers."""

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self.pages: mmap.mmap | None = None
        self.array: NDArray[Any] = np.empty(0, dtype)
        with path.open("rb") as file:
            if path.stat().st_size > 0:  # no system can map an empty file
                self.pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                self.array = np.frombuffer(self.pages, dtype)

    def release(self) -> None:
        if self.pages is not None and hasattr(mmap, "MADV_DONTNEED"):
            self.pages.madvise(mmap.MADV_DONTNEED)


_RECORDS_AT_A_TIME = 4096
_BYTES_AT_A_TIME = 1 << 20
_OFFSETS_AT_A_TIME = 1 << 17


class Record(NamedTuple):
    """One cleaned and encoded pair, to be written."""

    source: str
    target: str
    source_ids: Sequence[int]
    target_ids: Sequence[int]
    corpus: int
    line: int


def write_part(folder: Path, records: Iterable[Record], layout: Layout) -> SplitEntry:
    """Write one chunk of pairs as a folder and return its size.

    The folder appears completely or not at all; an older one of that name is replaced. Memory does
    not grow with the number of records.
    """
    with new_folder(folder) as draft, contextlib.ExitStack() as stack:
        sides = [_SideWriter(draft, lang, layout, stack) for lang in layout.languages]
        origins = stack.enter_context(synced(draft / "origin"))
        remaining = iter(records)
        pairs = 0
        while block := list(itertools.islice(remaining, _RECORDS_AT_A_TIME)):
            sides[0].write([r.source for r in block], [r.source_ids for r in block], block)
            sides[1].write([r.target for r in block], [r.target_ids for r in block], block)
            origins.write(np.array([(r.corpus, r.line) for r in block], dtype=ORIGIN).tobytes())
            pairs += len(block)
    return SplitEntry(
        pairs=pairs,
        tokens={side.lang: side.tokens.end for side in sides},
        text_bytes={side.lang: side.text.end for side in sides},
    )


def merge_parts(parts: Sequence[Path], folder: Path, layout: Layout) -> SplitEntry:
    """Concatenate parts, in the order given, into one folder and return its size.

    The result is byte for byte what `write_part` makes of all their records, however they were cut
    into parts. Memory does not grow with the data. The parts are left as they are.
    """
    entries = [measure(part, layout) for part in parts]
    with new_folder(folder) as draft:
        for lang in layout.languages:
            for kind, index in (("tokens", "offsets"), ("text", "text_offsets")):
                _concatenate([part / f"{lang}.{kind}" for part in parts], draft / f"{lang}.{kind}")
                _concatenate_offsets(
                    [part / f"{lang}.{index}" for part in parts], draft / f"{lang}.{index}"
                )
        _concatenate([part / "origin" for part in parts], draft / "origin")
    return SplitEntry(
        pairs=sum(entry.pairs for entry in entries),
        tokens={lang: sum(entry.tokens[lang] for entry in entries) for lang in layout.languages},
        text_bytes={
            lang: sum(entry.text_bytes[lang] for entry in entries) for lang in layout.languages
        },
    )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the checksums, and manifest.json, which declares the folder complete: do it last."""
    content = manifest.to_json().encode()
    names = [
        f"{split}/{name}"
        for split, entry in manifest.splits.items()
        for name in file_sizes(entry, manifest.layout)
    ]
    names += [path.name for path in folder.iterdir() if path.is_file()]
    own = Checksum(len(content), hashlib.sha256(content).hexdigest())
    write_checksums(folder, [*names, MANIFEST], {MANIFEST: own})
    with new_file(folder / MANIFEST) as file:
        file.write(content)


class _ArrayWriter:
    """A data file and the index of where each entry of it begins."""

    def __init__(self, data: BinaryIO, index: BinaryIO) -> None:
        self.data, self.index, self.end = data, index, 0
        index.write(np.zeros(1, OFFSET).tobytes())

    def write(self, data: bytes, lengths: Iterable[int]) -> None:
        offsets = self.end + np.cumsum(np.fromiter(lengths, OFFSET), dtype=OFFSET)
        self.data.write(data)
        self.index.write(offsets.tobytes())
        self.end = int(offsets[-1])


class _SideWriter:
    """The four files of one language."""

    def __init__(
        self, folder: Path, lang: str, layout: Layout, stack: contextlib.ExitStack
    ) -> None:
        self.lang, self.layout = lang, layout
        tokens, offsets, text, text_offsets = (
            stack.enter_context(synced(folder / f"{lang}.{kind}"))
            for kind in ("tokens", "offsets", "text", "text_offsets")
        )
        self.tokens = _ArrayWriter(tokens, offsets)
        self.text = _ArrayWriter(text, text_offsets)

    def write(
        self, texts: Sequence[str], ids: Sequence[Sequence[int]], block: Sequence[Record]
    ) -> None:
        flat = np.fromiter(itertools.chain.from_iterable(ids), np.int64)
        if flat.size and not PAD < flat.min() <= flat.max() < self.layout.vocab_size:
            raise InputError(self._bad_id(ids, block))
        self.tokens.write(flat.astype(self.layout.token_type).tobytes(), map(len, ids))
        encoded = [utf8(text) for text in texts]
        self.text.write(b"".join(encoded), map(len, encoded))

    def _bad_id(self, ids: Sequence[Sequence[int]], block: Sequence[Record]) -> str:
        size = self.layout.vocab_size
        record, wrong = next(
            (record, i)
            for record, row in zip(block, ids, strict=True)
            for i in row
            if not PAD < i < size
        )
        return (
            f"token id {wrong} ({self.lang} side, corpus {record.corpus}, line {record.line}) "
            f"cannot be in a sentence; with this vocabulary, ids go from {PAD + 1} to "
            f"{size - 1}. Use the tokenizer whose size the layout states."
        )


def _concatenate(sources: Sequence[Path], target: Path) -> None:
    with synced(target) as out:
        for source in sources:
            with source.open("rb") as file:
                shutil.copyfileobj(file, out, _BYTES_AT_A_TIME)


def _concatenate_offsets(sources: Sequence[Path], target: Path) -> None:
    """Concatenate indexes: the offsets of each part grow by the size of the parts before it."""
    base = np.zeros(1, OFFSET)
    with synced(target) as out:
        out.write(base.tobytes())
        for source in sources:
            end = base
            with source.open("rb") as file:
                file.seek(OFFSET.itemsize)
                while block := file.read(_OFFSETS_AT_A_TIME * OFFSET.itemsize):
                    moved = np.frombuffer(block, OFFSET) + base
                    out.write(moved.tobytes())
                    end = moved[-1:]
            base = end


TOKENIZER = "tokenizer.model"
OFFSET = np.dtype("<u8")
ORIGIN = np.dtype([("corpus", "<u4"), ("line", "<u4")])
PREPARE_AGAIN = "The folder is damaged or was copied in part. Run `translucid prepare` again."


def measure(folder: Path, layout: Layout) -> SplitEntry:
    """Return the size of a part or split from its files, after checking that they agree."""
    pairs = file_size(folder / "origin") // ORIGIN.itemsize
    entry = SplitEntry(
        pairs=pairs,
        tokens={lang: _last_offset(folder / f"{lang}.offsets") for lang in layout.languages},
        text_bytes={
            lang: _last_offset(folder / f"{lang}.text_offsets") for lang in layout.languages
        },
    )
    check_sizes(folder, entry, layout)
    return entry


def file_sizes(entry: SplitEntry, layout: Layout) -> dict[str, int]:
    """Return the size in bytes that every file of a split must have."""
    sizes = {"origin": entry.pairs * ORIGIN.itemsize}
    for lang in layout.languages:
        sizes |= {
            f"{lang}.tokens": entry.tokens[lang] * layout.token_type.itemsize,
            f"{lang}.offsets": (entry.pairs + 1) * OFFSET.itemsize,
            f"{lang}.text": entry.text_bytes[lang],
            f"{lang}.text_offsets": (entry.pairs + 1) * OFFSET.itemsize,
        }
    return sizes


def check_sizes(folder: Path, entry: SplitEntry, layout: Layout) -> None:
    """Compare every file of a split with its stated size; raise DataError if one differs."""
    for name, size in file_sizes(entry, layout).items():
        if (actual := file_size(folder / name)) != size:
            raise DataError(
                folder / name,
                f"the file has {actual:,} bytes instead of {size:,}",
                remedy=PREPARE_AGAIN,
            )
    for lang in layout.languages:
        ends = {"offsets": entry.tokens[lang], "text_offsets": entry.text_bytes[lang]}
        for kind, end in ends.items():
            if (last := _last_offset(folder / f"{lang}.{kind}")) != end:
                raise DataError(
                    folder / f"{lang}.{kind}",
                    f"the last offset is {last:,} instead of {end:,}",
                    remedy=PREPARE_AGAIN,
                )


def file_size(path: Path) -> int:
    """Return the size of a file that must be there."""
    if not path.is_file():
        raise DataError(path, "the file is missing", remedy=PREPARE_AGAIN)
    return path.stat().st_size


def _last_offset(path: Path) -> int:
    size = file_size(path)
    if size == 0 or size % OFFSET.itemsize:
        raise DataError(
            path,
            f"the file has {size:,} bytes, which is not a whole number of 8-byte offsets",
            remedy=PREPARE_AGAIN,
        )
    with path.open("rb") as file:
        file.seek(-OFFSET.itemsize, os.SEEK_END)
        return int(np.frombuffer(file.read(), OFFSET)[0])
