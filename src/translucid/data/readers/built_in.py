"""Corpora that come with the package: the lesson, and three tasks on strings of letters.

The lesson has 98,126 French and English pairs, with dev and test sets. They are data of the
package, ``data/lesson.tsv.xz``: split, French and English on each line. A grammar wrote them
(`tools/lesson` in the repository). Each held-out sentence combines words that never occur together
in training, while each of its words occurs there often.

The tasks are the first things to try on a network, as it is clear what it must learn::

    copy      d a c b   →   d a c b
    reverse   d a c b   →   b c a d
    sort      d a c b   →   a b c d
"""

from __future__ import annotations

import hashlib
import lzma
import random
import string
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from translucid.data.readers.corpus import Corpus, Pair, ReadReport, register_reader
from translucid.errors import DataError, InputError
from translucid.files import new_file
from translucid.text.languages import matches

LESSON = "lesson"
LESSON_LANGUAGES = ("fr", "en")
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
    """Yield the pairs of a split, by default those for training."""
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
    """Write train.tsv, dev.tsv and test.tsv: a line that names the languages, then the pairs."""
    if folder.exists() and not folder.is_dir():
        raise InputError(
            f"{folder} is a file; the lesson is written to a folder. Give another name."
        )
    folder.mkdir(parents=True, exist_ok=True)
    files = LessonFiles(*(folder / f"{split}.tsv" for split in SPLITS))
    for path, split in zip(files, SPLITS, strict=True):
        with new_file(path) as file:
            pairs = (LESSON_LANGUAGES, *lesson_pairs(split))
            file.write("".join(f"{french}\t{english}\n" for french, english in pairs).encode())
    return files


def check_lesson_languages(languages: tuple[str, str]) -> None:
    """Refuse other languages than those of the lesson, in either order."""
    order = LESSON_LANGUAGES
    for one, other in (order, order[::-1]):
        if matches(one, languages[0]) and matches(other, languages[1]):
            return
    raise InputError(
        f"the built-in lesson is in {order[0]} and {order[1]}, not in {languages[0]} and "
        f"{languages[1]}"
    )


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


PAIRS = 30_000
LONGEST = 12  # letters of a string
SEED = 0

TASKS: dict[str, Callable[[Sequence[str]], Sequence[str]]] = {
    "copy": lambda letters: letters,
    "reverse": lambda letters: letters[::-1],
    "sort": sorted,
}


def read_string_task(corpus: Corpus, report: ReadReport) -> Iterator[Pair]:
    """Yield strings with their answers, the same on every machine."""
    del report  # it skips nothing and reads no file
    answer = TASKS[corpus.format]
    draw = random.Random(SEED)  # noqa: S311 - nothing secret
    for number in range(1, PAIRS + 1):
        letters = draw.choices(string.ascii_lowercase, k=draw.randint(1, LONGEST))
        yield Pair(" ".join(letters), " ".join(answer(letters)), number)


register_reader(LESSON, read_lesson)
for _task in TASKS:
    register_reader(_task, read_string_task)
