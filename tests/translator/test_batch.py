"""Texts as parts for a search that the caller makes: in any batches the same translations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from small_translators import sentences
from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import Hypothesis
from translucid.engines.pytorch import soft_alignments
from translucid.errors import InputError
from translucid.translator import Translator, load

TEXTS = [*sentences(6, seed=3), "", "chat noir\n\n livre\n", "  "]


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(range(9)), st.integers(1, 9))
def test_parts_may_be_searched_for_in_any_order_and_batches(
    taught: Translator, order_of_parts: list[int], size: int
) -> None:
    options: dict[str, Any] = {"search": SearchConfig(beam=3, n_best=2), "terms": {"chat": "tree"}}
    batch = taught.encode(TEXTS, taught.build_request(**options))
    assert len(batch.inputs) == 8
    places = [place for place in order_of_parts if place < 8]
    found: dict[int, list[Hypothesis]] = {}
    for begin in range(0, 8, size):
        some = places[begin : begin + size]
        if some:
            each = batch.searcher.search([batch.inputs[place] for place in some])
            found.update(zip(some, each, strict=True))
    choices = batch.choose([found[place] for place in range(8)])
    pairs = batch.best_pairs(choices)
    weights = [soft_alignments(taught.members, [s], [t])[0].numpy() for s, t in pairs]
    expected = taught.translate(TEXTS, **options, alignment=True)
    for one, other in zip(batch.assemble(choices, weights), expected, strict=True):
        assert one.source == other.source
        assert [c.text for c in one.n_best] == [c.text for c in other.n_best]
        assert one.alignment is not None
        assert other.alignment is not None
        assert one.alignment.links == other.alignment.links
    assert all(one.alignment is None for one in batch.assemble(choices, None))


def test_what_does_not_fit_is_refused_when_it_is_ordered(taught: Translator) -> None:
    with pytest.raises(InputError, match="text 2: its prefix of 2 tokens"):
        taught.encode(["chat", "noir"], taught.build_request(prefix=["", "old red"], max_length=1))


TELLING = [
    (SearchConfig(method="greedy"), None),
    (SearchConfig(beam=3, n_best=2), None),
    (SearchConfig(beam=3, n_best=2), {"chat": "tree"}),
    (SearchConfig(method="diverse", beam=4, groups=2, n_best=2), None),
]


@pytest.mark.parametrize(("search", "terms"), TELLING)
def test_a_search_tells_what_is_certain_before_it_ends(
    taught: Translator, search: SearchConfig, terms: dict[str, str] | None
) -> None:
    """Told once a sentence, the short ones before the batch is done, and what is returned too."""
    slow = load(taught.folders[0], engine="pytorch")
    batch = slow.encode(
        ["chat noir dort rouge eau", "chat", "livre vieux"],
        slow.build_request(search=search, terms=terms),
    )
    told: dict[int, list[Hypothesis]] = {}

    def tell(place: int, hypotheses: list[Hypothesis]) -> None:
        assert place not in told
        told[place] = hypotheses

    found = batch.searcher.search(batch.inputs, tell)
    assert [told[place] for place in range(3)] == found
    assert list(told)[-1] == 0  # the longest


@pytest.mark.parametrize("method", ["sampling", "mbr"])
def test_where_samples_are_compared_nothing_is_certain_early(
    taught: Translator, method: Any
) -> None:
    request = taught.build_request(method=method, samples=2)
    batch = taught.encode(["chat", "noir"], request)
    batch.searcher.search(batch.inputs, lambda *_: pytest.fail("told"))
