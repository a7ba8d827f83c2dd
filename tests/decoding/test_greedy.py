"""Greedy search: against the whole pass without cache or batch, and over a table of chances."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from networks import POSITIONS, VOCAB, ragged, small_config, small_network
from translucid.decoding.greedy import greedy
from translucid.decoding.stepper import BEYOND_THE_SOURCE, Hypothesis, length_limits
from translucid.errors import InputError
from translucid.model import Transformer

BEGIN, END = 2, 3


def one_by_one(model: Transformer, source_S: Tensor, limit: int, end: int) -> Hypothesis:
    """The plainest way to the same result: one sentence, the whole prefix anew at every step."""
    prefix, log_prob = [BEGIN], 0.0
    while len(prefix) <= limit:
        with torch.no_grad():
            logits_V = model(source_S[None], torch.tensor([prefix]))[0, -1]
        best, token = logits_V.log_softmax(-1).max(-1)
        log_prob += float(best)
        if token == end:
            return Hypothesis(prefix[1:], log_prob, True)
        prefix.append(int(token))
    return Hypothesis(prefix[1:], log_prob, False)


def telling_end(model: Transformer, source_BS: Tensor, limits: Tensor) -> int:
    """The token that, as the end symbol, would end the rows at the most different lengths."""
    endless = greedy(model.start(source_BS), limits, begin=BEGIN, end=-1)
    assert not any(hypothesis.finished for hypothesis in endless)

    def lengths(token: int) -> set[int]:
        return {h.tokens.index(token) for h in endless if token in h.tokens}

    return max(range(4, VOCAB), key=lambda token: len(lengths(token)))


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_batch_with_a_cache_equals_each_sentence_alone_without(positions: str) -> None:
    model = small_network(positions=positions, tying="none")
    source_BS = ragged(rows=28, longest=9, seed=3)
    limits = torch.tensor([12, 1, 5, 12] * 7)
    end = telling_end(model, source_BS, limits)
    found = greedy(model.start(source_BS), limits, begin=BEGIN, end=end)
    for row, (hypothesis, limit) in enumerate(zip(found, limits.tolist(), strict=True)):
        alone = one_by_one(model, source_BS[row][source_BS[row] != 0], limit, end)
        assert hypothesis.tokens == alone.tokens
        assert hypothesis.finished == alone.finished
        assert hypothesis.log_prob == pytest.approx(alone.log_prob, abs=1e-4)
    assert len({len(hypothesis.tokens) for hypothesis in found if hypothesis.finished}) >= 2


class Table:
    """A stepper that writes given sentences, and checks that it is asked about the right rows."""

    def __init__(self, sentences: list[list[int]]) -> None:
        self.under_way = [[*sentence, END] for sentence in sentences]
        self.last: list[int] = [BEGIN] * len(sentences)
        self.place = 0
        self.steps = 0

    def step(self, last_ids_N: Tensor) -> Tensor:
        assert last_ids_N.tolist() == self.last
        self.steps += len(self.last)
        self.last = [sentence[self.place] for sentence in self.under_way]
        self.place += 1
        log_probs_NV = torch.full((len(self.last), 50), -9.0)
        log_probs_NV[torch.arange(len(self.last)), torch.tensor(self.last)] = -0.5
        return log_probs_NV

    def reorder(self, rows_N: Tensor) -> None:
        self.under_way = [self.under_way[row] for row in rows_N.tolist()]
        self.last = [self.last[row] for row in rows_N.tolist()]


sentences = st.lists(st.lists(st.integers(4, 49), max_size=8), min_size=1, max_size=9)


@given(sentences, st.integers(1, 10))
def test_finished_rows_leave_and_the_order_stays(texts: list[list[int]], limit: int) -> None:
    table = Table(texts)
    found = greedy(table, torch.full((len(texts),), limit), begin=BEGIN, end=END)
    for text, hypothesis in zip(texts, found, strict=True):
        finished = len(text) < limit
        assert hypothesis.tokens == text[:limit]
        assert hypothesis.finished == finished
        assert hypothesis.log_prob == -0.5 * min(limit, len(text) + 1)
    assert table.steps == sum(min(limit, len(text) + 1) for text in texts)


def test_limits_are_the_papers() -> None:
    source_BS = ragged(rows=4, longest=6, seed=1)
    lengths = (source_BS != 0).sum(1)
    assert length_limits(source_BS, small_config()).tolist() == (lengths + 50).tolist()
    few = small_config(positions="learned", max_positions=52)
    assert length_limits(source_BS, few).max() == 52
    assert BEYOND_THE_SOURCE == 50


def test_no_step_goes_beyond_the_learned_positions() -> None:
    model = small_network(positions="learned", max_positions=8)
    source_BS = ragged(rows=3, longest=6, seed=1)
    for hypothesis in greedy(
        model.start(source_BS), length_limits(source_BS, model.config), begin=BEGIN, end=END
    ):
        assert len(hypothesis.tokens) <= 8


@pytest.mark.parametrize("limits", [[], [3, 0]])
def test_a_row_without_room_is_refused(limits: list[int]) -> None:
    with pytest.raises(InputError, match="a token for each"):
        greedy(Table([[4]]), torch.tensor(limits, dtype=torch.int64), begin=BEGIN, end=END)
