"""Sampling: frequencies against the softmax, filters against NumPy, and no luck but the seed's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from networks import ragged, small_network
from probability_tables import BEGIN, END, Table, build_request, random_table, seeds, start
from translucid.decoding.config import SearchConfig
from translucid.decoding.greedy import greedy_search
from translucid.decoding.hypothesis import Hypothesis
from translucid.decoding.request import SearchRequest
from translucid.decoding.sampling import (
    FIRST_LOOK,
    FORKS,
    count_forks,
    draw_tokens,
    filter_logits,
    random_streams,
    random_uniforms,
    sampling_search,
)
from translucid.decoding.tree import Recorder
from translucid.errors import InputError

# Chi-squared is above these once in a thousand times, by degrees of freedom (any textbook's table).
ONCE_IN_A_THOUSAND = {1: 10.83, 3: 16.27, 4: 18.47, 9: 27.88, 63: 103.44}

CHANCES = [0.0, 0.40, 0.30, 0.15, 0.10, 0.05]  # by hand; the start symbol never comes
AFTER_TWO = [0.0, 0.10, 0.10, 0.20, 0.25, 0.35]
HAND_WRITTEN = Table(lambda prefix: AFTER_TWO if prefix[-1:] == (2,) else CHANCES)


def drawn(
    tables: Sequence[Table], limit: int, keys: tuple[int, ...] = (), **settings: object
) -> list[list[Hypothesis]]:
    """All samples of each source, in the order of their rank."""
    request = replace(build_request([limit] * len(tables)), keys=keys)
    count = settings.get("samples", 1)
    config = SearchConfig(**{"method": "sampling", "n_best": count, **settings})
    return sampling_search(start(tables), request, config, None)


def chi_squared(observed: Counter[int], expected: Sequence[float]) -> float:
    total = observed.total()
    assert not any(observed[token] for token, share in enumerate(expected) if share == 0)
    return sum(
        (observed[token] - total * share) ** 2 / (total * share)
        for token, share in enumerate(expected)
        if share
    )


def softmax_at(chances: Sequence[float], temperature: float) -> list[float]:
    """The softmax of logits / temperature, straight from its definition."""
    powers = [math.exp(math.log(p) / temperature) if p else 0.0 for p in chances]
    return [power / sum(powers) for power in powers]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_match_the_softmax(temperature: float) -> None:
    samples = drawn([HAND_WRITTEN], 3, samples=8000, temperature=temperature, seed=5)[0]
    first = Counter(h.tokens[0] if h.tokens else END for h in samples)
    assert chi_squared(first, softmax_at(CHANCES, temperature)) < ONCE_IN_A_THOUSAND[4]
    other = softmax_at(CHANCES, 1.2 * temperature)
    assert chi_squared(first, other) > ONCE_IN_A_THOUSAND[4], "the test could not fail"
    for token, chances in ((2, AFTER_TWO), (3, CHANCES)):
        after = [h for h in samples if h.tokens[:1] == (token,)]
        second = Counter(h.tokens[1] if len(h.tokens) > 1 else END for h in after)
        assert chi_squared(second, softmax_at(chances, temperature)) < ONCE_IN_A_THOUSAND[4]


def test_frequencies_of_what_top_k_keeps() -> None:
    samples = drawn([HAND_WRITTEN], 2, samples=4000, top_k=2, seed=3)[0]
    first = Counter(h.tokens[0] if h.tokens else END for h in samples)
    assert chi_squared(first, [0.0, 4 / 7, 3 / 7]) < ONCE_IN_A_THOUSAND[1]


def test_log_p_is_the_networks_own_whatever_was_drawn_from() -> None:
    table = random_table(7, 8)
    for hypothesis in drawn([table], 6, samples=20, temperature=3.0, top_k=5, min_p=0.01)[0]:
        expected = table.log_prob([*hypothesis.tokens, END])
        assert hypothesis.log_probs == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_at_the_limit_only_the_end_is_drawn(temperature: float) -> None:
    """It is natural where it was the most probable token: after all but 2, by the table."""
    samples = drawn([HAND_WRITTEN], 2, samples=200, temperature=temperature, min_length=1)[0]
    for hypothesis in samples:
        (token,) = hypothesis.tokens
        assert hypothesis.ending == ("limit" if token == 2 else "end")
        chances = [CHANCES[token], (AFTER_TWO if token == 2 else CHANCES)[END]]
        assert hypothesis.log_probs == pytest.approx([math.log(p) for p in chances])
    assert {h.ending for h in samples} == ({"limit", "end"} if temperature else {"limit"})


@given(seeds, st.booleans())
def test_temperature_0_is_greedy(seed: int, ties: bool) -> None:
    tables = [random_table(seed + i, 6, ties=ties) for i in range(3)]
    likeliest = greedy_search(
        start(tables)(1), build_request([7, 7, 7]), SearchConfig(method="greedy"), None
    )
    assert drawn(tables, 7, samples=2, temperature=0.0) == [[each] * 2 for each in likeliest]
    assert drawn(tables, 7, top_k=1, temperature=5.0) == [[each] for each in likeliest]


@given(seeds, st.sampled_from([1e-9, 1e-30, 5e-324]))
def test_a_temperature_near_0_is_greedy_too(seed: int, temperature: float) -> None:
    tables = [random_table(seed + i, 6) for i in range(2)]
    likeliest = greedy_search(
        start(tables)(1), build_request([7, 7]), SearchConfig(method="greedy"), None
    )
    found = drawn(tables, 7, temperature=temperature, seed=seed)
    assert found == [[each] for each in likeliest]


def test_the_lower_the_temperature_the_more_samples_are_greedy() -> None:
    table = random_table(11, 6)
    likeliest = greedy_search(
        start([table])(1), build_request([5]), SearchConfig(method="greedy"), None
    )[0]

    def share(temperature: float) -> float:
        return drawn([table], 5, samples=300, temperature=temperature)[0].count(likeliest) / 300

    shares = [share(temperature) for temperature in (2.0, 1.0, 0.5, 0.1, 0.001)]
    assert shares == sorted(shares)
    assert shares[0] < 0.2
    assert shares[-1] == 1.0


def kept_by_numpy(
    logits_V: np.ndarray, top_k: int, top_p: float, min_p: float
) -> tuple[list[int], np.ndarray]:
    """The tokens that the three rules keep, straight from their definitions, and all P."""
    probs_V = np.exp(logits_V - logits_V.max())
    probs_V /= probs_V.sum()
    order = np.lexsort((np.arange(len(probs_V)), -probs_V))
    nucleus = 1 + int((np.cumsum(probs_V[order]) < top_p).sum()) if top_p < 1 else len(order)
    by_k, by_p = set(order[: top_k or None].tolist()), set(order[:nucleus].tolist())
    by_min = set(np.flatnonzero(probs_V >= min_p * probs_V.max()).tolist())
    return [token for token in order.tolist() if token in by_k & by_p & by_min], probs_V


@given(
    seed=seeds,
    size=st.sampled_from([1, 2, 5, 40, 2 * FIRST_LOOK]),
    sharpness=st.sampled_from([0.0, 0.1, 1.0, 4.0]),
    ties=st.booleans(),
    top_k=st.sampled_from([0, 1, 3, 70, 10_000]),
    top_p=st.one_of(st.just(1.0), st.floats(0.01, 0.999)),
    min_p=st.one_of(st.just(0.0), st.floats(0.001, 1.0)),
)
def test_top_k_top_p_and_min_p_equal_numpy(
    *,
    seed: int,
    size: int,
    sharpness: float,
    ties: bool,
    top_k: int,
    top_p: float,
    min_p: float,
) -> None:
    lots = np.random.default_rng(seed)
    logits_RV = lots.normal(size=(3, size)) * sharpness * np.array([[1.0], [3.0], [0.3]])
    logits_RV = np.round(logits_RV) if ties else logits_RV
    settings = SearchConfig(method="sampling", top_k=top_k, top_p=top_p, min_p=min_p)
    kept_RV = filter_logits(torch.from_numpy(logits_RV), settings).numpy()
    for logits_V, kept_V in zip(logits_RV, kept_RV, strict=True):
        expected, probs_V = kept_by_numpy(logits_V, top_k, top_p, min_p)
        sums = np.cumsum(np.sort(probs_V)[::-1])
        # A sum or share that is p itself, but for rounding, may fall on either side.
        assume(abs(sums - top_p).min() > 1e-12 or top_p == 1)
        assume(abs(probs_V / probs_V.max() - min_p).min() > 1e-12 or min_p == 1)
        masked = np.full(size, -np.inf)
        masked[expected] = logits_V[expected]
        assert kept_V.tolist() == masked.tolist()


def test_a_row_may_keep_more_than_is_sorted_at_first() -> None:
    """Rows of one batch may need different ways of sorting, and neither harms the other."""
    lots = np.random.default_rng(1)
    logits_RV = np.stack([lots.normal(size=3 * FIRST_LOOK) * scale for scale in (9.0, 0.3)])
    kept_RV = filter_logits(torch.from_numpy(logits_RV), SearchConfig(method="sampling", top_p=0.9))
    counts = (kept_RV > -math.inf).sum(dim=1).tolist()
    assert counts == [len(kept_by_numpy(logits_V, 0, 0.9, 0.0)[0]) for logits_V in logits_RV]
    assert counts[0] < FIRST_LOOK < counts[1]


def test_top_p_of_1_keeps_even_what_a_sum_cannot_hold() -> None:
    logits_RV = torch.tensor([[0.0, -60.0, -70.0]], dtype=torch.float64)
    kept_RV = filter_logits(logits_RV, SearchConfig(method="sampling", top_k=3))
    assert kept_RV.tolist() == logits_RV.tolist()


@given(st.lists(st.sampled_from([0.0, 0.1, 1.0, 2.0, 5.0]), min_size=1, max_size=8))
def test_numbers_spread_evenly_draw_every_token_by_its_share(weights: list[float]) -> None:
    """All ways down the tree, on a fine grid of numbers for each fork."""
    assume(sum(weights) > 0)
    grid, depth = 24, count_forks(len(weights))
    each = [(i + 0.5) / grid for i in range(grid)]
    uniform_RF = torch.tensor(list(product(each, repeat=depth)), dtype=torch.float64)
    logits_V = torch.tensor(weights, dtype=torch.float64).log()
    tokens_R = draw_tokens(logits_V.expand(grid**depth, -1), uniform_RF.view(grid**depth, depth))
    shares = tokens_R.bincount(minlength=len(weights)) / grid**depth
    expected = [weight / sum(weights) for weight in weights]
    assert shares.tolist() == pytest.approx(expected, abs=0.5 * max(depth, 1) / grid)
    assert all(shares[token] == 0 for token, weight in enumerate(weights) if weight == 0)


@pytest.mark.parametrize("number", [0.0, 0.5, 1 - 2.0**-53])
def test_no_number_draws_what_is_impossible(number: float) -> None:
    lots = torch.Generator().manual_seed(4)
    logits_RV = torch.randn(400, 37, generator=lots)
    logits_RV[torch.rand(400, 37, generator=lots) < 0.9] = -math.inf
    logits_RV[:, 20] = torch.where(logits_RV.amax(dim=1) == -math.inf, 0.0, logits_RV[:, 20])
    tokens_R = draw_tokens(
        logits_RV, torch.full((400, count_forks(37)), number, dtype=torch.float64)
    )
    assert bool(logits_RV.gather(1, tokens_R[:, None]).isfinite().all())
    assert len(set(tokens_R.tolist())) > 5


def test_random_numbers_are_those_of_splitmix64() -> None:
    """The reference outputs for the state 1234567 that implementations compare themselves with."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    state = np.array([1234567], dtype=np.uint64)
    assert random_uniforms(state, 0, 3).tolist() == [[(word >> 11) / 2**53 for word in published]]


