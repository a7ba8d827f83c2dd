"""The one door: every method is reached, and keeps what all of them promise."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from networks import ragged, small_network
from probability_tables import BEGIN, END, Table, random_table, seeds, start
from translucid.decoding.config import SearchConfig
from translucid.decoding.request import SearchRequest
from translucid.decoding.search import search

METHODS: dict[str, dict[str, Any]] = {
    "greedy": {"method": "greedy"},
    "beam": {"beam": 3, "n_best": 3},
    "diverse": {"method": "diverse", "beam": 4, "groups": 2, "n_best": 2},
    "sampling": {"method": "sampling", "samples": 3, "n_best": 3},
    "mbr": {"method": "mbr", "samples": 4, "n_best": 2},
    "terms": {"beam": 2, "n_best": 2},
}


def spelled(tokens: tuple[int, ...]) -> str:
    return " ".join(map(str, tokens))


def request_for(method: str, limits: list[int], prefixes: list[tuple[int, ...]]) -> SearchRequest:
    term = (((3, 4),),) if method == "terms" else ((),)
    return SearchRequest(
        limits_B=torch.tensor(limits),
        begin=BEGIN,
        end=END,
        prefixes=tuple(prefixes),
        terms=term * len(limits),
        forbidden=(2,),
        keys=tuple(range(len(limits))),
        decode=spelled,
    )


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_every_method_keeps_the_rules(method: str, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 3))
    tables = [random_table(data.draw(seeds), 7) for _ in range(count)]
    word = st.integers(3, 6)
    prefixes = [tuple(data.draw(st.lists(word, max_size=2))) for _ in range(count)]
    limits = [data.draw(st.integers(6, 9)) for _ in range(count)]
    shortest, ngram = data.draw(st.integers(0, 4)), data.draw(st.sampled_from([0, 2, 3]))
    wanted = SearchConfig(**METHODS[method], min_length=shortest, no_repeat_ngram=ngram)
    found = search(start(tables), request_for(method, limits, prefixes), wanted, None)
    assert len(found) == count
    for each, prefix, limit in zip(found, prefixes, limits, strict=True):
        assert 1 <= len(each) <= wanted.n_best
        for hypothesis in each:
            assert hypothesis.tokens[: len(prefix)] == prefix
            assert not {BEGIN, END, 2} & set(hypothesis.tokens)
            assert len(hypothesis.log_probs) == len(hypothesis.tokens) + 1 <= limit
            assert len(hypothesis.tokens) >= shortest
            assert hypothesis.ending in ("end", "limit")
            if hypothesis.ending == "limit":
                assert len(hypothesis.tokens) == limit - 1


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_on_a_network_and_keeps_sources_apart(method: str) -> None:
    model = small_network(tying="none")
    source_BS = ragged(rows=4, longest=7, seed=6)
    limits = [9, 7, 8, 9]
    wanted = SearchConfig(**METHODS[method])
    request = request_for(method, limits, [()] * 4)
    together = search(lambda copies: model.start(source_BS, copies=copies), request, wanted, None)
    for row in range(4):
        alone_BS = source_BS[row : row + 1, : int((source_BS[row] != 0).sum())]
        one = SearchRequest(
            request.limits_B[row : row + 1],
            BEGIN,
            END,
            ((),),
            request.terms[:1],
            (2,),
            (row,),
            spelled,
        )
        [alone] = search(
            lambda copies, s=alone_BS: model.start(s, copies=copies),  # type: ignore[misc]
            one,
            wanted,
            None,
        )
        assert [h.tokens for h in alone] == [h.tokens for h in together[row]]
        for ours, theirs in zip(together[row], alone, strict=True):
            assert ours.log_probs == pytest.approx(theirs.log_probs, abs=1e-4)


def test_finished_hypotheses_never_change() -> None:
    """What a short limit has seen end is there unchanged when the search may go on longer."""
    table: Table = random_table(17, 6)
    wanted = SearchConfig(beam=6, n_best=6, length_penalty=0.0)
    ended: dict[tuple[int, ...], tuple[float, ...]] = {}
    for limit in range(1, 8):
        request = SearchRequest.plain(torch.tensor([limit]), begin=BEGIN, end=END)
        [found] = search(start([table]), request, wanted, None)
        now = {h.tokens: h.log_probs for h in found}
        assert all(now[tokens] == ended[tokens] for tokens in ended if tokens in now)
        assert len(now) >= len(ended)
        ended = now
    assert len(ended) == 6
