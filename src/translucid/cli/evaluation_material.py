"""What an evaluation works on: languages, sentences with references, translations of them."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from translucid.cli.evaluation_recipe import file_facts
from translucid.cli.reader_choice import Reader
from translucid.errors import InputError

if TYPE_CHECKING:
    from translucid.data.shards import PreparedData
    from translucid.decoding.settings import SearchConfig
    from translucid.evaluation.evaluate import Frequencies, Scoring
    from translucid.evaluation.reference_set import ReferenceSet
    from translucid.evaluation.system import Outputs
    from translucid.events import Emit
    from translucid.translator import Translator

MOST_LINES = 100  # more do not tell more about their language


@dataclass(frozen=True)
class Languages:
    """Source and target language; None where nobody has said."""

    source: str | None
    target: str | None


def languages_of(
    translator: Translator | None,
    place: Place,
    source: str | None,
    target: str | None,
) -> Languages:
    """Find the languages: as asked for, else those of the model, else those of the data.

    Where a model has several, the source language decides: as asked for, or that of the sentences.
    """
    data = place.data
    if translator is not None:
        if target is None:
            begun = source or place.only_source
            targets = [into for language, into in translator.directions if language == begun]
            target = targets[0] if len(targets) == 1 else None
        target = translator.target_language(target, () if target else place.beginning())
        sources = [one for one, other in translator.directions if other == target]
        known = source or (sources[0] if len(sources) == 1 else None)
        return Languages(known, target)
    if data is not None:
        manifest = data.manifest
        pair = (manifest.source_lang, manifest.target_lang)
        if target is not None and target != pair[1]:
            pair = (pair[1], pair[0])
        return Languages(source or pair[0], target or pair[1])
    return Languages(source, target)


@dataclass(frozen=True)
class Place:
    """Where the sentences come from: two or more files, or a split of prepared data."""

    source: Path | None
    references: tuple[Path, ...]
    data: PreparedData | None
    asked_split: str | None

    def __post_init__(self) -> None:
        files = (self.source is not None, bool(self.references))
        if any(files) != all(files) or not (any(files) or self.data):
            raise InputError(
                "give both --src FILE and --ref FILE, or --data DATA for the test set of prepared "
                "data"
            )
        if self.source is not None and self.asked_split is not None:
            raise InputError(
                f"--split {self.asked_split}: the sentences are those of --src; leave one out"
            )

    @property
    def split(self) -> str:
        """The split of prepared data that is evaluated."""
        return self.asked_split or "test"

    @property
    def only_source(self) -> str | None:
        """The source language of the prepared data, where they are the sentences and it is one."""
        if self.source is not None or self.data is None:
            return None
        sources = {source for source, _ in self.data.manifest.directions}
        return sources.pop() if len(sources) == 1 else None

    def beginning(self) -> list[str]:
        """Return the first source sentences, to know their language by, if they are in a file."""
        from translucid.evaluation.reference_set import read_lines

        return [] if self.source is None else list(read_lines(self.source)[:MOST_LINES])

    def sentences(self, languages: Languages) -> ReferenceSet:
        """Read the sentences and their references."""
        from translucid.evaluation.reference_set import read_reference_set, split_of

        if self.source is not None:
            return read_reference_set(self.source, self.references)
        assert self.data is not None
        if languages.source is None or languages.target is None:
            raise InputError("the languages are not known: give --from LANG and --to LANG")
        return split_of(self.data, self.split, languages.source, languages.target)

    def facts(self) -> dict[str, Any]:
        """Return where the sentences come from, for the recipe."""
        if self.source is not None:
            return {
                "source": file_facts(self.source),
                "references": [file_facts(path) for path in self.references],
            }
        assert self.data is not None
        return {"folder": str(self.data.folder), "split": self.split}


def open_folder(data: Path | None) -> PreparedData | None:
    """Open prepared data, if any was named."""
    from translucid.data.shards import open_data

    return None if data is None else open_data(data)


@dataclass(frozen=True)
class Translating:
    """How models translate; the search is the model's own with what was given in its place."""

    given: dict[str, Any]
    reader: Reader
    batch_size: int

    def refuse_for_files(self) -> None:
        """Refuse options of the search where no model translates."""
        from translucid.cli.search_options import option

        asked = [option(name) for name, value in self.given.items() if value is not None]
        if asked := [*asked, *(["--read-back"] if self.reader.models else [])]:
            raise InputError(
                f"{', '.join(asked)}: the translations are there already; leave it out"
            )

    def search(self, translator: Translator) -> SearchConfig:
        """Return the search for a model."""
        from translucid.cli.search_options import search_of

        return search_of(translator.default_search, self.given, sample=False, terms=False)

    def outputs(
        self, translator: Translator, sentences: ReferenceSet, target: str, emit: Emit
    ) -> Outputs:
        """Translate sentences."""
        from translucid.evaluation.system import model_outputs

        found = translator.translate(
            sentences.sources,
            target=target,
            search=self.search(translator),
            reading_back=self.reader.reading_back,
            batch_size=self.batch_size,
            emit=emit,
        )
        return model_outputs(found, None)


@dataclass
class Clock:
    """Measures how long something takes."""

    seconds: float = 0.0

    def __enter__(self) -> Clock:
        self._begin = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = round(time.perf_counter() - self._begin, 3)


def frequencies_of(
    data: PreparedData | None, text: Path | None, scoring: Scoring, emit: Emit
) -> Frequencies | None:
    """Count the words of the training data, or of a text file; None where neither is given."""
    from translucid.evaluation.breakdown import word_counts
    from translucid.evaluation.evaluate import Frequencies
    from translucid.evaluation.reference_set import read_lines

    words = scoring.target_words()
    if text is not None:
        lines = read_lines(text)
        return Frequencies(word_counts(lines, words, len(lines), emit), text.name)
    if data is None:
        return None
    if scoring.target_lang is None:
        raise InputError("the target language is not known: give --to LANG")
    split, language = data.split("train"), scoring.target_lang
    texts = (split.text(language, pair) for pair in range(len(split)))
    return Frequencies(word_counts(texts, words, len(split), emit), "the training data")


def folder_name(parts: Sequence[str]) -> str:
    """Join words to a name that every file system takes.

    >>> folder_name(["run/best", "test set.fr", "beam4"])
    'run-best-test-set.fr-beam4'
    """
    return "-".join(re.sub(r"[^\w.+]+", "-", part).strip("-.") for part in parts)