def test_every_step_and_fork_has_a_number_of_its_own() -> None:
    state = np.array([1234567], dtype=np.uint64)
    by_step = np.concatenate([random_uniforms(state, step, FORKS) for step in range(3)], axis=1)
    assert by_step.tolist() == random_uniforms(state, 0, 3 * FORKS).tolist()
    assert count_forks(2**FORKS) == FORKS, "more than any vocabulary needs"


@pytest.mark.parametrize("varied", ["seed", "key", "sample", "step", "fork"])
def test_random_numbers_are_even_in_whatever_is_varied(varied: str) -> None:
    count = 6400
    numbers = {
        "seed": lambda: [
            random_uniforms(random_streams(i, 7, 1), 3, 1)[0, 0] for i in range(count)
        ],
        "key": lambda: [random_uniforms(random_streams(7, i, 1), 3, 1)[0, 0] for i in range(count)],
        "sample": lambda: random_uniforms(random_streams(7, 7, count), 3, 1)[:, 0].tolist(),
        "step": lambda: [
            random_uniforms(random_streams(7, 7, 1), i, 1)[0, 0] for i in range(count)
        ],
        "fork": lambda: random_uniforms(random_streams(7, 7, 1), 3, count)[0].tolist(),
    }[varied]()
    bins = Counter(int(64 * number) for number in numbers)
    assert chi_squared(bins, [1 / 64] * 64) < ONCE_IN_A_THOUSAND[63]
    pairs = Counter(int(2 * a) + 2 * int(2 * b) for a, b in pairwise(numbers))
    assert chi_squared(pairs, [1 / 4] * 4) < ONCE_IN_A_THOUSAND[3]


