"""What a search may not write: pure filters over what the network expects next.

::

    filters = build_filters(request, settings)                                 # once per request
    log_probs_NV = apply_filters(filters, log_probs_NV, tokens_NT, sources_N)    # once per step

A filter puts −∞ where a token may not come and leaves the other numbers alone: they are not
renormalised, so a score is always the network's own. Filters write into the matrix of N × V numbers
that they are given, which the search has just received from the network and owns.

Precedence of the rules, the strongest first::

    limit of length     at the last position nothing but the end symbol: `LengthLimits`
    forced prefix       nothing but its next token, whatever the rules below say
    once only           each such token of the source once; a row that would end, or has no more
                        room, writes those it lacks first
    never empty         a row that the rules below leave empty may end
    forbidden           never; the start symbol is always among them, the end symbol never is
    minimum length      no end symbol before it
    no-repeat n-gram    no token that would complete an n-gram which the row has already

Shapes: B sources, N rows, T tokens written so far, V vocabulary, P longest prefix, n n-gram, K
forbidden columns, O tokens that come once only, R pairs of them, E echoes, U lengths of a round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import ECHOES, LONGEST_ROUND, MONOTONE_TOKENS, MONOTONY
from translucid.decoding.request import OnceOnly, SearchRequest

# log P of a token that a rule demands and the network finds impossible (−∞): finite, so that the
# search takes it, and far below anything that a network predicts.
FORCED_LOG_PROB = -1e9


class Filter(Protocol):
    """One rule about the next token."""

    def __call__(self, log_probs_NV: Tensor, tokens_NT: Tensor, sources_N: Tensor) -> Tensor:
        """Return `log_probs_NV`, changed in place: −∞ for every token that may not come.

        `tokens_NT` is what each row has written, without the start symbol; `sources_N` says which
        source of the request each row translates.
        """


def apply_filters(
    filters: Sequence[Filter], log_probs_NV: Tensor, tokens_NT: Tensor, sources_N: Tensor
) -> Tensor:
    """Pass what the network expects through all filters; `log_probs_NV` is changed in place."""
    for rule in filters:
        log_probs_NV = rule(log_probs_NV, tokens_NT, sources_N)
    return log_probs_NV


def build_filters(request: SearchRequest, settings: SearchConfig) -> tuple[Filter, ...]:
    """Return the filters that a request needs; usually that is `Forbidden` alone."""
    device = request.limits_B.device
    forbidden = sorted({request.begin, *request.forbidden} - {request.end})
    columns_K = torch.tensor(forbidden, device=device, dtype=torch.int64)
    rules: list[Filter] = [Forbidden(columns_K, request.end)]
    if settings.min_length:
        rules.append(MinimumLength(settings.min_length, request.end))
    if settings.no_repeat_ngram:
        rules.append(NoRepeat(settings.no_repeat_ngram))
    if len(rules) > 1:
        rules = [NeverEmpty(tuple(rules), request.end)]
    if request.once is not None:
        rules.append(_build_once_each(request, request.once))
    if any(request.prefixes):
        rules = [ForcedPrefix(tuple(rules), _build_prefix_table(request))]
    return tuple(rules)


@dataclass(frozen=True)
class Forbidden:
    """These tokens are never written; the end symbol stays possible."""

    columns_K: Tensor
    end: int

    def __call__(self, log_probs_NV: Tensor, tokens_NT: Tensor, sources_N: Tensor) -> Tensor:
        """Put −∞ into a few columns, without reading the others."""
        del tokens_NT, sources_N
        log_probs_NV.index_fill_(1, self.columns_K, -math.inf)
        log_probs_NV[:, self.end].clamp_(min=FORCED_LOG_PROB)
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

    With n = 3, after "a b c d a b" the token c may not come: it would repeat "a b c".
    """

    length: int

    def __call__(self, log_probs_NV: Tensor, tokens_NT: Tensor, sources_N: Tensor) -> Tensor:
        """Put −∞ for each token that already followed the newest n − 1 tokens."""
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
class NeverEmpty:
    """A row may end if other filters leave it nothing else."""

    filters: tuple[Filter, ...]
    end: int

    def __call__(self, log_probs_NV: Tensor, tokens_NT: Tensor, sources_N: Tensor) -> Tensor:
        """Apply the filters, then give the end symbol back to the rows left empty."""
        ending_N = log_probs_NV[:, self.end].clamp(min=FORCED_LOG_PROB)
        log_probs_NV = apply_filters(self.filters, log_probs_NV, tokens_NT, sources_N)
        empty_N = log_probs_NV.amax(dim=1) == -math.inf
        log_probs_NV[:, self.end] = torch.where(empty_N, ending_N, log_probs_NV[:, self.end])
        return log_probs_NV


