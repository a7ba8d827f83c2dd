"""Beam search whose translations must contain given terms.

Dynamic beam allocation (Post and Vilar 2018): hypotheses compete only with those that have met the
same number of term tokens, or those without any term would always look more probable::

    terms:  "neural network" = 7 8,  "layer" = 5          bank = tokens of the terms met

    bank 0   the  model  is  …                            rows of the beam are shared out
    bank 1   the  layer(5) is  …                          evenly among the banks that
    bank 2   the  neural(7) network(8) …                  have candidates
    bank 3   the  neural(7) network(8) layer(5)           only here may a translation end

A term that is broken off counts for nothing. So that no bank is ever without a row, a source has
one more row than `beam` for each token of its terms. A token that would leave too little room for
the missing terms, written one after another, may not come.

Terms take precedence over the no-repeat rule.

Shapes: B sources, W rows per source, N = B × W, V vocabulary, K candidates of a source.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from translucid.decoding.beam import Beam, BeamSearch
from translucid.decoding.candidates import Choice, top_tokens
from translucid.decoding.config import SearchConfig
from translucid.decoding.constraints import (
    FORCED_LOG_PROB,
    Filter,
    LengthLimits,
    apply_filters,
    build_filters,
)
from translucid.decoding.hypothesis import Hypothesis, Tokens
from translucid.decoding.request import SearchRequest
from translucid.decoding.stepper import Stepper
from translucid.decoding.tree import Recorder
from translucid.errors import InputError


class Progress(NamedTuple):
    """The terms that a row lacks, each with how many of its first tokens the row ends with."""

    open: tuple[tuple[Tokens, int], ...]

    @property
    def missing(self) -> int:
        """Number of tokens that complete all terms: finish the one begun, then the rest."""
        return sum(len(t) for t, _ in self.open) - max((done for _, done in self.open), default=0)

    @property
    def wanted(self) -> set[int]:
        """The tokens that would begin or continue a term."""
        return {t[done] for t, done in self.open} | {t[0] for t, _ in self.open}

    def after(self, token: int) -> Progress:
        """Return the progress once `token` is written.

        A term that is required twice must occur twice, so one occurrence meets one of them.
        """
        met: set[Tokens] = set()
        going: list[tuple[Tokens, int]] = []
        for term, done in self.open:
            matched = _match_length(term, (*term[:done], token))
            if matched == len(term) and term not in met:
                met.add(term)
            else:
                going.append((term, matched if matched < len(term) else 0))
        return Progress(tuple(going))


def _match_length(term: Tokens, tail: Tokens) -> int:
    """Return how many of a term's first tokens `tail` ends with.

    >>> _match_length((5, 5, 8), (5, 5, 5))
    2
    """
    longest = min(len(term), len(tail))
    return next(n for n in range(longest, -1, -1) if term[:n] == tail[len(tail) - n :])


def terminology_search(
    start: Callable[[int], Stepper],
    request: SearchRequest,
    settings: SearchConfig,
    recorder: Recorder | None,
) -> list[list[Hypothesis]]:
    """Return the `n_best` hypotheses of every source that contain all of its terms."""
    check_room(request)
    chooser = BankChooser(request, build_filters(request, settings), settings.beam)
    width = settings.beam + max(sum(map(len, terms)) for terms in request.terms)
    return BeamSearch(start(width), request, settings, chooser, recorder).run(width, groups=1)


def check_room(request: SearchRequest) -> None:
    """Raise InputError if prefix, terms and end symbol of a source exceed its limit."""
    for source, limit in enumerate(request.limits_B.tolist()):
        prefix = request.prefixes[source]
        missing = count_missing_tokens(request.terms[source], prefix)
        if len(prefix) + missing + 1 > limit:
            raise InputError(
                f"the terms of source {source} need {missing} tokens after a prefix of "
                f"{len(prefix)}, and with the end symbol at most {limit} fit: give fewer terms, or "
                "raise the limit"
            )


def count_missing_tokens(terms: Sequence[Tokens], prefix: Tokens) -> int:
    """Return the number of tokens that terms need after a prefix, which may have some of them."""
    return _track_progress(terms, prefix).missing


def _track_progress(terms: Sequence[Tokens], tokens: Sequence[int]) -> Progress:
    """Return the progress of a row that has written these tokens."""
    progress = Progress(tuple((term, 0) for term in terms))
    for token in tokens:
        progress = progress.after(token)
    return progress


class Row(NamedTuple):
    """A live row: its number among the N, what it has written, and its progress."""

    number: int
    source: int
    total: float
    tokens: Tokens
    progress: Progress


class Candidate(NamedTuple):
    """A row and a token that may come next, with log P of the token and of the whole."""

    total: float
    row: Row
    token: int
    log_prob: float
    progress: Progress


class Picked(NamedTuple):
    """The numbers of the candidates that continue, and of those that end."""

    kept: list[int]
    ended: list[int]


class BankChooser:
    """Chooses among hypotheses that have met the same number of term tokens."""

    def __init__(self, request: SearchRequest, filters: tuple[Filter, ...], width: int) -> None:
        self._job = request
        self._filters = filters
        self._limits = LengthLimits(request)
        self._width = width
        self._longest: list[int] = request.limits_B.tolist()
        self._known: dict[tuple[int, Tokens], Progress] = {
            (source, ()): _track_progress(terms, ()) for source, terms in enumerate(request.terms)
        }

    def __call__(self, log_probs_NV: Tensor, beam: Beam) -> tuple[Choice, Tensor | None]:
        """Choose the continuations of every source, bank by bank."""
        rows = self._live_rows(beam)
        rules = partial(self._filter, beam=beam, rows=rows)
        log_probs_NV, cut_N = self._limits(rules, log_probs_NV, beam.tokens_NT, beam.row_sources)
        tables = self._build_tables(log_probs_NV, rows, beam)
        picked: list[Picked] = []
        self._known = {}
        for source, table in zip(beam.sources_B.tolist(), tables, strict=True):
            slots = self._width + sum(map(len, self._job.terms[source]))
            kept, ended = _pick(table, slots, self._job.end)
            picked.append(Picked(kept, ended))
            for candidate in (table[number] for number in kept):
                tokens = (*candidate.row.tokens, candidate.token)
                self._known[source, tokens] = candidate.progress
        return _build_choice(tables, picked, beam), cut_N

    def _live_rows(self, beam: Beam) -> list[Row]:
        """Return the live rows."""
        parts = (beam.row_sources, beam.totals_BW.view(-1), beam.tokens_NT)
        every = enumerate(zip(*(part.tolist() for part in parts), strict=True))
        return [
            Row(number, source, total, tuple(tokens), self._known[source, tuple(tokens)])
            for number, (source, total, tokens) in every
            if total > -math.inf
        ]

    def _filter(self, log_probs_NV: Tensor, beam: Beam, rows: list[Row]) -> Tensor:
        """Apply the filters, but allow terms after the prefix, and no end before they are met."""
        free = [row for row in rows if beam.length >= len(self._job.prefixes[row.source])]
        wanted = [(row.number, token) for row in free for token in sorted(row.progress.wanted)]
        at = tuple(beam.sources_B.new_tensor(wanted).view(-1, 2).T)
        own = log_probs_NV[at].clamp(min=FORCED_LOG_PROB)
        log_probs_NV = apply_filters(self._filters, log_probs_NV, beam.tokens_NT, beam.row_sources)
        log_probs_NV[at] = own
        unmet = [row.number for row in rows if row.progress.open]
        log_probs_NV[beam.sources_B.new_tensor(unmet), self._job.end] = -math.inf
        return log_probs_NV

    def _build_tables(
        self, log_probs_NV: Tensor, rows: list[Row], beam: Beam
    ) -> list[list[Candidate]]:
        """Return the candidates of every source, best first."""
        top = top_tokens(log_probs_NV, min(self._width + 1, log_probs_NV.size(1)))[1].tolist()
        looked = [
            (row, token) for row in rows for token in {*top[row.number], *row.progress.wanted}
        ]
        at = tuple(beam.sources_B.new_tensor([(row.number, token) for row, token in looked]).T)
        tables: dict[int, list[Candidate]] = {source: [] for source in beam.sources_B.tolist()}
        for (row, token), log_prob in zip(looked, log_probs_NV[at].tolist(), strict=True):
            if log_prob > -math.inf:
                tables[row.source].append(
                    Candidate(row.total + log_prob, row, token, log_prob, row.progress.after(token))
                )
        length = beam.length + 1
        return [self._feasible(source, table, length) for source, table in tables.items()]

    def _feasible(self, source: int, table: list[Candidate], length: int) -> list[Candidate]:
        """Return, best first, the candidates after which the missing terms still fit.

        There is always one, the next token of the term begun: it leaves one token less missing. So
        at the limit, where nothing but the end symbol comes, nothing is missing. A prefix is not
        checked, because there is room for the rest after it.
        """
        table = sorted(table, key=lambda c: (-c.total, c.row.number, c.token))
        if length <= len(self._job.prefixes[source]):
            return table
        room = self._longest[source] - length - 1
        return [c for c in table if c.progress.missing <= max(0, room)]


def _pick(table: list[Candidate], slots: int, end: int) -> Picked:
    """Divide the slots among the banks; unused ones go to the best remaining candidates.

    A single row does not continue once it has ended: a beam of one is greedy search.
    """
    banks: dict[int, list[int]] = {}
    for number, candidate in enumerate(table):
        banks.setdefault(candidate.progress.missing, []).append(number)
    share, more = divmod(slots, max(1, len(banks)))
    kept: list[int] = []
    ended: list[int] = []
    for place, missing in enumerate(sorted(banks)):
        room = share + (place < more)
        going = [number for number in banks[missing] if table[number].token != end]
        kept += going[:room]
        ended += [number for number in banks[missing][:room] if table[number].token == end]
    if slots == 1 and ended:
        return Picked([], ended)
    others = set(range(len(table))).difference(kept)
    rest = [number for number in sorted(others) if table[number].token != end]
    return Picked(sorted(kept + rest[: slots - len(kept)]), sorted(ended))


def _build_choice(tables: list[list[Candidate]], picked: list[Picked], beam: Beam) -> Choice:
    """Return the choice as tensors, padded with fillers."""
    count = max(map(len, tables)) + 1
    ids_BK = beam.sources_B.new_zeros(2, len(tables), count)
    numbers_BK = beam.totals_BW.new_full((2, len(tables), count), -math.inf)
    kept_BW = beam.sources_B.new_full(beam.totals_BW.shape, count - 1)
    ended_BK = torch.zeros(len(tables), count, dtype=torch.bool, device=ids_BK.device)
    for place, (table, (kept, ended)) in enumerate(zip(tables, picked, strict=True)):
        ids = [(c.row.number % beam.width, c.token) for c in table]
        ids_BK[:, place, : len(table)] = ids_BK.new_tensor(ids).view(-1, 2).T
        numbers = [(c.log_prob, c.total) for c in table]
        numbers_BK[:, place, : len(table)] = numbers_BK.new_tensor(numbers).view(-1, 2).T
        kept_BW[place, : len(kept)] = kept_BW.new_tensor(kept)
        ended_BK[place, ended] = True
    log_probs_BK = numbers_BK[0].float()
    return Choice(ids_BK[0], ids_BK[1], log_probs_BK, numbers_BK[1], kept_BW, ended_BK)
