"""The loop guard: what people write passes, what a lost network writes does not."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from translucid.decoding.config import SearchConfig
from translucid.decoding.constraints import (
    LoopGuard,
    build_loop_guard,
)
from translucid.decoding.hypothesis import (
    ECHOES,
    LONGEST_ROUND,
    MONOTONE_TOKENS,
    MONOTONY,
    is_looping,
)
from translucid.decoding.request import SearchRequest

HONEST = [
    "ha ha ha",
    "Ha ha ha ha ha ha ha ha!",
    "hahahahahaha",
    "1 000 000 000",
    "1 000 000 000 000 000 000",
    "It was very very very very good.",
    "No, no, no, no, no, no!",
    "Well.......... I do not know -----",
    "10000000000000000000000",  # 10^22
    "Row, row, row your boat, gently down the stream",
    "😂😂😂😂😂😂",
    "blah blah blah, and so on and so on and so on",
    "We will, we will rock you, we will, we will rock you.",
    "aaaaaaaaaaaargh",
]


def by_word(text: str) -> list[object]:
    return list(text.split())


def by_character(text: str) -> list[object]:
    return list(text)


def by_byte(text: str) -> list[object]:
    return list(text.encode())


@pytest.mark.parametrize("text", HONEST)
@pytest.mark.parametrize("split", [by_word, by_character, by_byte])
def test_honest_text_is_never_caught_however_it_is_split(text: str, split: object) -> None:
    tokens = numbered(split(text))  # type: ignore[operator]
    assert not any(is_looping(tokens[:end]) for end in range(len(tokens) + 1))


def numbered(tokens: list[object]) -> list[int]:
    known = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    return [known[token] for token in tokens]


@pytest.mark.parametrize(
    "unit",
    [
        "the",
        "of the",
        "the house of",
        "and the the the",
        "we are going to the house of the",
    ],
)
def test_a_real_loop_is_caught_within_32_tokens(unit: str) -> None:
    tokens = numbered(by_word("he said that " + f"{unit} " * 40))
    caught = next(end for end in range(len(tokens)) if is_looping(tokens[:end]))
    assert caught <= 3 + ECHOES + LONGEST_ROUND
    assert all(is_looping(tokens[:end]) for end in range(caught, len(tokens)))


@pytest.mark.parametrize("unit", range(1, LONGEST_ROUND + 1))
def test_the_threshold_is_24_echoes(unit: int) -> None:
    rounds = list(range(unit)) * (ECHOES + 2)
    assert not is_looping(rounds[: ECHOES + unit - 1])
    assert is_looping(rounds[: ECHOES + unit])
    assert not is_looping([*rounds[: ECHOES + unit], 99])


@pytest.mark.parametrize("different", range(1, 8))
def test_the_threshold_of_monotony_is_5_tokens_in_48(different: int) -> None:
    irregular = [n * n % 31 % different for n in range(60)]
    assert len(set(irregular[:MONOTONY])) == different
    ends = [end for end in range(60) if is_looping(irregular[:end])]
    few = different <= MONOTONE_TOKENS
    assert MONOTONY in ends if few else not ends
    if different > 2:
        assert ends == (list(range(MONOTONY, 60)) if few else [])


def test_no_no_no_is_caught_though_something_else_is_put_in() -> None:
    """What a beam wrote up to the limit of length, as its rows that looped had been ended."""
    tokens = numbered(by_word("either " * 20 + "non " + "either " * 20 + "yes " + "either " * 20))
    assert not is_looping(tokens[:20])
    assert is_looping(tokens[:MONOTONY])
    for text in (
        ", not , , , , but not , , , " * 6,
        "a a a a a a a won " * 8,
        "1 1 1 1 _ 1 1 " * 9,
    ):
        assert is_looping(numbered(by_word(text)))


def test_longer_rounds_are_let_pass() -> None:
    assert not is_looping(list(range(LONGEST_ROUND + 1)) * 20)


rows = st.lists(
    st.tuples(
        st.lists(st.integers(0, 2), max_size=9),
        st.lists(st.integers(0, 2), min_size=1, max_size=9),
    ),
    min_size=1,
    max_size=5,
)


@given(rows, st.integers(0, 60), st.integers(0, 50), st.integers(0, 40))
def test_the_batched_check_equals_the_plain_one(
    texts: list[tuple[list[int], list[int]]], length: int, min_length: int, prefix: int
) -> None:
    """Of what comes after a forced prefix, and no earlier than the minimum length."""
    tokens = [(head + tail * 60)[:length] for head, tail in texts]
    guard = LoopGuard(torch.tensor([prefix, 0]), min_length)
    sources = [row % 2 for row in range(len(tokens))]
    found = guard(torch.tensor(tokens).view(len(tokens), length), torch.tensor(sources))
    for row, (text, source) in enumerate(zip(tokens, sources, strict=True)):
        counted = length - (prefix if source == 0 else 0)
        is_new = is_looping(text[-MONOTONY + 1 :]) and counted > ECHOES  # too few for monotony
        expected = (is_new or (is_looping(text) and counted >= MONOTONY)) and length >= min_length
        assert (found is not None and bool(found[row])) == expected


def test_nothing_echoes_what_stands_before_the_start() -> None:
    """Not even the token 0: only when the 26 tokens here have become 32 are they four rounds."""
    rounds = torch.tensor([[1, 2, 0, 0, 0, 0, 0, 0] * 4])
    guard, source = LoopGuard(torch.tensor([0]), 0), torch.tensor([0])
    found = [guard(rounds[:, :length], source) for length in range(25, 33)]
    assert [bool(row) for row in found] == [False] * 7 + [True]


def test_the_guard_of_a_job() -> None:
    limits = torch.tensor([50, 50])
    request = SearchRequest(limits, 0, 1, prefixes=((5,) * 30, ()), terms=((), ()), forbidden=())
    guard = build_loop_guard(request, SearchConfig(min_length=7))
    assert guard is not None
    assert (guard.exempt_B.tolist(), guard.min_length) == ([30, 0], 7)
    assert build_loop_guard(request, SearchConfig(loop_guard=False)) is None
