"""Traces for the tests of figures: a taught network, and one of sixty tokens each way."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from small_translators import write_random_model, write_taught_model
from translucid.interpret.explain import explain
from translucid.interpret.trace import Trace
from translucid.translator import Translator, load

SENTENCE = "chat noir dort"
_LONG = "Untranslatable words are translated again and again, and the dogs didn't sit on the mats. "


@cache
def taught() -> Translator:
    with tempfile.TemporaryDirectory() as folder:
        return load(write_taught_model(Path(folder) / "taught"), engine="pytorch")


@cache
def babbling(positions: str = "sinusoidal") -> Translator:
    with tempfile.TemporaryDirectory() as folder:
        path = write_random_model(Path(folder) / "random", positions=positions)
        return load(path, engine="pytorch")


@cache
def short_trace() -> Trace:
    return explain(taught(), SENTENCE)


@cache
def long_trace(positions: str = "sinusoidal") -> Trace:
    """Sixty tokens on either side, of words that were never seen together."""
    translator = babbling(positions)
    text = cut(translator, 59)
    return explain(translator, text, given=text)


def cut(translator: Translator, tokens: int) -> str:
    """Return a text of exactly so many tokens."""
    text = _LONG * 9
    offsets = translator.tokenizer.encode_with_offsets(text).offsets
    text = text[: offsets[tokens - 1][1]]
    assert len(translator.tokenizer.encode(text)) == tokens
    return text
