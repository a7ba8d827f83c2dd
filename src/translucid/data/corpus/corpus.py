"""A corpus, and the pair of sentences that reading it gives."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Pair(NamedTuple):
    """Two sentences that translate each other, and the line of the file where they stand.

    ``line`` counts from 1. In XML it is the line where the unit or segment opens; in Parquet, which
    has no lines, the row; in a built-in corpus, the number of the pair.
    """

    source: str
    target: str
    line: int


@dataclass(frozen=True)
class Corpus:
    """Where sentence pairs come from: one file, two line-aligned files, or a built-in one.

    ``paths`` holds the source file and the target file of a line-aligned pair (format ``text``),
    the one file of any other format, and nothing for a built-in corpus. ``weight`` says how often
    each pair is seen in an epoch. ``fields`` names the source and the target column of a TSV or
    Parquet file or field of a JSON object; ``None`` leaves it to the names found in the file.
    """

    paths: tuple[Path, ...]
    format: str
    weight: float
    source_lang: str
    target_lang: str
    fields: tuple[str, str] | None

    @property
    def name(self) -> str:
        """Return the name a person knows it by: its files, or the format where it has none."""
        return " + ".join(str(path) for path in self.paths) or self.format

    @property
    def languages(self) -> tuple[str, str]:
        """Return the language of the source and that of the target."""
        return self.source_lang, self.target_lang

    def size(self) -> int:
        """Return the bytes of its files on disk, the total that `ReadReport.bytes_read` runs to."""
        return sum(path.stat().st_size for path in self.paths)