def test_keys_and_seeds_of_any_size_count() -> None:
    parts = [(0, 0), (1, 0), (0, 1), (2**63, 0), (0, 2**64 - 1), (5, 6), (6, 5), (0, -2)]
    assert len({int(random_streams(seed, key, 1)[0]) for seed, key in parts}) == len(parts)


@given(st.permutations(range(5)), st.integers(1, 5), st.integers(0, 2**70))
def test_a_sample_depends_on_seed_and_key_and_not_on_the_batch(
    order: list[int], size: int, seed: int
) -> None:
    tables = [random_table(number, 7) for number in range(5)]
    settings = {"samples": 3, "temperature": 1.5, "top_p": 0.95, "seed": seed}
    together = drawn(tables, 6, keys=(10, 11, 12, 13, 14), **settings)
    for begin in range(0, 5, size):
        batch = order[begin : begin + size]
        keys = tuple(10 + number for number in batch)
        apart = drawn([tables[number] for number in batch], 6, keys=keys, **settings)
        assert apart == [together[number] for number in batch]


def test_a_network_gives_the_same_samples_in_any_batch() -> None:
    model = small_network()
    source_BS = ragged(rows=6, longest=7, seed=2)
    settings = SearchConfig(method="sampling", samples=2, n_best=2, seed=9)

    def of(rows: list[int]) -> list[list[tuple[int, ...]]]:
        batch = source_BS[rows]
        batch = batch[:, : int((batch != 0).sum(1).max())]
        plain = SearchRequest.plain(torch.full((len(rows),), 9), begin=2, end=3)
        request = replace(plain, keys=tuple(rows), forbidden=(0,))
        found = sampling_search(
            lambda copies: model.start(batch, copies=copies), request, settings, None
        )
        return [[hypothesis.tokens for hypothesis in each] for each in found]

    together = of([0, 1, 2, 3, 4, 5])
    assert [of([row])[0] for row in range(6)] == together
    assert of([4, 2, 0]) == [together[4], together[2], together[0]]


