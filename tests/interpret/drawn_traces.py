"""Traces for the tests of figures: a taught network, and one of sixty tokens each way."""

from __future__ import annotations

import random
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

from small_translators import write_random_model, write_taught_model
from translucid.interpret.decision import Decision
from translucid.interpret.explain import explain
from translucid.interpret.patched_runs import align_tokens
from translucid.interpret.patching import (
    DISAGREEMENT,
    CellShare,
    Everything,
    Patching,
    all_cells,
)
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
    return drawn_patching(explain(taught(), SENTENCE))


@cache
def long_trace(positions: str = "sinusoidal") -> Trace:
    """Sixty tokens on either side, of words that were never seen together."""
    translator = babbling(positions)
    text = cut(translator, 59)
    return drawn_patching(explain(translator, text, given=text))


def drawn_patching(trace: Trace) -> Trace:
    """Return a trace with numbers that nobody measured, for the picture of them."""
    draw = random.Random(0)
    ids = [token.id for token in trace.source_tokens]
    other = [*ids[:1], ids[0], *ids[2:]]
    columns = align_tokens(ids, other)
    shares = []
    for cell in all_cells(trace.model, columns, len(trace.target_tokens)):
        forward, backward = (draw.uniform(-1, 1.2) for _ in "12")
        agrees = abs(forward - backward) <= DISAGREEMENT
        shares.append(CellShare(cell, forward, backward, None, agrees, ("one", "two")))
    return replace(
        trace,
        patching=Patching(
            trace.source, trace.source, trace.translation, trace.translation,
            trace.source_tokens, trace.source_tokens, trace.target_tokens, ("a", "b"), columns,
            Decision(len(trace.steps) - 1, 20, 21, ("▁one", "▁two"), (1.5, -2.5)),
            None, tuple(shares), (), Everything((1, 1), (1, 1), (1, 1)),
        ),
    )  # fmt: skip


def cut(translator: Translator, tokens: int) -> str:
    """Return a text of exactly so many tokens."""
    text = _LONG * 9
    offsets = translator.tokenizer.encode_with_offsets(text).offsets
    text = text[: offsets[tokens - 1][1]]
    assert len(translator.tokenizer.encode(text)) == tokens
    return text
