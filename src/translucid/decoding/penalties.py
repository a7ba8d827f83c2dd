"""What makes translations of different lengths comparable (section 6.1, and [38] there).

::

    score = log P / length penalty + coverage penalty

    paper   lp(n) = ((5 + n) / 6)^α           n counts the end symbol; α = 0: no penalty
    plain   lp(n) = n^α                       α = 1: the mean log P of a token

    coverage = β · Σ_s log min(Σ_t attention of target token t to source token s, 1)

Both forms grow with n, so a long translation is divided by more. Coverage is at most 0: it is the
price of source tokens that the translation has hardly looked at.

Shapes: N rows, S source, B sources.
"""

from __future__ import annotations

import torch
from torch import Tensor

from translucid.decoding.settings import SearchConfig
from translucid.decoding.stepper import AttendingStepper, Stepper
from translucid.errors import InputError


def length_penalty(length: int, settings: SearchConfig) -> float:
    """Return what log P of a translation of `length` tokens, its end symbol counted, is divided by.

    >>> length_penalty(7, SearchConfig(length_penalty=1.0))
    2.0
    """
    if settings.length_form == "paper":
        return float(((5 + length) / 6) ** settings.length_penalty)
    return float(length**settings.length_penalty)


def score_of(log_prob: float, length: int, settings: SearchConfig) -> float:
    """Return the score of a translation of `length` tokens, where coverage plays no part."""
    return log_prob / length_penalty(length, settings)


def longest_penalty(limits_B: Tensor, settings: SearchConfig) -> Tensor:
    """Return the length penalty of the longest translation that each source may get."""
    values = [length_penalty(limit, settings) for limit in limits_B.tolist()]
    return torch.tensor(values, dtype=torch.float64, device=limits_B.device)


def coverage_penalty(looked_NS: Tensor, settings: SearchConfig) -> Tensor:
    """Return the price of what was hardly attended to, at most 0, from each row's summed attention.

    What never got any attention at all is padding, and costs nothing.
    """
    share_NS = looked_NS.double().clamp(max=1)
    logs_NS = torch.where(share_NS > 0, share_NS, 1.0).log()
    return settings.coverage_penalty * logs_NS.sum(dim=-1)


def newest_attention(stepper: Stepper) -> Tensor:
    """Return where a stepper's newest step looked, or raise InputError if it does not tell."""
    if not isinstance(stepper, AttendingStepper):
        raise InputError(
            f"a coverage penalty needs to know what was attended to, and {type(stepper).__name__} "
            "does not tell: set coverage_penalty = 0, or decode with a network that records it"
        )
    return stepper.attention_NS
