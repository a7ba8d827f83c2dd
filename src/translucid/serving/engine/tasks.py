"""What the engine works on: tasks, the tickets of their requests, and refusals.

A task is one sentence: search for translations, align them, or score given ones. Tasks of equal
`work` may share a batch, whichever requests they are from. ::

    TranslucidError
    └── Refused
        ├── TooLong      the texts have too many tokens
        ├── Full         the queue is full; `retry_after` says when to try again
        ├── TimedOut     the answer was not ready in time, and its work was cancelled
        └── Draining     the server is shutting down: it finishes what it has accepted, no more

Each request has a :class:`Ticket`. When its client disconnects, or its time is over, the ticket is
cancelled; the thread that works for it checks the ticket between two steps::

    event loop      ticket.cancel()
    thread          step   step   check_cancelled() → WorkCancelled

Long work lends its thread: between two steps, the thread does short work that waits.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import Hypothesis, Tokens
from translucid.engines import Engines
from translucid.engines.base import DecoderInput, Pair
from translucid.errors import TranslucidError
from translucid.translator.search import Searcher

if TYPE_CHECKING:
    from torch import Tensor

    from translucid.decoding.stepper import Stepper

Report: TypeAlias = Callable[[int, Any], None]
"""Called with the index of an input in its batch, and its result."""


class Work(Protocol):
    """What to compute for a batch; comparable and hashable."""

    @property
    def kind(self) -> Kind:
        """Its name in metrics."""

    def run(self, inputs: Sequence[Any], report: Report) -> Sequence[Any]:
        """Return the result of each input; report early those that are final before the rest."""

    def written(self, result: Any) -> int:
        """Return the number of target tokens in a result."""


# Tokens to budget × rows, above which a task is long: with a beam of 4, 100 tokens.
LONG_WORK = 400


@dataclass(frozen=True)
class Task:
    """One sentence: what to do with it, its length in tokens, and the rows it takes in a batch.

    `max_output_length` is the most tokens that a row may generate.
    """

    work: Work
    input: Any
    length: int
    copies: int
    max_output_length: int = 0

    @property
    def is_long(self) -> bool:
        """Whether short work need not wait for this to end."""
        return self.budgeted_length * self.copies > LONG_WORK

    @property
    def budgeted_length(self) -> int:
        """Tokens to budget per row: few outputs reach their limit, but a client can force it."""
        return max(self.length, self.max_output_length // 2)


@dataclass(frozen=True)
class SearchWork:
    """Searches that share networks and settings.

    Those with terms are apart: they take more rows than the others, and more time.
    """

    searcher: Searcher
    with_terms: bool
    kind: Kind = "search"

    def run(self, inputs: Sequence[DecoderInput], report: Report) -> list[list[Hypothesis]]:
        """Return the hypotheses of each sentence; stop early when cancelled."""
        return self.searcher.search(inputs, report, CancellableStepper)

    def written(self, result: list[Hypothesis]) -> int:
        """Return the tokens of all hypotheses."""
        return sum(hypothesis.length for hypothesis in result)


@dataclass(frozen=True)
class AlignWork:
    """Alignments of sources with translations, each a pair of tokens, by the same networks."""

    engines: Engines
    kind: Kind = "align"

    def run(self, inputs: Sequence[tuple[Tokens, Tokens]], report: Report) -> list[Any]:
        """Return the weights_TS of each pair."""
        del report  # all are final at once
        return list(self.engines.align(inputs))

    def written(self, result: Any) -> int:
        """Return the tokens aligned."""
        return len(result)


@dataclass(frozen=True)
class ScoreWork:
    """Scores of given translations by the same networks."""

    engines: Engines
    kind: Kind = "score"

    def run(self, inputs: Sequence[Pair], report: Report) -> list[list[float]]:
        """Return log P of every token of each target."""
        del report  # all are final at once
        return self.engines.score(inputs)

    def written(self, result: list[float]) -> int:
        """Return the tokens scored."""
        return len(result)


def search_tasks(searcher: Searcher, requests: Sequence[DecoderInput]) -> list[Task]:
    """Return the tasks of a search for some sentences."""
    each = {terms: SearchWork(searcher, terms) for terms in (False, True)}
    width = copies(searcher.settings)
    return [
        Task(
            work=each[bool(request.terms)],
            input=request,
            length=len(request.source),
            copies=width + sum(map(len, request.terms)),
            max_output_length=searcher.limit(request),
        )
        for request in requests
    ]


def align_tasks(engines: Engines, pairs: Sequence[tuple[Tokens, Tokens]]) -> list[Task]:
    """Return the tasks of aligning sources with their translations."""
    work = AlignWork(engines)
    return [Task(work, pair, length=max(map(len, pair)) + 1, copies=1) for pair in pairs]


def score_tasks(engines: Engines, pairs: Sequence[Pair]) -> list[Task]:
    """Return the tasks of scoring translations."""
    work = ScoreWork(engines)
    return [Task(work, pair, length=pair.length, copies=1) for pair in pairs]


def copies(settings: SearchConfig) -> int:
    """Return the rows that a search takes for each source."""
    match settings.method:
        case "greedy":
            return 1
        case "beam" | "diverse":
            return settings.beam
        case "sampling" | "mbr":
            return settings.samples


class Refused(TranslucidError):  # noqa: N818 - nothing is wrong with the request
    """A sound request that the server cannot answer now."""


class TooLong(Refused):
    """The texts have too many tokens."""


class Full(Refused):
    """The queue is full; try again after some seconds."""

    def __init__(self, what: str, waiting: int, most: int, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(
            f"{waiting} {what} are waiting, and at most {most} may: try again in {retry_after} "
            f"second{'' if retry_after == 1 else 's'}"
        )


class TimedOut(Refused):
    """The answer was not ready in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the answer was not ready within {seconds:g} seconds, waiting included, and was given "
            "up: send fewer or shorter texts, or try again when the server is less busy"
        )


