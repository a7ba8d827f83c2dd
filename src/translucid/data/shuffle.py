"""The order of examples: shuffled by pure functions, sorted by length, cut into batches.

Randomness has no state, and needs no library whose streams may change. Shuffling n things means
sorting them by scrambled number. Scrambling is one-to-one, so the number can be recovered from its
scrambled form, and nothing else must be stored beside it.

All examples are sorted by the longer of their two sides, and among equals by how much the sides
differ, back and forth, so that neighbours are alike on both sides::

    longer side     5          6              7
    source          5 5 5 5    6 6 6 5 4 3    3 4 5 6 7 7 7 7
    target          2 3 4 5    4 5 6 6 6 6    7 7 7 7 7 6 5 4
                                         └────┘ alike even where the longer side grows

Examples with the same two lengths form a *group*. One 64-bit number contains an example's group
and, scrambled, its own number. Sorting these numbers therefore sorts by group and shuffles inside
each, gives the same result with any sorting algorithm, and needs no second array.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from translucid.errors import InputError

_ROUNDS = 4


def derive_seed(*numbers: int) -> int:
    """Return a 63-bit number that depends on all the numbers and their order."""
    packed = struct.pack(f"<{len(numbers)}q", *numbers)
    return int.from_bytes(hashlib.blake2b(packed, digest_size=8).digest(), "little") >> 1


def scramble(numbers: NDArray[np.uint64], bits: int, key: int) -> NDArray[np.uint64]:
    """Permute the numbers below ``2 ** bits``; `key` chooses the permutation.

    Each round adds and multiplies by an odd constant (which moves information to higher bits) and
    folds the upper half onto the lower (which moves it back).
    """
    mask, fold = _mask_and_fold(bits)
    scrambled = numbers.copy()
    for addend, factor in _constants(key):
        scrambled += np.uint64(addend)
        scrambled *= np.uint64(factor)
        scrambled &= mask
        scrambled ^= scrambled >> fold
    return scrambled


def unscramble(scrambled: NDArray[np.uint64], bits: int, key: int) -> NDArray[np.uint64]:
    """Return the numbers that `scramble` was given."""
    mask, fold = _mask_and_fold(bits)
    numbers = scrambled.copy()
    for addend, factor in reversed(_constants(key)):
        numbers ^= numbers >> fold
        numbers *= np.uint64(pow(factor, -1, 1 << 64))
        numbers -= np.uint64(addend)
        numbers &= mask
    return numbers


def _mask_and_fold(bits: int) -> tuple[np.uint64, np.uint64]:
    # Folding by at least half the bits is undone by folding again.
    return np.uint64((1 << bits) - 1), np.uint64((bits + 1) // 2)


def _constants(key: int) -> list[tuple[int, int]]:
    return [(derive_seed(key, step, 0), derive_seed(key, step, 1) | 1) for step in range(_ROUNDS)]


_AT_A_TIME = 1 << 20


class LengthGroups(NamedTuple):
    """Groups in sorted order: the lengths that their examples share, and their sizes."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    size: NDArray[np.int64]


class BatchShapes(NamedTuple):
    """Batches in sorted order: rows, and the longest source and target of each."""

    rows: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]


@dataclass(frozen=True)
class SortKeyCoding:
    """How (source length, target length, example) becomes one number to sort by.

    ::

        │ longer side │ source - target, alternately reversed │ scrambled example number │
        └──────────────── group ──────────────────────────────┴───────── `bits` ─────────┘
    """

    longest: int
    bits: int
    key: int

    @classmethod
    def for_examples(cls, examples: int, longest: int, key: int) -> SortKeyCoding:
        """Return the coding for a number of examples of at most this length."""
        coding = cls(longest, max(1, (examples - 1).bit_length()), key)
        if (2 * longest * (longest + 1)).bit_length() + coding.bits > 64:
            raise InputError(
                f"{examples:,} examples of up to {longest:,} tokens are more than can be sorted; "
                "prepare the data again with a lower limit of length"
            )
        return coding

    def keys(
        self, source: NDArray[np.int64], target: NDArray[np.int64], examples: NDArray[np.int64]
    ) -> NDArray[np.uint64]:
        """Return the numbers to sort by."""
        longer, difference = np.maximum(source, target), source - target
        difference = np.where(longer % 2, difference, -difference)
        groups = longer * (2 * self.longest) + difference + self.longest
        hidden = scramble(examples.astype(np.uint64), self.bits, self.key)
        hidden |= groups.astype(np.uint64) << np.uint64(self.bits)
        return hidden

    def examples(self, keys: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """Return the example numbers of keys."""
        order = np.empty(len(keys), np.uint32)
        for begin in range(0, len(keys), _AT_A_TIME):
            block = keys[begin : begin + _AT_A_TIME] & np.uint64((1 << self.bits) - 1)
            order[begin : begin + _AT_A_TIME] = unscramble(block, self.bits, self.key)
        return order

    def groups(self, keys: NDArray[np.uint64]) -> LengthGroups:
        """Return the groups of sorted keys."""
        codes, counts = _count_runs(keys, self.bits)
        longer, difference = np.divmod(codes, 2 * self.longest)
        difference = np.where(longer % 2, difference - self.longest, self.longest - difference)
        return LengthGroups(
            source=longer + np.minimum(difference, 0),
            target=longer - np.maximum(difference, 0),
            size=counts,
        )


def _count_runs(keys: NDArray[np.uint64], bits: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct values of the bits above the lowest `bits`, and their counts."""
    starts = [np.zeros(min(1, len(keys)), np.int64)]
    for begin in range(1, len(keys), _AT_A_TIME):
        codes = keys[begin - 1 : begin + _AT_A_TIME] >> np.uint64(bits)
        starts.append(np.flatnonzero(codes[1:] != codes[:-1]) + begin)
    first = np.concatenate(starts)
    return (keys[first] >> np.uint64(bits)).astype(np.int64), np.diff(first, append=len(keys))


def cut_into_batches(groups: LengthGroups, max_tokens: int) -> BatchShapes:
    """Cut sorted groups into batches of which neither side, padded, has more than `max_tokens`.

    Each batch takes as many of the next examples as fit. Whole batches out of one group are made at
    once, so time grows with the number of groups, not of examples.
    """
    batches = [BatchShapes(*(np.empty(0, np.int64) for _ in range(3)))]
    rows = widest_source = widest_target = 0
    for source, target, count in zip(*(column.tolist() for column in groups), strict=True):
        wider = max(widest_source, source), max(widest_target, target)
        fitting = min(count, max(0, max_tokens // max(wider) - rows))
        if rows and fitting:
            rows, (widest_source, widest_target) = rows + fitting, wider
            count -= fitting
        if not count:
            continue
        if rows:
            batches.append(_repeat(1, rows, widest_source, widest_target))
        whole, rows = divmod(count, max_tokens // max(source, target))
        batches.append(_repeat(whole, max_tokens // max(source, target), source, target))
        widest_source, widest_target = (source, target) if rows else (0, 0)
    if rows:
        batches.append(_repeat(1, rows, widest_source, widest_target))
    return BatchShapes(*(np.concatenate(column) for column in zip(*batches, strict=True)))


def _repeat(count: int, rows: int, source: int, target: int) -> BatchShapes:
    return BatchShapes(np.full(count, rows), np.full(count, source), np.full(count, target))
