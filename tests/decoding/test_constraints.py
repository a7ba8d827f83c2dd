"""Constraints: against a plain list of what may come, and in every search whose rows go alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from probability_tables import BEGIN, END, Table, random_table, start, written
from translucid.decoding.config import SearchConfig
from translucid.decoding.constraints import FORCED_LOG_PROB, apply_filters, build_filters
from translucid.decoding.greedy import greedy_search
from translucid.decoding.hypothesis import Hypothesis
from translucid.decoding.mbr import mbr_search
from translucid.decoding.request import OnceOnly, SearchRequest
from translucid.decoding.sampling import sampling_search

VOCAB = 6
Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Rules:
    """What one source's translation must keep to."""

    prefix: Tokens
    forbidden: Tokens
    min_length: int
    no_repeat: int


def possible(rules: Rules, written: Sequence[int]) -> set[int]:
    """The tokens that may come after those written, found one by one."""
    if len(written) < len(rules.prefix):
        return {rules.prefix[len(written)]}

    def may_come(token: int) -> bool:
        if token == END:
            return len(written) >= rules.min_length
        n = rules.no_repeat
        ngrams = [tuple(written[i : i + n]) for i in range(len(written) - n + 1)]
        newest = (*written[len(written) - n + 1 :], token) if n else ()
        return token not in {BEGIN, *rules.forbidden} and (not n or newest not in ngrams)

    return {token for token in range(VOCAB) if may_come(token)} or {END}


def build_request(rules: Sequence[Rules], limit: int) -> SearchRequest:
    return SearchRequest(
        limits_B=torch.full((len(rules),), limit),
        begin=BEGIN,
        end=END,
        prefixes=tuple(each.prefix for each in rules),
        terms=((),) * len(rules),
        forbidden=rules[0].forbidden,
        decode=str,
    )


def settings_of(rules: Rules, **changes: object) -> SearchConfig:
    return SearchConfig(
        **{
            "min_length": rules.min_length,
            "no_repeat_ngram": rules.no_repeat,
            "loop_guard": False,
            **changes,
        }
    )


words = st.integers(2, VOCAB - 1)


@st.composite
def rules_of_a_batch(draw: st.DrawFn) -> list[Rules]:
    """Rules for one to three sources; each has a prefix of its own, of what is allowed."""
    forbidden = draw(st.sets(words, max_size=VOCAB - 2))
    free = [token for token in range(2, VOCAB) if token not in forbidden]
    prefix = st.lists(st.sampled_from(free), max_size=4) if free else st.just([])
    min_length, no_repeat = draw(st.integers(0, 6)), draw(st.integers(0, 3))
    return [
        Rules(tuple(draw(prefix)), tuple(forbidden), min_length, no_repeat)
        for _ in range(draw(st.integers(1, 3)))
    ]


@given(
    rules_of_a_batch(),
    st.lists(st.lists(words, min_size=9, max_size=9), min_size=1, max_size=4),
    st.integers(0, 9),
    st.randoms(use_true_random=False),
)
def test_what_may_come_is_what_the_rules_say(
    rules: list[Rules], texts: list[list[int]], step: int, lots: object
) -> None:
    """Rows in any order of sources, after any tokens; the numbers that stay are the network's."""
    torch.manual_seed(lots.randrange(2**31))  # type: ignore[attr-defined]
    own_NV = torch.randn(len(texts), VOCAB).log_softmax(-1)
    sources = [row % len(rules) for row in range(len(texts))]
    request, settings = build_request(rules, limit=20), settings_of(rules[0])
    found_NV = apply_filters(
        build_filters(request, settings),
        own_NV.clone(),
        torch.tensor(texts)[:, :step],
        torch.tensor(sources),
    )
    for row, (text, source) in enumerate(zip(texts, sources, strict=True)):
        kept = possible(rules[source], text[:step])
        assert set(found_NV[row].isfinite().nonzero()[:, 0].tolist()) == kept
        assert all(found_NV[row, token] == own_NV[row, token] for token in kept)
        assert all(found_NV[row, token] == -math.inf for token in set(range(VOCAB)) - kept)


