"""Traces of the taught small translator, made once a process.

::

    chat noir dort   →   sleeps black cat
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from small_translators import write_random_model, write_taught_model
from translucid.decoding.config import SearchConfig
from translucid.interpret import Level, Trace, explain
from translucid.translator import Translator, load

SENTENCE = "chat noir dort"


@cache
def taught_translator() -> Translator:
    """A network that says twelve French words in English, in reverse."""
    with tempfile.TemporaryDirectory() as folder:
        return load(write_taught_model(Path(folder) / "taught"), engine="pytorch")


@cache
def random_translator(**settings: Any) -> Translator:
    """A network that was never trained, with BPE and bytes: it may write anything."""
    with tempfile.TemporaryDirectory() as folder:
        return load(write_random_model(Path(folder) / "random", **settings), engine="pytorch")


@cache
def taught_trace(level: Level = "full", text: str = SENTENCE) -> Trace:
    """The trace of a sentence of known words, by the model's own beam search."""
    return explain(taught_translator(), text, level=level)


@cache
def greedy_trace(text: str = SENTENCE) -> Trace:
    """The trace of the same sentence by greedy search."""
    return explain(taught_translator(), text, search=SearchConfig(method="greedy"))


@cache
def given_trace(given: str, text: str = SENTENCE) -> Trace:
    """The trace of a translation that was not searched for."""
    return explain(taught_translator(), text, given=given)


@cache
def pair_trace(text: str = SENTENCE, against: str = "chat noir mange") -> Trace:
    """The trace of a sentence with what patching against another one shows."""
    return explain(taught_translator(), text, against=against)
