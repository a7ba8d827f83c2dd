"""Several networks that share a vocabulary, as one stepper: log of their mean probability.

Shapes: N rows, V vocabulary, S source.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from translucid.decoding.stepper import AttendingStepper, Stepper
from translucid.errors import InputError


class Ensemble:
    """A stepper whose P(next token) is the mean of its members'; all follow the same rows.

    Where every member shows its attention, `attention_NS` is the mean of it.
    """

    attention_NS: Tensor

    def __init__(self, members: Sequence[Stepper]) -> None:
        if not members:
            raise InputError("an ensemble of no members: give at least one")
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

    Each is taken relative to the highest, so that nothing vanishes, and the mean of equals is
    exactly what each of them is.
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