def keeps_to(rules: Rules, hypothesis: Hypothesis) -> bool:
    tokens = [*hypothesis.tokens, *([END] if hypothesis.finished else [])]
    return all(token in possible(rules, tokens[:i]) for i, token in enumerate(tokens))


@given(rules_of_a_batch(), st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 3.0]))
def test_constraints_hold_in_every_search_of_rows(
    rules: list[Rules], seed: int, temperature: float
) -> None:
    tables = [random_table(seed + number, VOCAB) for number in range(len(rules))]
    request = build_request(rules, limit=9)
    plain = settings_of(rules[0], method="greedy")
    drawn = settings_of(rules[0], method="sampling", samples=4, n_best=4, temperature=temperature)
    likeliest = greedy_search(start(tables)(1), request, plain, None)
    each = [
        [[hypothesis] for hypothesis in likeliest],
        sampling_search(start(tables), request, drawn, None),
        mbr_search(start(tables), request, drawn.replace(method="mbr"), None),
    ]
    for found in each:
        for source, hypotheses in enumerate(found):
            for hypothesis in hypotheses:
                assert keeps_to(rules[source], hypothesis)
                assert hypothesis.finished or len(hypothesis.tokens) == 9
                assert tables[source].log_prob(hypothesis.tokens) == pytest.approx(
                    hypothesis.log_probs[: len(hypothesis.tokens)], abs=1e-5
                )
    if temperature == 0:
        assert [[h] for h in likeliest] == [hypotheses[:1] for hypotheses in each[1]]


def only(token: int) -> Table:
    """A network that holds everything but one token impossible."""
    return written({}, VOCAB) if token == END else Table(lambda _: _certain(token))


def _certain(token: int) -> list[float]:
    return [float(t == token) for t in range(VOCAB)]


NO_RULES = Rules(prefix=(), forbidden=(), min_length=0, no_repeat=0)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (replace(NO_RULES, prefix=(4, 5)), (4, 5, 2)),
        (replace(NO_RULES, forbidden=(2,)), ()),
        (replace(NO_RULES, no_repeat=1), (2,)),
        (replace(NO_RULES, forbidden=(2, 3, 4, 5), min_length=3), ()),
    ],
    ids=["prefix", "forbidden", "no repeat", "nothing left"],
)
def test_a_network_sure_of_what_may_not_come_is_overruled(rules: Rules, expected: Tokens) -> None:
    """Where log P is −∞ for all that is allowed, what is written is allowed all the same."""
    request, settings = build_request([rules], limit=4), settings_of(rules, method="sampling")
    by_lot = sampling_search(start([only(2)]), request, settings, None)[0][0]
    assert by_lot.tokens == expected
    assert greedy_search(start([only(2)])(1), request, settings, None)[0].tokens == expected
    assert all(math.isfinite(log_prob) for log_prob in by_lot.log_probs)
    assert FORCED_LOG_PROB in by_lot.log_probs


def test_the_common_path_touches_a_few_columns_of_the_matrix_it_is_given() -> None:
    request = replace(
        SearchRequest.plain(torch.tensor([5, 5]), begin=BEGIN, end=END), forbidden=(4,)
    )
    filters = build_filters(request, SearchConfig())
    log_probs_NV = torch.randn(2, VOCAB).log_softmax(-1)
    before = log_probs_NV.clone()
    after = apply_filters(
        filters, log_probs_NV, torch.zeros(2, 0, dtype=torch.int64), torch.arange(2)
    )
    assert len(filters) == 1
    assert after.data_ptr() == log_probs_NV.data_ptr()
    assert (after != before).any(dim=0).nonzero()[:, 0].tolist() == [BEGIN, 4]


