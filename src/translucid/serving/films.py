"""Films: how one head's attention, and one translation, changed over the checkpoints of a run.

All heads of a text come out of the same pass, so a film is kept for a while: to look at another
head of it costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from translucid.errors import DataError, InputError
from translucid.interpret.film import Frame, evenly_chosen, frames_of
from translucid.interpret.network import AttentionHead
from translucid.serving.abandoning import check_wanted
from translucid.serving.bounded_store import BoundedStore
from translucid.serving.runs import Checkpoints, Run
from translucid.serving.settings import ServingConfig
from translucid.translator import Translator

_FILMS = 16  # kept at a time
_Key = tuple[str, str, str | None, tuple[int, ...]]


@dataclass(frozen=True)
class FilmWish:
    """What a film shows: a text, the language it is translated into, and how many checkpoints."""

    text: str
    target: str | None
    frames: int


class Films:
    """Makes films of runs, and keeps the newest of them."""

    def __init__(self, checkpoints: Checkpoints | None, settings: ServingConfig) -> None:
        self._checkpoints = checkpoints
        self._max_bytes = settings.max_trace_bytes
        self._kept: BoundedStore[_Key, tuple[Frame, ...]] = BoundedStore(
            max_bytes=settings.max_trace_bytes, max_count=_FILMS, seconds=settings.trace_seconds
        )

    def frames(self, run: Run, wish: FilmWish) -> tuple[Frame, ...]:
        """Return a frame for each of some checkpoints, evenly chosen, oldest first."""
        steps = [] if self._checkpoints is None else self._checkpoints.steps(run.path)
        steps = evenly_chosen(steps, wish.frames)
        if self._checkpoints is None or not steps:
            raise InputError(
                f"the run {run.name} has no checkpoints yet: training writes one every "
                "training.checkpoint_every steps"
            )
        key = (run.name, wish.text, wish.target, tuple(steps))
        found = self._kept.get(key)
        if found is None:
            found = self._made(self._checkpoints, run, wish, steps)
            self._kept.put(key, found, sum(frame.trace.bytes for frame in found))
        return found

    def expire(self) -> None:
        """Let go of films that nobody has looked at for the time."""
        self._kept.expire()

    def _made(
        self, checkpoints: Checkpoints, run: Run, wish: FilmWish, steps: list[int]
    ) -> tuple[Frame, ...]:
        load = checkpoints.reader(run.path)
        newest_first = frames_of(
            _loaded(checkpoints, run, load, steps),
            wish.text,
            target=wish.target,
            max_bytes=self._max_bytes // len(steps),
            emit=lambda _: check_wanted(),
        )
        return tuple(newest_first)[::-1]


def _loaded(
    checkpoints: Checkpoints, run: Run, load: Callable[[int], Translator], steps: list[int]
) -> Iterator[tuple[int, Translator]]:
    """Yield the networks of steps, newest first, leaving out what training has deleted since."""
    for step in reversed(steps):
        check_wanted()
        try:
            yield step, load(step)
        except DataError as error:
            if step in checkpoints.steps(run.path):
                raise InputError(
                    f"the checkpoint of step {step} of the run {run.name} is damaged"
                ) from error


def film_json(frames: tuple[Frame, ...], head: AttentionHead) -> dict[str, Any]:
    """Return one head of a film as the page reads it; all frames read the same tokens."""
    trace = frames[-1].trace
    return {
        "source_tokens": [token.piece for token in trace.source_tokens],
        "target_tokens": [token.piece for token in trace.target_tokens],
        "frames": [
            {
                "step": frame.step,
                "translation": frame.translation,
                "log_prob": frame.log_prob,
                "weights": frame.trace.attention(head.side, head.layer)[head.head].tolist(),
            }
            for frame in frames
        ],
    }
