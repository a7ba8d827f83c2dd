"""Where a run stands: everything beside the tensors that the next step depends on.

The state is frozen: a step makes a new one. A checkpoint holds it as JSON, so it can be read by
people, and numbers come back exactly.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from translucid.data.batches import START, Cursor
from translucid.events import Trained
from translucid.training.settings import Metric

_MOST_EXPONENT = 700.0  # beyond it a float overflows


@dataclass(frozen=True)
class Window:
    """Sums over the steps since the last line of metrics."""

    smoothed: float = 0.0
    plain: float = 0.0
    tokens: int = 0
    seconds: float = 0.0

    def plus(self, smoothed: float, plain: float, tokens: int, seconds: float) -> Window:
        """Return the window with one more step in it."""
        return Window(
            self.smoothed + smoothed,
            self.plain + plain,
            self.tokens + tokens,
            self.seconds + seconds,
        )

    def report(self, step: int, rate: float, norm: float, epoch: int) -> Trained:
        """Return what the steps of the window did, the last of them being `step`."""
        return Trained(
            step=step,
            loss=self.smoothed / self.tokens,
            perplexity=math.exp(min(self.plain / self.tokens, _MOST_EXPONENT)),
            tokens=self.tokens,
            seconds=self.seconds,
            learning_rate=rate,
            gradient_norm=norm,
            epoch=epoch,
        )


@dataclass(frozen=True)
class Scores:
    """The scores of the last validation, and the step after which it was made."""

    step: int
    loss: float
    bleu: float
    chrf: float


@dataclass(frozen=True)
class Best:
    """The best validation so far, and how many have come since without being better."""

    step: int
    value: float
    since: int


@dataclass(frozen=True)
class TrainingState:
    """How far a run has come.

    `cursor` is the place of the next micro-batch. `tokens` counts target tokens. `seconds` is the
    time of all sessions. `skipped` counts the steps without an update just before this point.
    """

    step: int
    cursor: Cursor
    tokens: int
    seconds: float
    skipped: int
    window: Window
    scores: Scores | None
    best: Best | None

    def to_json(self) -> dict[str, Any]:
        """Return the state as plain values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: object) -> Self:
        """Return the state that `to_json` has written; ValueError says what is wrong with it."""
        try:
            state = _ADAPTER.validate_python(values)
        except ValidationError as error:
            details = error.errors(include_url=False)
            faults = [f"{'.'.join(map(str, d['loc']))}: {d['msg']}" for d in details]
            raise ValueError("; ".join(faults)) from error
        assert isinstance(state, cls)
        return state


_ADAPTER: TypeAdapter[TrainingState] = TypeAdapter(TrainingState)

BEGINNING = TrainingState(
    step=0,
    cursor=START,
    tokens=0,
    seconds=0.0,
    skipped=0,
    window=Window(),
    scores=None,
    best=None,
)


def judged(best: Best | None, scores: Scores, metric: Metric) -> Best:
    """Return the best validation after one more; a tie is no new best."""
    value: float = getattr(scores, metric)
    if best is None or math.isnan(best.value) or _better(value, best.value, metric):
        return Best(scores.step, value, since=0)
    return dataclasses.replace(best, since=best.since + 1)


def _better(value: float, than: float, metric: Metric) -> bool:
    return value < than if metric == "loss" else value > than
