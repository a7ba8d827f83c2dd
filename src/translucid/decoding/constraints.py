"""What a search may not write: pure filters over what the network expects next.

::

    filters = filters_of(job, settings)                               # once a job
    log_probs_NV = apply(filters, log_probs_NV, tokens_NT, sources_N)    # once a step

A filter puts −∞ where a token may not come and leaves the other numbers alone: they are not
normalised anew, so that a score is always the network's own. To pass a matrix of N × V numbers
through many hands without copying it, filters write into the one they are given, which a search
has just received from the network and owns.

How the rules rank, the strongest first::

    limit of length     at the last position nothing but the end symbol: see `limits.py`
    forced prefix       nothing but its next token, whatever the rules below say
    once only           each such token of the source once; a row that would end, or has no more
                        room, writes those it lacks first
    one is possible     a row that the rules below leave empty may end
    forbidden           never; the start symbol is always among them, the end symbol never is
    minimum length      no end symbol before it
    no-repeat n-gram    no token that would complete an n-gram which the row has already

Shapes: B sources, N rows, T tokens written so far, V vocabulary, P longest prefix, n n-gram, K
forbidden columns, O tokens that come once only, R pairs of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from translucid.decoding.job import Job, OnceOnly
from translucid.decoding.settings import SearchConfig

# log P of a token that a rule demands and the network holds impossible (−∞): finite, so that the
# search takes it, and far below what a network gives to anything.
DEMANDED = -1e9


class Filter(Protocol):
    """One rule about the next token."""

    def __call__(self, log_probs_NV: Tensor, tokens_NT: Tensor, sources_N: Tensor) -> Tensor:
        """Return `log_probs_NV`, changed in place: −∞ for every token that may not come.

        `tokens_NT` is what each row has written, without the start symbol; `sources_N` says which
        source of the job each row translates.
        """


def apply(
    filters: Sequence[Filter], log_probs_NV: Tensor, tokens_NT: Tensor, sources_N: Tensor
) -> Tensor:
    """Pass what the network expects through all filters; `log_probs_NV` is changed in place."""
    for rule in filters:
        log_probs_NV = rule(log_probs_NV, tokens_NT, sources_N)
    return log_probs_NV


def filters_of(job: Job, settings: SearchConfig) -> tuple[Filter, ...]:
    """Return the filters that a job needs; on the common path the forbidden columns are all."""
    device = job.limits_B.device
    forbidden = sorted({job.begin, *job.forbidden} - {job.end})
    columns_K = torch.tensor(forbidden, device=device, dtype=torch.int64)
    rules: list[Filter] = [Forbidden(columns_K, job.end)]
    if settings.min_length:
        rules.append(MinimumLength(settings.min_length, job.end))
    if settings.no_repeat_ngram:
        rules.append(NoRepeat(settings.no_repeat_ngram))
    if len(rules) > 1:
        rules = [OneIsPossible(tuple(rules), job.end)]
    if job.once is not None:
        rules.append(once_each(job, job.once))
    if any(job.prefixes):
        rules = [ForcedPrefix(tuple(rules), prefix_table(job))]
    return tuple(rules)


@dataclass(frozen=True)
class Forbidden:
    """These tokens are never written; the end symbol stays possible."""

    columns_K: Tensor
    end: int

    def __call__(self, log_probs_NV: Tensor, tokens_NT: Tensor, sources_N: Tensor) -> Tensor:
        """Put −∞ into a few columns, without a look at the others."""
        del tokens_NT, sources_N
        log_probs_NV.index_fill_(1, self.columns_K, -math.inf)
        log_probs_NV[:, self.end].clamp_(min=DEMANDED)
        return log_probs_NV


@dataclass(frozen=True)
class MinimumLength:
    """The end symbol does not come before this many tokens."""

    length: int
    end: int

    def __call__(self, log_probs_NV: Tensor, tokens_NT: Tensor, sources_N: Tensor) -> Tensor:
        """Put −∞ into the end symbol's column while rows are too short."""
        del sources_N
        if tokens_NT.size(1) < self.length:
            log_probs_NV[:, self.end] = -math.inf
        return log_probs_NV


@dataclass(frozen=True)
class NoRepeat:
    """No n-gram is written twice.

    With n = 3, after "a b c d a b" the token c may not come: "a b c" is there already.
    """

    length: int

    def __call__(self, log_probs_NV: Tensor, tokens_NT: Tensor, sources_N: Tensor) -> Tensor:
        """Put −∞ wherever the newest n − 1 tokens have stood before, for the token after them."""
        del sources_N
        if tokens_NT.size(1) < self.length:
            return log_probs_NV
        ngrams_NTn = tokens_NT.unfold(1, self.length, 1)
        newest_N1n = tokens_NT[:, None, tokens_NT.size(1) - self.length + 1 :]
        same_NT = (ngrams_NTn[..., :-1] == newest_N1n).all(dim=-1)
        rows, places = same_NT.nonzero(as_tuple=True)
        log_probs_NV[rows, ngrams_NTn[rows, places, -1]] = -math.inf
        return log_probs_NV


