"""Reading people's files as sentence pairs, one at a time.

::

    arguments.py   what the user typed      → Corpus         find_corpora
    corpus.py      Corpus                   → Pair, Pair, …  read_pairs, register_reader
    lines.py       two line-aligned text files, and how the lines of any file are read
    tsv.py  jsonl.py  parquet.py  po.py     one format per file
    xml.py         TMX and XLIFF
    built_in.py    the lesson; strings of letters to copy, reverse and sort
"""

from __future__ import annotations

from translucid.data.readers import built_in, jsonl, lines, parquet, po, tsv, xml  # noqa: F401
from translucid.data.readers.arguments import find_corpora
from translucid.data.readers.corpus import (
    Change,
    Corpus,
    Example,
    Pair,
    ReadReport,
    Skip,
    Tally,
    read_pairs,
    register_reader,
)

__all__ = [
    "Change",
    "Corpus",
    "Example",
    "Pair",
    "ReadReport",
    "Skip",
    "Tally",
    "find_corpora",
    "read_pairs",
    "register_reader",
]
