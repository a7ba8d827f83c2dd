"""Greedy search: against the whole pass without cache or batch, and over a table of chances."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from networks import POSITIONS, VOCAB, ragged, small_config, small_network
from translucid.decoding.config import SearchConfig
from translucid.decoding.greedy import greedy_search
from translucid.decoding.hypothesis import Hypothesis
from translucid.decoding.request import SearchRequest
from translucid.decoding.stepper import EXTRA_LENGTH, Stepper, length_limits
from translucid.decoding.tree import Recorder
from translucid.errors import InputError
from translucid.model import Transformer

BEGIN, END = 2, 3
PLAIN = SearchConfig(method="greedy", length_penalty=0.0, loop_guard=False)


def plainly(stepper: Stepper, limits: Tensor, end: int = END) -> list[Hypothesis]:
    return greedy_search(stepper, SearchRequest.plain(limits, begin=BEGIN, end=end), PLAIN, None)


def one_by_one(model: Transformer, source_S: Tensor, limit: int, end: int) -> Hypothesis:
    """The plainest way to the same result: one sentence, the whole prefix anew at every step."""
    prefix: list[int] = [BEGIN]
    log_probs: list[float] = []
    natural = True
    while prefix[-1] != end:
        with torch.no_grad():
            log_probs_V = model(source_S[None], torch.tensor([prefix]))[0, -1].log_softmax(-1)
        log_probs_V[BEGIN] = -math.inf
        best = int(log_probs_V.argmax())
        token = end if len(prefix) == limit else best
        natural = token == best
        log_probs.append(float(log_probs_V[token]))
        prefix.append(token)
    ending = "end" if natural else "limit"
    return Hypothesis(tuple(prefix[1:-1]), tuple(log_probs), ending, sum(log_probs))


def telling_end(model: Transformer, source_BS: Tensor, limits: Tensor) -> int:
    """The token that, as the end symbol, would end the rows at the most different lengths."""
    request = SearchRequest.plain(limits, begin=BEGIN, end=END)
    endless = greedy_search(model.start(source_BS), request, PLAIN.replace(min_length=99), None)
    assert [len(hypothesis.tokens) for hypothesis in endless] == [n - 1 for n in limits.tolist()]

    def lengths(token: int) -> set[int]:
        return {h.tokens.index(token) for h in endless if token in h.tokens}

    return max(range(4, VOCAB), key=lambda token: len(lengths(token)))


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_batch_with_a_cache_equals_each_sentence_alone_without(positions: str) -> None:
    model = small_network(positions=positions, tying="none")
    source_BS = ragged(rows=28, longest=9, seed=3)
    limits = torch.tensor([12, 1, 5, 12] * 7)
    end = telling_end(model, source_BS, limits)
    found = plainly(model.start(source_BS), limits, end)
    for row, (hypothesis, limit) in enumerate(zip(found, limits.tolist(), strict=True)):
        alone = one_by_one(model, source_BS[row][source_BS[row] != 0], limit, end)
        assert hypothesis.tokens == alone.tokens
        assert hypothesis.ending == alone.ending
        assert hypothesis.log_probs == pytest.approx(alone.log_probs, abs=1e-4)
        assert hypothesis.score == pytest.approx(alone.score, abs=1e-4)
    assert len({len(h.tokens) for h in found if h.ending == "end"}) >= 2
    assert any(h.ending == "limit" for h in found)


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
    found = plainly(table, torch.full((len(texts),), limit))
    for text, hypothesis in zip(texts, found, strict=True):
        natural = len(text) < limit
        assert hypothesis.tokens == tuple(text[: limit - 1])
        assert hypothesis.ending == ("end" if natural else "limit")
        end = -0.5 if natural else -9.0  # what the end symbol costs
        assert hypothesis.log_probs == (*[-0.5] * len(hypothesis.tokens), end)
    assert table.steps == sum(min(limit, len(text) + 1) for text in texts)


def test_limits_are_the_papers() -> None:
    source_BS = ragged(rows=4, longest=6, seed=1)
    lengths = (source_BS != 0).sum(1)
    assert length_limits(source_BS, small_config()).tolist() == (lengths + 50).tolist()
    few = small_config(positions="learned", max_positions=52)
    assert length_limits(source_BS, few).max() == 52
    assert EXTRA_LENGTH == 50


def test_no_step_goes_beyond_the_learned_positions() -> None:
    model = small_network(positions="learned", max_positions=8)
    source_BS = ragged(rows=3, longest=6, seed=1)
    for hypothesis in plainly(model.start(source_BS), length_limits(source_BS, model.config)):
        assert len(hypothesis.tokens) < 8


@pytest.mark.parametrize("limits", [[], [3, 0]])
def test_a_row_without_room_is_refused(limits: list[int]) -> None:
    with pytest.raises(InputError, match="at least one source is needed"):
        plainly(Table([[4]]), torch.tensor(limits, dtype=torch.int64))


def test_the_score_is_log_p_after_the_length_penalty() -> None:
    request = SearchRequest.plain(torch.tensor([9, 2]), begin=BEGIN, end=END)
    settings = SearchConfig(method="greedy", length_penalty=1.0, length_form="plain")
    ended, cut = greedy_search(Table([[4, 5, 6], [4, 5, 6]]), request, settings, None)
    assert (ended.log_prob, ended.score) == (-2.0, -0.5)
    assert (cut.tokens, cut.log_prob, cut.score) == ((4,), -9.5, -4.75)


def test_of_equally_probable_tokens_the_lowest_id_is_written() -> None:
    class Even(Table):
        def step(self, last_ids_N: Tensor) -> Tensor:
            return torch.full((last_ids_N.numel(), 50), -math.log(50))

    request = SearchRequest(torch.tensor([3, 3]), BEGIN, END, ((), ()), ((), ()), forbidden=(0, 1))
    assert [h.tokens for h in greedy_search(Even([[], []]), request, PLAIN, None)] == [(), ()]
    longer = PLAIN.replace(min_length=2)
    assert [h.tokens for h in greedy_search(Even([[], []]), request, longer, None)] == [
        (4, 4),
        (4, 4),
    ]


def test_a_row_in_circles_ends_and_the_others_go_on() -> None:
    honest = [*range(4, 20), *range(30, 46)]
    request = SearchRequest.plain(torch.tensor([200, 200]), begin=BEGIN, end=END)
    circles, straight = greedy_search(
        Table([[4, 9, *[5, 6, 7] * 70], honest]), request, PLAIN.replace(loop_guard=True), None
    )
    assert (circles.ending, circles.tokens) == ("loop", (4, 9, *[5, 6, 7] * 9))
    assert len(circles.log_probs) == len(circles.tokens)
    assert (straight.ending, straight.tokens) == ("end", tuple(honest))
    unguarded, _ = greedy_search(Table([[5, 6, 7] * 70, honest]), request, PLAIN, None)
    assert (unguarded.ending, len(unguarded.tokens)) == ("limit", 199)


def test_terms_are_refused_with_what_to_do() -> None:
    request = SearchRequest(torch.tensor([5]), BEGIN, END, ((),), (((4,),),), forbidden=())
    with pytest.raises(
        InputError, match=r"'greedy' cannot guarantee that terms occur.*method = 'beam'"
    ):
        greedy_search(Table([[4]]), request, PLAIN, None)


def test_the_recorded_tree_is_the_search() -> None:
    recorder = Recorder()
    request = SearchRequest.plain(torch.tensor([9, 2]), begin=BEGIN, end=END)
    found = greedy_search(Table([[8, 9], [7, 6, 5]]), request, PLAIN, recorder)
    assert found == greedy_search(Table([[8, 9], [7, 6, 5]]), request, PLAIN, None)
    for tree, hypothesis, written in zip(
        recorder.trees(), found, ([8, 9, END], [7, END]), strict=True
    ):
        path = [tree.nodes[number] for number in tree.path(tree.results[0])]
        assert [node.token for node in path] == written
        assert tuple(node.log_prob for node in path) == hypothesis.log_probs
        assert path[-1].score == hypothesis.score
        assert path[-1].status == "finished"
        assert tree.stopped == hypothesis.ending
        dropped = [node for node in tree.nodes if node.status == "dropped"]
        free = len(written) - (hypothesis.ending == "limit")  # there, only the end may come
        assert len(dropped) == 4 * free  # the four next best of every step
        assert all(node.log_prob == -9.0 for node in dropped)
    assert (tree.nodes[0].token, tree.nodes[0].parent) == (BEGIN, None)
