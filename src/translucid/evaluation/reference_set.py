"""Sentences to be translated, and the translations that people have made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from translucid.data.readers.corpus import ReadReport
from translucid.data.readers.lines import read_text_lines
from translucid.data.shards import PreparedData
from translucid.errors import DataError, InputError


@dataclass(frozen=True)
class ReferenceSet:
    """Source sentences with one or more references each; `name` is that of the source file.

    `references` holds one tuple of sentences for each set of references, as sacrebleu has them.
    """

    name: str
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.sources)

    def subset(self, places: Sequence[int]) -> ReferenceSet:
        """Return the sentences at these places."""
        return ReferenceSet(
            self.name,
            tuple(self.sources[place] for place in places),
            tuple(tuple(each[place] for place in places) for each in self.references),
        )


def read_reference_set(source: Path, references: Sequence[Path]) -> ReferenceSet:
    """Read line-aligned text files, plain or compressed."""
    sources = read_lines(source)
    if not sources:
        raise DataError(source, "the file has no lines", remedy="Give a file of source sentences.")
    return ReferenceSet(
        name=stem(source),
        sources=sources,
        references=tuple(read_aligned(path, source, len(sources)) for path in references),
    )


def read_aligned(path: Path, source: Path, lines: int) -> tuple[str, ...]:
    """Read a file that must have as many lines as that of the sources."""
    found = read_lines(path)
    if len(found) != lines:
        raise DataError(
            path,
            f"it has {len(found):,} lines, but {source} has {lines:,}: line by line, each is the "
            "translation of the other",
            remedy="Give files that belong together; a blank line counts, and no line may be lost.",
        )
    return found


def read_lines(path: Path) -> tuple[str, ...]:
    """Read all lines of a text file; a line ends at a newline and nowhere else."""
    return tuple(read_text_lines(path, (), ReadReport()))


def stem(path: Path) -> str:
    """Return a file's name without the endings that name compression and plain text.

    >>> stem(Path("data/test_2016.en.gz"))
    'test_2016.en'
    """
    name = path.name
    for ending in (".gz", ".xz", ".txt"):
        name = name.removesuffix(ending)
    return name or path.name


def split_of(data: PreparedData, split: str, source: str, target: str) -> ReferenceSet:
    """Take one split of prepared data in one direction."""
    for language in (source, target):
        if language not in data.manifest.languages:
            known = " and ".join(data.manifest.languages)
            raise InputError(f"{data.folder} holds no language {language!r}; it holds {known}")
    pairs = data.split(split)
    return ReferenceSet(
        name=f"{data.folder.name}-{split}",
        sources=tuple(pairs.text(source, pair) for pair in range(len(pairs))),
        references=(tuple(pairs.text(target, pair) for pair in range(len(pairs))),),
    )