class Draining(Refused):
    """The server is stopping."""

    def __init__(self) -> None:
        super().__init__(
            "the server is stopping: it finishes what it has accepted, and takes nothing new; try "
            "another server, or this one when it is back"
        )


class Admission:
    """Admit requests until the server drains, and count those not answered yet."""

    def __init__(self, emit: EmitEngineEvent) -> None:
        self.draining = False
        self._emit = emit
        self._numbers = itertools.count()
        self._under_way: set[Ticket] = set()
        self._empty = asyncio.Event()
        self._empty.set()

    def __len__(self) -> int:
        return len(self._under_way)

    @contextmanager
    def admit(self, request: Request, refuse: Callable[[], None]) -> Iterator[Ticket]:
        """Give a request its ticket, which is cancelled when the block is left, however it is left.

        `refuse` raises :class:`Full` if the queue is full.
        """
        began = time.monotonic()
        outcome: Outcome = "failed"
        ticket = Ticket(next(self._numbers))
        try:
            if self.draining:
                raise Draining
            refuse()
            self._under_way.add(ticket)
            self._empty.clear()
            yield ticket
            outcome = "done"
        except BaseException as error:
            outcome = _outcome(error)
            raise
        finally:
            ticket.cancel()
            self._under_way.discard(ticket)
            if not self._under_way:
                self._empty.set()
            self._emit(RequestEnded(request, outcome, time.monotonic() - began))

    async def drain(self) -> None:
        """Refuse new requests; wait until all admitted ones have been answered."""
        self.draining = True
        await self._empty.wait()


def _outcome(error: BaseException) -> Outcome:
    match error:
        case Full():
            return "rejected"
        case Draining():
            return "draining"
        case TimedOut():
            return "timed out"
        case asyncio.CancelledError() | GeneratorExit():
            return "cancelled"
        case _:
            return "failed"


Kind: TypeAlias = Literal["search", "align", "score"]
Request: TypeAlias = Literal["translate", "stream", "score", "job"]
Outcome: TypeAlias = Literal["done", "failed", "rejected", "timed out", "cancelled", "draining"]


@dataclass(frozen=True)
class BatchDone:
    """A batch that was computed.

    `tokens` are those of the sources, `padding` is the share of the batch's cells that held none,
    `written` the tokens of all hypotheses returned. `cancelled`: all of its requests were.
    """

    kind: Kind
    rows: int
    tokens: int
    padding: float
    written: int
    seconds: float
    cancelled: bool


@dataclass(frozen=True)
class RequestEnded:
    """A request that was answered, refused or cancelled, this many seconds after its arrival."""

    request: Request
    outcome: Outcome
    seconds: float


EngineEvent: TypeAlias = BatchDone | RequestEnded
EmitEngineEvent: TypeAlias = Callable[[EngineEvent], None]


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
def cancellable_by(
    tickets: Sequence[Ticket], lend: Callable[[], None] | None = None
) -> Iterator[None]:
    """Let these requests cancel what this thread does within the block, once all are cancelled.

    `lend` is called between two steps.
    """
    before = vars(_current).copy()
    _current.tickets, _current.lend = tickets, lend
    try:
        yield
    finally:
        vars(_current).clear()
        vars(_current).update(before)


def check_cancelled() -> None:
    """Raise :class:`WorkCancelled` if all requests that this thread works for are cancelled.

    Outside :func:`cancellable_by` it does nothing.
    """
    tickets: Sequence[Ticket] = getattr(_current, "tickets", ())
    if tickets and all(ticket.is_cancelled for ticket in tickets):
        raise WorkCancelled


def lend_thread() -> None:
    """Do what waits for this thread and is short, if its work is long."""
    lend: Callable[[], None] | None = getattr(_current, "lend", None)
    if lend is not None:
        lend()


class CancellableStepper:
    """A stepper that checks for cancellation, and lends its thread, before each step."""

    def __init__(self, stepper: Stepper) -> None:
        self._stepper = stepper

    def step(self, last_ids_N: Tensor) -> Tensor:
        """Take a step unless the work is cancelled."""
        lend_thread()
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
