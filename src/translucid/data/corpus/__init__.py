"""People's files as sentence pairs, one at a time, in the order asked for.

::

    arguments.py   what the person typed       → Corpus         find_corpora
    reading.py     Corpus                      → Pair, Pair, …  read
    text_pair  tsv  jsonl  tmx  po  xliff  parquet              one file a format
    lines.py  xml_units.py                     the two ways a file is taken apart
    report.py      what was not read, and why                   ReadReport

Every reader streams: its memory does not grow with the file. Text comes as it stands in the file;
cleaning repairs it later. Nothing is lost in silence: what gives no pair is counted in a
:class:`ReadReport` with its line, and a file that cannot be trusted raises a DataError that names
the file, the line and the remedy.
"""

from __future__ import annotations

from translucid.data.corpus.arguments import find_corpora
from translucid.data.corpus.corpus import Corpus, Pair
from translucid.data.corpus.reading import read
from translucid.data.corpus.report import Change, Example, ReadReport, Skip, Tally

__all__ = [
    "Change",
    "Corpus",
    "Example",
    "Pair",
    "ReadReport",
    "Skip",
    "Tally",
    "find_corpora",
    "read",
]
