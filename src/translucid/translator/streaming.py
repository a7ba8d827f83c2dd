"""A translation as it grows: what is certain already, and the best guess of what follows.

A search follows several hypotheses. The common beginning of all that may still win never changes,
so it can be shown at once::

    under way      The black cat is as │ leep          stable  "The black cat is as"
                   The black cat is as │ tonished      tail    "leep"

Those are every hypothesis under way, and the best that has ended. A character of several bytes may
be incomplete in the tokens that are certain; then it is held back.

The search runs in a separate thread and reports between its steps.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from torch import Tensor

from translucid.decoding.hypothesis import Hypothesis, Tokens
from translucid.decoding.stepper import Stepper
from translucid.decoding.tree import Recorder, Status
from translucid.text.tokenizer import EOS
from translucid.translator.request import DecoderInput, EncodedText
from translucid.translator.search import Searcher
from translucid.translator.segmentation import Segment, gap_before, interleave
from translucid.translator.translation import LiveHypothesis, PartialTranslation

Item = TypeVar("Item")
Result = TypeVar("Result")
_RECORDED_LIVE = ("beam", "diverse")  # the other methods have rows that do not compete


@dataclass(frozen=True)
class Snapshot:
    """Tokens that will not change, and the best hypothesis, which begins with them.

    `beams` are the hypotheses under way with their scores, best first, if they compete.
    """

    stable: Tokens
    best: Tokens
    beams: tuple[tuple[Tokens, float], ...] = ()


class LiveTree(Recorder):
    """Follows a search tree while it grows: what is under way, and the best that has ended."""

    def __init__(self) -> None:
        super().__init__()
        self._paths: dict[int, Tokens] = {}
        self._live: dict[int, Tokens] = {}
        self._scores: dict[int, float] = {}
        self._ended: tuple[bool, float, Tokens] | None = None

    def root(self, source: int, token: int) -> int:
        """Begin the tree of the only source."""
        number = super().root(source, token)
        self._paths[number] = ()
        return number

    def add(
        self, source: int, parent: int, token: int, log_prob: float, score: float, status: Status
    ) -> int:
        """Add a candidate; the first one of a new step replaces those of the step before."""
        number = super().add(source, parent, token, log_prob, score, status)
        path = (*self._paths[parent], token)
        if self._live and len(path) > len(next(iter(self._live.values()))):
            self._live, self._scores = {}, {}
        if status == "kept":
            self._paths[number] = self._live[number] = path
            self._scores[number] = score
        elif status == "finished":
            self._end(True, score, path[:-1])
        return number

    def cut(self, source: int, number: int, score: float) -> None:
        """Mark a candidate as ended by the loop guard."""
        super().cut(source, number, score)
        self._end(False, score, self._live.pop(number))

    def _end(self, finished: bool, score: float, tokens: Tokens) -> None:
        """Keep a finished hypothesis if it ranks above the best one so far."""
        if self._ended is None or (finished, score) > self._ended[:2]:
            self._ended = (finished, score, tokens)

    def contenders(self) -> list[Tokens]:
        """Return all hypotheses that may still win, the best one under way first."""
        ended = [] if self._ended is None else [self._ended[2]]
        return [*self._live.values(), *ended]

    def beams(self) -> tuple[tuple[Tokens, float], ...]:
        """Return the hypotheses under way with their scores, the best one first."""
        return tuple((tokens, self._scores[number]) for number, tokens in self._live.items())


class ObservedStepper:
    """A stepper that reports before each step what the search has written so far."""

    def __init__(
        self, stepper: Stepper, tree: LiveTree | None, report: Callable[[Snapshot], None]
    ) -> None:
        self._stepper, self._tree, self._report = stepper, tree, report
        self._rows: list[Tokens] | None = None  # what each row has written, the end symbols too

    def step(self, last_ids_N: Tensor) -> Tensor:
        """Report a snapshot, then take a step."""
        if self._rows is None:  # the start symbol
            self._rows = [()] * last_ids_N.numel()
        else:
            newest = last_ids_N.tolist()
            self._rows = [(*row, token) for row, token in zip(self._rows, newest, strict=True)]
            self._report(_snapshot(self._contenders(), self._tree))
        return self._stepper.step(last_ids_N)

    def reorder(self, rows_N: Tensor) -> None:
        """Continue with these rows, in this order."""
        assert self._rows is not None
        self._rows = [self._rows[row] for row in rows_N.tolist()]
        self._stepper.reorder(rows_N)

    @property
    def attention_NS(self) -> Tensor:  # noqa: N802
        """What the newest step attended to, if the inner stepper shows it."""
        attention_NS: Tensor = getattr(self._stepper, "attention_NS")  # noqa: B009
        return attention_NS

    def _contenders(self) -> Sequence[Tokens]:
        if self._tree is not None:
            return self._tree.contenders()
        assert self._rows is not None
        return [row[: row.index(EOS)] if EOS in row else row for row in self._rows]


def _snapshot(contenders: Sequence[Tokens], tree: LiveTree | None) -> Snapshot:
    beams = () if tree is None else tree.beams()
    return Snapshot(stable=common_prefix(contenders), best=contenders[0], beams=beams)


def common_prefix(rows: Sequence[Tokens]) -> Tokens:
    """Return the tokens that all rows begin with.

    >>> common_prefix([(7, 8, 9), (7, 8), (7, 8, 5)])
    (7, 8)
    """
    first, last = min(rows), max(rows)  # rows in between have what these two have in common
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return tuple(token for token, _ in same)


class GrowingText:
    """The text of a translation while its segments are searched, one after another."""

    def __init__(self, segments: Sequence[Segment], decode: Callable[[Tokens], str]) -> None:
        self._segments, self._decode = segments, decode
        self._texts: list[str] = []
        self._done = ""

    def add(self, tokens: Tokens) -> None:
        """Add the final translation of the current segment, and continue with the next."""
        segment = self._segments[len(self._texts)]
        self._texts.append(segment.protected.restore(self._decode(tokens)))
        self._done = "".join(interleave(self._segments, self._texts))

    def partial(self, snapshot: Snapshot) -> PartialTranslation:
        """Return the text so far, given a snapshot of the current segment."""
        stable, best = map(self._whole_characters, (snapshot.stable, snapshot.best))
        gap = self._gap(best)
        beams = tuple(self._beam(tokens, score) for tokens, score in snapshot.beams)
        if not stable:
            return PartialTranslation(self._done, gap + best, False, None, beams)
        return PartialTranslation(
            self._done + gap + stable, best[len(stable) :], False, None, beams
        )

    def _beam(self, tokens: Tokens, score: float) -> LiveHypothesis:
        text = self._whole_characters(tokens)
        return LiveHypothesis(self._done + self._gap(text) + text, score)

    def _gap(self, text: str) -> str:
        """Return what comes before the current segment.

        It may depend on the first character of the segment's translation.
        """
        segment = self._segments[len(self._texts)]
        return gap_before(segment, "".join(self._texts), text) if text else ""

    def _whole_characters(self, tokens: Tokens) -> str:
        """Return the text of tokens without a last character that may lack some bytes."""
        return self._decode(tokens).rstrip("\ufffd")


def stream_segments(
    searcher: Searcher,
    encoded: EncodedText,
    decode: Callable[[Tokens], str],
    report: Callable[[PartialTranslation], None],
) -> list[list[Hypothesis]]:
    """Search for the segments of a text in turn; report the text as it grows, return hypotheses."""
    growing = GrowingText(encoded.segmented.segments, decode)
    found: list[list[Hypothesis]] = []
    last: PartialTranslation | None = None

    def report_change(snapshot: Snapshot) -> None:
        nonlocal last
        before, last = last, growing.partial(snapshot)
        if last != before:
            report(last)

    for segment, item in zip(encoded.segmented.segments, encoded.inputs, strict=True):
        # With spans, a second search may follow: nothing is certain before the end.
        silent = bool(segment.protected.spans)
        found += (
            searcher.search([item], None)
            if silent
            else _search_with_reports(searcher, item, report_change)
        )
        growing.add(found[-1][0].tokens)
    return found


def _search_with_reports(
    searcher: Searcher, item: DecoderInput, report: Callable[[Snapshot], None]
) -> list[list[Hypothesis]]:
    """Search for one segment, and report a snapshot before each step."""
    tree = LiveTree() if searcher.settings.method in _RECORDED_LIVE else None
    return searcher.search([item], tree, lambda stepper: ObservedStepper(stepper, tree, report))


class _Cancelled(Exception):  # noqa: N818 - not an error: the consumer has gone
    pass


def run_in_background(
    work: Callable[[Callable[[Item], None]], Result],
) -> Generator[Item, None, Result]:
    """Run `work` in another thread; yield what it reports, return its result.

    When the generator is closed early, the work ends at its next report.
    """
    reports: queue.SimpleQueue[tuple[Item] | None] = queue.SimpleQueue()
    closed = threading.Event()

    def report(item: Item) -> None:
        if closed.is_set():
            raise _Cancelled
        reports.put((item,))

    def end(_: Future[Result]) -> None:
        reports.put(None)

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="stream") as pool:
        future = pool.submit(work, report)
        future.add_done_callback(end)
        try:
            while (item := reports.get()) is not None:
                yield item[0]
            return future.result()
        finally:
            closed.set()
