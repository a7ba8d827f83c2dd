"""Names, number types and sizes of the files of a split."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from translucid.data.shards.manifest import Layout, SplitEntry
from translucid.errors import DataError

TOKENIZER = "tokenizer.model"
OFFSET = np.dtype("<u8")
ORIGIN = np.dtype([("corpus", "<u4"), ("line", "<u4")])
AGAIN = "The folder is damaged or was copied in part. Run `translucid prepare` again."


def measure(folder: Path, layout: Layout) -> SplitEntry:
    """Read the size of a part or split from its files, and check that they agree."""
    pairs = file_size(folder / "origin") // ORIGIN.itemsize
    entry = SplitEntry(
        pairs=pairs,
        tokens={lang: _last_offset(folder / f"{lang}.offsets") for lang in layout.languages},
        text_bytes={
            lang: _last_offset(folder / f"{lang}.text_offsets") for lang in layout.languages
        },
    )
    check_sizes(folder, entry, layout)
    return entry


def file_sizes(entry: SplitEntry, layout: Layout) -> dict[str, int]:
    """Return the size in bytes that every file of a split must have."""
    sizes = {"origin": entry.pairs * ORIGIN.itemsize}
    for lang in layout.languages:
        sizes |= {
            f"{lang}.tokens": entry.tokens[lang] * layout.token_type.itemsize,
            f"{lang}.offsets": (entry.pairs + 1) * OFFSET.itemsize,
            f"{lang}.text": entry.text_bytes[lang],
            f"{lang}.text_offsets": (entry.pairs + 1) * OFFSET.itemsize,
        }
    return sizes


def check_sizes(folder: Path, entry: SplitEntry, layout: Layout) -> None:
    """Compare every file of a split with its stated size; refuse the first that differs."""
    for name, size in file_sizes(entry, layout).items():
        if (actual := file_size(folder / name)) != size:
            raise DataError(
                folder / name,
                f"the file has {actual:,} bytes instead of {size:,}",
                remedy=AGAIN,
            )
    for lang in layout.languages:
        ends = {"offsets": entry.tokens[lang], "text_offsets": entry.text_bytes[lang]}
        for kind, end in ends.items():
            if (last := _last_offset(folder / f"{lang}.{kind}")) != end:
                raise DataError(
                    folder / f"{lang}.{kind}",
                    f"the last offset is {last:,} instead of {end:,}",
                    remedy=AGAIN,
                )


def file_size(path: Path) -> int:
    """Return the size of a file that must be there."""
    if not path.is_file():
        raise DataError(path, "the file is missing", remedy=AGAIN)
    return path.stat().st_size


def _last_offset(path: Path) -> int:
    size = file_size(path)
    if size == 0 or size % OFFSET.itemsize:
        raise DataError(
            path,
            f"the file has {size:,} bytes, which is no whole number of 8-byte offsets",
            remedy=AGAIN,
        )
    with path.open("rb") as file:
        file.seek(-OFFSET.itemsize, os.SEEK_END)
        return int(np.frombuffer(file.read(), OFFSET)[0])
