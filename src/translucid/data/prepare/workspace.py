"""The folder ``DATA/unfinished``: what a preparation has done so far, so that it can continue.

::

    DATA/unfinished/README.txt        what this is, for people who find it
    DATA/unfinished/job.json          which inputs and settings it is for
    DATA/unfinished/drafts/           files being written; they count only once renamed
    DATA/unfinished/cleaned/00000.npz chunks of cleaned pairs with their hashes
    DATA/unfinished/cleaned.json      all chunks are there
    DATA/unfinished/selection.npy     for each cleaned pair: training, dev, test, or why not
    DATA/unfinished/tokenizer.first   the vocabulary in the order in which it was learned
    DATA/unfinished/target_pieces.json  the number of pieces in target text, if it matters
    DATA/unfinished/tokenizer.model   the vocabulary
    DATA/unfinished/lexicon.npz       which words translate each other, for placeholders
    DATA/unfinished/encoded/00000/    training pairs of a chunk as shards
    DATA/unfinished/output/           what will be moved into DATA
    DATA/unfinished/finished.json     the output is complete and can be moved; its manifest

A file or folder gets its final name only when it is complete and on disk, and its content depends
only on inputs and settings. So a run that was killed at any moment, and continued, gives the same
bytes as one that was never stopped.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from translucid.data.prepare.report import PairTallies
from translucid.files import new_file, sync_folder, synced
from translucid.text.normalization import comparison_key

UNFINISHED = "unfinished"
_README = """\
Preparation of this data was not finished, or is still running.

Run the same `translucid prepare` command again and it continues where it was stopped; or delete
the folder. Nothing reads this data before it is complete, which the file manifest.json says.
"""
_numbers = itertools.count()


class Workspace:
    """The files of one unfinished preparation."""

    def __init__(self, output: Path) -> None:
        self.root = output / UNFINISHED
        self.drafts = self.root / "drafts"
        self.cleaned = self.root / "cleaned"
        self.all_cleaned = self.root / "cleaned.json"
        self.selection = self.root / "selection.npy"
        self.tokenizer = self.root / "tokenizer.model"
        self.target_pieces = self.root / "target_pieces.json"
        self.lexicon = self.root / "lexicon.npz"
        self.encoded = self.root / "encoded"
        self.output = self.root / "output"
        self.finished = self.root / "finished.json"

    def chunk(self, number: int) -> Path:
        """Return the path of a chunk of cleaned pairs."""
        return self.cleaned / f"{number:05}.npz"

    def part(self, number: int) -> Path:
        """Return the path of the shards of a chunk."""
        return self.encoded / f"{number:05}"

    def open(self, job: dict[str, Any]) -> bool:
        """Continue this job if it was begun here, or start it; return whether it continues."""
        path = self.root / "job.json"
        known = path.is_file() and read_json(path) == job
        if not known:
            self.remove()
            self.root.mkdir(parents=True)
        shutil.rmtree(self.drafts, ignore_errors=True)
        for folder in (self.drafts, self.cleaned, self.encoded, self.output):
            folder.mkdir(exist_ok=True)
        if not known:
            (self.root / "README.txt").write_text(_README, encoding="utf-8")
            write_json(path, job)
        return known

    def remove(self) -> None:
        """Remove the folder; job.json first, so that what remains after a kill is not used."""
        if self.root.exists():
            (self.root / "job.json").unlink(missing_ok=True)
            sync_folder(self.root)
            shutil.rmtree(self.root)


@contextlib.contextmanager
def draft_file(drafts: Path, path: Path) -> Iterator[BinaryIO]:
    """Open a file that gets its name when it is complete; each call writes to a new draft.

    So a worker that outlives a killed main process for a moment can never write into the same
    draft as a worker of the next run.
    """
    draft = draft_path(drafts)
    with synced(draft) as file:
        yield file
    draft.replace(path)
    sync_folder(path.parent)


def draft_path(drafts: Path) -> Path:
    """Return a path that no other process and no other call uses."""
    return drafts / f"{os.getpid()}-{next(_numbers)}"


def write_json(path: Path, values: Any) -> None:
    """Write readable JSON, completely or not at all."""
    with new_file(path) as file:
        file.write(json.dumps(values, ensure_ascii=False, indent=2).encode() + b"\n")


def read_json(path: Path) -> Any:
    """Read what `write_json` wrote."""
    return json.loads(path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Chunk:
    """Consecutive pairs of a corpus, cleaned, and what was repaired and removed.

    `read` counts the pairs before cleaning; `source_hashes` and `target_hashes` are those of the
    sentences' comparison keys, `pair_hashes` those of the exact text.
    """

    corpus: int
    read: int
    sources: list[str]
    targets: list[str]
    lines: NDArray[np.uint32]
    tallies: PairTallies

    def save(self, path: Path, drafts: Path) -> None:
        """Write the chunk with its hashes to a file, all at once."""
        about = {"corpus": self.corpus, "read": self.read, "findings": self.tallies.to_json()}
        arrays = {
            "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
            "lines": self.lines,
            "pair_hashes": pair_hashes(self.sources, self.targets),
            "source_hashes": sentence_hashes(self.sources),
            "target_hashes": sentence_hashes(self.targets),
            **_pack("source", self.sources),
            **_pack("target", self.targets),
        }
        with draft_file(drafts, path) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]  # numpy's stub misses the overload


def load_chunk(path: Path) -> Chunk:
    """Read a chunk with its text."""
    with np.load(path) as arrays:
        about = json.loads(arrays["about"].tobytes())
        return Chunk(
            corpus=about["corpus"],
            read=about["read"],
            sources=_unpack("source", arrays),
            targets=_unpack("target", arrays),
            lines=arrays["lines"],
            tallies=PairTallies.from_json(about["findings"]),
        )


@dataclass(frozen=True)
class ChunkSummary:
    """What is known about a chunk without reading its text, which has `text_bytes` bytes."""

    path: Path
    corpus: int
    read: int
    pairs: int
    text_bytes: int


def summarize_chunk(path: Path) -> tuple[ChunkSummary, PairTallies]:
    """Read the summary of a chunk, and what was repaired and removed in it."""
    with np.load(path) as arrays:
        about = json.loads(arrays["about"].tobytes())
        text_bytes = sum(int(arrays[f"{side}_ends"][-1:].sum()) for side in ("source", "target"))
        summary = ChunkSummary(
            path, about["corpus"], about["read"], len(arrays["lines"]), text_bytes
        )
        return summary, PairTallies.from_json(about["findings"])


def load_pair_hashes(path: Path) -> Hashes:
    """Read the hashes of a chunk's pairs."""
    with np.load(path) as arrays:
        hashes: Hashes = arrays["pair_hashes"]
        return hashes


