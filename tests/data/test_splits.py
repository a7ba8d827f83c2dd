"""Hashes: duplicates, held-out sentences, and a split that stays put when lines are added."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.data.prepare.selection import (
    HashedPairs,
    HeldOutChoice,
    HeldOutHashes,
    choose_held_out,
    find_repeats,
)
from translucid.data.prepare.workspace import HASH, pair_hashes, sentence_hashes
from translucid.errors import InputError

SMALL = st.integers(0, 30)
Pairs = list[tuple[int, int]]  # a pair as (source sentence, target sentence), each a number
PAIRS = st.lists(st.tuples(SMALL, SMALL), min_size=40, max_size=120, unique=True)


@functools.cache
def known(text: str) -> int:
    return int(sentence_hashes([text])[0])


def keys(pairs: Pairs, start: int = 0) -> HashedPairs:
    return HashedPairs(
        np.arange(start, start + len(pairs)),
        np.array([known(f"source {s}") for s, _ in pairs], HASH),
        np.array([known(f"target {t}") for _, t in pairs], HASH),
    )


def split(pairs: Pairs, dev: int, test: int, *, seed: int = 0, block: int = 1000) -> HeldOutChoice:
    def blocks() -> Iterator[HashedPairs]:
        for start in range(0, len(pairs), block):
            yield keys(pairs[start : start + block], start)

    return choose_held_out(blocks, dev=dev, test=test, seed=seed)


def at(pairs: Pairs, chosen: HashedPairs) -> set[tuple[int, int]]:
    return {pairs[i] for i in chosen.positions.tolist()}


# ---- hashes -------------------------------------------------------------------------------------


def test_a_sentence_is_known_without_case_punctuation_and_spacing() -> None:
    assert known("Well, who  is it?") == known("well who is it")
    assert known("who is it") != known("who was it")


def test_a_pair_is_known_by_its_exact_text() -> None:
    pairs = [("a", "bc"), ("ab", "c"), ("A", "bc"), ("", "abc"), ("abc", ""), ("a", "bc")]
    hashes = pair_hashes(*zip(*pairs, strict=True)).tolist()
    assert (len(set(hashes)), hashes[0]) == (5, hashes[5])


@given(
    st.lists(st.one_of(SMALL, st.integers(0, 2**64 - 1), st.just(2**64 - 1)), max_size=80),
    st.integers(1, 100),
)
def test_repeated_marks_all_but_the_first_however_much_is_sorted_at_a_time(
    numbers: list[int], at_a_time: int
) -> None:
    marks = find_repeats(np.array(numbers, HASH), at_a_time=at_a_time)
    assert marks.tolist() == [number in numbers[:i] for i, number in enumerate(numbers)]


@given(st.sets(SMALL), st.sets(SMALL), st.lists(st.tuples(SMALL, SMALL)))
def test_sharing_either_sentence_is_noticed(
    sources: set[int], targets: set[int], pairs: Pairs
) -> None:
    held = HeldOutHashes(np.array([*sources], HASH), np.array([*targets], HASH))
    shared = held.find_shared(
        np.array([s for s, _ in pairs], HASH), np.array([t for _, t in pairs], HASH)
    )
    assert shared.tolist() == [s in sources or t in targets for s, t in pairs]


# ---- the split ----------------------------------------------------------------------------------


@given(PAIRS, st.integers(0, 8), st.integers(0, 8), st.integers(0, 3))
def test_a_split_has_the_sizes_asked_for_and_its_sets_share_no_sentence(
    pairs: Pairs, dev: int, test: int, seed: int
) -> None:
    pairs = pairs + [(i, i) for i in range(100, 140)]  # so that there is always enough to choose
    chosen = split(pairs, dev, test, seed=seed)
    assert (len(chosen.dev.positions), len(chosen.test.positions)) == (dev, test)
    for one, other in itertools.product(at(pairs, chosen.dev), at(pairs, chosen.test)):
        assert one[0] != other[0]
        assert one[1] != other[1]
    assert chosen.dev.positions.tolist() == sorted(chosen.dev.positions.tolist())


@given(PAIRS, st.randoms(use_true_random=False), st.integers(1, 50))
def test_neither_order_nor_blocks_matter(pairs: Pairs, random, block: int) -> None:
    shuffled = pairs.copy()
    random.shuffle(shuffled)
    one, other = split(pairs, 5, 0), split(shuffled, 5, 0, block=block)
    assert at(pairs, one.dev) == at(shuffled, other.dev)


@given(PAIRS, st.lists(st.tuples(SMALL, SMALL), max_size=60))
def test_adding_lines_never_holds_out_what_was_trained_on(pairs: Pairs, added: Pairs) -> None:
    """The old model may thus be scored on the new sets: it has seen none of their pairs."""
    more = pairs + [pair for pair in dict.fromkeys(added) if pair not in pairs]
    old, new = split(pairs, 0, 10), split(more, 0, 10)
    assert at(more, new.test) <= at(pairs, old.test) | set(more[len(pairs) :])


def test_adding_few_lines_replaces_few_held_out_pairs() -> None:
    pairs = [(i, i) for i in range(3000)]
    more = pairs + [(i, i) for i in range(3000, 3300)]
    old, new = split(pairs, 300, 300), split(more, 300, 300)
    for before, after in zip(old, new, strict=True):
        kept = len(at(pairs, before) & at(more, after))
        assert kept >= 0.75 * 300


def test_another_dev_size_leaves_the_test_set_alone() -> None:
    pairs = [(i, i) for i in range(200)]
    assert at(pairs, split(pairs, 10, 20).test) == at(pairs, split(pairs, 50, 20).test)


def test_another_seed_chooses_other_pairs() -> None:
    pairs = [(i, i) for i in range(200)]
    assert at(pairs, split(pairs, 20, 0).dev) != at(pairs, split(pairs, 20, 0, seed=1).dev)


def test_more_than_half_cannot_be_held_out() -> None:
    with pytest.raises(InputError, match=r"--split 30,21 would hold out 51 of the 100 pairs.* 50,"):
        split([(i, i) for i in range(100)], 30, 21)


def test_a_corpus_of_one_sentence_cannot_be_split() -> None:
    with pytest.raises(InputError, match=r"--split 5,5: too few pairs share no sentence"):
        split([(0, i) for i in range(100)], 5, 5)


def test_a_split_looks_further_until_it_has_found_enough() -> None:
    """Most pairs share their target with the test set, so the first candidates do not suffice."""
    pairs = [(i, 0 if i % 10 else i) for i in range(1000)]
    chosen = split(pairs, 20, 20)
    assert len(chosen.dev.positions) == 20
