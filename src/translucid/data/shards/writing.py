"""Writing shards: chunks by any number of processes, then one folder from all of them."""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from translucid.atomic import new_file, new_folder, synced
from translucid.data.shards.files import OFFSET, ORIGIN, measure
from translucid.data.shards.manifest import MANIFEST, Layout, Manifest, SplitEntry
from translucid.errors import InputError
from translucid.text.tokenizer import PAD, utf8

_RECORDS_AT_A_TIME = 4096
_BYTES_AT_A_TIME = 1 << 20
_OFFSETS_AT_A_TIME = 1 << 17


class Record(NamedTuple):
    """One cleaned and encoded pair on its way to disk."""

    source: str
    target: str
    source_ids: Sequence[int]
    target_ids: Sequence[int]
    corpus: int
    line: int


def write_part(folder: Path, records: Iterable[Record], layout: Layout) -> SplitEntry:
    """Write one chunk of pairs as a folder of its own and return its size.

    The folder appears all at once or not at all; an older one of that name is replaced. Memory does
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

    The result is byte for byte what `write_part` makes of all their records, however these were cut
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
    """Write manifest.json, which declares the folder complete: to be done last."""
    with new_file(folder / MANIFEST) as file:
        file.write(manifest.to_json().encode())


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
            f"cannot stand in a sentence; with this vocabulary, ids go from {PAD + 1} to "
            f"{size - 1}. Use the tokenizer whose size the layout states."
        )


def _concatenate(sources: Sequence[Path], target: Path) -> None:
    with synced(target) as out:
        for source in sources:
            with source.open("rb") as file:
                shutil.copyfileobj(file, out, _BYTES_AT_A_TIME)


def _concatenate_offsets(sources: Sequence[Path], target: Path) -> None:
    """Concatenate indexes: each part's offsets move up by what the parts before it hold."""
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
