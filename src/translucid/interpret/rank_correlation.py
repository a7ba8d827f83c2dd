"""Spearman's rank correlation: whether two measures put things in the same order.

Shapes: T target, S source, N values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from translucid.errors import InputError


@dataclass(frozen=True)
class Agreement:
    """Rank correlation of two matrices row by row, from -1 (reversed) to 1 (the same order).

    A row that one of them holds for all alike has no order, and so None.
    """

    rows: tuple[float | None, ...]

    @property
    def mean(self) -> float | None:
        """Mean over the rows that have an order."""
        known = [value for value in self.rows if value is not None]
        return math.fsum(known) / len(known) if known else None


def agreement(first_TS: Tensor, second_TS: Tensor) -> Agreement:
    """Return how far two matrices agree, row by row, in what matters more and what less."""
    if first_TS.shape != second_TS.shape or first_TS.dim() != 2:
        raise InputError(
            f"matrices of the shapes {tuple(first_TS.shape)} and {tuple(second_TS.shape)} cannot "
            "be compared: give two of the same rows and columns"
        )
    return Agreement(tuple(map(spearman, first_TS, second_TS)))


def spearman(first_N: Tensor, second_N: Tensor) -> float | None:
    """Return Spearman's rank correlation, or None where one of the two has no order."""
    ranks = torch.stack([ranks_of(first_N), ranks_of(second_N)])
    apart = ranks - ranks.mean(dim=1, keepdim=True)
    spread = apart.square().sum(dim=1).prod().sqrt()
    return float(apart.prod(dim=0).sum() / spread) if spread > 0 else None


def ranks_of(values_N: Tensor) -> Tensor:
    """Return the place of each value from 1, the least first; equals share their mean place.

    >>> ranks_of(torch.tensor([5.0, 1.0, 5.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    below_N = (values_N[None, :] < values_N[:, None]).sum(dim=1)
    alike_N = (values_N[None, :] == values_N[:, None]).sum(dim=1)
    return below_N + (alike_N + 1).double() / 2
