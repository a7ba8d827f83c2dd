"""Reading shards through memory maps."""

from __future__ import annotations

import hashlib
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from translucid.data.shards.files import (
    AGAIN,
    OFFSET,
    ORIGIN,
    TOKENIZER,
    check_sizes,
    file_size,
    file_sizes,
)
from translucid.data.shards.manifest import MANIFEST, Layout, Manifest, SplitEntry
from translucid.errors import DataError, InputError, nearest

_SMALL = 1 << 28  # bytes of a split that may stay in memory for good
_SENTENCES_BETWEEN_RELEASES = 256


class Origin(NamedTuple):
    """Where a pair came from: the corpus's number in the manifest, and the line there."""

    corpus: int
    line: int


@dataclass(frozen=True)
class PreparedData:
    """A complete data folder, as `open_data` has checked it."""

    folder: Path
    manifest: Manifest

    @property
    def tokenizer_path(self) -> Path:
        """The tokenizer that made the ids of this folder."""
        return self.folder / TOKENIZER

    def split(self, name: str) -> Split:
        """Return one of the folder's splits: ``train``, ``dev``, ``test``."""
        splits = self.manifest.splits
        if name not in splits:
            raise InputError(f"{self.folder} has no split {name!r}; {nearest(name, splits)}")
        return Split(self.folder / name, splits[name], self.manifest.layout)


def open_data(folder: Path) -> PreparedData:
    """Open a folder that `translucid prepare` has made, after checking that it is whole.

    Refuses by DataError a folder that is missing, unfinished, from a newer version, whose files do
    not have the sizes that the manifest states, or whose tokenizer is another one.
    """
    path = folder / MANIFEST
    if not path.is_file():
        problem = "preparation was not finished" if folder.is_dir() else "there is no such folder"
        raise DataError(
            folder,
            f"{problem} (no {MANIFEST})",
            remedy="Run `translucid prepare FILE... --from fr --to en -o FOLDER`; it goes on where "
            "it was stopped.",
        )
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(path, f"not valid UTF-8: {error}", remedy=AGAIN) from error
    manifest = Manifest.from_json(text, path)
    for name, entry in manifest.splits.items():
        check_sizes(folder / name, entry, manifest.layout)
    _check_tokenizer(folder / TOKENIZER, manifest.tokenizer.fingerprint)
    return PreparedData(folder, manifest)


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

    Nothing is opened before it is needed; a copy sent to another process opens the files anew.

    A mapped page counts as memory of the process, and each sentence read maps many around it (half
    a megabyte on some systems), so that a walk in random order would soon hold a large split whole.
    Therefore the pages of a large split are given back every few hundred sentences.
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
        self._have_read(1)
        return self._map(f"{lang}.tokens", self.layout.token_type)[begin:end]

    def text(self, lang: str, pair: int) -> str:
        """Return one sentence as text."""
        begin, end = self._bounds(lang, "text_offsets", pair)
        self._have_read(1)
        return self._map(f"{lang}.text", np.dtype("u1"))[begin:end].tobytes().decode()

    def lengths_of(self, lang: str, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of tokens of some sentences of one side."""
        offsets = self._index(lang, "offsets")
        return (offsets[pairs + 1] - offsets[pairs]).astype(np.int64)

    def rows(
        self, lang: str, pairs: NDArray[np.int64]
    ) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int64]]:
        """Return the tokens of some sentences, one after another, and the length of each."""
        offsets = self._index(lang, "offsets")
        tokens = self._map(f"{lang}.tokens", self.layout.token_type)
        found, lengths = [tokens[:0]], np.empty(len(pairs), np.int64)
        for first in range(0, len(pairs), _SENTENCES_BETWEEN_RELEASES):
            some = pairs[first : first + _SENTENCES_BETWEEN_RELEASES]
            begins, ends = offsets[some], offsets[some + 1]
            bounds = zip(begins.tolist(), ends.tolist(), strict=True)
            found.append(np.concatenate([tokens[begin:end] for begin, end in bounds]))
            lengths[first : first + len(some)] = ends - begins
            self._have_read(len(some))
        return np.concatenate(found), lengths

    def origin(self, pair: int) -> Origin:
        """Return the corpus and line that a pair came from."""
        self._refuse_outside(pair)
        corpus, line = self._map("origin", ORIGIN)[pair]
        return Origin(int(corpus), int(line))

    def corpus_of(self, pairs: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the corpus numbers of some pairs."""
        corpora: NDArray[np.uint32] = self._map("origin", ORIGIN)["corpus"][pairs]
        return corpora

    def release(self) -> None:
        """Give the memory of pages read so far back to the system, which can read them again."""
        for mapped in self._maps.values():
            mapped.release()
        self._read = 0

    def _have_read(self, sentences: int) -> None:
        self._read += sentences
        if self._large and self._read >= _SENTENCES_BETWEEN_RELEASES:
            self.release()

    def _bounds(self, lang: str, kind: str, pair: int) -> tuple[int, int]:
        self._refuse_outside(pair)
        begin, end = self._index(lang, kind)[pair : pair + 2]
        return int(begin), int(end)

    def _refuse_outside(self, pair: int) -> None:
        if not 0 <= pair < len(self):
            raise InputError(
                f"{self.folder} has no pair {pair}: it holds {len(self):,}, counted from 0"
            )

    def _index(self, lang: str, kind: str) -> NDArray[np.uint64]:
        if lang not in self.layout.languages:
            known = " and ".join(self.layout.languages)
            raise InputError(f"{self.folder} holds no language {lang!r}; it holds {known}")
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
