"""All that a search knows of the network: feed a token a row, choose which rows go on.

::

    log_probs_NV = stepper.step(last_ids_N)      # what may come next, for every row
    stepper.reorder(rows_N)                      # rows that go on, in their new order

``model.start(source)`` returns such an object; a test may use a table instead.

Shapes: B batch, S source, N rows under way, V vocabulary.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from torch import Tensor

from translucid.config import ModelConfig

BEYOND_THE_SOURCE = 50  # "maximum output length during inference to input length + 50": section 6.1


class Stepper(Protocol):
    """Translations under way, a row each."""

    def step(self, last_ids_N: Tensor) -> Tensor:
        """Feed the newest token of every row; return log P(next token) as (N, V)."""

    def reorder(self, rows_N: Tensor) -> None:
        """Continue with these rows, in this order."""


class Hypothesis(NamedTuple):
    """One translation: its tokens without the end symbol, and log P of them with it.

    `finished` is false where the limit of length came before the end symbol.
    """

    tokens: list[int]
    log_prob: float
    finished: bool


def length_limits(source_BS: Tensor, config: ModelConfig) -> Tensor:
    """Return how many tokens each translation may have, the end symbol counted (section 6.1).

    That is the source's length + 50; with learned positions, no more than there are.
    """
    limits_B = (source_BS != config.padding_id).sum(dim=1) + BEYOND_THE_SOURCE
    return limits_B.clamp(max=config.max_positions) if config.positions == "learned" else limits_B
