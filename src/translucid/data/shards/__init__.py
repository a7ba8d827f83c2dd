"""The prepared data folder: tokens and text on disk, read through memory maps.

::

    DATA/manifest.json        what is in the folder; written last, so its presence means "complete"
    DATA/tokenizer.model
    DATA/train/fr.tokens      the token ids of every sentence, one after another, no specials
    DATA/train/fr.offsets     where each sentence begins in them; n + 1 numbers, the last is the end
    DATA/train/fr.text        the same sentences as UTF-8
    DATA/train/fr.text_offsets
    DATA/train/en.…           the other side
    DATA/train/origin         for each pair, its corpus number and its line there

    tokens    12  7  431  9 │ 55  8 │ 310  4  4      Sentence 1 is tokens[4:6]; an empty sentence
    offsets    0             4       6           9   has two equal offsets.

Numbers are little-endian: token ids uint16 for a vocabulary of up to 65,536, otherwise uint32;
offsets uint64; origin two uint32. A folder of this layout is written under a temporary name, synced
and renamed, so a process killed at any moment leaves either all of it or nothing of that name.
"""

from __future__ import annotations

from translucid.data.shards.files import TOKENIZER, measure
from translucid.data.shards.manifest import (
    VERSION,
    CorpusEntry,
    Layout,
    Manifest,
    SplitEntry,
    TokenizerEntry,
)
from translucid.data.shards.reading import Origin, PreparedData, Split, open_data
from translucid.data.shards.writing import Record, merge_parts, write_manifest, write_part

__all__ = [
    "TOKENIZER",
    "VERSION",
    "CorpusEntry",
    "Layout",
    "Manifest",
    "Origin",
    "PreparedData",
    "Record",
    "Split",
    "SplitEntry",
    "TokenizerEntry",
    "measure",
    "merge_parts",
    "open_data",
    "write_manifest",
    "write_part",
]
