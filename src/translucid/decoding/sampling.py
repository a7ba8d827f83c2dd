"""Sampling: at every step a token drawn by lot, each with its probability.

::

    log P of the network ─▶ constraints ─▶ temperature ─▶ top-k, top-p, min-p ─▶ draw

    P'(token) ∝ P(token)^(1 / temperature)       below 1: bolder choices made rarer; 0: greedy

    most probable first      top_k = 4     top_p = 0.8      min_p = 0.1         drawn from
    .45  .25  .15  .08 …     the first 4   until Σ ≥ 0.8    at least .045       the shortest
                             ████          ███              ████                ███

Top-k, top-p and min-p all judge the same distribution, and each keeps the beginning of the tokens
in the order of their probability (of equals, lower ids first): their order does not matter, and
the most probable token is always kept. What a hypothesis records as log P is the network's own, at
temperature 1 and before anything is filtered out.

A token is drawn by a walk down a binary tree over the token ids: at every fork a number u of [0, 1)
decides, by the share of the probability that each side has. That takes about 15 numbers where one
could do, which picks the token at which the sum of probabilities passes it; but then a rounding
error of 1e-7 moves thousands of borders between tokens, and a sample would differ from batch to
batch once in some thousand steps. A walk passes 15 borders in all.

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
from translucid.decoding.greedy import most_probable
from translucid.decoding.job import Job
from translucid.decoding.rows import Choose, Seen, follow, record
from translucid.decoding.settings import SearchConfig
from translucid.decoding.stepper import Hypothesis, Stepper
from translucid.decoding.tree import Recorder

FIRST_LOOK = 256  # tokens that are sorted where no top-k says how many; where that is few, all
COLDEST = 1e-30  # temperature below which even float32's least difference leaves no choice
FORKS = 64  # numbers of a stream that are set aside for each step
_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio: the step of SplitMix64
_WORD = 2**64 - 1

Words = NDArray[np.uint64]


def sampling(
    start: Callable[[int], Stepper], job: Job, settings: SearchConfig, recorder: Recorder | None
) -> list[list[Hypothesis]]:
    """Draw `samples` translations of every source; return the `n_best` of them, best first."""
    seen: Seen | None = None if recorder is None else {}
    found = samples(start, job, settings, seen)
    best = [ranking(found, rows)[: settings.n_best] for rows in rows_of_sources(job, settings)]
    if recorder is not None and seen is not None:
        record_samples(recorder, job, settings, found, seen, best)
    return [[found[number] for number in numbers] for numbers in best]


def samples(
    start: Callable[[int], Stepper], job: Job, settings: SearchConfig, seen: Seen | None
) -> list[Hypothesis]:
    """Draw `samples` translations of every source; return all, a source's side by side."""
    copies = settings.samples
    choose: Choose = most_probable if settings.temperature == 0 else Drawing(job, settings)
    return follow(start(copies), job, settings, copies, choose, seen)


def rows_of_sources(job: Job, settings: SearchConfig) -> list[range]:
    """Return the numbers of each source's rows."""
    copies = settings.samples
    return [range(source * copies, (source + 1) * copies) for source in range(job.sources)]


def ranking(found: Sequence[Hypothesis], numbers: Sequence[int]) -> list[int]:
    """Return some rows best first, by score; those that went in circles come last."""
    return sorted(numbers, key=lambda number: (not found[number].finished, -found[number].score))


def record_samples(
    recorder: Recorder,
    job: Job,
    settings: SearchConfig,
    found: list[Hypothesis],
    seen: Seen,
    results: list[list[int]],
) -> None:
    """Record every source's tree; `results` are the rows that are returned, best first.

    The search of a source stops when its last sample ends, and for the same reason.
    """
    nodes = record(recorder, job, settings, found, seen)
    for source, numbers in enumerate(results):
        of_source = found[source * settings.samples : (source + 1) * settings.samples]
        last = max(of_source, key=lambda h: (len(h.log_probs), h.ending != "end"))
        recorder.stop(source, tuple(nodes[number] for number in numbers), last.ending)


class Drawing:
    """Draws the next token of every row, by the rules at the top of this file."""

    def __init__(self, job: Job, settings: SearchConfig) -> None:
        keys = job.keys or tuple(range(job.sources))
        self._settings = settings
        self._streams_N = np.concatenate(
            [streams(settings.seed, key, settings.samples) for key in keys]
        )

    def __call__(self, log_probs_RV: Tensor, numbers_R: Tensor, step: int) -> Tensor:
        """Return a token for each row; `numbers_R` says which of the job's rows they are."""
        best_R1 = log_probs_RV.amax(dim=1, keepdim=True)
        logits_RV = (log_probs_RV - best_R1) / max(self._settings.temperature, COLDEST)
        streams_R = self._streams_N[numbers_R.cpu().numpy()]
        uniform = uniforms(streams_R, step, forks(logits_RV.size(1)))
        uniform_RF = torch.from_numpy(uniform).to(log_probs_RV.device)
        return draw(keep(logits_RV, self._settings), uniform_RF)


def keep(logits_RV: Tensor, settings: SearchConfig) -> Tensor:
    """Return the logits of what top-k, top-p and min-p keep, and −∞ for all else.

    Only as many tokens are sorted as a row may keep, which is seldom the whole vocabulary.
    """
    if settings.top_k == 0 and settings.top_p == 1 and settings.min_p == 0:
        return logits_RV
    width = min(settings.top_k or FIRST_LOOK, logits_RV.size(1))
    kept_RV, all_kept_R = _keep_of_sorted(logits_RV, settings, width)
    if not settings.top_k and width < logits_RV.size(1) and bool(all_kept_R.any()):
        rows = all_kept_R.nonzero()[:, 0]
        kept_RV[rows], _ = _keep_of_sorted(logits_RV[rows], settings, logits_RV.size(1))
    return kept_RV


def _keep_of_sorted(logits_RV: Tensor, settings: SearchConfig, width: int) -> tuple[Tensor, Tensor]:
    """Judge the `width` most probable tokens; say where even the last of them is kept."""
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


def forks(count: int) -> int:
    """Return how many forks lie between the root and each of `count` leaves.

    >>> forks(1), forks(2), forks(3), forks(32000)
    (0, 1, 2, 15)
    """
    return (count - 1).bit_length()


def draw(logits_RV: Tensor, uniform_RF: Tensor) -> Tensor:
    """Walk down to a token of each row, by one number of [0, 1) a fork; P ∝ e^logit.

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


def streams(seed: int, key: int, count: int) -> Words:
    """Return where the streams of random numbers of a source's samples start."""
    words = np.zeros(count, dtype=np.uint64)
    for part in (seed, key, np.arange(count, dtype=np.uint64)):
        word = np.uint64(part & _WORD) if isinstance(part, int) else part
        words = _mixed((words ^ word) + np.uint64(_GOLDEN))
    return words


def uniforms(streams_R: Words, step: int, count: int) -> NDArray[np.float64]:
    """Return a step's first `count` numbers of each stream, from [0, 1), as (rows, count).

    They have 53 bits, all that a float64 holds.
    """
    places = np.arange(step * FORKS + 1, step * FORKS + 1 + count, dtype=np.uint64)
    words = _mixed(streams_R[:, None] + places * np.uint64(_GOLDEN))
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(words: Words) -> Words:
    """Return SplitMix64's finaliser of each word: every bit of it depends on every bit."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