@dataclass(frozen=True)
class OneIsPossible:
    """Where other filters leave a row nothing, it may end."""

    filters: tuple[Filter, ...]
    end: int

    def __call__(self, log_probs_NV: Tensor, tokens_NT: Tensor, sources_N: Tensor) -> Tensor:
        """Apply the filters, then give the end symbol back to the rows left empty."""
        ending_N = log_probs_NV[:, self.end].clamp(min=DEMANDED)
        log_probs_NV = apply(self.filters, log_probs_NV, tokens_NT, sources_N)
        empty_N = log_probs_NV.amax(dim=1) == -math.inf
        log_probs_NV[:, self.end] = torch.where(empty_N, ending_N, log_probs_NV[:, self.end])
        return log_probs_NV


@dataclass(frozen=True)
class OnceEach:
    """A translation has each of some tokens exactly once where its source has them, else never.

    `columns_O` are the tokens, and `wanted_BO` those of each source. `opening_R` and `closing_R`
    number, among the columns, tokens that open and close.
    """

    columns_O: Tensor
    wanted_BO: Tensor
    opening_R: Tensor
    closing_R: Tensor
    limits_B: Tensor
    end: int

    def __call__(self, log_probs_NV: Tensor, tokens_NT: Tensor, sources_N: Tensor) -> Tensor:
        """Leave the tokens that may come now; no end before all are written."""
        own_NO = log_probs_NV[:, self.columns_O].clamp(min=DEMANDED)
        wanted_NO = self.wanted_BO[sources_N]
        places_NO = self._places(tokens_NT)
        lacking_NO = wanted_NO & (places_NO < 0)
        own_NO.masked_fill_(~self._possible(wanted_NO, lacking_NO, places_NO), -math.inf)
        count_N = lacking_NO.sum(dim=1)
        log_probs_NV[:, self.columns_O] = -math.inf
        room_N = self.limits_B[sources_N] - tokens_NT.size(1) - 1
        ending_N = log_probs_NV.argmax(dim=1) == self.end
        forced_N = (count_N > 0) & (ending_N & (own_NO.amax(dim=1) < log_probs_NV[:, self.end]))
        forced_N |= (count_N > 0) & (room_N <= count_N)
        log_probs_NV.masked_fill_(forced_N[:, None], -math.inf)
        log_probs_NV[:, self.end].masked_fill_(count_N > 0, -math.inf)
        log_probs_NV[:, self.columns_O] = own_NO
        return log_probs_NV

    def _places(self, tokens_NT: Tensor) -> Tensor:
        """Return where each row has written each of the tokens, −1 where it has not."""
        if not tokens_NT.size(1):
            return tokens_NT.new_full((tokens_NT.size(0), self.columns_O.numel()), -1)
        at_T = torch.arange(tokens_NT.size(1), device=tokens_NT.device)
        same_NTO = tokens_NT[:, :, None] == self.columns_O
        return torch.where(same_NTO, at_T[None, :, None], -1).amax(dim=1)

    def _possible(self, wanted_NO: Tensor, lacking_NO: Tensor, places_NO: Tensor) -> Tensor:
        """Return which tokens may come now: of those that close, the one that was opened last."""
        opened_NR = torch.where(lacking_NO[:, self.closing_R], places_NO[:, self.opening_R], -1)
        last_NR = (opened_NR >= 0) & (opened_NR == opened_NR.amax(dim=1, keepdim=True))
        possible_NO = lacking_NO.clone()
        possible_NO[:, self.closing_R] &= last_NR | ~wanted_NO[:, self.opening_R]
        return possible_NO


def once_each(job: Job, once: OnceOnly) -> Filter:
    """Return the rule of a job about tokens that come once only."""
    device = job.limits_B.device
    number = {token: column for column, token in enumerate(once.tokens)}
    wanted_BO = torch.zeros(job.sources, len(number), dtype=torch.bool, device=device)
    for source, tokens in enumerate(once.wanted):
        wanted_BO[source, [number[token] for token in tokens]] = True
    pairs_R2 = torch.tensor(
        [[number[token] for token in pair] for pair in once.pairs], device=device
    ).view(-1, 2)
    columns_O = torch.tensor(once.tokens, device=device)
    opening_R, closing_R = pairs_R2.T
    return OnceEach(columns_O, wanted_BO, opening_R, closing_R, job.limits_B, job.end)


def prefix_table(job: Job) -> Tensor:
    """Return the forced prefixes of a job as (B, P), filled up with −1."""
    longest = max(map(len, job.prefixes))
    padded = [[*prefix, *[-1] * (longest - len(prefix))] for prefix in job.prefixes]
    return torch.tensor(padded, device=job.limits_B.device, dtype=torch.int64)


@dataclass(frozen=True)
class ForcedPrefix:
    """A row begins with the tokens that its source asks for; then the other filters rule."""

    filters: tuple[Filter, ...]
    prefix_BP: Tensor

    def __call__(self, log_probs_NV: Tensor, tokens_NT: Tensor, sources_N: Tensor) -> Tensor:
        """Apply the filters, then leave the rows inside their prefix its next token alone."""
        step = tokens_NT.size(1)
        if step >= self.prefix_BP.size(1):
            return apply(self.filters, log_probs_NV, tokens_NT, sources_N)
        forced_N = self.prefix_BP[sources_N, step]
        rows = (forced_N >= 0).nonzero()[:, 0]
        tokens = forced_N[rows]
        own = log_probs_NV[rows, tokens].clamp(min=DEMANDED)
        log_probs_NV = apply(self.filters, log_probs_NV, tokens_NT, sources_N)
        log_probs_NV[rows] = -math.inf
        log_probs_NV[rows, tokens] = own
        return log_probs_NV
