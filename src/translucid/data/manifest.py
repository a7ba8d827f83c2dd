"""What a prepared data folder says about itself: manifest.json."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter, ValidationError

from translucid.errors import DataError
from translucid.text.sentencepiece_model import FEWEST_PIECES
from translucid.text.tokenizer import TAG_SLOTS

MANIFEST = "manifest.json"
VERSION = 1

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")  # languages and splits become names of files


@dataclass(frozen=True)
class Layout:
    """What determines the format of a shard: its two languages and the vocabulary size."""

    languages: tuple[str, str]
    vocab_size: int

    @property
    def token_type(self) -> np.dtype[np.unsignedinteger]:
        """The number type of token ids on disk."""
        return np.dtype("<u2" if self.vocab_size <= 1 << 16 else "<u4")


@dataclass(frozen=True)
class TokenizerEntry:
    """The tokenizer that made the ids; the fingerprint is the SHA-256 of tokenizer.model.

    `target_pieces`: all ids of targets are below it; None if they may have any.
    """

    kind: str
    vocab_size: int
    fingerprint: str
    target_pieces: int | None = None

    @property
    def sizes(self) -> tuple[int, int]:
        """The vocabulary sizes of sources and targets."""
        return self.vocab_size, self.target_pieces or self.vocab_size


@dataclass(frozen=True)
class CorpusEntry:
    """A corpus: its files, how often each of its pairs comes per epoch, its size."""

    paths: tuple[str, ...]
    weight: float
    pairs: int


@dataclass(frozen=True)
class SplitEntry:
    """The size of a split: pairs, and for each language tokens and bytes of text."""

    pairs: int
    tokens: dict[str, int]
    text_bytes: dict[str, int]


@dataclass(frozen=True)
class Manifest:
    """The content of manifest.json.

    `languages` gives each language its tag slot. It may name more than the two of this folder: a
    model of three languages is trained on several folders that share this table and the tokenizer.
    With `tagged`, a source sentence begins with the tag of the target language. With `lowercase`,
    all text is in lower case, and with `plain_typography` it has only the apostrophes and quotes of
    a keyboard; in older folders both are missing and false.
    """

    version: int
    source_lang: str
    target_lang: str
    languages: dict[str, int]
    directions: tuple[tuple[str, str], ...]
    tagged: bool
    tokenizer: TokenizerEntry
    corpora: tuple[CorpusEntry, ...]
    splits: dict[str, SplitEntry]
    settings: dict[str, object]
    lowercase: bool = False
    plain_typography: bool = False

    @property
    def layout(self) -> Layout:
        """The format of this folder's shards."""
        return Layout((self.source_lang, self.target_lang), self.tokenizer.vocab_size)

    def to_json(self) -> str:
        """Return the content of manifest.json.

        `lowercase` and `plain_typography` are written only if true, and `target_pieces` only if it
        is a number: a run identifies its data by these bytes, and a run that was begun before these
        keys existed must still recognise it.
        """
        values = dataclasses.asdict(self)
        for name in ("lowercase", "plain_typography"):
            if not values[name]:
                del values[name]
        if self.tokenizer.target_pieces is None:
            del values["tokenizer"]["target_pieces"]
        return json.dumps(values, ensure_ascii=False, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str, path: Path) -> Manifest:
        """Read a manifest; a DataError that names `path` lists everything that is wrong with it."""
        remedy = "Restore the file, or run `translucid prepare` again."
        try:
            _refuse_newer(json.loads(text), path)
            manifest = _ADAPTER.validate_json(text)
        except json.JSONDecodeError as error:
            raise DataError(
                path, f"not valid JSON: {error.msg}", line=error.lineno, remedy=remedy
            ) from error
        except ValidationError as error:
            details = [
                f"{'.'.join(map(str, detail['loc'])) or 'content'}: {detail['msg']}"
                for detail in error.errors(include_url=False)
            ]
            raise DataError(path, "; ".join(details), remedy=remedy) from error
        if faults := list(_faults(manifest)):
            raise DataError(path, "; ".join(faults), remedy=remedy)
        return manifest


_ADAPTER = TypeAdapter(Manifest)


def _refuse_newer(values: object, path: Path) -> None:
    """Refuse a newer version before its unknown fields confuse the message."""
    version = values.get("version") if isinstance(values, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise DataError(
            path,
            f"the folder has version {version}; this translucid reads up to {VERSION}",
            remedy="Update translucid, or run `translucid prepare` again with this one.",
        )


def _faults(manifest: Manifest) -> Iterator[str]:
    """Yield what is wrong with a manifest whose fields have the right types."""
    sides = manifest.layout.languages
    for name in {*manifest.languages, *sides, *manifest.splits}:
        if not _NAME.fullmatch(name):
            yield f"{name!r} cannot be the name of a language or split"
    for lang in set(sides) - set(manifest.languages):
        yield f"languages gives no tag slot to {lang!r}"
    slots = list(manifest.languages.values())
    if len(set(slots)) < len(slots) or not all(0 <= slot < TAG_SLOTS for slot in slots):
        yield f"languages: tag slots must be different and from 0 to {TAG_SLOTS - 1}, not {slots}"
    size, written = manifest.tokenizer.sizes
    if not min(FEWEST_PIECES, size) <= written <= size:
        yield (
            f"tokenizer.target_pieces: must be from {FEWEST_PIECES} to the vocabulary's {size}, "
            f"not {written}"
        )
    if written != size and (len(manifest.directions) > 1 or manifest.tokenizer.kind != "bpe"):
        yield "tokenizer.target_pieces: only BPE and data of one direction can have it"
    for direction in manifest.directions:
        if set(direction) != set(sides):
            yield f"directions: {direction!r} does not join {sides[0]!r} and {sides[1]!r}"
    if not manifest.directions or len(set(manifest.directions)) < len(manifest.directions):
        yield f"directions: must be one or two different ones, not {manifest.directions!r}"
    for number, corpus in enumerate(manifest.corpora):
        if not (math.isfinite(corpus.weight) and corpus.weight >= 0):
            yield f"corpora.{number}.weight: must be 0 or more, not {corpus.weight}"
    for name, split in manifest.splits.items():
        if not set(split.tokens) == set(split.text_bytes) == set(sides):
            yield f"splits.{name}: must state the size of {sides[0]!r} and {sides[1]!r}"
