"""The loop guard: a translation that goes in circles is ended, and says so.

A network that has lost its thread may write "the house of the house of the house of …" up to the
limit of length, each round more sure of itself. A row goes in circles when each of its newest 24
tokens echoes the token u places before it, for one u from 1 to 8::

    u = 1       25 times the same token        u = 4      7 rounds of 4 tokens
    u = 2       13 rounds of 2 tokens          u = 8      4 rounds of 8 tokens

A wrong alarm cuts an honest text short; a late one costs a few steps, for a row in circles never
leaves them, and the limit of length waits at 50 tokens beyond the source. So the threshold is
above what people write, even where a token is a character or a byte: "very very very", "ha ha ha
ha ha ha ha" (20 characters), "1 000 000 000 000 000 000" (six times " 000"), six laughing faces
of 4 bytes each, a refrain sung three times.

Shapes: B sources, N rows, T tokens written so far, E echoes, U lengths of a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from translucid.decoding.job import Job
from translucid.decoding.settings import SearchConfig

ECHOES = 24  # tokens in a row that each repeat an earlier one
LONGEST_ROUND = 8  # how far before it, at most, the token that a token repeats


def looping(tokens: Sequence[int]) -> bool:
    """Tell whether a translation under way goes in circles.

    >>> looping([7, 4, 5] * 8), looping([7, 4, 5] * 9)
    (False, True)
    """
    return any(
        len(tokens) >= ECHOES + round_length
        and all(tokens[-i] == tokens[-i - round_length] for i in range(1, ECHOES + 1))
        for round_length in range(1, LONGEST_ROUND + 1)
    )


@dataclass(frozen=True)
class LoopGuard:
    """Tells which rows of a batch go in circles, before which no row may be ended for it.

    What a caller asked for holds: a forced prefix is not counted, and no row ends before the
    minimum length. `exempt_B` is how many tokens of each source's rows are never counted.
    """

    exempt_B: Tensor
    min_length: int

    def __call__(self, tokens_NT: Tensor, sources_N: Tensor) -> Tensor | None:
        """Return which rows go in circles as (N,), or None where it is too early for any."""
        length = tokens_NT.size(1)
        if length <= ECHOES or length < self.min_length:
            return None
        return _in_circles(tokens_NT) & (length - self.exempt_B[sources_N] > ECHOES)


def loop_guard_of(job: Job, settings: SearchConfig) -> LoopGuard | None:
    """Return the guard of a job, or None where the settings want none."""
    if not settings.loop_guard:
        return None
    lengths = [len(prefix) for prefix in job.prefixes]
    exempt_B = torch.tensor(lengths, device=job.limits_B.device, dtype=torch.int64)
    return LoopGuard(exempt_B, settings.min_length)


def _in_circles(tokens_NT: Tensor) -> Tensor:
    """Do what `looping` does for all rows in one comparison::

    window of 9 tokens      a b c d e f g h │ i        ended by each of the newest 24
    i echoes                8 7 6 5 4 3 2 1   places before
    """
    missing = ECHOES + LONGEST_ROUND - tokens_NT.size(1)
    if missing > 0:  # what stands before the start is no token, so nothing echoes it
        before_NM = tokens_NT.new_full((tokens_NT.size(0), missing), -1)
        tokens_NT = torch.cat([before_NM, tokens_NT], dim=1)
    windows_NEW = tokens_NT[:, -ECHOES - LONGEST_ROUND :].unfold(1, LONGEST_ROUND + 1, 1)
    echoes_NEU = windows_NEW[..., :-1] == windows_NEW[..., -1:]
    return echoes_NEU.all(dim=1).any(dim=1)