def load_sentence_hashes(path: Path) -> tuple[Hashes, Hashes]:
    """Read the hashes of a chunk's source and target sentences."""
    with np.load(path) as arrays:
        return arrays["source_hashes"], arrays["target_hashes"]


def _pack(side: str, texts: list[str]) -> dict[str, NDArray[Any]]:
    encoded = [text.encode() for text in texts]
    return {
        f"{side}_text": np.frombuffer(b"".join(encoded), np.uint8),
        f"{side}_ends": np.cumsum([len(text) for text in encoded], dtype=np.int64),
    }


def _unpack(side: str, arrays: Any) -> list[str]:
    text, ends = arrays[f"{side}_text"].tobytes(), arrays[f"{side}_ends"].tolist()
    return [text[begin:end].decode() for begin, end in zip([0, *ends], ends, strict=False)]


Hashes: TypeAlias = NDArray[np.uint64]
HASH = np.dtype("<u8")


def sentence_hashes(texts: Iterable[str]) -> Hashes:
    """Return the hashes under which sentences are compared with held-out ones."""
    return _hashes(comparison_key(text).encode() for text in texts)


def pair_hashes(sources: Iterable[str], targets: Iterable[str]) -> Hashes:
    """Return the hashes of the exact text of pairs, of ("a", "bc") another than of ("ab", "c")."""
    encoded = ((s.encode(), t.encode()) for s, t in zip(sources, targets, strict=True))
    return _hashes(b"%d %b%b" % (len(source), source, target) for source, target in encoded)


def _hashes(data: Iterable[bytes]) -> Hashes:
    return np.frombuffer(b"".join(blake2b(d, digest_size=8).digest() for d in data), HASH)
