"""Random segmentations for training, as pure functions of the word and of a stream of numbers.

- BPE-dropout: Provilkov, Emelianenko, Voita: "BPE-Dropout: Simple and Effective Subword
  Regularization" (2020), algorithm 1.
- Unigram sampling: Kudo: "Subword Regularization: Improving Neural Network Translation Models
  with Multiple Subword Candidates" (2018), section 3.2, over all segmentations.

sentencepiece has both, but draws from one generator per thread that cannot be set anew, so a
resumed run could not repeat what an uninterrupted one does.

In this file a piece is spelled with the space itself, not with sentencepiece's mark for it. No
piece has a space after its first character, so a text falls apart before each of its spaces into
words that are segmented independently; the product of the parts is the same distribution as that
of the whole.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
import math
import struct
from collections.abc import Callable, Iterator, Mapping

Uniform = Callable[[], float]

UNKNOWN_PENALTY = 10.0  # sentencepiece: an unknown character costs this more than any piece


def uniforms(key: bytes) -> Iterator[float]:
    """Yield numbers in [0, 1) that depend on the key alone, on every machine and version."""
    for block in itertools.count():
        digest = hashlib.blake2b(key, salt=block.to_bytes(16, "little")).digest()
        for number in struct.unpack("<8Q", digest):
            yield (number >> 11) * 2.0**-53


def bpe_segmentation(
    word: str, scores: Mapping[str, float], dropout: float, uniform: Uniform
) -> list[str]:
    """Return the pieces of a word by BPE, each possible merge of each step dropped at random.

    In each step every pair of neighbours whose union is a piece is a candidate; each is dropped
    with probability ``dropout``, and of those that are left the one with the highest score (then
    the leftmost) is merged. A step without candidates left ends it. Dropout 0 is plain BPE.

    The candidates are asked in the order of their scores, so only those before the winner need a
    random number. A word ends only where all its candidates are dropped in one step, so dropout
    does little to very long words, such as whole sentences of a script without spaces.
    """
    end = len(word)
    symbols = list(word)
    following = list(range(1, end + 1))
    preceding = list(range(-1, end - 1))
    heap: list[tuple[float, int, str]] = []  # candidates: (-score, index of the left symbol, union)
    dropped: list[tuple[float, int, str]] = []  # those dropped in this step

    def propose(left: int, union: str) -> None:
        score = scores.get(union)
        if score is not None:
            heapq.heappush(heap, (-score, left, union))

    for left in range(end - 1):
        propose(left, word[left : left + 2])
    while heap:
        candidate = heapq.heappop(heap)
        _, left, union = candidate
        right = following[left]
        # A neighbour may have been merged since the candidate was proposed.
        if not symbols[left] or right == end or symbols[left] + symbols[right] != union:
            continue
        if dropout and uniform() < dropout:
            dropped.append(candidate)
            continue
        symbols[left], symbols[right] = union, ""
        after = following[left] = following[right]
        if after < end:
            preceding[after] = left
            propose(left, union + symbols[after])
        if preceding[left] >= 0:
            propose(preceding[left], symbols[preceding[left]] + union)
        while dropped:
            heapq.heappush(heap, dropped.pop())
    return [symbol for symbol in symbols if symbol]


Lattice = list[list[tuple[int, float]]]


def unknown_score(scores: Mapping[str, float]) -> float:
    """Return the score at which the lattice crosses a character that is no piece."""
    return min(scores.values()) - UNKNOWN_PENALTY


def unigram_lattice(
    word: str, scores: Mapping[str, float], longest: int, unknown: float
) -> Lattice:
    """Return every piece in a word: at index e, the (start, score) of those that end at e.

    ``longest`` is the length of the longest piece. A character that is no piece itself is crossed
    at the score ``unknown``.
    """
    lattice: Lattice = [[] for _ in range(len(word) + 1)]
    for start in range(len(word)):
        for end in range(start + 1, min(start + longest, len(word)) + 1):
            score = scores.get(word[start:end])
            if score is not None:
                lattice[end].append((start, score))
            elif end == start + 1:
                lattice[end].append((start, unknown))
    return lattice


def unigram_segmentation(word: str, lattice: Lattice, alpha: float, uniform: Uniform) -> list[str]:
    """Draw one segmentation with probability proportional to exp(alpha · sum of its scores).

    Forward filtering: the log-weight of all segmentations of each beginning of the word. Backward
    sampling: from the end, each piece by its share in that weight.
    """
    totals = [0.0]
    for edges in lattice[1:]:
        weights = [totals[start] + alpha * score for start, score in edges]
        highest = max(weights)
        totals.append(highest + math.log(sum([math.exp(weight - highest) for weight in weights])))
    pieces: list[str] = []
    end = len(word)
    while end > 0:
        left = uniform()
        for start, score in lattice[end]:
            left -= math.exp(totals[start] + alpha * score - totals[end])
            if left < 0:
                break
        pieces.append(word[start:end])
        end = start
    return pieces[::-1]