def test_seed_source_and_sample_each_change_what_is_drawn() -> None:
    table = random_table(3, 20, sharpness=0.1)
    first, again, other = (drawn([table] * 2, 8, samples=2, seed=seed) for seed in (1, 1, 2))
    assert first == again
    texts = {hypothesis.tokens for found in (first, other) for each in found for hypothesis in each}
    assert len(texts) == 8


def test_without_keys_the_place_in_the_batch_is_the_key() -> None:
    tables = [random_table(number, 9) for number in range(3)]
    assert drawn(tables, 6, seed=4) == drawn(tables, 6, keys=(0, 1, 2), seed=4)
    assert drawn(tables, 6, seed=4) != drawn(tables, 6, keys=(5, 6, 7), seed=4)
    with pytest.raises(InputError, match="2 keys for 3 sources: give one per source"):
        drawn(tables, 6, keys=(1, 2))


@given(seeds, st.integers(1, 5))
def test_the_best_come_first_however_they_ended(seed: int, n_best: int) -> None:
    tables = [random_table(seed, 5), random_table(seed + 1, 5)]
    every = drawn(tables, 4, samples=5, seed=seed)
    best = drawn(tables, 4, samples=5, n_best=n_best, seed=seed)
    for all_of_it, found in zip(every, best, strict=True):
        assert found == all_of_it[:n_best]
        scores = [hypothesis.score for hypothesis in all_of_it]
        assert scores == sorted(scores, reverse=True)


