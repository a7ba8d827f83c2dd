"""Small prepared data folders for tests: real shards, made of random or given sentences."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from pathlib import Path

from translucid.data.manifest import VERSION, CorpusEntry, Manifest, TokenizerEntry
from translucid.data.shards import (
    TOKENIZER,
    PreparedData,
    Record,
    open_data,
    write_manifest,
    write_part,
)

VOCABULARY = 300
ONE_WAY = (("fr", "en"),)
BOTH_WAYS = (("fr", "en"), ("en", "fr"))


def record(source_ids: Sequence[int], target_ids: Sequence[int], line: int = 1) -> Record:
    """A pair whose text spells its ids, so that it can be recognised."""
    texts = [" ".join(map(str, ids)) for ids in (source_ids, target_ids)]
    return Record(texts[0], texts[1], source_ids, target_ids, 0, line)


def records_of_lengths(lengths: Sequence[tuple[int, int]], seed: int = 0) -> list[Record]:
    """Pairs of random tokens with these source and target lengths."""
    draw = random.Random(seed)
    return [
        record(*([draw.randrange(20, VOCABULARY) for _ in range(n)] for n in pair), line)
        for line, pair in enumerate(lengths, start=1)
    ]


def random_lengths(count: int, seed: int = 0) -> list[tuple[int, int]]:
    """Lengths like those of everyday sentences: most short, a few long, both sides alike."""
    draw = random.Random(seed)
    sources = [1 + int(draw.lognormvariate(2.0, 0.6)) for _ in range(count)]
    return [(n, max(1, round(n * draw.lognormvariate(0, 0.3)))) for n in sources]


def manifest_of(
    splits: dict[str, object],
    *,
    directions: Sequence[tuple[str, str]] = ONE_WAY,
    tagged: bool = False,
    weights: Sequence[float] = (1.0,),
    vocab_size: int = VOCABULARY,
    tokenizer: bytes = b"a stand-in",
) -> Manifest:
    return Manifest(
        version=VERSION,
        source_lang="fr",
        target_lang="en",
        languages={"en": 0, "fr": 1},
        directions=tuple(directions),
        tagged=tagged,
        tokenizer=TokenizerEntry("bpe", vocab_size, hashlib.sha256(tokenizer).hexdigest()),
        corpora=tuple(CorpusEntry((f"corpus{n}.tsv",), w, 0) for n, w in enumerate(weights)),
        splits=splits,  # type: ignore[arg-type]
        settings={"note": "for tests"},
    )


def make_data(
    folder: Path,
    records: Sequence[Record],
    *,
    directions: Sequence[tuple[str, str]] = ONE_WAY,
    tagged: bool = False,
    weights: Sequence[float] = (1.0,),
    vocab_size: int = VOCABULARY,
    tokenizer: bytes = b"a stand-in",
) -> PreparedData:
    """Write a complete folder with these pairs as its train split, and open it."""
    folder.mkdir(parents=True, exist_ok=True)
    options = {"directions": directions, "tagged": tagged, "weights": weights}
    options |= {"vocab_size": vocab_size, "tokenizer": tokenizer}
    layout = manifest_of({}, **options).layout  # type: ignore[arg-type]
    entry = write_part(folder / "train", records, layout)
    (folder / TOKENIZER).write_bytes(tokenizer)
    write_manifest(folder, manifest_of({"train": entry}, **options))  # type: ignore[arg-type]
    return open_data(folder)
