"""Which sentences are decoded together, and that none waits for ever."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_engines import Gated

from translucid.serving.engine.batching import (
    SENTENCES_PER_TURN,
    SIMILAR_RATIO,
    SIMILAR_TOKENS,
    BatchLimits,
    QueuedTask,
    TaskQueue,
    padding_ratio,
    select_batch,
    takes_long,
)
from translucid.serving.engine.tasks import LONG_WORK, Task, Ticket

WORKS = [Gated("a"), Gated("b")]
TASKS = st.builds(
    Task,
    work=st.sampled_from(WORKS),
    input=st.none(),
    length=st.integers(1, 80),
    copies=st.integers(1, 5),
    max_output_length=st.integers(0, 200),
)
REQUESTS = st.lists(st.lists(TASKS, min_size=1, max_size=8), min_size=1, max_size=6)
BUDGETS = st.builds(BatchLimits, sentences=st.integers(1, 20), tokens=st.integers(1, 2000))


def line_of(requests: list[list[Task]]) -> TaskQueue:
    line = TaskQueue()
    for number, tasks in enumerate(requests):
        line.add(Ticket(number), tasks)
    return line


def waiting_of(line: TaskQueue) -> list[QueuedTask]:
    return list(line._waiting)


def size(batch: list[QueuedTask]) -> int:
    longest = max(max(one.task.length, one.task.max_output_length // 2) for one in batch)
    return len(batch) * longest * max(one.task.copies for one in batch)


@settings(max_examples=40)
@given(REQUESTS, BUDGETS)
def test_a_batch_has_the_first_and_what_is_like_it(
    requests: list[list[Task]], limits: BatchLimits
) -> None:
    waiting = waiting_of(line_of(requests))
    batch = select_batch(waiting, limits)
    first = min(waiting, key=lambda one: one.rank)
    assert batch[0] is first
    assert len(set(map(id, batch))) == len(batch) <= limits.sentences
    assert len(batch) == 1 or size(batch) <= limits.tokens
    assert {one.task.work for one in batch} == {first.task.work}
    assert {one.task.is_long for one in batch} == {first.task.is_long}
    assert {one.is_one_of_many for one in batch} == {first.is_one_of_many}
    longest = max(first.task.length * SIMILAR_RATIO, first.task.length + SIMILAR_TOKENS)
    assert all(one.task.length <= longest for one in batch)


@settings(max_examples=40)
@given(REQUESTS, st.integers(1, 20))
def test_the_most_similar_lengths_come_along(requests: list[list[Task]], sentences: int) -> None:
    waiting = waiting_of(line_of(requests))
    batch = select_batch(waiting, BatchLimits(sentences, 10**9))
    length = batch[0].task.length

    def far(one: QueuedTask) -> int:
        return abs(one.task.length - length)

    left = [
        one
        for one in waiting
        if one not in batch
        and one.task.work == batch[0].task.work
        and one.task.is_long == batch[0].task.is_long
        and one.is_one_of_many == batch[0].is_one_of_many
        and one.task.length <= max(length * SIMILAR_RATIO, length + SIMILAR_TOKENS)
    ]
    if left:
        assert len(batch) == sentences
        assert max(map(far, batch)) <= min(map(far, left))


@settings(max_examples=40)
@given(REQUESTS, BUDGETS, st.randoms(use_true_random=False))
def test_nobody_starves(
    requests: list[list[Task]], limits: BatchLimits, draw: random.Random
) -> None:
    """However many come later, what waits is taken within as many batches as stand before it."""
    line = line_of(requests)
    there = set(waiting_of(line))
    number = len(requests)
    for _ in range(len(there)):
        if not there:
            break
        last = max(one.rank for one in there)
        assert min(one.rank for one in waiting_of(line)) <= last
        there -= set(line.take(limits))
        # As many come again as were there at the start, later than all of them.
        number += 1 + sum(map(len, requests))
        line.add(Ticket(number), draw.choice(requests))
    assert not there


@settings(max_examples=40)
@given(REQUESTS, BUDGETS)
def test_everything_is_taken_once(requests: list[list[Task]], limits: BatchLimits) -> None:
    line = line_of(requests)
    every = waiting_of(line)
    assert line.tokens == sum(one.task.length * one.task.copies for one in every)
    taken = []
    while len(line):
        taken += line.take(limits)
    assert len(taken) == len(every)
    assert set(taken) == set(every)


def test_a_request_of_many_sentences_takes_turns_with_those_behind_it() -> None:
    work = WORKS[0]
    many = [Task(work, "many", 5, 1)] * 10 * SENTENCES_PER_TURN
    line = line_of([many, [Task(work, "small", 5, 1)], [Task(work, "small", 5, 1)]])
    taken = [
        one.task.input
        for _ in range(4)
        for one in line.take(BatchLimits(SENTENCES_PER_TURN, 10**6))
    ]
    assert taken.count("small") == 2


@settings(max_examples=40)
@given(REQUESTS, BUDGETS, st.sets(st.integers(0, 5)))
def test_a_busy_request_gets_what_nobody_else_wants(
    requests: list[list[Task]], limits: BatchLimits, numbers: set[int]
) -> None:
    line = line_of(requests)
    waiting = waiting_of(line)
    busy = {one.ticket for one in waiting if one.ticket.number in numbers}
    wanted = [one for one in waiting if not (one.is_heavy and one.ticket in busy)]
    batch = line.take(limits, busy)
    if wanted:
        assert batch == select_batch(wanted, limits)
    elif batch:
        assert len(batch) == 1 or size(batch) <= min(limits.tokens, LONG_WORK)
        assert not takes_long(batch)
        assert not any(one.task.is_long for one in batch)
    else:
        assert all(one.task.is_long for one in waiting)
    assert {*batch, *waiting_of(line)} == {*waiting}


@settings(max_examples=40)
@given(REQUESTS, BUDGETS)
def test_short_batches_are_done_soon(requests: list[list[Task]], limits: BatchLimits) -> None:
    """Those of small requests come first; of large ones they are small; long ones are left."""
    line = line_of(requests)
    long = {one for one in waiting_of(line) if one.task.is_long}
    while line.has_short:
        light = {one for one in waiting_of(line) if not one.is_heavy}
        batch = line.take_short(limits)
        assert batch
        assert light.issuperset(batch) if light else not takes_long(batch)
        assert long.isdisjoint(batch)
    assert line.take_short(limits) == []
    assert {*waiting_of(line)} == long


def test_what_belongs_to_a_request_that_began_earlier_comes_first() -> None:
    """The alignment of an old request, asked for when its search is done, passes new searches."""
    line = TaskQueue()
    old, new = Ticket(1), Ticket(2)
    line.add(new, WORKS[0].tasks(7))
    line.add(old, WORKS[1].tasks(8))
    assert [one.task.input for one in line.take(BatchLimits(1, 100))] == [8]


@settings(max_examples=40)
@given(REQUESTS, st.data())
def test_what_nobody_waits_for_is_dropped(requests: list[list[Task]], data: st.DataObject) -> None:
    line = TaskQueue()
    tickets = [Ticket(number) for number in range(len(requests))]
    for ticket, tasks in zip(tickets, requests, strict=True):
        line.add(ticket, tasks)
    gone = data.draw(st.sampled_from(tickets))
    line.drop(gone)
    assert len(line) == sum(map(len, requests)) - len(requests[gone.number])
    assert all(one.ticket is not gone for one in waiting_of(line))


def test_the_share_of_padding() -> None:
    line = line_of([WORKS[0].tasks(1, length=10), WORKS[0].tasks(2, length=5)])
    assert padding_ratio(waiting_of(line)) == pytest.approx(5 / 20)
