"""The lesson as a corpus: what is drawn, and what is kept apart.

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
from typing import NamedTuple

from lesson.constructions import CONSTRUCTIONS, Construction
from lesson.dice import Dice
from lesson.expressions import EXPRESSIONS
from lesson.phrases import Both
from translucid.text.normalization import comparison_key

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
    # By the name that the module had when the lesson was first written.
    name = f"translucid.data.{construction.__module__}.{construction.__qualname__}"
    dice = Dice(seed, name)
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


def lesson_lines(seed: int) -> bytes:
    """Return the corpus as lines: the split, French and English, with tabs between them."""
    made = lesson(seed)
    splits = {"train": made.train, "dev": made.dev, "test": made.test}
    lines = (f"{name}\t{fr}\t{en}\n" for name, pairs in splits.items() for fr, en in pairs)
    return "".join(lines).encode()
