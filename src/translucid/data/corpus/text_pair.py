"""Two text files, where line n of one translates line n of the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from translucid.data.corpus.corpus import Corpus, Pair
from translucid.data.corpus.lines import byte_lines, text_lines
from translucid.data.corpus.parting import find_parting
from translucid.data.corpus.report import ReadReport
from translucid.errors import DataError


def read_text_pair(corpus: Corpus, report: ReadReport) -> Iterator[Pair]:
    """Yield the pairs of two line-aligned files; an empty line is an empty sentence."""
    sides = (
        text_lines(path, (language,), report)
        for path, language in zip(corpus.paths, corpus.languages, strict=True)
    )
    for number, (source, target) in enumerate(zip_longest(*sides), start=1):
        if source is None or target is None:
            raise _misaligned(corpus, shorter=number - 1, source_ended=source is None)
        yield Pair(source, target, number)


def _misaligned(corpus: Corpus, *, shorter: int, source_ended: bool) -> DataError:
    """Say how many lines each file has, and from where on they no longer belong together."""
    short, long = corpus.paths if source_ended else reversed(corpus.paths)
    longer = sum(1 for _ in byte_lines(long, ReadReport()))
    counts = {short: shorter, long: longer}
    first, second = corpus.paths
    parting = find_parting(short, long, longer - shorter)
    if parting is None:
        where = f"line {shorter + 1:,} of {long.name} has no partner"
        remedy = (
            "A line is missing or too many in one of them, here or anywhere before: compare the "
            "two, and mind sentences that were broken over two lines."
        )
    else:
        where = f"they seem to part near line {parting:,}"
        remedy = (
            f"Compare the two around line {parting:,}: a line is missing in {short.name}, "
            f"or one too many stands in {long.name}."
        )
    return DataError(
        first,
        f"{first.name} has {counts[first]:,} lines and {second.name} has {counts[second]:,}, so "
        f"the two are not line-aligned; {where}",
        remedy=remedy,
        line=parting or shorter + 1,
    )