def test_a_source_leaves_when_its_last_sample_has_ended() -> None:
    tables = [random_table(number, 5) for number in range(4)]
    stepper = start(tables)(3)
    request, settings = build_request([9] * 4), SearchConfig(method="sampling", samples=3, n_best=3)
    found = sampling_search(lambda _: stepper, request, settings, None)
    longest = [max(len(hypothesis.log_probs) for hypothesis in each) for each in found]
    assert len(set(longest)) > 1
    assert stepper.fed == [3 * sum(n > step for n in longest) for step in range(max(longest))]


def test_the_recorded_tree_has_every_sample_once() -> None:
    recorder, tables = Recorder(), [random_table(number, 5, sharpness=3.0) for number in range(2)]
    settings = SearchConfig(method="sampling", samples=6, n_best=6, seed=1)
    found = sampling_search(start(tables), build_request([4, 4]), settings, recorder)
    assert found == sampling_search(start(tables), build_request([4, 4]), settings, None)
    for tree, hypotheses in zip(recorder.trees(), found, strict=True):
        longest = max(len(h.tokens) for h in hypotheses)
        last = {h.ending for h in hypotheses if len(h.tokens) == longest}
        assert tree.stopped == ("limit" if "limit" in last else "end")
        assert len({(node.parent, node.token) for node in tree.nodes}) == len(tree.nodes)
        for number, hypothesis in zip(tree.results, hypotheses, strict=True):
            path = [tree.nodes[each] for each in tree.path(number)]
            assert tuple(node.token for node in path) == (*hypothesis.tokens, END)
            assert tuple(node.log_prob for node in path) == hypothesis.log_probs
            assert path[-1].status == "finished"
            assert path[-1].score == pytest.approx(hypothesis.score)
            assert all(node.status == "kept" for node in path[:-1])
        assert any(node.status == "dropped" for node in tree.nodes)
        assert len({tree.results[i] for i in range(6)}) == len({h.tokens for h in hypotheses})


def test_one_recorded_sample_says_how_it_ended() -> None:
    recorder = Recorder()
    table = Table(lambda _: [0.0, 0.0, 1.0])
    settings = SearchConfig(method="sampling", temperature=1.0)
    sampling_search(start([table]), build_request([60]), settings, recorder)
    (tree,) = recorder.trees()
    assert tree.stopped == "loop"
    assert tree.nodes[tree.results[0]].status == "cut"
    assert tree.nodes[0].token == BEGIN
    assert all(math.isfinite(node.log_prob) for node in tree.nodes), "what may not come is no node"
