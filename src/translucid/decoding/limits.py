"""The limit of length: at the last position it allows, nothing but the end symbol comes.

::

    limit 3, end symbol counted      I    want   </s>     pays log P(</s> | I want), like any other
                                     1    2      3

So every translation has its end symbol, and all compete by score alone, wherever they end. One is
cut short where its end symbol was not the most probable token that the other rules allowed.

Shapes: B sources, N rows, T tokens written so far, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from translucid.decoding.constraints import DEMANDED
from translucid.decoding.job import Job


class Limits:
    """The limits of length of a job: the last of its rules, and above all others."""

    def __init__(self, job: Job) -> None:
        self._limits_B = job.limits_B
        self._lengths: frozenset[int] = frozenset(job.limits_B.tolist())
        self._end = job.end

    def __call__(
        self,
        rules: Callable[[Tensor], Tensor],
        log_probs_NV: Tensor,
        tokens_NT: Tensor,
        sources_N: Tensor,
    ) -> tuple[Tensor, Tensor | None]:
        """Pass what the network expects through the other rules, then end the rows at their limit.

        Return it, changed in place, and as (N,) which rows are cut short by that; None where no
        row is at its limit, which a look at the length tells.
        """
        length = tokens_NT.size(1) + 1
        if length not in self._lengths:
            return rules(log_probs_NV), None
        last_N = self._limits_B[sources_N] == length
        ending_N = log_probs_NV[:, self._end].clamp(min=DEMANDED)
        log_probs_NV = rules(log_probs_NV)
        cut_N = last_N & (log_probs_NV.argmax(dim=1) != self._end)
        log_probs_NV.masked_fill_(last_N[:, None], -math.inf)
        log_probs_NV[:, self._end] = torch.where(last_N, ending_N, log_probs_NV[:, self._end])
        return log_probs_NV, cut_N