def test_a_start_symbol_that_is_also_the_end_symbol_may_be_written() -> None:
    request = SearchRequest.plain(torch.tensor([3]), begin=END, end=END)
    log_probs_NV = torch.randn(1, VOCAB).log_softmax(-1)
    none_yet = torch.zeros(1, 0, dtype=torch.int64)
    after = apply_filters(
        build_filters(request, SearchConfig()), log_probs_NV, none_yet, torch.arange(1)
    )
    assert bool(after.isfinite().all())


ONCE = (6, 7, 8, 9)  # 6 alone; 7 and 8 open, and are closed by 9 and 5
PAIRS = ((7, 9), (8, 5))
WIDE = 10


def possible_once(wanted: Sequence[int], written: Sequence[int]) -> set[int]:
    """The tokens that come once only and may come now, found one by one."""
    lacking = [token for token in wanted if token not in written]
    closes = dict(PAIRS)
    opened = [closes[t] for t in written if t in closes and closes[t] in wanted]
    waiting = [close for close in opened if close not in written]
    return {
        token
        for token in lacking
        if token not in closes.values() or [token] == waiting[-1:] or _opener(token) not in wanted
    }


def _opener(close: int) -> int:
    return next(one for one, other in PAIRS if other == close)


@given(
    wanted=st.lists(st.sets(st.sampled_from([5, *ONCE])).map(sorted), min_size=2, max_size=2),
    choices=st.lists(st.integers(0, 99), max_size=8),
    seed=st.integers(0, 99),
)
def test_tokens_that_come_once_are_those_found_one_by_one(
    wanted: list[list[int]], choices: list[int], seed: int
) -> None:
    """Rows are built of tokens that may come, as a search would build them."""
    tokens = (5, *ONCE)
    request = replace(
        SearchRequest.plain(torch.full((2,), 20), begin=BEGIN, end=END),
        once=OnceOnly(tokens, PAIRS, tuple(map(tuple, wanted))),
    )
    rows: list[list[int]] = [[], []]
    for choice in choices:
        for row, mine in zip(rows, wanted, strict=True):
            may = sorted(possible_once(mine, row)) or [4]
            row.append(([4, *may])[choice % (len(may) + 1)])
    generator = torch.Generator().manual_seed(seed)
    given_NV = torch.rand(2, WIDE, generator=generator).log_softmax(dim=1)
    filtered = apply_filters(
        build_filters(request, SearchConfig()),
        given_NV.clone(),
        torch.tensor(rows),
        torch.arange(2),
    )
    for number, (row, mine) in enumerate(zip(rows, wanted, strict=True)):
        found = {t for t in range(WIDE) if filtered[number, t] > -math.inf}
        may = possible_once(mine, row)
        assert found & set(tokens) == may
        lacking = [token for token in mine if token not in row]
        assert (END in found) == (not lacking)
        plain = [t for t in range(WIDE) if t not in (BEGIN, END, *tokens)]
        best = max([END, *plain, *may], key=lambda t: float(given_NV[number, t]))
        forced = bool(lacking) and best == END
        assert found.isdisjoint(plain) == forced
        for token in found:
            assert filtered[number, token] == given_NV[number, token]


@given(seed=st.integers(0, 50), limit=st.integers(5, 9))
def test_at_the_limit_all_of_them_are_written(seed: int, limit: int) -> None:
    tokens = (5, *ONCE)
    request = replace(
        SearchRequest.plain(torch.full((1,), limit), begin=BEGIN, end=END),
        once=OnceOnly(tokens, PAIRS, ((5, 6, 8),)),
    )
    table = random_table(seed, WIDE)
    for found in (
        greedy_search(
            start([table])(1), request, SearchConfig(method="greedy", loop_guard=False), None
        )[0],
        sampling_search(start([table]), request, SearchConfig(method="sampling", samples=1), None)[
            0
        ][0],
    ):
        assert sorted(t for t in found.tokens if t in tokens) == [5, 6, 8]
        assert found.tokens.index(8) < found.tokens.index(5)
