"""Where two files that should be line-aligned cease to be so.

One file has ``shift`` lines too many, somewhere before its end. If they stand at line k, lines
before k belong together as they are, and later ones after shifting:

::

    short   1  2  3  4  5  6          gain(k) = Σ fit(short[i], long[i])          for i < k
            |  |   \\  \\  \\  \\                 + Σ fit(short[i], long[i + shift])  for i ≥ k
    long    1  2  x  3  4  5  6

Up to a constant, gain(k) is the running sum of the differences of both fits, so one pass over the
files finds its greatest value with ``shift`` lines in memory.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from translucid.data.corpus.lines import byte_lines
from translucid.data.corpus.report import ReadReport

# A few lines too many point at a slip; thousands at two files that never belonged together.
MAX_SHIFT = 1000
# Below this, the lines fit each other no better after a shift than before: there is no telling.
MIN_EVIDENCE = 6.0

_NUMBER = re.compile(r"\d+")


def find_parting(short: Path, long: Path, shift: int) -> int | None:
    """Return about which line the longer file has its extra lines, or None where it is unclear."""
    if shift > MAX_SHIFT:
        return None
    total = best = 0.0
    best_line = 1
    line = 0
    for line, (here, straight, shifted) in enumerate(_beside(short, long, shift), start=1):
        total += fit(here, straight) - fit(here, shifted)
        if total > best:
            best, best_line = total, line + 1
    return best_line if line and best - total >= MIN_EVIDENCE else None


def fit(one: str, other: str) -> float:
    """Return how much two lines look like translations of each other, whatever the languages.

    Translations have about the same length, mostly the same final punctuation, and the same
    numbers.
    """
    score = -2 * abs(math.log((len(one) + 5) / (len(other) + 5)))
    score += 0.5 if _ending(one) == _ending(other) else -0.5
    numbers, others = _NUMBER.findall(one), _NUMBER.findall(other)
    if numbers or others:
        score += 2 if sorted(numbers) == sorted(others) else -2
    return score


def _beside(short: Path, long: Path, shift: int) -> Iterator[tuple[str, str, str]]:
    """Yield each line of the shorter file with the same line of the longer and the shifted one."""
    ahead = _lenient_lines(long)
    waiting = deque(islice(ahead, shift))
    for here, shifted in zip(_lenient_lines(short), ahead, strict=True):
        waiting.append(shifted)
        yield here, waiting.popleft(), shifted


def _lenient_lines(path: Path) -> Iterator[str]:
    return (line.decode("utf-8", errors="replace") for line in byte_lines(path, ReadReport()))


def _ending(line: str) -> str:
    """Return the kind of a line's last character: itself for punctuation, a common one for all."""
    last = line.rstrip()[-1:]
    return "a" if last.isalnum() else last
