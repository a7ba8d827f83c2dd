"""Terms that must be used: they always are, at any width, and at full width in the best way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from networks import ragged, small_network
from probability_tables import (
    BEGIN,
    END,
    Table,
    Tokens,
    build_request,
    exhaustive,
    random_table,
    rescored,
    seeds,
    start,
)
from translucid.decoding import beam as beam_module
from translucid.decoding.beam import beam_search
from translucid.decoding.config import SearchConfig
from translucid.decoding.request import SearchRequest
from translucid.decoding.search import search
from translucid.decoding.terminology import Progress, terminology_search
from translucid.errors import InputError

VOCABULARY = 7
few = settings(max_examples=25, deadline=None)
term = st.lists(st.integers(2, VOCABULARY - 1), min_size=1, max_size=3).map(tuple)
terms_of_a_source = st.lists(term, max_size=3).map(tuple)


def config(**changes: Any) -> SearchConfig:
    return SearchConfig(**{"loop_guard": False, **changes})


def asking(
    limits: Sequence[int],
    terms: Sequence[tuple[Tokens, ...]],
    prefixes: Sequence[Tokens] | None = None,
    forbidden: Tokens = (),
) -> SearchRequest:
    given = tuple(prefixes) if prefixes is not None else ((),) * len(limits)
    return SearchRequest(torch.tensor(limits), BEGIN, END, given, tuple(terms), forbidden)


def holds(tokens: Tokens, terms: Sequence[Tokens]) -> bool:
    """Whether each term is there, as often as it was asked for, none of them over itself."""

    def times(term: Tokens) -> int:
        place, count = 0, 0
        while place + len(term) <= len(tokens):
            found = tokens[place : place + len(term)] == term
            count, place = count + found, place + (len(term) if found else 1)
        return count

    return all(times(term) >= often for term, often in Counter(terms).items())


def repeats(tokens: Tokens, token: int, length: int) -> bool:
    """Whether this token next would complete an n-gram of this length that is there already."""
    there = {tokens[i : i + length] for i in range(len(tokens) - length + 1)}
    return length > 0 and (*tokens, token)[-length:] in there


def room(terms: Sequence[Tokens]) -> int:
    return sum(map(len, terms)) + 1


@few
@given(
    st.lists(st.tuples(seeds, terms_of_a_source, st.integers(0, 4)), min_size=1, max_size=3),
    st.integers(1, 4),
    st.booleans(),
)
def test_every_translation_has_its_terms_at_any_width(
    sources: list[tuple[int, tuple[Tokens, ...], int]], width: int, ties: bool
) -> None:
    tables = [random_table(seed, VOCABULARY, ties=ties) for seed, _, _ in sources]
    request = asking([room(terms) + more for _, terms, more in sources], [t for _, t, _ in sources])
    wanted = config(beam=width, n_best=width)
    for table, (_, terms, _), found in zip(
        tables, sources, search(start(tables), request, wanted, None), strict=True
    ):
        assert 1 <= len(found) <= width
        for hypothesis in found:
            assert holds(hypothesis.tokens, terms)
            assert hypothesis.score == pytest.approx(rescored(table, hypothesis, wanted), abs=1e-5)


@few
@given(seeds, terms_of_a_source, st.integers(1, 3), st.data())
def test_terms_hold_together_with_all_other_rules(
    seed: int, terms: tuple[Tokens, ...], width: int, data: st.DataObject
) -> None:
    used = {token for each in terms for token in each}
    others = [token for token in range(2, VOCABULARY) if token not in used]
    forbidden = tuple(data.draw(st.sets(st.sampled_from(others)))) if others else ()
    prefix = tuple(data.draw(st.lists(st.integers(2, VOCABULARY - 1), max_size=3)))
    shortest, ngram = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 3))
    limit = room(terms) + len(prefix) + 6
    request = asking([limit], [terms], [prefix], forbidden)
    wanted = config(beam=width, n_best=width, min_length=shortest, no_repeat_ngram=ngram)
    [found] = search(start([random_table(seed, VOCABULARY)]), request, wanted, None)
    assert found
    for hypothesis in found:
        tokens = hypothesis.tokens
        assert holds(tokens, terms)
        assert tokens[: len(prefix)] == prefix
        assert not set(tokens[len(prefix) :]) & {*forbidden, BEGIN, END}
        free = [t for t in range(2, VOCABULARY) if t not in forbidden]
        assert len(tokens) >= shortest or all(repeats(tokens, token, ngram) for token in free)


# Terms that cannot lie over each other, so that what is missing is counted exactly.
APART: list[tuple[Tokens, ...]] = [
    (),
    ((2,),),
    ((2, 3),),
    ((2, 2),),
    ((2,), (3,)),
    ((2,), (2,)),
    ((3, 3), (2,)),
]


@settings(max_examples=20, deadline=None)
@given(seeds, st.sampled_from([0.0, 0.6, 2.0]), st.sampled_from(APART))
def test_full_width_finds_the_best_translation_that_has_the_terms(
    seed: int, alpha: float, terms: tuple[Tokens, ...]
) -> None:
    table, limit = random_table(seed, 4), 4
    wanted = config(beam=100, n_best=3, length_penalty=alpha)
    [found] = terminology_search(start([table]), asking([limit], [terms]), wanted, None)
    every = exhaustive(table, limit, 4, wanted)
    best = [(score, tokens) for score, tokens in every if holds(tokens, terms)][:3]
    assert [h.tokens for h in found] == [tokens for _, tokens in best]


@few
@given(st.lists(seeds, min_size=1, max_size=3), st.integers(1, 4), st.booleans())
def test_without_terms_it_is_plain_beam_search(numbers: list[int], width: int, ties: bool) -> None:
    """A source without terms gets what it would have got, though others in its batch have some."""
    tables = [random_table(seed, VOCABULARY, ties=ties) for seed in numbers]
    wanted = config(beam=width, n_best=width)
    plain = beam_search(start(tables), build_request([6] * len(tables)), wanted, None)
    request = asking([6] * (len(tables) + 1), [*[()] * len(tables), ((3, 4), (5,))])
    mixed = search(start([*tables, random_table(1, VOCABULARY)]), request, wanted, None)
    assert mixed[:-1] == plain


@few
@given(st.lists(st.tuples(seeds, terms_of_a_source), min_size=2, max_size=4), st.integers(1, 3))
def test_each_source_is_translated_as_if_alone(
    sources: list[tuple[int, tuple[Tokens, ...]]], width: int
) -> None:
    tables = [random_table(seed, VOCABULARY) for seed, _ in sources]
    terms, limits = [t for _, t in sources], [room(t) + 3 for _, t in sources]
    wanted = config(beam=width, n_best=width)
    together = search(start(tables), asking(limits, terms), wanted, None)
    for table, each, limit, found in zip(tables, terms, limits, together, strict=True):
        assert search(start([table]), asking([limit], [each]), wanted, None) == [found]


@few
@given(seeds, terms_of_a_source, st.sampled_from([0.0, 0.6, 2.0]))
def test_stopping_early_never_changes_the_result(
    seed: int, terms: tuple[Tokens, ...], alpha: float
) -> None:
    table, request = random_table(seed, VOCABULARY), asking([room(terms) + 5], [terms])
    wanted = config(beam=3, n_best=2, length_penalty=alpha)
    early = terminology_search(start([table]), request, wanted, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beam_module, "cannot_be_beaten", lambda best_B, *_: best_B > 0)
        assert terminology_search(start([table]), request, wanted, None) == early


def test_a_term_comes_where_it_fits_best_even_in_a_beam_of_one() -> None:
    """After 2 the term is likely, at the beginning it is not: it is not pushed to the front."""

    def following(prefix: Tokens) -> list[float]:
        if prefix == ():
            return [0, 0.05, 0.8, 0.05, 0.05, 0.05]
        if prefix == (2,):
            return [0, 0.4, 0.05, 0.05, 0.3, 0.2]
        return [0, 0.8, 0.05, 0.05, 0.05, 0.05]

    [[found]] = search(start([Table(following)]), asking([6], [((4,),)]), config(beam=1), None)
    assert (found.tokens, found.ending) == ((2, 4), "end")


def test_a_term_that_is_broken_off_counts_for_nothing() -> None:
    begun = Progress((((5, 6, 7), 0), ((8,), 0)))
    assert begun.missing == 4
    one = begun.after(5)
    assert (one.missing, one.wanted) == (3, {6, 5, 8})
    assert one.after(9).missing == 4
    assert one.after(5).missing == 3  # the second 5 begins it anew
    done = one.after(6).after(7)
    assert (done.missing, done.wanted) == (1, {8})
    assert done.after(8).open == ()


def test_a_term_asked_for_twice_must_be_there_twice() -> None:
    twice = Progress((((5, 5), 0), ((5, 5), 0)))
    assert twice.after(5).after(5).missing == 2
    assert twice.after(5).after(5).after(5).missing == 1
    assert twice.after(5).after(5).after(5).after(5).open == ()


def test_terms_that_lie_over_each_other_are_both_met() -> None:
    over = Progress((((5, 6), 0), ((6, 7), 0)))
    assert over.after(5).after(6).after(7).open == ()


def test_terms_that_do_not_fit_are_refused() -> None:
    tables = start([random_table(1, VOCABULARY)] * 2)
    with pytest.raises(InputError, match=r"source 1 need 3 tokens after a prefix of 0.*3"):
        search(tables, asking([9, 3], [(), ((3, 4), (5,))]), config(), None)
    request = asking([9, 5], [(), ((3, 4),)], [(), (5, 5, 3)])
    with pytest.raises(
        InputError, match=r"need 1 tokens after a prefix of 3.* at most 4 fit"
    ) as caught:
        search(tables, asking([9, 4], [(), ((3, 4),)], [(), (5, 5, 3)]), config(), None)
    assert "raise the limit" in str(caught.value)
    assert search(tables, request, config(), None)[1][0].tokens[:4] == (5, 5, 3, 4)


@pytest.mark.parametrize("width", [1, 4])
def test_on_a_network(width: int) -> None:
    model = small_network(tying="none")
    source_BS = ragged(rows=3, longest=6, seed=4)
    terms = (((7, 8, 9), (20,)), (), ((11,), (12, 13)))
    request = SearchRequest(torch.tensor([20, 20, 9]), 2, 3, ((), (5,), ()), terms, (0, 1))
    found = search(
        lambda copies: model.start(source_BS, copies=copies), request, config(beam=width), None
    )
    for each, [hypothesis] in zip(terms, found, strict=True):
        assert holds(hypothesis.tokens, each)
