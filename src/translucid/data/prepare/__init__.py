"""``translucid prepare``: from people's files to a data folder that training can read.

::

    pipeline.py       prepare(): what is there already, the stages, the move into place
    config.py         inputs and settings, and the record that decides what may be reused
    build.py          the stages in order
      clean.py        1  read and clean, chunk by chunk                        many processes
      selection.py    2  duplicates, held-out sentences, the split: by hashes   one process
      tokenization.py 3  the tokenizer, from training text only                 its own process
                      4  tokens, chunk by chunk                                many processes
      placeholders.py    placeholders in training pairs
      report.py       5  report.json
    workspace.py      the folder DATA/unfinished, and chunks of pairs in it
    workers.py        processes that end when they should
"""

from __future__ import annotations

from translucid.data.config import PrepareConfig
from translucid.data.prepare.config import Inputs
from translucid.data.prepare.pipeline import CHUNK_PAIRS, Prepared, prepare, prepare_corpora

__all__ = ["CHUNK_PAIRS", "Inputs", "PrepareConfig", "Prepared", "prepare", "prepare_corpora"]
