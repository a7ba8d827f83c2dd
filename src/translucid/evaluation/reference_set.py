"""Test sets: source sentences with the translations that people have made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from translucid.checksums import compute_checksum
from translucid.data.readers.corpus import ReadReport
from translucid.data.readers.lines import read_text_lines
from translucid.data.shards import PreparedData
from translucid.errors import DataError, InputError
from translucid.translator import Translator

_SAMPLE = 100  # lines by which a language is recognised


@dataclass(frozen=True)
class Languages:
    """Source and target language; None where unknown."""

    source: str | None
    target: str | None


@dataclass(frozen=True)
class ReferenceSet:
    """Source sentences with one or more references each; `name` is that of the source file.

    `references` holds one tuple of sentences per set of references, as in sacrebleu. `origin` says
    where the sentences come from.
    """

    name: str
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    origin: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def from_texts(
        cls, sources: Sequence[str], references: Sequence[str] | Sequence[Sequence[str]]
    ) -> ReferenceSet:
        """Build a set from sentences and their references, or from several lists of references."""
        if isinstance(sources, str) or isinstance(references, str):
            raise InputError("sources and references are lists of sentences: give lists")
        lists = [one for one in references if not isinstance(one, str)]
        texts = [one for one in references if isinstance(one, str)]
        if texts and lists:
            raise InputError("references are sentences or lists of sentences: do not mix them")
        columns = tuple(map(tuple, lists or [texts]))
        for column in columns:
            if len(column) != len(sources) or not sources:
                raise InputError(
                    f"{len(sources):,} sources and {len(column):,} references: give at least one "
                    "sentence, and a reference for each"
                )
        return cls("texts", tuple(sources), columns)

    def __len__(self) -> int:
        return len(self.sources)

    def subset(self, indices: Sequence[int]) -> ReferenceSet:
        """Return the sentences at these indices."""
        return ReferenceSet(
            self.name,
            tuple(self.sources[index] for index in indices),
            tuple(tuple(each[index] for index in indices) for each in self.references),
        )

    def languages(
        self, model: Translator | None, source: str | None, target: str | None
    ) -> Languages:
        """Return the languages: those given, else those of the model."""
        if model is None:
            return Languages(source, target)
        return _model_languages(model, source, target, None, lambda: self.sources[:_SAMPLE])


@dataclass(frozen=True)
class ReferenceSource:
    """Where a test set comes from: a source file with references, or a split of prepared data."""

    source: Path | None
    references: tuple[Path, ...]
    data: PreparedData | None
    split: str | None

    def __post_init__(self) -> None:
        files = (self.source is not None, bool(self.references))
        if any(files) != all(files) or not (any(files) or self.data):
            raise InputError(
                "give both --src FILE and --ref FILE, or --data DATA for the test set of prepared "
                "data"
            )
        if self.source is not None and self.split is not None:
            raise InputError(
                f"--split {self.split}: the sentences are those of --src; leave one out"
            )

    def languages(
        self, model: Translator | None, source: str | None, target: str | None
    ) -> Languages:
        """Return the languages: those given, else those of the model, else those of the data."""
        if model is not None:
            only = None if self.data is None or self.source else _only_source(self.data)
            return _model_languages(model, source, target, only, self._sample)
        if self.data is None:
            return Languages(source, target)
        pair = (self.data.manifest.source_lang, self.data.manifest.target_lang)
        if target is not None and target != pair[1]:
            pair = (pair[1], pair[0])
        return Languages(source or pair[0], target or pair[1])

    def _sample(self) -> Sequence[str]:
        return () if self.source is None else read_lines(self.source)[:_SAMPLE]

    def read(self, languages: Languages) -> ReferenceSet:
        """Read the sentences and their references."""
        if self.source is not None:
            return read_reference_set(self.source, self.references)
        assert self.data is not None
        if languages.source is None or languages.target is None:
            raise InputError("the languages are not known: give --from LANG and --to LANG")
        return read_split(self.data, self.split or "test", languages.source, languages.target)


def _only_source(data: PreparedData) -> str | None:
    """Return the source language of prepared data, where there is only one."""
    sources = {source for source, _ in data.manifest.directions}
    return sources.pop() if len(sources) == 1 else None


def _model_languages(
    model: Translator,
    source: str | None,
    target: str | None,
    only_source: str | None,
    sample: Callable[[], Sequence[str]],
) -> Languages:
    """Return the direction of a model: the source language decides, given or recognised."""
    if target is None:
        begun = source or only_source
        targets = [into for language, into in model.directions if language == begun]
        target = targets[0] if len(targets) == 1 else None
    target = model.target_language(target, () if target else sample())
    sources = [one for one, other in model.directions if other == target]
    return Languages(source or (sources[0] if len(sources) == 1 else None), target)


# ---- files --------------------------------------------------------------------------------------


def read_reference_set(source: Path, references: Sequence[Path]) -> ReferenceSet:
    """Read line-aligned text files, plain or compressed."""
    sources = read_lines(source)
    if not sources:
        raise DataError(source, "the file has no lines", remedy="Give a file of source sentences.")
    return ReferenceSet(
        name=stem(source),
        sources=sources,
        references=tuple(read_aligned(path, str(source), len(sources)) for path in references),
        origin={
            "source": describe_file(source),
            "references": [describe_file(path) for path in references],
        },
    )


def read_aligned(path: Path, source: str, lines: int) -> tuple[str, ...]:
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
    """Read all lines of a text file; only a newline ends a line."""
    return tuple(read_text_lines(path, (), ReadReport()))


def read_split(data: PreparedData, split: str, source: str, target: str) -> ReferenceSet:
    """Read one split of prepared data in one direction."""
    for language in (source, target):
        if language not in data.manifest.languages:
            known = " and ".join(data.manifest.languages)
            raise InputError(f"{data.folder} holds no language {language!r}; it holds {known}")
    pairs = data.split(split)
    return ReferenceSet(
        name=f"{data.folder.name}-{split}",
        sources=tuple(pairs.text(source, pair) for pair in range(len(pairs))),
        references=(tuple(pairs.text(target, pair) for pair in range(len(pairs))),),
        origin={"folder": str(data.folder), "split": split},
    )


def describe_file(path: Path) -> dict[str, Any]:
    """Return the name of a file and the hash of its bytes."""
    return {"path": str(path), "sha256": compute_checksum(path).sha256}


def stem(path: Path) -> str:
    """Return a file's name without the endings of compression and plain text.

    >>> stem(Path("data/test_2016.en.gz"))
    'test_2016.en'
    """
    name = path.name
    for ending in (".gz", ".xz", ".txt"):
        name = name.removesuffix(ending)
    return name or path.name
