"""What must hold of batches whatever the data: each example once, ranks apart, exact restart."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shard_folders import BOTH_WAYS, ONE_WAY, make_data, random_lengths, records_of_lengths
from translucid.data.batches import START, Batches, MicroBatch, Step, load_examples, select_rank
from translucid.data.shards import PreparedData

LENGTHS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=60)
SEEDS = st.integers(0, 2**63 - 1)


def example_counts(batches: list[MicroBatch]) -> Counter[tuple[int, int]]:
    return Counter(
        pair
        for batch in batches
        for pair in zip(batch.pairs.tolist(), batch.directions.tolist(), strict=True)
    )


def rows_of(step: Step) -> list[tuple[int, int, list[int], list[int]]]:
    return [(b.epoch, b.index, b.pairs.tolist(), b.directions.tolist()) for b in step.batches]


def whole_epoch(batches: Batches, number: int) -> list[MicroBatch]:
    epoch = batches.epoch(number)
    return [epoch.batch(index) for index in range(len(epoch))]


@given(
    lengths=LENGTHS,
    directions=st.sampled_from([ONE_WAY, BOTH_WAYS, BOTH_WAYS[::-1]]),
    tagged=st.booleans(),
    room=st.integers(0, 60),
    seed=SEEDS,
    epoch=st.integers(0, 10**6),
)
@settings(max_examples=40)
def test_every_example_comes_once_and_every_batch_is_within_the_budget(
    tmp_path_factory: pytest.TempPathFactory,
    lengths: list[tuple[int, int]],
    directions: tuple[tuple[str, str], ...],
    tagged: bool,
    room: int,
    seed: int,
    epoch: int,
) -> None:
    folder = tmp_path_factory.mktemp("once")
    data = make_data(folder, records_of_lengths(lengths), directions=directions, tagged=tagged)
    # The lengths by hand: [tag] tokens EOS on the source side, one of BOS and EOS on the other.
    by_lang = [{"fr": fr, "en": en} for fr, en in lengths]
    needed = [
        [(pair[source] + 1 + tagged, pair[target] + 1) for source, target in directions]
        for pair in by_lang
    ]
    budget = max(max(row) for rows in needed for row in rows) + room
    batches = whole_epoch(
        Batches(load_examples(data, "train"), max_tokens=budget, seed=seed), epoch
    )
    everything = itertools.product(range(len(lengths)), range(len(directions)))
    assert example_counts(batches) == dict.fromkeys(everything, 1)
    for batch in batches:
        rows = [needed[p][d] for p, d in zip(batch.pairs, batch.directions, strict=True)]
        assert len(rows) * max(max(row) for row in rows) <= budget


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    records = records_of_lengths(random_lengths(400))
    return make_data(tmp_path_factory.mktemp("steps"), records, directions=BOTH_WAYS, tagged=True)


@given(
    budget=st.integers(60, 900),
    seed=SEEDS,
    per_step=st.integers(1, 9),
    data_=st.data(),
)
@settings(max_examples=40)
def test_the_ranks_of_a_step_share_it_without_overlap(
    data: PreparedData, budget: int, seed: int, per_step: int, data_: st.DataObject
) -> None:
    world_size = data_.draw(st.integers(1, per_step))
    batches = Batches(load_examples(data, "train"), max_tokens=budget, seed=seed)
    count = len(batches.epoch(0))
    steps = list(itertools.islice(batches.steps(START, per_step), -(-count // per_step)))
    shares = [
        [
            batch
            for step in steps
            for batch in select_rank(step.batches, rank=rank, world_size=world_size)
        ]
        for rank in range(world_size)
    ]
    places = [(batch.epoch, batch.index) for share in shares for batch in share]
    assert len(set(places)) == len(places) == len(steps) * per_step
    first_epoch = [batch for share in shares for batch in share if batch.epoch == 0]
    assert example_counts(first_epoch) == dict.fromkeys(itertools.product(range(400), range(2)), 1)


@given(
    budget=st.integers(60, 900),
    seed=SEEDS,
    before=st.integers(1, 9),
    after=st.integers(1, 9),
    stop=st.integers(0, 25),
)
@settings(max_examples=40)
def test_a_restored_cursor_goes_on_with_the_same_batches(
    data: PreparedData, budget: int, seed: int, before: int, after: int, stop: int
) -> None:
    """Restored in the middle of an epoch or at its end, and with another size of steps."""
    batches = Batches(load_examples(data, "train"), max_tokens=budget, seed=seed)
    steps = list(itertools.islice(batches.steps(START, before), stop + 1))
    cursor = steps[-1].after
    again = Batches(load_examples(data, "train"), max_tokens=budget, seed=seed)
    rest = list(itertools.islice(again.steps(cursor, after), 20))
    single = itertools.islice(batches.steps(START, 1), before * len(steps) + after * len(rest))
    assert [row for step in single for row in rows_of(step)] == [
        row for step in steps + rest for row in rows_of(step)
    ]
    assert all(len(step.batches) == after for step in rest)


@given(
    weights=st.lists(st.floats(0, 3.5), min_size=1, max_size=3),
    corpora=st.lists(st.integers(0, 2), min_size=5, max_size=40),
    seed=SEEDS,
    first=st.integers(0, 1000),
)
@settings(max_examples=30)
def test_a_pair_comes_as_often_as_its_corpus_weighs(
    tmp_path_factory: pytest.TempPathFactory,
    weights: list[float],
    corpora: list[int],
    seed: int,
    first: int,
) -> None:
    weights = [*weights, 1.0]
    records = [
        record._replace(corpus=corpus % len(weights))
        for corpus, record in zip(corpora, records_of_lengths([(2, 3)] * len(corpora)), strict=True)
    ]
    records[0] = records[0]._replace(corpus=len(weights) - 1)
    folder: Path = tmp_path_factory.mktemp("weights")
    data = make_data(folder, records, weights=weights, directions=BOTH_WAYS)
    batches = Batches(load_examples(data, "train"), max_tokens=20, seed=seed)
    total: Counter[tuple[int, int]] = Counter()
    for epoch in range(first, first + 6):
        counts = example_counts(whole_epoch(batches, epoch))
        total += counts
        for pair, record in enumerate(records):
            weight = weights[record.corpus]
            assert counts[pair, 0] == counts[pair, 1]
            assert int(weight) <= counts[pair, 0] <= int(weight) + 1
    for pair, record in enumerate(records):
        assert abs(total[pair, 0] - 6 * weights[record.corpus]) < 1 + 1e-6


def test_fractions_are_spread_over_pairs_and_epochs(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    records = records_of_lengths([(2, 3)] * 2000)
    data = make_data(tmp_path_factory.mktemp("fraction"), records, weights=(0.4,))
    batches = Batches(load_examples(data, "train"), max_tokens=400, seed=5)
    chosen = [set(example_counts(whole_epoch(batches, epoch))) for epoch in range(3)]
    for one in chosen:
        assert abs(len(one) - 800) < 6 * (2000 * 0.4 * 0.6) ** 0.5
    assert chosen[0].isdisjoint(chosen[1])  # whoever came has to wait
    assert len(chosen[0] | chosen[1] | chosen[2]) == 2000
