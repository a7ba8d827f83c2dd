"""Randomness as a pure function of integers: no state, no library whose streams may change.

Shuffling n things means sorting them by scrambled number. Scrambling is one-to-one, so the number
can be recovered from its scrambled form, and nothing else must be stored beside it.
"""

from __future__ import annotations

import hashlib
import struct

import numpy as np
from numpy.typing import NDArray

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
