"""Batches: what an epoch holds and in which order, and what cannot be batched."""

from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from shard_folders import BOTH_WAYS, make_data, random_lengths, records_of_lengths
from translucid.data.batches import (
    START,
    Batches,
    Cursor,
    Examples,
    MicroBatch,
    load_examples,
    select_rank,
)
from translucid.data.shards import PreparedData
from translucid.errors import DataError, InputError


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    records = records_of_lengths(random_lengths(3000))
    folder = tmp_path_factory.mktemp("batching")
    return make_data(folder, records, directions=BOTH_WAYS, tagged=True)


def batches_of(data: PreparedData, max_tokens: int, seed: int = 1) -> Batches:
    return Batches(load_examples(data, "train"), max_tokens=max_tokens, seed=seed)


def widths(batch: MicroBatch, examples: Examples) -> tuple[int, int]:
    """The longest source and target, from the lengths of single sentences."""
    split = examples.portions[0].split
    rows = [
        (len(split.tokens(source, pair)) + 2, len(split.tokens(target, pair)) + 1)
        for pair, direction in zip(batch.pairs, batch.directions, strict=True)
        for source, target in [examples.directions[direction]]
    ]
    return max(s for s, _ in rows), max(t for _, t in rows)


def test_padding_share_is_that_of_the_batches(data: PreparedData) -> None:
    batches = batches_of(data, 400)
    epoch = batches.epoch(0)
    padded = real = 0
    for index in range(len(epoch)):
        batch = epoch.batch(index)
        padded += len(batch.pairs) * sum(widths(batch, batches.examples))
        for direction in range(2):
            pairs = batch.pairs[batch.directions == direction]
            real += int(sum(side.sum() for side in batches.examples.lengths(direction, pairs)))
    assert epoch.padding_share == pytest.approx(1 - real / padded)
    assert epoch.real_tokens == real
    assert epoch.padded_tokens == padded


def test_little_is_padded_and_batches_are_full(data: PreparedData) -> None:
    batches = batches_of(data, 400)
    epoch = batches.epoch(0)
    assert epoch.padding_share < 0.05
    fill = [
        len(batch.pairs) * max(widths(batch, batches.examples)) / 400
        for batch in map(epoch.batch, range(len(epoch)))
    ]
    assert np.mean(fill) > 0.9


def test_batches_of_all_lengths_come_mixed(data: PreparedData) -> None:
    batches = batches_of(data, 400)
    epoch = batches.epoch(0)
    sizes = [len(epoch.batch(index).pairs) for index in range(len(epoch))]
    assert len(sizes) > 150
    assert abs(np.corrcoef(np.arange(len(sizes)), sizes)[0, 1]) < 0.3
    assert abs(np.corrcoef(sizes[1:], sizes[:-1])[0, 1]) < 0.3


def companions(data: PreparedData, seed: int, epoch: int) -> set[tuple[int, int]]:
    """All pairs of examples that stand in one batch."""
    planned = batches_of(data, 100, seed).epoch(epoch)
    found = set()
    for batch in map(planned.batch, range(len(planned))):
        members = (batch.pairs * 2 + batch.directions).tolist()
        found |= {(a, b) for a in members for b in members if a < b}
    return found


def test_seed_and_epoch_give_each_example_other_company(data: PreparedData) -> None:
    first, epoch, seed = (companions(data, *which) for which in ((1, 0), (1, 1), (2, 0)))
    assert len(first & epoch) < 0.5 * len(first)
    assert len(first & seed) < 0.5 * len(first)
    assert companions(data, 1, 0) == first


def test_the_order_never_changes(tmp_path: Path) -> None:
    """A run saved by an older version must go on with the batches it would have had."""
    lengths = [(n % 17 + 1, n * 7 % 19 + 1) for n in range(1000)]
    records = records_of_lengths(lengths)
    data = make_data(tmp_path / "DATA", records, directions=BOTH_WAYS, weights=(1.25,))
    digest = hashlib.sha256()
    for step in itertools.islice(batches_of(data, 400).steps(START, 7), 30):
        for batch in step.batches:
            digest.update(json.dumps([batch.epoch, batch.index]).encode())
            digest.update(batch.pairs.astype("<i8").tobytes())
            digest.update(batch.directions.astype("<i8").tobytes())
    assert digest.hexdigest() == ORDER


ORDER = "a5a4c0977c617d193fa3c61d2fd2995b725ad6694ed36892b87a61f22ae99371"


def test_a_cursor_at_the_end_of_an_epoch_is_the_start_of_the_next(data: PreparedData) -> None:
    batches = batches_of(data, 2000)
    count = len(batches.epoch(0))
    step = next(batches.steps(START, count))
    assert step.after == Cursor(1, 0)
    assert [batch.index for batch in step.batches] == list(range(count))


