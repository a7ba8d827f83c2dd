"""The built-in lesson: 98,126 French and English pairs, with dev and test sets of their own.

They are data of the package, ``data/lesson.tsv.xz``: a split, French and English on each line. A
grammar wrote them (`tools/lesson` in the repository). Each held-out sentence combines words that
are never together in training, while each of its words is seen there often.
"""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from translucid.atomic import new_file
from translucid.data.corpus.corpus import Corpus, Pair
from translucid.data.corpus.report import ReadReport
from translucid.errors import DataError, InputError
from translucid.text.languages import matches

NAME = "lesson"
LANGUAGES = ("fr", "en")
FILE = Path(__file__).parent.parent / "lesson.tsv.xz"
SHA256 = "4caaa6ad09e5fab0d424c34201dbb0ab797ab001e6dea27c12aef348c6b1cec8"  # of the lines

Split: TypeAlias = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)


class LessonFiles(NamedTuple):
    """Where the lesson was written."""

    train: Path
    dev: Path
    test: Path


def read_lesson(corpus: Corpus, report: ReadReport, split: Split = "train") -> Iterator[Pair]:
    """Yield the pairs of a split as those of a corpus."""
    del report  # nothing is skipped
    straight = matches("fr", corpus.source_lang)
    for number, (french, english) in enumerate(lesson_pairs(split), start=1):
        yield Pair(french, english, number) if straight else Pair(english, french, number)


def lesson_pairs(split: Split) -> tuple[tuple[str, str], ...]:
    """Return the pairs (French, English) of a split."""
    if split not in SPLITS:
        raise InputError(f"the lesson has no split {split!r}; it has {', '.join(SPLITS)}")
    return _read(FILE)[split]


def write_lesson(folder: Path) -> LessonFiles:
    """Write train.tsv, dev.tsv and test.tsv: one pair per line, French, a tab, English."""
    if folder.exists() and not folder.is_dir():
        raise InputError(
            f"{folder} is a file; the lesson is written to a folder. Give another name."
        )
    folder.mkdir(parents=True, exist_ok=True)
    files = LessonFiles(*(folder / f"{split}.tsv" for split in SPLITS))
    for path, split in zip(files, SPLITS, strict=True):
        with new_file(path) as file:
            file.write("".join(f"{fr}\t{en}\n" for fr, en in lesson_pairs(split)).encode())
    return files


@cache
def _read(path: Path) -> dict[Split, tuple[tuple[str, str], ...]]:
    """Read all splits; a damaged file is refused."""
    try:
        content = lzma.decompress(path.read_bytes())
    except (OSError, lzma.LZMAError) as error:
        raise _damaged(path, str(error)) from error
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise _damaged(path, "its checksum is not that of the lesson")
    pairs: dict[Split, list[tuple[str, str]]] = {split: [] for split in SPLITS}
    for line in content.decode().splitlines():
        name, french, english = line.split("\t")
        pairs[next(split for split in SPLITS if split == name)].append((french, english))
    return {split: tuple(each) for split, each in pairs.items()}


def _damaged(path: Path, problem: str) -> DataError:
    return DataError(
        path, f"the built-in lesson cannot be read: {problem}", remedy="Install the package again."
    )
