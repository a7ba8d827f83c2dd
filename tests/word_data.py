"""A tiny language pair that a tiny network learns in seconds, prepared for training.

Each French number word has one English one, and the order of words is reversed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from shard_folders import ONE_WAY, manifest_of
from translucid.data.shards import (
    TOKENIZER,
    PreparedData,
    Record,
    open_data,
    write_manifest,
    write_part,
)
from translucid.text.tokenizer import train_tokenizer

FRENCH = ("un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix")
ENGLISH = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def word_pairs(count: int, seed: int, longest: int = 6) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    chosen = [
        [draw.randrange(len(FRENCH)) for _ in range(draw.randint(1, longest))] for _ in range(count)
    ]
    return [
        (" ".join(FRENCH[w] for w in words), " ".join(ENGLISH[w] for w in reversed(words)))
        for words in chosen
    ]


def word_data(
    folder: Path,
    splits: dict[str, Sequence[tuple[str, str]]],
    *,
    directions: Sequence[tuple[str, str]] = ONE_WAY,
    tagged: bool = False,
    more_words: Sequence[str] = (),
) -> PreparedData:
    """Write a complete data folder with a word tokenizer of its own, and open it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / TOKENIZER
    tokenizer = train_tokenizer(
        [*FRENCH, *ENGLISH, *more_words], kind="word", vocab_size=60, path=path
    )

    def manifest(entries: dict[str, object]):  # type: ignore[no-untyped-def]
        return manifest_of(
            entries,
            directions=directions,
            tagged=tagged,
            vocab_size=tokenizer.vocab_size,
            tokenizer=path.read_bytes(),
        )

    entries: dict[str, object] = {
        name: write_part(
            folder / name,
            [
                Record(fr, en, tokenizer.encode(fr), tokenizer.encode(en), 0, line)
                for line, (fr, en) in enumerate(pairs, start=1)
            ],
            manifest({}).layout,
        )
        for name, pairs in splits.items()
    }
    write_manifest(folder, manifest(entries))
    return open_data(folder)
