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

import queue
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from translucid.decoding.hypothesis import Hypothesis, Tokens
from translucid.engines.base import Snapshot
from translucid.translator.request import EncodedText
from translucid.translator.search import Searcher
from translucid.translator.segmentation import Segment, gap_before, interleave
from translucid.translator.translation import LiveHypothesis, PartialTranslation

Item = TypeVar("Item")
Result = TypeVar("Result")


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
        segment = self._segments[len(self._texts)]
        return segment.protected.put_in_case(self._decode(tokens).rstrip("\ufffd"))


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
        found += searcher.search([item]) if silent else searcher.stream(item, report_change)
        growing.add(found[-1][0].tokens)
    return found


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
