"""From a corpus to its pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from translucid.data.corpus.corpus import Corpus, Pair
from translucid.data.corpus.jsonl import read_jsonl
from translucid.data.corpus.lesson import read_lesson
from translucid.data.corpus.parquet import read_parquet
from translucid.data.corpus.po import read_po
from translucid.data.corpus.report import ReadReport
from translucid.data.corpus.string_tasks import TASKS, read_string_task
from translucid.data.corpus.text_pair import read_text_pair
from translucid.data.corpus.tmx import read_tmx
from translucid.data.corpus.tsv import read_tsv
from translucid.data.corpus.xliff import read_xliff

READERS: dict[str, Callable[[Corpus, ReadReport], Iterator[Pair]]] = {
    "text": read_text_pair,
    "tsv": read_tsv,
    "jsonl": read_jsonl,
    "tmx": read_tmx,
    "po": read_po,
    "xliff": read_xliff,
    "parquet": read_parquet,
    "lesson": read_lesson,
    **dict.fromkeys(TASKS, read_string_task),
}


def read(corpus: Corpus, report: ReadReport) -> Iterator[Pair]:
    """Yield the pairs of a corpus, source first, and count in the report what becomes of it.

    Sides come in the order of the languages asked for, whatever the order in the file. A pair's
    text may hold line breaks and control characters where its format can (JSON, XML, PO, Parquet),
    and either side may be empty.
    """
    for pair in READERS[corpus.format](corpus, report):
        report.pairs += 1
        yield pair
