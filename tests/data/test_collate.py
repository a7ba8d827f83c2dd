"""Collate: padding, shift and labels, against rows built one by one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shard_folders import BOTH_WAYS, VOCABULARY, make_data, record
from translucid.data.batches import Examples, MicroBatch, load_examples
from translucid.data.loader import Batch, collate, load_rows
from translucid.data.shards import Rows
from translucid.errors import InputError

IDS = st.lists(st.integers(1, VOCABULARY - 1), max_size=7)
PAIRS = st.lists(st.tuples(IDS, IDS), min_size=1, max_size=6)


def micro_batch(pairs: list[int], directions: list[int]) -> MicroBatch:
    return MicroBatch(0, 0, np.array(pairs, np.int64), np.array(directions, np.int64))


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Examples:
    records = [record([30, 31, 32], [40], line=5), record([], [50, 51], line=9)]
    folder = tmp_path_factory.mktemp("collate")
    return load_examples(make_data(folder, records, directions=BOTH_WAYS, tagged=True), "train")


def test_a_batch_of_two_rows(examples: Examples) -> None:
    one_way = dataclasses.replace(examples, tags=(None, None))
    batch = micro_batch([0, 1], [0, 0])
    made = collate(batch, *load_rows(batch, one_way), one_way)
    assert made.source_BS.tolist() == [[30, 31, 32, 3], [3, 0, 0, 0]]
    assert made.target_BT.tolist() == [[2, 40, 0], [2, 50, 51]]
    assert made.labels_BT.tolist() == [[40, 3, 0], [50, 51, 3]]
    assert made.tokens == 5
    assert made.examples.tolist() == [0, 1]


def test_each_source_begins_with_the_tag_of_the_language_wanted(examples: Examples) -> None:
    batch = micro_batch([0, 1, 0], [0, 0, 1])
    made = collate(batch, *load_rows(batch, examples), examples)
    # English is slot 0, token 4; French is slot 1, token 5.
    assert made.source_BS.tolist() == [[4, 30, 31, 32, 3], [4, 3, 0, 0, 0], [5, 40, 3, 0, 0]]
    assert made.labels_BT.tolist() == [[40, 3, 0, 0], [50, 51, 3, 0], [30, 31, 32, 3]]
    assert made.directions.tolist() == [0, 0, 1]


def padded(rows: list[list[int]]) -> list[list[int]]:
    width = max(map(len, rows))
    return [row + [0] * (width - len(row)) for row in rows]


@given(pairs=PAIRS, tagged=st.booleans())
@settings(max_examples=100)
def test_a_batch_is_its_rows_padded_on_the_right(
    examples: Examples, pairs: list[tuple[list[int], list[int]]], tagged: bool
) -> None:
    batch = micro_batch([0] * len(pairs), [0] * len(pairs))
    tags = examples if tagged else dataclasses.replace(examples, tags=(None, None))
    made = collate(
        batch, Rows.from_lists([s for s, _ in pairs]), Rows.from_lists([t for _, t in pairs]), tags
    )
    assert made.source_BS.tolist() == padded([[4] * tagged + s + [3] for s, _ in pairs])
    assert made.target_BT.tolist() == padded([[2, *t] for _, t in pairs])
    assert made.labels_BT.tolist() == padded([[*t, 3] for _, t in pairs])
    assert made.tokens == int((made.labels_BT != 0).sum())
    for tensor in (made.source_BS, made.target_BT, made.labels_BT):
        assert tensor.dtype == torch.int64
        assert (tensor[:, 0] != 0).all()  # no row is empty
        assert ((tensor[:, :-1] != 0) | (tensor[:, 1:] == 0)).all()  # no padding before a token


def test_a_batch_moves_as_a_whole(examples: Examples) -> None:
    batch = micro_batch([0, 1], [0, 1])
    made = collate(batch, *load_rows(batch, examples), examples)
    moved = made.to("meta")
    assert moved.source_BS.device == moved.target_BT.device == moved.labels_BT.device
    assert moved.source_BS.device.type == "meta"
    assert (moved.tokens, moved.examples.tolist()) == (made.tokens, made.examples.tolist())
    pinned = made.pin()
    for field in ("source_BS", "target_BT", "labels_BT"):
        tensor = getattr(pinned, field)
        assert torch.equal(tensor, getattr(made, field))
        assert tensor.is_pinned() == torch.cuda.is_available()
    assert isinstance(pinned, Batch)


@pytest.mark.parametrize("wrong", [0, VOCABULARY, -3])
def test_tokens_that_cannot_be_are_refused_with_their_line(examples: Examples, wrong: int) -> None:
    rows = Rows.from_lists([[30, 31], [], [32, wrong]])
    with pytest.raises(InputError, match=rf"token {wrong} cannot be in a sentence") as caught:
        collate(micro_batch([0, 0, 1], [0, 0, 0]), rows, Rows.from_lists([[9], [9], [9]]), examples)
    assert "from 1 to 299 (corpus0.tsv, line 9)" in str(caught.value)
    with pytest.raises(InputError, match=f"token {wrong} cannot"):
        collate(micro_batch([0, 0, 1], [0, 0, 0]), Rows.from_lists([[9], [9], [9]]), rows, examples)


def test_a_batch_without_rows_or_with_rows_too_few_is_refused(examples: Examples) -> None:
    for pairs, rows in (([], []), ([0, 1], [[30]])):
        message = f"a batch of {len(pairs)} examples cannot be made of {len(rows)} rows"
        with pytest.raises(InputError, match=message):
            collate(
                micro_batch(pairs, [0] * len(pairs)),
                Rows.from_lists(rows),
                Rows.from_lists(rows),
                examples,
            )


def test_stored_rows_are_those_on_disk(tmp_path: Path) -> None:
    records = [record([20 + n] * n, [60 + n] * (n + 1)) for n in range(5)]
    examples = load_examples(make_data(tmp_path / "DATA", records, directions=BOTH_WAYS), "train")
    sources, targets = load_rows(micro_batch([1, 3, 0, 4], [0, 0, 1, 1]), examples)
    assert sources.tokens.tolist() == [21, 23, 23, 23, 60, 64, 64, 64, 64, 64]
    assert sources.lengths.tolist() == [1, 3, 1, 5]
    assert targets.tokens.tolist() == [61, 61, 63, 63, 63, 63, 24, 24, 24, 24]
    assert targets.lengths.tolist() == [2, 4, 0, 4]
