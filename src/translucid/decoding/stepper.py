"""What a search knows of a network: feed one token per row, choose which rows continue.

::

    log_probs_NV = stepper.step(last_ids_N)      # what may come next, for every row
    stepper.reorder(rows_N)                      # the rows that continue, in their new order

``model.start(source)`` returns such an object; a test may use a table instead. An ensemble of
networks that share a vocabulary is a stepper too: the log of their mean probability.

Shapes: B batch, S source, N rows under way, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from translucid.config import ModelConfig
from translucid.errors import InputError

EXTRA_LENGTH = 50  # "maximum output length during inference to input length + 50": section 6.1


class Stepper(Protocol):
    """Unfinished translations, one per row."""

    def step(self, last_ids_N: Tensor) -> Tensor:
        """Feed the newest token of every row; return log P(next token) as (N, V).

        The tensor belongs to the caller, who may write into it.
        """

    def reorder(self, rows_N: Tensor) -> None:
        """Continue with these rows, in this order; the rows of one source stay together."""


@runtime_checkable
class AttendingStepper(Stepper, Protocol):
    """A stepper that shows what its newest step attended to, for the coverage penalty.

    `attention_NS` is the attention of every row to each source token, 0 for padding. It exists
    after the first step.
    """

    attention_NS: Tensor


def length_limits(source_BS: Tensor, config: ModelConfig) -> Tensor:
    """Return the most tokens of each translation, the end symbol counted (section 6.1).

    That is the source's length + 50; with learned positions, at most their number.
    """
    limits_B = (source_BS != config.padding_id).sum(dim=1) + EXTRA_LENGTH
    return limits_B.clamp(max=config.max_positions) if config.positions == "learned" else limits_B


class Ensemble:
    """A stepper whose P(next token) is the mean over its members; all follow the same rows.

    If every member shows its attention, `attention_NS` is the mean of it.
    """

    attention_NS: Tensor

    def __init__(self, members: Sequence[Stepper]) -> None:
        if not members:
            raise InputError("an ensemble needs at least one member")
        self._members = tuple(members)

    def step(self, last_ids_N: Tensor) -> Tensor:
        """Feed the newest token of every row to all; return log of the mean P as (N, V)."""
        all_log_probs = [member.step(last_ids_N) for member in self._members]
        attending = [m.attention_NS for m in self._members if isinstance(m, AttendingStepper)]
        if len(attending) == len(self._members):
            self.attention_NS = torch.stack(attending).mean(dim=0)
        return log_mean(all_log_probs)

    def reorder(self, rows_N: Tensor) -> None:
        """Continue with these rows, in this order, in all members."""
        for member in self._members:
            member.reorder(rows_N)


def log_mean(all_log_probs: Sequence[Tensor]) -> Tensor:
    """Return the log of the mean of probabilities, from their logs.

    Each is taken relative to the highest, so that nothing underflows, and the mean of equal values
    is exactly that value.
    """
    shapes = {tuple(log_probs_NV.shape) for log_probs_NV in all_log_probs}
    if len(shapes) > 1:
        raise InputError(
            f"the members of an ensemble gave log P of the shapes {sorted(shapes)}: they must "
            "share their vocabulary, and follow the same rows"
        )
    first_NV, *others = all_log_probs
    if not others:
        return first_NV
    highest_NV = first_NV
    for log_probs_NV in others:
        highest_NV = torch.maximum(highest_NV, log_probs_NV)
    finite_NV = highest_NV.nan_to_num(neginf=0.0)  # −∞ − −∞ is not a number
    mean_NV = sum((log_probs_NV - finite_NV).exp() for log_probs_NV in all_log_probs)
    assert isinstance(mean_NV, Tensor)
    return mean_NV.div_(len(all_log_probs)).log_().add_(finite_NV).clamp_(max=0)
