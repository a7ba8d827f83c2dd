"""The loader: what training gets is what was planned, sampled or not."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from shard_folders import BOTH_WAYS, make_data, random_lengths, records_of_lengths
from translucid.data.augmentation import Sampling
from translucid.data.batches import START, Batches, Cursor, load_examples
from translucid.data.loader import Batch, LoadedStep, Loader
from translucid.data.manifest import Layout
from translucid.data.shards import PreparedData, Record
from translucid.errors import InputError
from translucid.text.tokenizer import load_tokenizer, train_tokenizer

SENTENCES = [
    f"{subject} {verb} {thing}{mark}"
    for subject in ("le chat", "la souris grise", "un animal très fatigué", "je")
    for verb in ("regarde", "ne traverse pas", "a chassé")
    for thing in ("la rue", "le grand jardin de la maison", "un étudiant")
    for mark in (".", " !")
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    """Real text with a real tokenizer, both ways."""
    folder = tmp_path_factory.mktemp("loader")
    tokenizer = train_tokenizer(
        SENTENCES, kind="bpe", vocab_size=400, path=folder / "trained.model"
    )
    ids = tokenizer.encode_batch(SENTENCES)
    records = [
        Record(SENTENCES[a], SENTENCES[b], ids[a], ids[b], 0, line)
        for line, (a, b) in enumerate(zip(range(72), range(71, -1, -1), strict=True), start=1)
    ]
    return make_data(
        folder / "DATA",
        records,
        directions=BOTH_WAYS,
        tagged=True,
        vocab_size=tokenizer.vocab_size,
        tokenizer=(folder / "trained.model").read_bytes(),
    )


def loader_of(data: PreparedData, max_tokens: int = 200, strength: float | None = None) -> Loader:
    batches = Batches(load_examples(data, "train"), max_tokens=max_tokens, seed=3)
    sampling = None
    if strength is not None:
        tokenizer = load_tokenizer(data.tokenizer_path)
        sampling = Sampling(tokenizer, tokenizer, strength, longest=10_000)
    return Loader(batches, sampling=sampling, ahead=2, pin=False)


def take(loader: Loader, count: int, cursor: Cursor = START, **options: int) -> list[LoadedStep]:
    options = {"per_step": 3, "rank": 0, "world_size": 1, **options}
    with loader.steps(cursor, **options) as steps:
        return list(itertools.islice(steps, count))


def same(one: Sequence[Batch], other: Sequence[Batch]) -> bool:
    return len(one) == len(other) and all(
        torch.equal(a.source_BS, b.source_BS)
        and torch.equal(a.target_BT, b.target_BT)
        and torch.equal(a.labels_BT, b.labels_BT)
        and np.array_equal(a.examples, b.examples)
        and np.array_equal(a.directions, b.directions)
        for a, b in zip(one, other, strict=True)
    )


def flat(steps: Sequence[LoadedStep]) -> list[Batch]:
    return [batch for step in steps for batch in step.batches]


def test_batches_hold_the_sentences_of_the_plan_in_its_order(data: PreparedData) -> None:
    loader = loader_of(data)
    tokenizer = load_tokenizer(data.tokenizer_path)
    loaded = flat(take(loader, 12))
    planned = [
        batch
        for step in itertools.islice(loader.batches.steps(START, 3), 12)
        for batch in step.batches
    ]
    split = data.split("train")
    for batch, plan in zip(loaded, planned, strict=True):
        for row, (pair, direction) in enumerate(zip(plan.pairs, plan.directions, strict=True)):
            source, target = data.manifest.directions[direction]
            assert tokenizer.decode(batch.source_BS[row].tolist()) == split.text(source, pair)
            assert tokenizer.decode(batch.target_BT[row].tolist()) == split.text(target, pair)
            assert tokenizer.decode(batch.labels_BT[row].tolist()) == split.text(target, pair)


def test_an_epoch_holds_everything_once(data: PreparedData) -> None:
    with loader_of(data).epoch(4) as batches:
        rows = [
            pair
            for batch in batches
            for pair in zip(batch.examples.tolist(), batch.directions.tolist(), strict=True)
        ]
    assert sorted(rows) == sorted(itertools.product(range(72), range(2)))


@pytest.mark.parametrize("strength", [None, 0.2])
def test_a_restored_cursor_loads_the_same_tensors(
    data: PreparedData, strength: float | None
) -> None:
    steps = take(loader_of(data, strength=strength), 25)
    assert steps[-1].after.epoch > 0
    for done in (0, 9, 23):
        rest = take(loader_of(data, strength=strength), 24 - done, steps[done].after)
        assert same(flat(rest), flat(steps[done + 1 :]))
        assert [step.after for step in rest] == [step.after for step in steps[done + 1 :]]


@pytest.mark.parametrize("strength", [None, 0.2])
def test_ranks_load_the_parts_of_what_one_process_loads(
    data: PreparedData, strength: float | None
) -> None:
    alone = take(loader_of(data, strength=strength), 10, per_step=4)
    ranks = [
        take(loader_of(data, strength=strength), 10, per_step=4, rank=r, world_size=3)
        for r in range(3)
    ]

    def rows(steps: Sequence[LoadedStep]) -> list[list[int]]:
        return sorted(
            [*source.tolist(), -1, *labels.tolist()]
            for batch in flat(steps)
            for source, labels in zip(batch.source_BS, batch.labels_BT, strict=True)
        )

    assert sum(len(flat(steps)) for steps in ranks) == len(flat(alone))
    assert rows(alone) == sorted(row for steps in ranks for row in rows(steps))
    assert [step.after for step in alone] == [step.after for step in ranks[2]]


def test_sampling_gives_other_tokens_for_the_same_sentences(data: PreparedData) -> None:
    tokenizer = load_tokenizer(data.tokenizer_path)
    split = data.split("train")
    loader = loader_of(data, strength=0.3)
    epochs = []
    for number in (0, 1):
        with loader.epoch(number) as batches:
            seen = {}
            for batch in batches:
                for row, key in enumerate(
                    zip(batch.examples.tolist(), batch.directions.tolist(), strict=True)
                ):
                    seen[key] = batch.source_BS[row].tolist()
        epochs.append(seen)
    assert set(epochs[0]) == set(itertools.product(range(72), range(2)))
    for (pair, direction), row in [*epochs[0].items(), *epochs[1].items()]:
        source, _ = data.manifest.directions[direction]
        assert tokenizer.decode(row) == split.text(source, pair)
    stripped = [{k: [i for i in row if i] for k, row in epoch.items()} for epoch in epochs]
    differing = sum(stripped[0][key] != stripped[1][key] for key in stripped[0])
    assert differing > 100  # of 144


def test_sampled_batches_keep_the_budget_in_pieces_of_one_micro_batch(data: PreparedData) -> None:
    loader = loader_of(data, max_tokens=200, strength=0.5)
    pieces = 0
    for step, plan in zip(take(loader, 20), loader.batches.steps(START, 3), strict=False):
        for batch in step.batches:
            assert max(batch.source_BS.numel(), batch.target_BT.numel()) <= 200
        planned = [
            pair
            for batch in plan.batches
            for pair in zip(batch.pairs.tolist(), batch.directions.tolist(), strict=True)
        ]
        loaded = [
            pair
            for batch in step.batches
            for pair in zip(batch.examples.tolist(), batch.directions.tolist(), strict=True)
        ]
        assert sorted(loaded) == sorted(planned)
        assert step.after == plan.after
        pieces += len(step.batches)
    assert pieces > 60  # 20 steps of 3 micro-batches: some had to be computed in pieces


def test_a_row_that_sampling_makes_too_long_keeps_its_stored_tokens(data: PreparedData) -> None:
    tight = Batches(load_examples(data, "train"), max_tokens=1000, seed=3)
    longest = max(
        int(side.max()) for d in range(2) for side in tight.examples.lengths(d, np.arange(72))
    )
    split = data.split("train")
    loader = loader_of(data, max_tokens=longest, strength=1.0)  # every merge is dropped
    kept = 0
    for batch in flat(take(loader, 48)):
        for row, (pair, direction) in enumerate(
            zip(batch.examples.tolist(), batch.directions.tolist(), strict=True)
        ):
            source, target = data.manifest.directions[direction]
            for lang, tokens, first in (
                (source, batch.source_BS[row], 1),
                (target, batch.labels_BT[row], 0),
            ):
                stored = split.tokens(lang, pair).tolist()
                characters = len(split.text(lang, pair)) + 1  # the space assumed at its beginning
                if characters + 1 + first > longest:
                    assert tokens[first : first + len(stored)].tolist() == stored
                    kept += 1
    assert kept > 0


def test_strength_zero_loads_the_stored_tokens(data: PreparedData) -> None:
    def rows(loader: Loader) -> set[tuple[int, ...]]:
        return {
            (*source.tolist(), -1, *labels.tolist())
            for batch in flat(take(loader, 10))
            for source, labels in zip(batch.source_BS, batch.labels_BT, strict=True)
        }

    assert rows(loader_of(data, strength=0.0)) == rows(loader_of(data))


def test_an_error_while_loading_reaches_the_reader(data: PreparedData, tmp_path: Path) -> None:
    records = records_of_lengths(random_lengths(50))
    broken = make_data(tmp_path / "DATA", records)
    tokens = tmp_path / "DATA" / "train" / "en.tokens"
    tokens.write_bytes(bytes(len(tokens.read_bytes())))  # right in size, all padding
    with pytest.raises(InputError, match=r"token 0 cannot be in a sentence.*corpus0\.tsv, line"):
        take(loader_of(broken), 1)
    assert "prefetch" not in [thread.name for thread in threading.enumerate()]


def test_an_impossible_number_ahead_is_refused(data: PreparedData) -> None:
    batches = loader_of(data).batches
    with pytest.raises(InputError, match="ahead = 0: must be at least 1"):
        Loader(batches, sampling=None, ahead=0, pin=False)


def test_ranks_and_steps_are_checked(data: PreparedData) -> None:
    with pytest.raises(InputError, match="rank = 3: must be from 0 to 2 with 3 processes"):
        take(loader_of(data), 1, rank=3, world_size=3)


def test_pinned_batches_are_the_same(data: PreparedData) -> None:
    plain = loader_of(data)
    pinned = Loader(plain.batches, sampling=None, ahead=1, pin=True)
    assert same(flat(take(plain, 3)), flat(take(pinned, 3)))


def test_wide_vocabularies_load_too(tmp_path: Path) -> None:
    records = [Record("a", "b", [70_000, 99_999], [65_536], 0, 1)]
    data = make_data(tmp_path / "DATA", records, vocab_size=100_000)
    assert data.manifest.layout == Layout(("fr", "en"), 100_000)
    batch = flat(take(loader_of(data), 1, per_step=1))[0]
    assert batch.source_BS.tolist() == [[70_000, 99_999, 3]]
    assert batch.labels_BT.tolist() == [[65_536, 3]]
