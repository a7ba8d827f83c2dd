"""The line of sentences that wait, and which of them are taken together.

::

    rank      3    4    4    5    6    6          the first one is always taken;
    work      a    a    b    a    a    b          those of the same work and the most similar
    length    9   30    8   11    7   40          length join it: 9, 11, 7
              ▲              ▲    ▲

The line is in the order of arrival, but a request of many sentences takes turns with those behind
it: each sixteen of its sentences stand where one more request would.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from translucid.serving.abandoning import Ticket
from translucid.serving.tasks import Task

SENTENCES_A_TURN = 16
# Sentences up to this many times as long as the first one join it, or this many tokens longer:
# who asks for a short sentence does not wait until a long one is done.
SIMILAR_RATIO = 2.0
SIMILAR_TOKENS = 16


@dataclass(frozen=True)
class Budget:
    """How large a batch may be: sentences, and sentences × longest room × rows of each."""

    sentences: int
    tokens: int


class Gathering:
    """The results of the tasks of one request, as they come in, each at its place."""

    def __init__(self, count: int) -> None:
        self.results: list[Any] = [None] * count
        self.missing = count

    def put(self, place: int, result: Any) -> bool:
        """Put a result at its place, if it is not there yet; tell whether it was the last one."""
        if self.results[place] is not None:
            return False
        self.results[place] = result
        self.missing -= 1
        return not self.missing


@dataclass(frozen=True, eq=False)
class Waiting:
    """A task in the line: whose it is, its rank, and where its result belongs."""

    task: Task
    ticket: Ticket
    rank: tuple[int, int]
    gathering: Gathering
    place: int


class Line:
    """Tasks that wait, of all requests."""

    def __init__(self) -> None:
        self._waiting: dict[Waiting, None] = {}
        self._numbers = itertools.count()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def tokens(self) -> int:
        """Source tokens of all that wait, times the rows of each."""
        return sum(one.task.length * one.task.copies for one in self._waiting)

    def add(self, ticket: Ticket, tasks: Sequence[Task]) -> Gathering:
        """Let the tasks of a request wait; return where their results will be."""
        gathering = Gathering(len(tasks))
        for place, task in enumerate(tasks):
            rank = (ticket.number + place // SENTENCES_A_TURN, next(self._numbers))
            self._waiting[Waiting(task, ticket, rank, gathering, place)] = None
        return gathering

    def drop(self, ticket: Ticket) -> None:
        """Take out what nobody waits for any more."""
        self._take(one for one in tuple(self._waiting) if one.ticket is ticket)

    def take(self, budget: Budget) -> list[Waiting]:
        """Take out the first one, and those that are done together with it."""
        return self._take(together(tuple(self._waiting), budget))

    def _take(self, chosen: Iterable[Waiting]) -> list[Waiting]:
        taken = list(chosen)
        for one in taken:
            del self._waiting[one]
        return taken


def together(waiting: Sequence[Waiting], budget: Budget) -> list[Waiting]:
    """Return the one whose turn it is, and those that join it, the most similar lengths first."""
    first = min(waiting, key=lambda one: one.rank)
    longest_allowed = max(SIMILAR_RATIO * first.task.length, first.task.length + SIMILAR_TOKENS)
    others = sorted(
        (
            one
            for one in waiting
            if one is not first
            and one.task.length <= longest_allowed
            and one.task.work == first.task.work
        ),
        key=lambda one: (abs(one.task.length - first.task.length), one.rank),
    )
    batch = [first]
    size = (first.task.room, first.task.copies)
    for one in others:
        larger = (max(size[0], one.task.room), max(size[1], one.task.copies))
        if len(batch) == budget.sentences:
            break
        if (len(batch) + 1) * larger[0] * larger[1] <= budget.tokens:
            batch.append(one)
            size = larger
    return batch


def padding(batch: Sequence[Waiting]) -> float:
    """Return the share of a batch's cells that hold no token of a source."""
    lengths = [one.task.length for one in batch]
    return 1 - sum(lengths) / (len(lengths) * max(lengths))
