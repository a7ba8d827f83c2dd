"""Work that nobody waits for any more is given up: how a thread finds out.

Each request has a :class:`Ticket`. When its client goes away, or its time is over, the ticket says
so; the thread that works for it looks at the ticket between two steps::

    event loop      ticket.leave()
    thread          step   step   check_wanted() → Abandoned
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import Tensor

from translucid.decoding.stepper import Stepper


class WorkCancelled(Exception):  # noqa: N818 - nothing is wrong: nobody waits any more
    """Ends work that nobody waits for; who works must let it pass."""


class Ticket:
    """A request's place among all: a number that grows, and whether its owner still waits."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_cancelled = False

    def cancel(self) -> None:
        """Note that nobody waits for the answer any more."""
        self.is_cancelled = True


_working_for = threading.local()


@contextmanager
def cancellable_by(tickets: Sequence[Ticket]) -> Iterator[None]:
    """Note for whom this thread works, until the block is left."""
    _working_for.tickets = tickets
    try:
        yield
    finally:
        _working_for.tickets = ()


def check_cancelled() -> None:
    """Raise :class:`Abandoned` if nobody waits any more for what this thread works on.

    In a thread that works for nobody in particular it does nothing.
    """
    tickets: Sequence[Ticket] = getattr(_working_for, "tickets", ())
    if tickets and all(ticket.is_cancelled for ticket in tickets):
        raise WorkCancelled


class CancellableStepper:
    """A stepper that asks before each step whether anybody still waits."""

    def __init__(self, stepper: Stepper) -> None:
        self._stepper = stepper

    def step(self, last_ids_N: Tensor) -> Tensor:
        """Take a step if it is still wanted."""
        check_cancelled()
        return self._stepper.step(last_ids_N)

    def reorder(self, rows_N: Tensor) -> None:
        """Continue with these rows, in this order."""
        self._stepper.reorder(rows_N)

    @property
    def attention_NS(self) -> Tensor:  # noqa: N802
        """Where the newest step looked, if the stepper within shows it."""
        attention_NS: Tensor = getattr(self._stepper, "attention_NS")  # noqa: B009
        return attention_NS