def test_held_out_pairs_come_once_whatever_their_weight(tmp_path: Path) -> None:
    data = make_data(tmp_path / "DATA", records_of_lengths([(1, 1)] * 5), weights=(3.0,))
    (tmp_path / "DATA" / "train").rename(tmp_path / "DATA" / "dev")
    data.manifest.splits["dev"] = data.manifest.splits.pop("train")
    assert load_examples(data, "dev").portions[0].weights is None
    assert len(Batches(load_examples(data, "dev"), max_tokens=99, seed=1).epoch(0).order) == 5


# ------------------------------------------------------------------------------ refusals


def test_examples_over_the_budget_are_refused_with_their_lines(tmp_path: Path) -> None:
    lengths = [(3, 3), (8, 3), (3, 20), (9, 9), *[(10, 10)] * 4]
    data = make_data(tmp_path / "DATA", records_of_lengths(lengths))
    with pytest.raises(InputError) as caught:
        batches_of(data, 9)
    message = str(caught.value)
    assert "micro-batches of 9 tokens are too small for 6 of 8 pairs" in message
    assert (
        "the longest needs 21. Raise micro_batch_tokens (and batch_tokens, if it is less) to 21"
        in message
    )
    assert "  corpus0.tsv, line 3\n  corpus0.tsv, line 4\n" in message
    assert message.endswith("  corpus0.tsv, line 7\n  and 1 more")
    assert len(batches_of(data, 21).epoch(0).order) == 8


def test_pairs_of_weight_zero_need_not_fit(tmp_path: Path) -> None:
    long, short = records_of_lengths([(30, 30), (2, 2)])
    records = [long._replace(corpus=1), short]
    data = make_data(tmp_path / "DATA", records, weights=(1.0, 0.0))
    assert batches_of(data, 9).epoch(0).batch(0).pairs.tolist() == [1]


def test_an_empty_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no sentence pairs"):
        batches_of(make_data(tmp_path / "DATA", []), 9)


@pytest.mark.parametrize(("weight", "expected"), [(0.3, "0.900"), (2e9, "6,000,000,000.000")])
def test_weights_that_leave_nothing_or_too_much_are_refused(
    tmp_path: Path, weight: float, expected: str
) -> None:
    data = make_data(tmp_path / "DATA", records_of_lengths([(1, 1)] * 3), weights=(weight,))
    with pytest.raises(InputError) as caught:
        batches_of(data, 9)
    assert f"3 pairs with the weights ({weight},) make {expected} examples" in str(caught.value)
    assert "there must be from 1 to 4,294,967,296" in str(caught.value)


def test_a_corpus_that_the_manifest_does_not_know_is_refused(tmp_path: Path) -> None:
    records = [record._replace(corpus=7) for record in records_of_lengths([(1, 1)])]
    data = make_data(tmp_path / "DATA", records, weights=(2.0, 1.0))
    with pytest.raises(DataError, match=r"corpus number 7, but the manifest lists 2 corpora"):
        batches_of(data, 9)


@pytest.mark.parametrize("max_tokens", [0, -4])
def test_a_budget_below_one_is_refused(data: PreparedData, max_tokens: int) -> None:
    with pytest.raises(InputError, match=f"max_tokens = {max_tokens}: must be at least 1"):
        batches_of(data, max_tokens)


def test_a_step_of_no_batches_is_refused(data: PreparedData) -> None:
    with pytest.raises(InputError, match="per_step = 0: must be at least 1"):
        next(batches_of(data, 400).steps(START, 0))


def test_a_cursor_outside_its_epoch_is_refused(data: PreparedData) -> None:
    with pytest.raises(
        InputError, match=r"no batch 9999 in epoch 2, which has \d+: the cursor was"
    ):
        next(batches_of(data, 400).steps(Cursor(2, 9999), 1))
    for epoch, batch in ((-1, 0), (0, -1)):
        with pytest.raises(InputError, match=r"Cursor\(.*-1.*\): neither number can be negative"):
            Cursor(epoch, batch)


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_outside_its_range_is_refused(data: PreparedData, seed: int) -> None:
    with pytest.raises(InputError, match=rf"seed = {seed}: must be from 0 to 2\^63 - 1"):
        batches_of(data, 400, seed)


def test_ranks_that_cannot_be_are_refused(data: PreparedData) -> None:
    step = next(batches_of(data, 400).steps(START, 2))
    with pytest.raises(InputError, match="rank = 2: must be from 0 to 1 with 2 processes"):
        select_rank(step.batches, rank=2, world_size=2)
    with pytest.raises(InputError, match="2 micro-batches leaves some of 3 processes without work"):
        select_rank(step.batches, rank=0, world_size=3)