@dataclass(frozen=True)
class OnceEach:
    """A translation has each of some tokens exactly once if its source has them, else never.

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
        own_NO = log_probs_NV[:, self.columns_O].clamp(min=FORCED_LOG_PROB)
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


def _build_once_each(request: SearchRequest, once: OnceOnly) -> Filter:
    """Return the rule about tokens that come once only."""
    device = request.limits_B.device
    number = {token: column for column, token in enumerate(once.tokens)}
    wanted_BO = torch.zeros(request.sources, len(number), dtype=torch.bool, device=device)
    for source, tokens in enumerate(once.wanted):
        wanted_BO[source, [number[token] for token in tokens]] = True
    pairs_R2 = torch.tensor(
        [[number[token] for token in pair] for pair in once.pairs], device=device
    ).view(-1, 2)
    columns_O = torch.tensor(once.tokens, device=device)
    opening_R, closing_R = pairs_R2.T
    return OnceEach(columns_O, wanted_BO, opening_R, closing_R, request.limits_B, request.end)


def _build_prefix_table(request: SearchRequest) -> Tensor:
    """Return the forced prefixes of a request as (B, P), filled up with −1."""
    longest = max(map(len, request.prefixes))
    padded = [[*prefix, *[-1] * (longest - len(prefix))] for prefix in request.prefixes]
    return torch.tensor(padded, device=request.limits_B.device, dtype=torch.int64)


@dataclass(frozen=True)
class ForcedPrefix:
    """A row begins with the prefix of its source; then the other filters apply."""

    filters: tuple[Filter, ...]
    prefix_BP: Tensor

    def __call__(self, log_probs_NV: Tensor, tokens_NT: Tensor, sources_N: Tensor) -> Tensor:
        """Apply the filters, then leave the rows inside their prefix its next token alone."""
        step = tokens_NT.size(1)
        if step >= self.prefix_BP.size(1):
            return apply_filters(self.filters, log_probs_NV, tokens_NT, sources_N)
        forced_N = self.prefix_BP[sources_N, step]
        rows = (forced_N >= 0).nonzero()[:, 0]
        tokens = forced_N[rows]
        own = log_probs_NV[rows, tokens].clamp(min=FORCED_LOG_PROB)
        log_probs_NV = apply_filters(self.filters, log_probs_NV, tokens_NT, sources_N)
        log_probs_NV[rows] = -math.inf
        log_probs_NV[rows, tokens] = own
        return log_probs_NV


class LengthLimits:
    """At the last position that the limit of length allows, nothing but the end symbol comes.

    ::

        limit 3, end symbol counted      I    want   </s>    pays log P(</s> | I want) as usual
                                         1    2      3

    So every translation has its end symbol, and all compete by score alone, wherever they end. One
    is cut short if its end symbol was not the most probable token that the other rules allowed.
    """

    def __init__(self, request: SearchRequest) -> None:
        self._limits_B = request.limits_B
        self._lengths: frozenset[int] = frozenset(request.limits_B.tolist())
        self._end = request.end

    def __call__(
        self,
        rules: Callable[[Tensor], Tensor],
        log_probs_NV: Tensor,
        tokens_NT: Tensor,
        sources_N: Tensor,
    ) -> tuple[Tensor, Tensor | None]:
        """Apply the other rules, then end the rows at their limit.

        Return log P, changed in place, and as (N,) which rows are cut short by that; None if no
        row is at its limit.
        """
        length = tokens_NT.size(1) + 1
        if length not in self._lengths:
            return rules(log_probs_NV), None
        last_N = self._limits_B[sources_N] == length
        ending_N = log_probs_NV[:, self._end].clamp(min=FORCED_LOG_PROB)
        log_probs_NV = rules(log_probs_NV)
        cut_N = last_N & (log_probs_NV.argmax(dim=1) != self._end)
        log_probs_NV.masked_fill_(last_N[:, None], -math.inf)
        log_probs_NV[:, self._end] = torch.where(last_N, ending_N, log_probs_NV[:, self._end])
        return log_probs_NV, cut_N


@dataclass(frozen=True)
class LoopGuard:
    """Finds the rows that go in circles.

    A network that has lost its thread may write "the house of the house of the house of …" up to
    the limit of length, each round more sure of itself. A row loops when each of its newest 24
    tokens echoes the token u positions before it, for one u from 1 to 8::

        u = 1       25 times the same token        u = 4      7 rounds of 4 tokens
        u = 2       13 rounds of 2 tokens          u = 8      4 rounds of 8 tokens

    A beam keeps clear of that: it puts another token in from time to time, "no no no yes no no no",
    and goes on. So a row loops, too, when there are at most 5 different tokens among its newest 48.

    A false alarm cuts an honest text short; a late one costs a few steps. So the threshold is above
    what people write, even where a token is a character or a byte: "very very very", "ha ha ha ha
    ha ha ha" (20 characters), "1 000 000 000 000 000 000" (six times " 000"), six laughing faces of
    4 bytes each, a refrain sung three times.

    A forced prefix is not counted (`exempt_B` is its length), and no row ends before the minimum
    length.
    """

    exempt_B: Tensor
    min_length: int

    def __call__(self, tokens_NT: Tensor, sources_N: Tensor) -> Tensor | None:
        """Return which rows loop as (N,), or None while it is too early for any."""
        length = tokens_NT.size(1)
        if length <= ECHOES or length < self.min_length:
            return None
        counted_N = length - self.exempt_B[sources_N]
        looping_N = _find_loops(tokens_NT) & (counted_N > ECHOES)
        if length < MONOTONY:
            return looping_N
        return looping_N | (_find_monotony(tokens_NT) & (counted_N >= MONOTONY))


def build_loop_guard(request: SearchRequest, settings: SearchConfig) -> LoopGuard | None:
    """Return the loop guard of a request, or None if the settings turn it off."""
    if not settings.loop_guard:
        return None
    lengths = [len(prefix) for prefix in request.prefixes]
    exempt_B = torch.tensor(lengths, device=request.limits_B.device, dtype=torch.int64)
    return LoopGuard(exempt_B, settings.min_length)


def _find_monotony(tokens_NT: Tensor) -> Tensor:
    """Return which rows have few different tokens among their newest."""
    newest_NT = tokens_NT[:, -MONOTONY:].sort(dim=1).values
    changes_N = (newest_NT[:, 1:] != newest_NT[:, :-1]).sum(dim=1)
    return changes_N < MONOTONE_TOKENS


def _find_loops(tokens_NT: Tensor) -> Tensor:
    """Find the echoes of all rows in one comparison::

    window of 9 tokens      a b c d e f g h │ i        ended by each of the newest 24
    i echoes                8 7 6 5 4 3 2 1   places before
    """
    missing = ECHOES + LONGEST_ROUND - tokens_NT.size(1)
    if missing > 0:  # −1 before the start is no token, so nothing echoes it
        before_NM = tokens_NT.new_full((tokens_NT.size(0), missing), -1)
        tokens_NT = torch.cat([before_NM, tokens_NT], dim=1)
    windows_NEW = tokens_NT[:, -ECHOES - LONGEST_ROUND :].unfold(1, LONGEST_ROUND + 1, 1)
    echoes_NEU = windows_NEW[..., :-1] == windows_NEW[..., -1:]
    return echoes_NEU.all(dim=1).any(dim=1)
