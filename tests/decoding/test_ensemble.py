"""Ensembles: the mean of probabilities, and one alone is itself."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from networks import network, ragged, small_config
from probability_tables import Table, build_request, exhaustive, random_table, seeds, start
from translucid.decoding.config import SearchConfig
from translucid.decoding.request import SearchRequest
from translucid.decoding.search import search
from translucid.decoding.stepper import AttendingStepper, Ensemble, log_mean
from translucid.errors import InputError


def mean_of(first: Table, second: Table) -> Table:
    def mean(prefix: tuple[int, ...]) -> list[float]:
        both = zip(first.next(prefix), second.next(prefix), strict=True)
        return [(a + b) / 2 for a, b in both]

    return Table(mean)


@settings(max_examples=30, deadline=None)
@given(seeds, seeds, st.integers(1, 4))
def test_two_members_are_the_table_of_their_means(one: int, two: int, width: int) -> None:
    first, second = Table(random_table(one, 5).next), Table(random_table(two, 5).next)
    wanted = SearchConfig(beam=width, n_best=width)
    request = build_request([5])
    [together] = search(
        lambda copies: Ensemble([start([first])(copies), start([second])(copies)]),
        request,
        wanted,
        None,
    )
    [mean] = search(start([mean_of(first, second)]), request, wanted, None)
    assert [h.tokens for h in together] == [h.tokens for h in mean]
    assert [h.score for h in together] == pytest.approx([h.score for h in mean], abs=1e-5)


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(1, 3))
def test_one_alone_or_several_alike_are_the_single_one(seed: int, count: int) -> None:
    tables = [random_table(seed + i, 6) for i in range(3)]
    wanted = SearchConfig(beam=3, n_best=3, coverage_penalty=0.3)
    request = build_request([6, 3, 5])
    single = search(start(tables), request, wanted, None)
    alike = search(
        lambda copies: Ensemble([start(tables)(copies) for _ in range(count)]),
        request,
        wanted,
        None,
    )
    for ours, theirs in zip(alike, single, strict=True):
        assert [(h.tokens, h.log_probs) for h in ours] == [(h.tokens, h.log_probs) for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-6)


def test_two_networks_together_find_what_their_mean_finds() -> None:
    """Against every translation there is, scored by two whole passes without a cache."""
    models = [network(small_config(target_vocab_size=6, tying="none"), seed) for seed in (1, 2)]
    source_BS = ragged(rows=2, longest=4, seed=2)

    def table(row: int) -> Table:
        def mean(prefix: tuple[int, ...]) -> list[float]:
            source = source_BS[row : row + 1]
            source = source[:, source[0] != 0]
            with torch.no_grad():
                both = [m(source, torch.tensor([[0, *prefix]]))[0, -1].softmax(-1) for m in models]
            return torch.stack(both).mean(0).tolist()

        return Table(mean)

    wanted = SearchConfig(beam=80, n_best=3)
    found = search(
        lambda copies: Ensemble([model.start(source_BS, copies=copies) for model in models]),
        SearchRequest.plain(torch.tensor([3, 3]), begin=0, end=1),
        wanted,
        None,
    )
    for row, ours in enumerate(found):
        best = exhaustive(table(row), 3, 6, wanted)[:3]
        assert [h.tokens for h in ours] == [tokens for _, tokens in best]
        assert [h.score for h in ours] == pytest.approx([score for score, _ in best], abs=1e-4)


def test_the_mean_of_logs_survives_what_is_impossible() -> None:
    impossible, half = torch.tensor([[-math.inf, -math.inf]]), torch.tensor([[-math.inf, 0.0]])
    assert log_mean([impossible, half])[0].tolist() == pytest.approx([-math.inf, math.log(0.5)])
    tiny = torch.tensor([[-300.0, 0.0]])
    assert log_mean([tiny, tiny]).tolist() == tiny.tolist()


def test_attention_is_shown_where_all_members_show_it() -> None:
    seeing, blind = random_table(3, 5), Table(random_table(4, 5).next)
    first = torch.zeros(1, dtype=torch.int64)
    both = Ensemble([start([seeing])(1), start([random_table(6, 5)])(1)])
    both.step(first)
    assert isinstance(both, AttendingStepper)
    assert float(both.attention_NS.sum()) == pytest.approx(1.0)
    half = Ensemble([start([seeing])(1), start([blind])(1)])
    half.step(first)
    assert not isinstance(half, AttendingStepper)


def test_members_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="needs at least one member"):
        Ensemble([])
    steppers = [start([random_table(1, size)])(1) for size in (5, 6)]
    with pytest.raises(InputError, match=r"\(1, 5\), \(1, 6\)\]: they must share their vocab"):
        Ensemble(steppers).step(torch.zeros(1, dtype=torch.int64))
