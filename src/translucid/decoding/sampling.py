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

One number u from [0, 1) is drawn a row and step, and picks the token where the sum of
probabilities passes u. It is a hash of (seed, key of the source, number of the sample, step), so a
sample depends neither on the batch that its source is in nor on how the batch is computed. The
hash is SplitMix64: its finaliser mixes seed, key and number into the start of a stream, and the
stream's output number `step` is u. (Steele, Lea, Flood: Fast splittable pseudorandom number
generators, 2014.)

Shapes: B sources, N rows, R rows under way, V vocabulary, K most probable tokens.
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
from translucid.decoding.tree import Recorder, Stop

FIRST_LOOK = 256  # tokens that are sorted where no top-k says how many; where that is few, all
COLDEST = 1e-30  # temperature below which even float32's least difference leaves no choice
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
    """Return some rows best first: those that the network ended, by score, then those cut short."""
    return sorted(numbers, key=lambda number: (not found[number].finished, -found[number].score))


def record_samples(
    recorder: Recorder,
    job: Job,
    settings: SearchConfig,
    found: list[Hypothesis],
    seen: Seen,
    results: list[list[int]],
) -> None:
    """Record every source's tree; `results` are the rows that are returned, best first."""
    nodes = record(recorder, job, settings, found, seen)
    for source, numbers in enumerate(results):
        reason: Stop = "full" if settings.samples > 1 else found[source].ending
        recorder.stop(source, tuple(nodes[number] for number in numbers), reason)


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
        uniform = uniforms(self._streams_N[numbers_R.cpu().numpy()], step)
        uniform_R = torch.from_numpy(uniform).to(log_probs_RV.device)
        best_R1 = log_probs_RV.amax(dim=1, keepdim=True)
        logits_RV = (log_probs_RV - best_R1) / max(self._settings.temperature, COLDEST)
        if _everything_is_kept(self._settings):
            return draw(logits_RV, uniform_R)
        return self._draw_from_kept(logits_RV, uniform_R)

    def _draw_from_kept(self, logits_RV: Tensor, uniform_R: Tensor) -> Tensor:
        """Sort only as many tokens as a row may keep, which is seldom the whole vocabulary."""
        vocabulary = logits_RV.size(1)
        width = min(self._settings.top_k or FIRST_LOOK, vocabulary)
        tokens_R, all_kept_R = self._draw_sorted(logits_RV, uniform_R, width)
        if width < vocabulary and not self._settings.top_k and bool(all_kept_R.any()):
            rows = all_kept_R.nonzero()[:, 0]
            tokens_R[rows], _ = self._draw_sorted(logits_RV[rows], uniform_R[rows], vocabulary)
        return tokens_R

    def _draw_sorted(
        self, logits_RV: Tensor, uniform_R: Tensor, width: int
    ) -> tuple[Tensor, Tensor]:
        """Draw from the `width` most probable tokens; say where even the last of them was kept."""
        tokens_RK, logits_RK = keep(logits_RV, self._settings, width)
        tokens_R = tokens_RK.gather(1, draw(logits_RK, uniform_R)[:, None])[:, 0]
        return tokens_R, logits_RK[:, -1] > -math.inf


def _everything_is_kept(settings: SearchConfig) -> bool:
    return settings.top_k == 0 and settings.top_p == 1 and settings.min_p == 0


def keep(logits_RV: Tensor, settings: SearchConfig, width: int) -> tuple[Tensor, Tensor]:
    """Return the `width` most probable tokens, best first, and their logits: −∞ if not kept."""
    if width < logits_RV.size(1):
        logits_RK, tokens_RK = top_tokens(logits_RV, width)
    else:
        logits_RK, tokens_RK = logits_RV.sort(dim=1, descending=True, stable=True)
    probs_RK = (logits_RK - logits_RV.logsumexp(dim=1, keepdim=True)).exp().double()
    before_RK = F.pad(probs_RK.cumsum(dim=1)[:, :-1], (1, 0))
    enough = math.inf if settings.top_p == 1 else settings.top_p  # a sum may round to 1 too early
    kept_RK = (before_RK < enough) & (probs_RK >= settings.min_p * probs_RK[:, :1])
    if settings.top_k:
        kept_RK[:, settings.top_k :] = False
    return tokens_RK, logits_RK.masked_fill(~kept_RK, -math.inf)


def draw(logits_RK: Tensor, uniform_R: Tensor) -> Tensor:
    """Return the place in each row where the sum of probabilities passes its number of [0, 1).

    A place of probability 0 is never drawn: the sum does not pass anything there.
    """
    weights_RK = (logits_RK - logits_RK.amax(dim=1, keepdim=True)).exp()
    sums_RK = weights_RK.cumsum(dim=1, dtype=torch.float64)
    passed_R1 = (uniform_R * sums_RK[:, -1])[:, None]
    return torch.searchsorted(sums_RK, passed_R1, right=True)[:, 0]


def streams(seed: int, key: int, count: int) -> Words:
    """Return where the streams of random numbers of a source's samples start."""
    words = np.zeros(count, dtype=np.uint64)
    for part in (seed, key, np.arange(count, dtype=np.uint64)):
        word = np.uint64(part & _WORD) if isinstance(part, int) else part
        words = _mixed((words ^ word) + np.uint64(_GOLDEN))
    return words


def uniforms(streams_R: Words, step: int) -> NDArray[np.float64]:
    """Return number `step` of each stream, from [0, 1): 53 bits, all that a float64 holds."""
    words = _mixed(streams_R + np.uint64((step + 1) * _GOLDEN & _WORD))
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(words: Words) -> Words:
    """Return SplitMix64's finaliser of each word: every bit of it depends on every bit."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
