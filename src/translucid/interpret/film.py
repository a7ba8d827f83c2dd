"""A film: how attention, and one translation, changed while a network learned.

A frame is a checkpoint. Every frame reads the *same* tokens, those of the last frame's translation,
so that frames can be compared; beside it stands each checkpoint's own translation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from translucid.checkpoint.run_directory import RunDirectory
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.events import Emit, silent
from translucid.interpret.explain import explain
from translucid.interpret.network import replace_network
from translucid.interpret.trace import Trace
from translucid.text.tokenizer import EOS
from translucid.translator import Translator


@dataclass(frozen=True)
class Frame:
    """A checkpoint: what it wrote by itself, and a trace of it reading the last translation."""

    step: int
    translation: str
    log_prob: float
    trace: Trace


def record_frames(
    newest_first: Iterable[tuple[int, Translator]],
    source: str,
    *,
    target: str | None,
    search: SearchConfig | None = None,
    max_bytes: int | None = None,
    on_event: Emit = silent,
) -> Iterator[Frame]:
    """Yield the frames of checkpoints (step, translator), the newest first.

    A checkpoint is needed only until its frame is made, so they can be loaded one after another.
    `max_bytes` bounds the trace of a frame; `on_event` gets every step of a search.
    """
    how = partial(explain, level="light", target=target, max_bytes=max_bytes, on_event=on_event)
    newest: Trace | None = None
    for step, translator in newest_first:
        own = how(translator, source, search=search)
        newest = newest or own
        read = how(translator, source, prefix=(*newest.written_ids, EOS))
        yield Frame(step, own.translation, own.log_prob, read)


def choose_evenly(steps: Sequence[int], most: int) -> list[int]:
    """Return at most this many of the steps, evenly spread, the first and the last among them."""
    if len(steps) <= most:
        return list(steps)
    if most == 1:
        return [steps[-1]]
    return [steps[round(place * (len(steps) - 1) / (most - 1))] for place in range(most)]


def load_checkpoint(run: RunDirectory, step: int, like: Translator) -> Translator:
    """Return the network of a run after a step, with the tokenizer and heads of its model."""
    model = run.load_network(step)
    if model.config != like.members[0].model.config:
        raise InputError(f"the model is not one of the run {run.path}: their settings differ")
    return replace_network(like, model, f"{like.name} after step {step}")
