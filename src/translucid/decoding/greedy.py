"""Greedy search: at every step the most probable token.

Shapes: N rows at the start, R rows still under way, T steps, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from translucid.decoding.stepper import Hypothesis, Stepper
from translucid.errors import InputError


@torch.inference_mode()
def greedy(stepper: Stepper, limits_N: Tensor, *, begin: int, end: int) -> list[Hypothesis]:
    """Return the translation of every row, each from `begin` to `end` or to its limit of length.

    A finished row leaves the batch, so that the remaining ones cost less::

        step         1      2      3      4
        row 0        I      am     here   </s>          rows under way: 3, 3, 2, 1
        row 1        yes    </s>
        row 2        thank  you    </s>
    """
    if limits_N.numel() == 0 or int(limits_N.min()) < 1:
        raise InputError(
            f"limits of length {limits_N.tolist()}: there must be a row, and a token for each"
        )
    rows_R = torch.arange(limits_N.numel(), device=limits_N.device)
    tokens_NT = limits_N.new_full((limits_N.numel(), int(limits_N.max())), end)
    log_probs_N = torch.zeros(limits_N.numel(), device=limits_N.device)
    last_R = limits_N.new_full(limits_N.shape, begin)
    for step in range(tokens_NT.size(1)):
        best_R, last_R = stepper.step(last_R).max(dim=-1)
        tokens_NT[rows_R, step] = last_R
        log_probs_N[rows_R] += best_R
        going_on = (last_R != end) & (limits_N[rows_R] > step + 1)
        if not bool(going_on.all()):
            kept = going_on.nonzero()[:, 0]
            if kept.numel() == 0:
                break
            stepper.reorder(kept)
            rows_R, last_R = rows_R[kept], last_R[kept]
    return [
        _hypothesis(tokens[:limit], log_prob, end)
        for tokens, log_prob, limit in zip(
            tokens_NT.tolist(), log_probs_N.tolist(), limits_N.tolist(), strict=True
        )
    ]


def _hypothesis(tokens: list[int], log_prob: float, end: int) -> Hypothesis:
    finished = end in tokens
    return Hypothesis(tokens[: tokens.index(end)] if finished else tokens, log_prob, finished)
