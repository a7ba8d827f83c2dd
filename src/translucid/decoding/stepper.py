"""All that a search knows of the network: feed a token a row, choose which rows go on.

::

    log_probs_NV = stepper.step(last_ids_N)      # what may come next, for every row
    stepper.reorder(rows_N)                      # rows that go on, in their new order

``model.start(source)`` returns such an object; a test may use a table instead.

Shapes: B batch, S source, N rows under way, V vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from torch import Tensor

from translucid.config import ModelConfig

BEYOND_THE_SOURCE = 50  # "maximum output length during inference to input length + 50": section 6.1


class Stepper(Protocol):
    """Translations under way, a row each."""

    def step(self, last_ids_N: Tensor) -> Tensor:
        """Feed the newest token of every row; return log P(next token) as (N, V).

        The tensor belongs to the caller, who may write into it.
        """

    def reorder(self, rows_N: Tensor) -> None:
        """Continue with these rows, in this order; the rows of one source stay together."""


@runtime_checkable
class AttendingStepper(Stepper, Protocol):
    """A stepper that shows where its newest step looked, as the coverage penalty needs it.

    `attention_NS` is the attention of every row to each source token, 0 where there is padding. It
    is there after the first step.
    """

    attention_NS: Tensor


Ending = Literal["end", "limit", "loop"]


@dataclass(frozen=True)
class Hypothesis:
    """One translation: its tokens without the end symbol, and how probable each of them is.

    `log_probs` holds log P of every token, and last that of the end symbol; only what went in
    circles has none. `ending` says why it ends: "end" where the end symbol was the network's own
    choice; "limit" where it had to come at the limit of length although another token was more
    probable; "loop" where it went in circles. `score` is what the search ranked it by: `log_prob`
    after the penalties.
    """

    tokens: tuple[int, ...]
    log_probs: tuple[float, ...]
    ending: Ending
    score: float

    @property
    def log_prob(self) -> float:
        """Log P of the whole."""
        return math.fsum(self.log_probs)

    @property
    def finished(self) -> bool:
        """Whether it has its end symbol, as all have that did not go in circles."""
        return self.ending != "loop"


def length_limits(source_BS: Tensor, config: ModelConfig) -> Tensor:
    """Return how many tokens each translation may have, the end symbol counted (section 6.1).

    That is the source's length + 50; with learned positions, no more than there are.
    """
    limits_B = (source_BS != config.padding_id).sum(dim=1) + BEYOND_THE_SOURCE
    return limits_B.clamp(max=config.max_positions) if config.positions == "learned" else limits_B
