"""Sampling: what a row's segmentation and spelling depend on, and on what not."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shard_folders import make_data
from translucid.data.augmentation import Sampling, sample_rows
from translucid.data.batches import Batches, MicroBatch, load_examples
from translucid.data.shards import Record
from translucid.text.tokenizer import Tokenizer, load_tokenizer, train_tokenizer

TEXT = "the animal did not cross the street because it was too tired and the street too wide"


def one_sentence(
    folder: Path, known: list[str], text: str, vocab_size: int
) -> tuple[Batches, Tokenizer]:
    """Batches of one sentence, the same on both sides, and a tokenizer that knows some texts."""
    path = folder / "trained.model"
    tokenizer = train_tokenizer(known, kind="bpe", vocab_size=vocab_size, path=path)
    ids = tokenizer.encode(text)
    data = make_data(
        folder / "DATA",
        [Record(text, text, ids, ids, 0, 1)],
        vocab_size=tokenizer.vocab_size,
        tokenizer=path.read_bytes(),
    )
    batches = Batches(load_examples(data, "train"), max_tokens=4096, seed=1)
    return batches, load_tokenizer(data.tokenizer_path)


@pytest.fixture(scope="module")
def sampler(tmp_path_factory: pytest.TempPathFactory) -> tuple[Batches, Sampling]:
    batches, tokenizer = one_sentence(tmp_path_factory.mktemp("sampling"), [TEXT] * 3, TEXT, 330)
    return batches, Sampling(tokenizer, tokenizer, 0.3, longest=10_000)


def test_targets_are_sampled_from_their_own_pieces(tmp_path: Path) -> None:
    batches, tokenizer = one_sentence(tmp_path, [TEXT] * 3, TEXT, 330)
    writer = tokenizer.within(300)
    sampling = Sampling(tokenizer, writer, 0.3, longest=10_000)
    seen = [segmentations(batches, sampling, epoch, 0) for epoch in range(20)]
    sources = {token for first, second, *_ in seen for token in (*first, *second)}
    targets = {token for *_, third, fourth in seen for token in (*third, *fourth)}
    assert max(targets) < 300 <= max(sources)
    assert {writer.decode(row) for *_, third, fourth in seen for row in (third, fourth)} == {TEXT}


def segmentations(
    batches: Batches, sampling: Sampling, epoch: int, index: int
) -> list[tuple[int, ...]]:
    """The tokens of a batch of two rows, sources first."""
    batch = MicroBatch(epoch, index, np.zeros(2, np.int64), np.zeros(2, np.int64))
    [(_, *sides)] = sample_rows(batch, batches, sampling)
    return [
        tuple(row.tolist())
        for side in sides
        for row in np.split(side.tokens, np.cumsum(side.lengths)[:-1])
    ]


def test_seed_epoch_batch_row_and_side_each_give_another_segmentation(
    sampler: tuple[Batches, Sampling],
) -> None:
    batches, sampling = sampler
    found = [
        row
        for seed, epoch, index in itertools.product((1, 2), (0, 1), (0, 1))
        for row in segmentations(replace(batches, seed=seed), sampling, epoch, index)
    ]
    assert len(found) == 8 * 2 * 2
    assert len(set(found)) == len(found)
    assert {sampling.tokenizer.decode(row) for row in found} == {TEXT}


def test_the_same_place_gives_the_same_segmentation(sampler: tuple[Batches, Sampling]) -> None:
    assert segmentations(*sampler, 3, 5) == segmentations(*sampler, 3, 5)


def test_pieces_hold_rows_of_similar_lengths(sampler: tuple[Batches, Sampling]) -> None:
    batches, sampling = sampler
    batch = MicroBatch(0, 0, np.zeros(40, np.int64), np.zeros(40, np.int64))
    tight = replace(batches, max_tokens=500)
    pieces = list(sample_rows(batch, tight, sampling))
    assert len(pieces) > 1
    assert sum(len(piece.pairs) for piece, _, _ in pieces) == 40
    longer = [np.maximum(source.lengths, target.lengths) for _, source, target in pieces]
    for one, other in itertools.pairwise(longer):
        assert one.max() <= other.min()
        assert (len(one) + 1) * (max(one.max(), other.min()) + 1) > 500  # it was full
    for lengths in longer:
        assert len(lengths) * (lengths.max() + 1) <= 500


WRITTEN = "Où est Tom ?"
CAPITALS = "BOSTON"


def typing(folder: Path, known: list[str], text: str) -> tuple[Batches, Sampling]:
    """One sentence, half of the time as people type it."""
    batches, tokenizer = one_sentence(folder, known, text, 290)
    return batches, Sampling(tokenizer, tokenizer, 0.0, longest=10_000, typed=0.5)


def spellings(batches: Batches, sampling: Sampling, rows: int = 200) -> tuple[list[str], list[str]]:
    """What the rows of a batch say on both sides."""
    batch = MicroBatch(0, 0, np.zeros(rows, np.int64), np.zeros(rows, np.int64))
    [(_, *sides)] = sample_rows(batch, batches, sampling)
    source, target = (
        [
            sampling.tokenizer.decode(row.tolist())
            for row in np.split(side.tokens, np.cumsum(side.lengths)[:-1])
        ]
        for side in sides
    )
    return source, target


@pytest.mark.parametrize("strength", [0.0, 0.3])
def test_a_share_of_the_sources_is_read_as_people_type_them(
    tmp_path: Path, strength: float
) -> None:
    known = [WRITTEN, WRITTEN.lower(), "Où est Tom", "où est tom"]
    batches, sampling = typing(tmp_path, known, WRITTEN)
    sampling = replace(sampling, strength=strength)
    source, target = spellings(batches, sampling)
    assert set(target) == {WRITTEN}
    assert set(source) == {WRITTEN, "où est tom ?", "Où est Tom", "où est tom"}
    assert 0.35 < source.count(WRITTEN) / len(source) < 0.75  # one form in seven changes nothing
    assert spellings(batches, sampling) == (source, target)
    assert spellings(replace(batches, seed=2), sampling)[0] != source


def test_a_typed_sentence_may_be_longer_but_not_than_the_budget(tmp_path: Path) -> None:
    """In lower case this one has no pieces, so that it is spelled by bytes."""
    batches, sampling = typing(tmp_path, [CAPITALS] * 9, CAPITALS)
    assert set(spellings(batches, sampling)[0]) == {CAPITALS, CAPITALS.lower()}
    stored = len(sampling.tokenizer.encode(CAPITALS))
    assert stored < len(sampling.tokenizer.encode(CAPITALS.lower()))
    tight = replace(batches, max_tokens=stored + 1)
    for seed in range(20):
        assert spellings(replace(tight, seed=seed), sampling, rows=1)[0] == [CAPITALS]


def test_a_share_of_the_pairs_is_read_in_other_case_on_both_sides(tmp_path: Path) -> None:
    known = [WRITTEN, WRITTEN.upper(), "Où Est Tom ?"]
    batches, sampling = typing(tmp_path, known, WRITTEN)
    source, target = spellings(batches, replace(sampling, typed=0.0, casing=0.5))
    assert source == target
    assert set(source) == set(known)
    capitals, titles = source.count(WRITTEN.upper()), source.count("Où Est Tom ?")
    assert 50 < capitals + titles < 150
    assert capitals > titles


def test_a_share_of_the_sources_is_read_without_accents(tmp_path: Path) -> None:
    batches, sampling = typing(tmp_path, [WRITTEN, "Ou est Tom ?"], WRITTEN)
    source, target = spellings(batches, replace(sampling, typed=0.0, accents=0.5))
    assert set(target) == {WRITTEN}
    assert set(source) == {WRITTEN, "Ou est Tom ?"}
    assert 50 < source.count("Ou est Tom ?") < 150


def test_noise_is_written_as_the_translator_will_read_it(tmp_path: Path) -> None:
    text = "L'eau, c'est bien."
    batches, tokenizer = one_sentence(tmp_path, [text, text.lower()], text, 300)
    sampling = Sampling(tokenizer, tokenizer, 0.0, longest=10_000)
    source, _ = spellings(batches, replace(sampling, typed=0.9, plain_typography=True))
    assert len(set(source)) > 1
    assert not any("’" in one for one in source)
