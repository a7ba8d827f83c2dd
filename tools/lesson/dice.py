"""Chance that is the same on every machine, and that remembers which words it dealt.

Only `random.Random.random` is used, the one method whose sequence Python promises to keep.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar


class Word(Protocol):
    """An entry of the lexicon."""

    @property
    def key(self) -> str:
        """The name under which combinations of words are remembered."""
        ...


T = TypeVar("T")
W = TypeVar("W", bound=Word)


class Dice:
    """A source of choices; `words` holds the content words dealt since it was last cleared."""

    def __init__(self, seed: int, purpose: str) -> None:
        digest = hashlib.sha256(f"{seed} {purpose}".encode()).digest()
        self._random = random.Random(int.from_bytes(digest[:8], "big")).random
        self.words: list[str] = []

    def one(self, options: Sequence[T]) -> T:
        """Choose one of several options, all as likely."""
        return options[int(self._random() * len(options))]

    def word(self, options: Sequence[W]) -> W:
        """Choose a content word, and remember it."""
        chosen = self.one(options)
        self.note(chosen)
        return chosen

    def note(self, *words: Word) -> None:
        """Remember content words that were chosen in another way."""
        self.words += [word.key for word in words]

    def until(self, draw: Callable[[Dice], T], accept: Callable[[T], bool]) -> T:
        """Draw until something is accepted; the words of what was refused are forgotten."""
        while True:
            before = len(self.words)
            drawn = draw(self)
            if accept(drawn):
                return drawn
            del self.words[before:]

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self._random() < probability

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order (Fisher and Yates)."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = int(self._random() * (last + 1))
            order[last], order[other] = order[other], order[last]
        return order
