"""The lesson as a corpus: what is drawn, what is kept apart, and the files it is written to.

Some pairs of content words are reserved by a hash of their names: the wolf is never seen with the
bridge, say. A sentence that holds a reserved pair goes to the held-out data, every other one to the
training data, whatever the seed. So each held-out sentence combines words that were never together
in training, while each of its words was seen there often.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations, islice
from pathlib import Path
from typing import Literal, NamedTuple

from translucid.atomic import new_file
from translucid.data.lesson.constructions import CONSTRUCTIONS, Construction
from translucid.data.lesson.dice import Dice
from translucid.data.lesson.expressions import EXPRESSIONS
from translucid.data.lesson.phrases import Both
from translucid.errors import InputError
from translucid.text.normalize import comparison_key

HELD_OUT = 1000
"""Pairs in each of the two held-out splits."""

SEEN_OFTEN = 20
"""How often training must show each word of a held-out sentence."""

# One pair of words in so many is reserved for held-out data.
_RESERVED_SHARE = 60
# A construction that runs out of new sentences is left after so many draws for each one wanted.
_MOST_DRAWS = 8
# The sentence of the famous picture, both ways, is always held out: these two never meet.
_RESERVED = frozenset({"noun animal", "noun street"})
FAMOUS: tuple[Both, ...] = (
    Both(
        "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
        "The animal didn't cross the street because it was too tired.",
    ),
    Both(
        "L'animal n'a pas traversé la rue parce qu'elle était trop large.",
        "The animal didn't cross the street because it was too wide.",
    ),
)


class Drawn(NamedTuple):
    """A pair as it was drawn, and whether some of its words are reserved for held-out data."""

    pair: Both
    held_out: bool


def draws(construction: Construction, seed: int) -> Iterator[Drawn]:
    """Draw pairs from one construction without end; the same one may come again."""
    dice = Dice(seed, f"{construction.__module__}.{construction.__qualname__}")
    while True:
        dice.words.clear()
        pair = construction(dice)
        yield Drawn(pair, has_reserved_words(dice.words))


def has_reserved_words(words: Iterable[str]) -> bool:
    """Tell whether two of these content words may be together in held-out data only."""
    return any(_is_reserved(first, second) for first, second in combinations(sorted(set(words)), 2))


@cache
def _is_reserved(first: str, second: str) -> bool:
    digest = hashlib.sha256(f"{first} + {second}".encode()).digest()
    chosen = int.from_bytes(digest[:4], "big") % _RESERVED_SHARE == 0
    return chosen or {first, second} == _RESERVED


@dataclass(frozen=True)
class Lesson:
    """The whole corpus for one seed."""

    train: tuple[Both, ...]
    dev: tuple[Both, ...]
    test: tuple[Both, ...]


@lru_cache(maxsize=1)
def lesson(seed: int) -> Lesson:
    """Make the corpus; the last one made is kept, for its parts are asked for one by one."""
    train, reserved = _draw_all(seed)
    dev, test = _held_out(reserved, train)
    return Lesson(tuple(Dice(seed, "order").shuffled(train)), dev, test)


def _draw_all(seed: int) -> tuple[list[Both], list[Both]]:
    """Draw every construction's share of training pairs, and collect the reserved ones met.

    A French sentence has one translation in the corpus, and an English one too: what would give a
    second is left out.
    """
    train, reserved = dict.fromkeys(EXPRESSIONS), dict.fromkeys(FAMOUS)
    french, english = {pair.french for pair in train}, {pair.english for pair in train}
    for construction, share in CONSTRUCTIONS.items():
        wanted = len(train) + share
        for pair, held_out in islice(draws(construction, seed), _MOST_DRAWS * share):
            if held_out:
                reserved[pair] = None
            elif pair.french not in french and pair.english not in english:
                train[pair] = None
                french.add(pair.french)
                english.add(pair.english)
                if len(train) == wanted:
                    break
    return list(train), list(reserved)


def _held_out(
    reserved: Iterable[Both], train: Sequence[Both]
) -> tuple[tuple[Both, ...], tuple[Both, ...]]:
    """Choose dev and test pairs of well-known words that share no sentence with training.

    A hash of the pair decides about its split and its place, so that a change of one construction
    moves few of the others.
    """
    seen = (
        _words("\n".join(pair.french for pair in train)),
        _words("\n".join(pair.english for pair in train)),
    )
    taken = {key for pair in train for key in _keys(pair)}
    splits: tuple[list[Both], list[Both]] = ([], [])
    for pair in sorted(reserved, key=_rank):
        chosen = splits[1 if pair in FAMOUS else _rank(pair)[-1] % 2]
        keys = _keys(pair)
        known = all(
            seen[side][word] >= SEEN_OFTEN for side in (0, 1) for word in _words(pair[side])
        )
        if known and len(chosen) < HELD_OUT and not taken.intersection(keys):
            chosen.append(pair)
            taken.update(keys)
    return tuple(splits[0]), tuple(splits[1])


def _rank(pair: Both) -> bytes:
    """Return the place of a pair among the candidates; the famous ones come first."""
    return b"" if pair in FAMOUS else hashlib.sha256("\t".join(pair).encode()).digest()


def _keys(pair: Both) -> tuple[str, str]:
    return f"fr {comparison_key(pair.french)}", f"en {comparison_key(pair.english)}"


_WORD = re.compile(r"\w+")


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def lesson_pairs(seed: int) -> Iterator[tuple[str, str]]:
    """Yield the training pairs (French, English) in an order that the seed decides."""
    yield from lesson(seed).train


def held_out_pairs(seed: int, split: Literal["dev", "test"]) -> list[tuple[str, str]]:
    """Return the pairs (French, English) of a held-out split, made of unseen combinations."""
    made = lesson(seed)
    splits = {"dev": made.dev, "test": made.test}
    if split not in splits:
        raise InputError(
            f"the lesson has no split {split!r}; it has: {', '.join(splits)} "
            "(lesson_pairs gives the training pairs)"
        )
    return list(splits[split])


class LessonFiles(NamedTuple):
    """Where the lesson was written."""

    train: Path
    dev: Path
    test: Path


def write_lesson(folder: Path, *, seed: int) -> LessonFiles:
    """Write train.tsv, dev.tsv and test.tsv: a pair a line, French, a tab, English."""
    if folder.exists() and not folder.is_dir():
        raise InputError(
            f"{folder} is a file; the lesson is written to a folder. Give another name."
        )
    folder.mkdir(parents=True, exist_ok=True)
    made = lesson(seed)
    files = LessonFiles(*(folder / f"{name}.tsv" for name in LessonFiles._fields))
    for path, pairs in zip(files, (made.train, made.dev, made.test), strict=True):
        with new_file(path) as file:
            file.write("".join(f"{french}\t{english}\n" for french, english in pairs).encode())
    return files
