"""Greedy search: at every step the most probable token.

It shares `decode_rows` with sampling: rows that do not compete, each of which writes token after
token until it ends. A source leaves the batch, so that the others cost less, as soon as all of its
rows have ended::

    step         1      2      3      4
    row 0        I      am     here   </s>          rows under way: 3, 3, 2, 1
    row 1        yes    </s>
    row 2        thank  you    </s>

Shapes: B sources, C rows per source, N = B × C rows, R rows still in the batch, T tokens, V
vocabulary, K tokens shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from translucid.decoding.candidates import argmax_tokens, top_tokens
from translucid.decoding.config import SearchConfig
from translucid.decoding.constraints import (
    LengthLimits,
    apply_filters,
    build_filters,
    build_loop_guard,
)
from translucid.decoding.hypothesis import Ending, Hypothesis, normalize_score
from translucid.decoding.request import SearchRequest
from translucid.decoding.stepper import Stepper
from translucid.decoding.tree import Recorder, Status
from translucid.errors import InputError

Choose = Callable[[Tensor, Tensor, int], Tensor]
"""Given (log_probs_RV, numbers_R, step): the next token of each row.

`numbers_R` says which of the N rows each one is; steps count from 0.
"""

LikelyTokens = dict[int, list[list[tuple[int, float]]]]
"""For each row and step, the likeliest tokens that were allowed, and log P of each."""

SHOWN_TOKENS = 5  # likeliest tokens of each step that a recorded tree shows
_ENDINGS: tuple[Ending | None, ...] = (None, "end", "limit", "loop")
_OPEN, _END, _LIMIT, _LOOP = range(4)


def greedy_search(
    stepper: Stepper, request: SearchRequest, settings: SearchConfig, recorder: Recorder | None
) -> list[Hypothesis]:
    """Return the translation of every source, of which the stepper has one row each.

    Its score is that of a beam of one, without a coverage penalty, as nothing is ranked.
    """
    seen: LikelyTokens | None = None if recorder is None else {}
    found = decode_rows(stepper, request, settings, copies=1, choose=most_probable, seen=seen)
    if recorder is not None and seen is not None:
        for source, node in enumerate(record_trees(recorder, request, settings, found, seen)):
            recorder.stop(source, (node,), found[source].ending)
    return found


def most_probable(log_probs_RV: Tensor, numbers_R: Tensor, step: int) -> Tensor:
    """Choose the most probable token of every row; of equals, the lowest id."""
    del numbers_R, step
    return argmax_tokens(log_probs_RV)


@torch.inference_mode()
def decode_rows(
    stepper: Stepper,
    request: SearchRequest,
    settings: SearchConfig,
    copies: int,
    choose: Choose,
    seen: LikelyTokens | None,
) -> list[Hypothesis]:
    """Decode `copies` rows of every source until each has ended; return all N, in order.

    `seen`, if given, collects the tokens that each row could choose from.
    """
    if any(request.terms):
        raise InputError(
            f"method {settings.method!r} cannot guarantee that terms occur: only a beam search "
            "can, of any width; set method = 'beam', or leave the terms out"
        )
    filters, limits = build_filters(request, settings), LengthLimits(request)
    guard = build_loop_guard(request, settings)
    rows = _Rows(request, settings, copies)
    last_R = request.limits_B.new_full(rows.numbers_R.shape, request.begin)
    for step in range(int(request.limits_B.max())):
        written_RT = rows.tokens_RT[:, :step]
        rules = partial(apply_filters, filters, tokens_NT=written_RT, sources_N=rows.sources_R)
        log_probs_RV, cut_R = limits(rules, stepper.step(last_R), written_RT, rows.sources_R)
        last_R = choose(log_probs_RV, rows.numbers_R, step)
        if seen is not None:
            rows.collect_likely(log_probs_RV, seen)
        rows.write(step, last_R, log_probs_RV.gather(1, last_R[:, None])[:, 0])
        looping_R = None if guard is None else guard(rows.tokens_RT[:, : step + 1], rows.sources_R)
        rows.end(last_R, cut_R, looping_R)
        staying = rows.staying()
        if staying is None:
            continue
        left = rows.keep(staying)
        if (
            request.on_finished is not None and settings.method == "greedy"
        ):  # of samples, the best is chosen
            for number, hypothesis in left.items():
                request.on_finished(number, [hypothesis])
        if staying.numel() == 0:
            break
        stepper.reorder(staying)
        last_R = last_R[staying]
    return rows.hypotheses()


class _Rows:
    """What the rows in the batch have written, and the hypotheses of those that have left it.

    A row that has ended stays, idle, until the other rows of its source have ended too, because a
    stepper keeps the rows of a source together.
    """

    def __init__(self, request: SearchRequest, settings: SearchConfig, copies: int) -> None:
        limits_B = request.limits_B
        count, longest = request.sources * copies, int(limits_B.max())
        self.numbers_R = torch.arange(count, device=limits_B.device)
        self.sources_R = self.numbers_R // copies
        self.tokens_RT = limits_B.new_full((count, longest), request.end)
        self.endings_R = torch.full_like(self.numbers_R, _OPEN)
        self._log_probs_RT = torch.zeros(
            (count, longest), dtype=torch.float64, device=limits_B.device
        )
        self._lengths_R = torch.zeros_like(self.numbers_R)
        self._end, self._settings, self._copies = request.end, settings, copies
        self._found: dict[int, Hypothesis] = {}

    def write(self, step: int, tokens_R: Tensor, log_probs_R: Tensor) -> None:
        """Append a token to every row; what an idle one writes is beyond its length."""
        self.tokens_RT[:, step] = tokens_R
        self._log_probs_RT[:, step] = log_probs_R
        self._lengths_R += self.endings_R == _OPEN

    def end(self, tokens_R: Tensor, cut_R: Tensor | None, looping_R: Tensor | None) -> None:
        """Store which rows have just ended, and why."""
        why_R = (tokens_R == self._end) * _END
        if looping_R is not None:
            why_R = why_R.masked_fill(looping_R & (why_R == _OPEN), _LOOP)
        if cut_R is not None:
            why_R = why_R.masked_fill(cut_R, _LIMIT)
        self.endings_R = why_R.where(self.endings_R == _OPEN, self.endings_R)

    def staying(self) -> Tensor | None:
        """Return the rows of sources that are not done, or None if that is all of them."""
        done_B = (self.endings_R != _OPEN).view(-1, self._copies).all(dim=1)
        if not bool(done_B.any()):
            return None
        return (~done_B).repeat_interleave(self._copies).nonzero()[:, 0]

    def keep(self, staying: Tensor) -> dict[int, Hypothesis]:
        """Remove all other rows from the batch; return their hypotheses by number."""
        leaves_R = torch.ones_like(self.numbers_R, dtype=torch.bool)
        leaves_R[staying] = False
        leaving = leaves_R.nonzero()[:, 0]
        columns = (self.numbers_R, self._lengths_R, self.endings_R)
        tables = (self.tokens_RT, self._log_probs_RT)
        rows = zip(*(part[leaving].tolist() for part in (*columns, *tables)), strict=True)
        left = {number: self._hypothesis(*row) for number, *row in rows}
        self._found |= left
        self.numbers_R, self.sources_R = self.numbers_R[staying], self.sources_R[staying]
        self.tokens_RT, self.endings_R = self.tokens_RT[staying], self.endings_R[staying]
        self._log_probs_RT = self._log_probs_RT[staying]
        self._lengths_R = self._lengths_R[staying]
        return left

    def collect_likely(self, log_probs_RV: Tensor, seen: LikelyTokens) -> None:
        """Add the likeliest next tokens of every row that has not ended to `seen`."""
        values_RK, tokens_RK = top_tokens(log_probs_RV, min(SHOWN_TOKENS, log_probs_RV.size(1)))
        for number, ending, tokens, values in zip(
            *(of_R.tolist() for of_R in (self.numbers_R, self.endings_R, tokens_RK, values_RK)),
            strict=True,
        ):
            if ending == _OPEN:
                allowed = [(t, v) for t, v in zip(tokens, values, strict=True) if v > -math.inf]
                seen.setdefault(number, []).append(allowed)

    def hypotheses(self) -> list[Hypothesis]:
        """Return the hypotheses in the order of the rows at the start."""
        return [self._found[number] for number in sorted(self._found)]

    def _hypothesis(
        self, length: int, code: int, tokens: list[int], log_probs: list[float]
    ) -> Hypothesis:
        ending = _ENDINGS[code]
        assert ending is not None
        return Hypothesis(
            tokens=tuple(tokens[: length - (ending != "loop")]),
            log_probs=tuple(log_probs[:length]),
            ending=ending,
            score=normalize_score(math.fsum(log_probs[:length]), length, self._settings),
        )


def record_trees(
    recorder: Recorder,
    request: SearchRequest,
    settings: SearchConfig,
    found: list[Hypothesis],
    seen: LikelyTokens,
) -> list[int]:
    """Build the tree of every source from what its rows wrote and saw; return each row's last node.

    Rows of one source share the nodes of a common beginning.
    """
    copies = len(found) // request.sources
    ends: list[int] = []
    for source in range(request.sources):
        tree = _Tree(recorder, source, settings, request)
        numbers = range(source * copies, (source + 1) * copies)
        paths = {number: tree.add_written(found[number]) for number in numbers}
        for number, path in paths.items():
            tree.add_alternatives(path, found[number], seen[number])
        ends.extend(path[-1] for path in paths.values())
    return ends


class _Tree:
    """The tree of one source while it is recorded."""

    def __init__(
        self, recorder: Recorder, source: int, settings: SearchConfig, request: SearchRequest
    ) -> None:
        self._recorder, self._source = recorder, source
        self._settings, self._end = settings, request.end
        self._root = recorder.root(source, request.begin)
        self._nodes: dict[tuple[int, int], int] = {}  # (parent, token) to node

    def add_written(self, hypothesis: Hypothesis) -> list[int]:
        """Record the tokens that a row wrote; return the nodes, starting at the root."""
        end = (self._end,) if hypothesis.finished else ()
        path, total = [self._root], 0.0
        assert hypothesis.log_probs is not None
        for token, log_prob in zip(hypothesis.tokens + end, hypothesis.log_probs, strict=True):
            total += log_prob
            path.append(self._node(path, token, log_prob, total, chosen=True))
        if not hypothesis.finished:
            self._recorder.cut(self._source, path[-1], hypothesis.score)
        return path

    def add_alternatives(
        self, path: list[int], hypothesis: Hypothesis, seen: list[list[tuple[int, float]]]
    ) -> None:
        """Record the tokens that a row could have written instead."""
        total = 0.0
        assert hypothesis.log_probs is not None
        for step, (log_prob, tokens) in enumerate(zip(hypothesis.log_probs, seen, strict=True)):
            for token, other in tokens:
                self._node(path[: step + 1], token, other, total + other, chosen=False)
            total += log_prob

    def _node(
        self, path: list[int], token: int, log_prob: float, total: float, *, chosen: bool
    ) -> int:
        key = (path[-1], token)
        if key not in self._nodes:
            status: Status = "dropped"
            if chosen:
                status = "finished" if token == self._end else "kept"
            score = normalize_score(total, len(path), self._settings)
            number = self._recorder.add(self._source, path[-1], token, log_prob, score, status)
            self._nodes[key] = number
        return self._nodes[key]
