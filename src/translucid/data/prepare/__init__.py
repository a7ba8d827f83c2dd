"""``translucid prepare``: from people's files to a data folder that training can read.

::

    settings.py     what is asked for, and the record that decides what may be reused
    pipeline.py     prepare(): what is there already, the stages, the move into place
    builder.py      the stages in order
      held_out.py   0  dev and test sets given as files: every line stays
      cleaned.py    1  read and clean, chunk by chunk                       many processes
      selection.py  2  duplicates, held-out sentences, the split: by hashes  one
      vocabulary.py 3  the tokenizer, from training text alone               one of its own
      encoded.py    4  tokens, chunk by chunk                                many processes
      summary.py    5  report.json
    workspace.py    the folder DATA/unfinished      chunks.py   one chunk on disk
    workers.py      processes that end when they should
"""

from __future__ import annotations

from translucid.data.prepare.config import Inputs, PrepareConfig
from translucid.data.prepare.pipeline import Effort, Prepared, prepare

CHUNK_PAIRS = 20_000

__all__ = [
    "CHUNK_PAIRS",
    "Effort",
    "Inputs",
    "PrepareConfig",
    "Prepared",
    "prepare",
]
