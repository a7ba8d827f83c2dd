"""Sentences, and translations of them with known kinds of errors, for tests of scoring."""

from __future__ import annotations

import random

_TEXT = (
    "the a cat dog house tree river stone walks sleeps eats sees under over near small old red "
    "Green very isn't Anna's 1,000 3.5 well-known (perhaps) quickly, \"yes\" & then"
)
_WORDS = _TEXT.split()


def references(count: int, seed: int) -> list[str]:
    """Return sentences of 1 to 20 words with the punctuation that tokenizers differ on."""
    draw = random.Random(seed)
    return [
        " ".join(draw.choices(_WORDS, k=draw.randint(1, 20))).capitalize() + draw.choice(".!?")
        for _ in range(count)
    ]


def damaged(sentences: list[str], share: float, seed: int) -> list[str]:
    """Return translations in which so many words are wrong, missing or moved."""
    draw = random.Random(seed)
    return [_damaged(sentence, share, draw) for sentence in sentences]


def _damaged(sentence: str, share: float, draw: random.Random) -> str:
    words: list[str] = []
    for word in sentence.split():
        chance = draw.random() / share
        if chance < 0.5:
            words.append(draw.choice(_WORDS))
        elif chance < 0.8:
            words.insert(draw.randint(0, len(words)), word)
        elif chance >= 1.0:
            words.append(word)
    return " ".join(words)
