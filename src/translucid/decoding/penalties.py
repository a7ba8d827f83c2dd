"""Penalties of a batch under way (section 6.1, and [38] there): coverage, and the longest length.

::

    coverage = β · Σ_s log min(Σ_t attention of target token t to source token s, 1)

Coverage is at most 0: a penalty for source tokens that the translation hardly attended to. The
length penalty is in `hypothesis.py`.

Shapes: N rows, S source, B sources.
"""

from __future__ import annotations

import torch
from torch import Tensor

from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import length_penalty
from translucid.decoding.stepper import AttendingStepper, Stepper
from translucid.errors import InputError


def longest_length_penalty(limits_B: Tensor, settings: SearchConfig) -> Tensor:
    """Return the length penalty at each source's limit of length."""
    values = [length_penalty(limit, settings) for limit in limits_B.tolist()]
    return torch.tensor(values, dtype=torch.float64, device=limits_B.device)


def coverage_penalty(attended_NS: Tensor, settings: SearchConfig) -> Tensor:
    """Return the penalty of each row, at most 0, from its attention summed over all steps.

    Positions without any attention are padding and cost nothing.
    """
    share_NS = attended_NS.double().clamp(max=1)
    logs_NS = torch.where(share_NS > 0, share_NS, 1.0).log()
    return settings.coverage_penalty * logs_NS.sum(dim=-1)


def get_attention(stepper: Stepper) -> Tensor:
    """Return what a stepper's newest step attended to; raise InputError if it cannot say."""
    if not isinstance(stepper, AttendingStepper):
        raise InputError(
            f"a coverage penalty needs the attention of each step, and {type(stepper).__name__} "
            "does not show it: set coverage_penalty = 0, or decode with a network that does"
        )
    return stepper.attention_NS
