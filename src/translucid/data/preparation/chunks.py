"""Chunks of cleaned pairs on disk, each with the hashes that later stages look at first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from translucid.data.preparation.workspace import drafted_file
from translucid.data.report import Findings
from translucid.data.splits import Hashes, pair_hashes, sentence_hashes


@dataclass(frozen=True)
class Chunk:
    """Some pairs that follow one another in a corpus, cleaned, and what was found on the way.

    `read` counts the pairs before cleaning; `source_hashes` and `target_hashes` are those of the
    sentences' comparison keys, `pair_hashes` those of the exact text.
    """

    corpus: int
    read: int
    sources: list[str]
    targets: list[str]
    lines: NDArray[np.uint32]
    findings: Findings

    def save(self, path: Path, drafts: Path) -> None:
        """Write the chunk with its hashes to a file, all at once."""
        about = {"corpus": self.corpus, "read": self.read, "findings": self.findings.to_json()}
        arrays = {
            "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
            "lines": self.lines,
            "pair_hashes": pair_hashes(self.sources, self.targets),
            "source_hashes": sentence_hashes(self.sources),
            "target_hashes": sentence_hashes(self.targets),
            **_packed("source", self.sources),
            **_packed("target", self.targets),
        }
        with drafted_file(drafts, path) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]  # numpy's stub misses the overload


def load_chunk(path: Path) -> Chunk:
    """Read a chunk with its text."""
    with np.load(path) as arrays:
        about = json.loads(arrays["about"].tobytes())
        return Chunk(
            corpus=about["corpus"],
            read=about["read"],
            sources=_unpacked("source", arrays),
            targets=_unpacked("target", arrays),
            lines=arrays["lines"],
            findings=Findings.from_json(about["findings"]),
        )


@dataclass(frozen=True)
class ChunkSummary:
    """What is known of a chunk without reading its text, of which it has `text_bytes`."""

    path: Path
    corpus: int
    read: int
    pairs: int
    text_bytes: int


def summarize(path: Path) -> tuple[ChunkSummary, Findings]:
    """Read what a chunk says about itself, and what was found in it."""
    with np.load(path) as arrays:
        about = json.loads(arrays["about"].tobytes())
        text_bytes = sum(int(arrays[f"{side}_ends"][-1:].sum()) for side in ("source", "target"))
        summary = ChunkSummary(
            path, about["corpus"], about["read"], len(arrays["lines"]), text_bytes
        )
        return summary, Findings.from_json(about["findings"])


def load_pair_hashes(path: Path) -> Hashes:
    """Read the hashes of a chunk's pairs."""
    with np.load(path) as arrays:
        hashes: Hashes = arrays["pair_hashes"]
        return hashes


def load_sentence_hashes(path: Path) -> tuple[Hashes, Hashes]:
    """Read the hashes of a chunk's source and target sentences."""
    with np.load(path) as arrays:
        return arrays["source_hashes"], arrays["target_hashes"]


def _packed(side: str, texts: list[str]) -> dict[str, NDArray[Any]]:
    encoded = [text.encode() for text in texts]
    return {
        f"{side}_text": np.frombuffer(b"".join(encoded), np.uint8),
        f"{side}_ends": np.cumsum([len(text) for text in encoded], dtype=np.int64),
    }


def _unpacked(side: str, arrays: Any) -> list[str]:
    text, ends = arrays[f"{side}_text"].tobytes(), arrays[f"{side}_ends"].tolist()
    return [text[begin:end].decode() for begin, end in zip([0, *ends], ends, strict=False)]
