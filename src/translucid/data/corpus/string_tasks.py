"""Three tasks as corpora: strings of letters to copy, to reverse and to sort.

They are the first things to try on a network, for one knows what it must learn::

    copy      d a c b   →   d a c b
    reverse   d a c b   →   b c a d
    sort      d a c b   →   a b c d
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator, Sequence

from translucid.data.corpus.corpus import Corpus, Pair
from translucid.data.corpus.report import ReadReport

PAIRS = 30_000
LONGEST = 12  # letters of a string
SEED = 0

TASKS: dict[str, Callable[[Sequence[str]], Sequence[str]]] = {
    "copy": lambda letters: letters,
    "reverse": lambda letters: letters[::-1],
    "sort": sorted,
}


def read_string_task(corpus: Corpus, report: ReadReport) -> Iterator[Pair]:
    """Yield strings and what the task makes of them, the same on every machine."""
    del report  # it skips nothing and reads no file
    answer = TASKS[corpus.format]
    draw = random.Random(SEED)  # noqa: S311 - nothing secret
    for number in range(1, PAIRS + 1):
        letters = draw.choices(string.ascii_lowercase, k=draw.randint(1, LONGEST))
        yield Pair(" ".join(letters), " ".join(answer(letters)), number)
