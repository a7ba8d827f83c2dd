"""What the engine tells of its work: plain values, for metrics and tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["search", "align", "score"]
Request: TypeAlias = Literal["translate", "stream", "score", "job"]
Outcome: TypeAlias = Literal["done", "failed", "rejected", "timed out", "cancelled", "draining"]


@dataclass(frozen=True)
class BatchDone:
    """A batch that was worked on.

    `tokens` are those of the sources, `padding` is the share of the batch's cells that held none,
    `written` the tokens of all hypotheses returned. `abandoned`: everybody who had asked was gone.
    """

    kind: Kind
    rows: int
    tokens: int
    padding: float
    written: int
    seconds: float
    abandoned: bool


@dataclass(frozen=True)
class RequestEnded:
    """A request that was answered, refused or given up, so many seconds after it had come."""

    request: Request
    outcome: Outcome
    seconds: float


EngineEvent: TypeAlias = BatchDone | RequestEnded
EmitEngineEvent: TypeAlias = Callable[[EngineEvent], None]
