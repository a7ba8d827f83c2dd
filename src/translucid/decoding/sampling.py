"""Sampling: at every step a random token, drawn with its probability.

::

    log P of the network ─▶ constraints ─▶ temperature ─▶ top-k, top-p, min-p ─▶ draw

    P'(token) ∝ P(token)^(1 / temperature)       below 1: bolder choices made rarer; 0: greedy

    most probable first      top_k = 4     top_p = 0.8      min_p = 0.1         drawn from
    .45  .25  .15  .08 …     the first 4   until Σ ≥ 0.8    at least .045       the shortest
                             ████          ███              ████                ███

Top-k, top-p and min-p all judge the same distribution, and each keeps the most probable tokens (of
equals, lower ids first), at least one: so their order does not matter. The log P of a hypothesis is
the network's own, at temperature 1 and before anything is filtered out.

A token is drawn by a walk down a binary tree over the token ids: at every fork a number u of [0, 1)
decides, by the share of the probability that each side has. That takes about 15 numbers. One would
do, if it picked the token at which the sum of probabilities passes it; but then a rounding error of
1e-7 moves thousands of borders between tokens, and a sample would differ from batch to batch once
in some thousand steps. A walk passes 15 borders in all.

The numbers are a hash of (seed, key of the source, number of the sample, step, fork), so that a
sample does not depend on what else is in the batch. The hash is SplitMix64: its finaliser mixes
seed, key and number of the sample into the start of a stream, of which each step and fork takes the
number at its own place. (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014.)

Shapes: N rows, R rows under way, V vocabulary, K most probable tokens, F forks, M nodes of the tree
at one height, H half of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from translucid.decoding.candidates import top_tokens
from translucid.decoding.config import SearchConfig
from translucid.decoding.greedy import (
    Choose,
    LikelyTokens,
    decode_rows,
    most_probable,
    record_trees,
)
from translucid.decoding.hypothesis import Hypothesis
from translucid.decoding.request import SearchRequest
from translucid.decoding.stepper import Stepper
from translucid.decoding.tree import Recorder

FIRST_LOOK = 256  # tokens that are sorted without top-k; if a row keeps them all, all tokens
COLDEST = 1e-30  # lowest temperature: even the least difference of float32 leaves no choice
FORKS = 64  # random numbers of a stream that are reserved for each step
_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio: the step of SplitMix64
_WORD = 2**64 - 1

Words = NDArray[np.uint64]


def sampling_search(
    start: Callable[[int], Stepper],
    request: SearchRequest,
    settings: SearchConfig,
    recorder: Recorder | None,
) -> list[list[Hypothesis]]:
    """Draw `samples` translations of every source; return the `n_best` of them, best first."""
    seen: LikelyTokens | None = None if recorder is None else {}
    found = draw_samples(start, request, settings, seen)
    best = [rank_rows(found, rows)[: settings.n_best] for rows in group_rows(request, settings)]
    if recorder is not None and seen is not None:
        record_samples(recorder, request, settings, found, seen, best)
    return [[found[number] for number in numbers] for numbers in best]


def draw_samples(
    start: Callable[[int], Stepper],
    request: SearchRequest,
    settings: SearchConfig,
    seen: LikelyTokens | None,
) -> list[Hypothesis]:
    """Draw `samples` translations of every source; return all, those of a source side by side."""
    copies = settings.samples
    choose: Choose = most_probable if settings.temperature == 0 else TokenSampler(request, settings)
    return decode_rows(start(copies), request, settings, copies, choose, seen)


def group_rows(request: SearchRequest, settings: SearchConfig) -> list[range]:
    """Return the numbers of each source's rows."""
    copies = settings.samples
    return [range(source * copies, (source + 1) * copies) for source in range(request.sources)]


def rank_rows(found: Sequence[Hypothesis], numbers: Sequence[int]) -> list[int]:
    """Return rows best first, by score; loops come last."""
    return sorted(numbers, key=lambda number: (not found[number].finished, -found[number].score))


def record_samples(
    recorder: Recorder,
    request: SearchRequest,
    settings: SearchConfig,
    found: list[Hypothesis],
    seen: LikelyTokens,
    results: list[list[int]],
) -> None:
    """Record every source's tree; `results` are the rows that are returned, best first.

    The search of a source stops when its last sample ends, for the same reason.
    """
    nodes = record_trees(recorder, request, settings, found, seen)
    for source, numbers in enumerate(results):
        of_source = found[source * settings.samples : (source + 1) * settings.samples]
        last = max(of_source, key=lambda h: (h.length, h.ending != "end"))
        recorder.stop(source, tuple(nodes[number] for number in numbers), last.ending)


class TokenSampler:
    """Draws the next token of every row."""

    def __init__(self, request: SearchRequest, settings: SearchConfig) -> None:
        keys = request.keys or tuple(range(request.sources))
        self._settings = settings
        self._streams_N = np.concatenate(
            [random_streams(settings.seed, key, settings.samples) for key in keys]
        )

    def __call__(self, log_probs_RV: Tensor, numbers_R: Tensor, step: int) -> Tensor:
        """Return a token for each row; `numbers_R` says which of the request's rows they are."""
        best_R1 = log_probs_RV.amax(dim=1, keepdim=True)
        logits_RV = (log_probs_RV - best_R1) / max(self._settings.temperature, COLDEST)
        streams_R = self._streams_N[numbers_R.cpu().numpy()]
        uniform = random_uniforms(streams_R, step, count_forks(logits_RV.size(1)))
        uniform_RF = torch.from_numpy(uniform).to(log_probs_RV.device)
        return draw_tokens(filter_logits(logits_RV, self._settings), uniform_RF)


