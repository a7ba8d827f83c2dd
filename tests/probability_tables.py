"""Steppers over hand-written probability tables, and the plainest ways to the same results."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from hypothesis import strategies as st
from torch import Tensor

from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import Hypothesis
from translucid.decoding.request import SearchRequest

BEGIN, END = 0, 1
Tokens = tuple[int, ...]
Next = Callable[[Tokens], Sequence[float]]
"""From what has been written to the probabilities of the next token."""


@dataclass(frozen=True)
class Table:
    """One source: probabilities of the next token after each prefix, and attention if any."""

    next: Next
    attention: Next | None = None

    def log_probs(self, prefix: Tokens) -> Tensor:
        return torch.tensor(self.next(prefix), dtype=torch.float32).log()

    def log_prob(self, tokens: Sequence[int]) -> list[float]:
        """log P of each token, the plain way: one look-up after another."""
        return [float(self.log_probs(tuple(tokens[:i]))[t]) for i, t in enumerate(tokens)]


class TableStepper:
    """A stepper over tables; it refuses rows that mix sources, as a network's session does."""

    def __init__(self, tables: Sequence[Table], copies: int) -> None:
        self.copies = copies
        self.rows: list[tuple[Table, Tokens]] = [(t, ()) for t in tables for _ in range(copies)]
        self.fed: list[int] = []  # rows of each step
        self.reorders = 0

    def step(self, last_ids_N: Tensor) -> Tensor:
        assert last_ids_N.shape == (len(self.rows),)
        first = not self.fed
        assert not first or last_ids_N.eq(BEGIN).all()
        if not first:
            ids = last_ids_N.tolist()
            self.rows = [(t, (*p, i)) for (t, p), i in zip(self.rows, ids, strict=True)]
        self.fed.append(len(self.rows))
        return torch.stack([table.log_probs(prefix) for table, prefix in self.rows])

    def reorder(self, rows_N: Tensor) -> None:
        rows = rows_N.tolist()
        assert rows != list(range(len(self.rows))), "a needless reorder"
        assert len(rows) % self.copies == 0
        runs = [rows[i : i + self.copies] for i in range(0, len(rows), self.copies)]
        for run in runs:
            assert len({row // self.copies for row in run}) == 1, "rows of several sources mixed"
        self.rows = [self.rows[row] for row in rows]
        self.reorders += 1


class AttendingTableStepper(TableStepper):
    """The same with attention: what the newest step looked at."""

    attention_NS: Tensor
    width = 0

    def step(self, last_ids_N: Tensor) -> Tensor:
        log_probs_NV = super().step(last_ids_N)
        rows = [list(_attention(table, prefix)) for table, prefix in self.rows]
        width = max([self.width, *map(len, rows)])
        self.width = width  # as in a padded batch, it stays when the longest source has left
        self.attention_NS = torch.tensor([r + [0.0] * (width - len(r)) for r in rows])
        return log_probs_NV


def _attention(table: Table, prefix: Tokens) -> Sequence[float]:
    assert table.attention is not None
    return table.attention(prefix)


def start(tables: Sequence[Table]) -> Callable[[int], TableStepper]:
    kind = TableStepper if tables[0].attention is None else AttendingTableStepper
    return lambda copies: kind(tables, copies)


def written(next_of: Mapping[Tokens, Mapping[int, float]], vocabulary: int) -> Table:
    """A table by hand: what is not mentioned has probability 0; unknown prefixes end."""

    def following(prefix: Tokens) -> list[float]:
        chances = next_of.get(prefix, {END: 1.0})
        return [chances.get(token, 0.0) for token in range(vocabulary)]

    return Table(following)


def random_table(
    seed: int, vocabulary: int, *, sharpness: float = 1.5, ties: bool = False
) -> Table:
    """Random chances after every prefix; with `ties` from so few values that many are equal."""

    @cache
    def following(prefix: Tokens) -> list[float]:
        generator = torch.Generator().manual_seed(hash((seed, *prefix)) % 2**62)
        if ties:
            chances = torch.randint(1, 3, (vocabulary,), generator=generator).float()
        else:
            logits = torch.randn(vocabulary, generator=generator) * sharpness
            chances = logits.exp()
        return (chances / chances.sum()).tolist()

    @cache
    def attention(prefix: Tokens) -> list[float]:
        generator = torch.Generator().manual_seed(hash((seed, -5, *prefix)) % 2**62)
        length = 2 + seed % 3
        return torch.randn(length, generator=generator).mul(2).softmax(0).tolist()

    return Table(following, attention)


seeds = st.integers(0, 10**6)


def build_request(limits: Sequence[int]) -> SearchRequest:
    return SearchRequest.plain(torch.tensor(limits), begin=BEGIN, end=END)


def penalty(length: int, settings: SearchConfig) -> float:
    """The length penalty, written a second time."""
    base = (5 + length) / 6 if settings.length_form == "paper" else length
    return math.exp(settings.length_penalty * math.log(base))


def coverage(table: Table, tokens: Sequence[int], settings: SearchConfig) -> float:
    """The coverage penalty, written a second time; `tokens` have the end symbol if it came."""
    if not settings.coverage_penalty:
        return 0.0
    steps = [_attention(table, tuple(tokens[:i])) for i in range(len(tokens))]
    looked = [sum(column) for column in zip(*steps, strict=True)]
    return settings.coverage_penalty * sum(math.log(min(1.0, x)) for x in looked)


def rescored(table: Table, hypothesis: Hypothesis, settings: SearchConfig) -> float:
    """The score of a hypothesis from the table alone."""
    tokens = [*hypothesis.tokens, END]
    log_prob = math.fsum(table.log_prob(tokens))
    return log_prob / penalty(len(tokens), settings) + coverage(table, tokens, settings)


def exhaustive(
    table: Table, limit: int, vocabulary: int, settings: SearchConfig
) -> list[tuple[float, Tokens]]:
    """Every translation that ends within the limit, with its score, best first."""
    words = [token for token in range(vocabulary) if token not in (BEGIN, END)]
    found = []
    for length in range(limit):
        for tokens in itertools.product(words, repeat=length):
            log_prob = math.fsum(table.log_prob([*tokens, END]))
            score = log_prob / penalty(length + 1, settings)
            found.append((score + coverage(table, [*tokens, END], settings), tokens))
    return sorted(found, reverse=True)
