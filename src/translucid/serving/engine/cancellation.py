"""Cancel work that nobody waits for any more.

Each request has a :class:`Ticket`. When its client disconnects, or its time is over, the ticket is
cancelled; the thread that works for it checks the ticket between two steps::

    event loop      ticket.cancel()
    thread          step   step   check_cancelled() → WorkCancelled
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import Tensor

from translucid.decoding.stepper import Stepper


class WorkCancelled(Exception):  # noqa: N818 - nothing is wrong: nobody waits any more
    """Stops work that nobody waits for; do not catch it in the work."""


class Ticket:
    """A request's number in order of arrival, and whether it was cancelled."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_cancelled = False

    def cancel(self) -> None:
        """Mark the request: nobody waits for its answer any more."""
        self.is_cancelled = True


_current = threading.local()


@contextmanager
def cancellable_by(tickets: Sequence[Ticket]) -> Iterator[None]:
    """Let these requests cancel what this thread does within the block, once all are cancelled."""
    _current.tickets = tickets
    try:
        yield
    finally:
        _current.tickets = ()


def check_cancelled() -> None:
    """Raise :class:`WorkCancelled` if all requests that this thread works for are cancelled.

    Outside :func:`cancellable_by` it does nothing.
    """
    tickets: Sequence[Ticket] = getattr(_current, "tickets", ())
    if tickets and all(ticket.is_cancelled for ticket in tickets):
        raise WorkCancelled


class CancellableStepper:
    """A stepper that checks for cancellation before each step."""

    def __init__(self, stepper: Stepper) -> None:
        self._stepper = stepper

    def step(self, last_ids_N: Tensor) -> Tensor:
        """Take a step unless the work is cancelled."""
        check_cancelled()
        return self._stepper.step(last_ids_N)

    def reorder(self, rows_N: Tensor) -> None:
        """Continue with these rows, in this order."""
        self._stepper.reorder(rows_N)

    @property
    def attention_NS(self) -> Tensor:  # noqa: N802
        """Attention of the newest step, if the wrapped stepper has it."""
        attention_NS: Tensor = getattr(self._stepper, "attention_NS")  # noqa: B009
        return attention_NS