def filter_logits(logits_RV: Tensor, settings: SearchConfig) -> Tensor:
    """Return the logits of what top-k, top-p and min-p keep, and −∞ for all else.

    Only as many tokens are sorted as a row may keep, rarely the whole vocabulary.
    """
    if settings.top_k == 0 and settings.top_p == 1 and settings.min_p == 0:
        return logits_RV
    width = min(settings.top_k or FIRST_LOOK, logits_RV.size(1))
    kept_RV, all_kept_R = _filter_top(logits_RV, settings, width)
    if not settings.top_k and width < logits_RV.size(1) and bool(all_kept_R.any()):
        rows = all_kept_R.nonzero()[:, 0]
        kept_RV[rows], _ = _filter_top(logits_RV[rows], settings, logits_RV.size(1))
    return kept_RV


def _filter_top(logits_RV: Tensor, settings: SearchConfig, width: int) -> tuple[Tensor, Tensor]:
    """Filter the `width` most probable tokens; also return the rows that keep even the last one."""
    if width < logits_RV.size(1):
        logits_RK, tokens_RK = top_tokens(logits_RV, width)
    else:
        logits_RK, tokens_RK = logits_RV.sort(dim=1, descending=True, stable=True)
    probs_RK = (logits_RK - logits_RV.logsumexp(dim=1, keepdim=True)).exp().double()
    before_RK = F.pad(probs_RK.cumsum(dim=1)[:, :-1], (1, 0))
    enough = math.inf if settings.top_p == 1 else settings.top_p  # a sum may round to 1 too early
    kept_RK = (before_RK < enough) & (probs_RK >= settings.min_p * probs_RK[:, :1])
    logits_RK = logits_RK.masked_fill(~kept_RK, -math.inf)
    kept_RV = torch.full_like(logits_RV, -math.inf).scatter_(1, tokens_RK, logits_RK)
    return kept_RV, kept_RK[:, -1]


def count_forks(count: int) -> int:
    """Return the number of forks between the root and each of `count` leaves.

    >>> count_forks(1), count_forks(2), count_forks(3), count_forks(32000)
    (0, 1, 2, 15)
    """
    return (count - 1).bit_length()


def draw_tokens(logits_RV: Tensor, uniform_RF: Tensor) -> Tensor:
    """Walk down to a token of each row, by one number of [0, 1) per fork; P ∝ e^logit.

    The tree is built by laying the second half over the first, until one sum is left::

        a  b  c  d  e        a+d  b+e  c        a+d+c  b+e        a+d+c+b+e

    A side of probability 0 is never taken, whatever the number.
    """
    sums = [(logits_RV - logits_RV.amax(dim=1, keepdim=True)).exp()]
    while sums[-1].size(1) > 1:
        whole_RM = sums[-1]
        half = (whole_RM.size(1) + 1) // 2
        folded_RH = whole_RM[:, :half].clone()
        folded_RH[:, : whole_RM.size(1) - half] += whole_RM[:, half:]
        sums.append(folded_RH)
    place_R1 = torch.zeros_like(logits_RV[:, :1], dtype=torch.int64)
    for fork, whole_RM in enumerate(reversed(sums[:-1])):
        other_R1 = place_R1 + (whole_RM.size(1) + 1) // 2
        first_R1 = whole_RM.gather(1, place_R1).double()
        exists_R1 = other_R1 < whole_RM.size(1)
        second_R1 = whole_RM.gather(1, other_R1.where(exists_R1, place_R1)).double() * exists_R1
        passes_R1 = uniform_RF[:, fork, None] * (first_R1 + second_R1) >= first_R1
        place_R1 = other_R1.where(passes_R1, place_R1)
    return place_R1[:, 0]


def random_streams(seed: int, key: int, count: int) -> Words:
    """Return the starts of the random streams of a source's samples."""
    words = np.zeros(count, dtype=np.uint64)
    for part in (seed, key, np.arange(count, dtype=np.uint64)):
        word = np.uint64(part & _WORD) if isinstance(part, int) else part
        words = _splitmix64((words ^ word) + np.uint64(_GOLDEN))
    return words


def random_uniforms(streams_R: Words, step: int, count: int) -> NDArray[np.float64]:
    """Return the first `count` numbers of a step in each stream, from [0, 1), as (rows, count).

    They have 53 bits, all that a float64 holds.
    """
    places = np.arange(step * FORKS + 1, step * FORKS + 1 + count, dtype=np.uint64)
    words = _splitmix64(streams_R[:, None] + places * np.uint64(_GOLDEN))
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _splitmix64(words: Words) -> Words:
    """Return SplitMix64's finaliser of each word: every bit of it depends on every bit."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
