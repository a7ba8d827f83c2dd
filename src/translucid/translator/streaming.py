"""A translation as it grows: what is certain already, and what is the best guess behind it.

A search follows several hypotheses. What all that may still win have in common never changes any
more, so it can be shown at once::

    under way      The black cat is as │ leep          stable  "The black cat is as"
                   The black cat is as │ tonished      tail    "leep"

That is every hypothesis under way, and the best that has ended. The text of tokens that are certain
is not certain to its last character: a character of several bytes may have come in part, and is
held back.

The search runs in a thread of its own, and tells between its steps what there is.
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
from translucid.translator.request import EncodedText
from translucid.translator.searching import DecoderInput, Searcher
from translucid.translator.segmentation import Segment, gap_before, interleave
from translucid.translator.translation import LiveBeam, Partial

Told = TypeVar("Told")
Result = TypeVar("Result")
_RECORDED_LIVE = ("beam", "diverse")  # the other methods have rows that do not compete


@dataclass(frozen=True)
class Snapshot:
    """Tokens that will not change any more, and the best hypothesis, which begins with them.

    `beams` are the hypotheses under way with their scores, best first, where they compete.
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
        """Note a candidate; the first one of a new step takes the place of those before."""
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
        """Note that a candidate was ended by the loop guard."""
        super().cut(source, number, score)
        self._end(False, score, self._live.pop(number))

    def _end(self, finished: bool, score: float, tokens: Tokens) -> None:
        """Keep what has ended if it ranks above what had ended before."""
        if self._ended is None or (finished, score) > self._ended[:2]:
            self._ended = (finished, score, tokens)

    def contenders(self) -> list[Tokens]:
        """Return all hypotheses that may still win, the best one under way first."""
        ended = [] if self._ended is None else [self._ended[2]]
        return [*self._live.values(), *ended]

    def beams(self) -> tuple[tuple[Tokens, float], ...]:
        """Return the hypotheses under way with their scores, the best one first."""
        return tuple((tokens, self._scores[number]) for number, tokens in self._live.items())


class ToldStepper:
    """A stepper that says before each step what the search has written so far."""

    def __init__(
        self, stepper: Stepper, tree: LiveTree | None, tell: Callable[[Snapshot], None]
    ) -> None:
        self._stepper, self._tree, self._tell = stepper, tree, tell
        self._rows: list[Tokens] | None = None  # what each row has written, the end symbols too

    def step(self, last_ids_N: Tensor) -> Tensor:
        """Tell what there is, then take a step."""
        if self._rows is None:  # the start symbol
            self._rows = [()] * last_ids_N.numel()
        else:
            newest = last_ids_N.tolist()
            self._rows = [(*row, token) for row, token in zip(self._rows, newest, strict=True)]
            self._tell(_snapshot(self._contenders(), self._tree))
        return self._stepper.step(last_ids_N)

    def reorder(self, rows_N: Tensor) -> None:
        """Continue with these rows, in this order."""
        assert self._rows is not None
        self._rows = [self._rows[row] for row in rows_N.tolist()]
        self._stepper.reorder(rows_N)

    @property
    def attention_NS(self) -> Tensor:  # noqa: N802
        """Where the newest step looked, if the stepper within shows it."""
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
        """Continue with the next segment: the translation of this one is certain."""
        segment = self._segments[len(self._texts)]
        self._texts.append(segment.protected.restore(self._decode(tokens)))
        self._done = "".join(interleave(self._segments, self._texts))

    def partial(self, snapshot: Snapshot) -> Partial:
        """Return the text so far, given what there is of the current segment."""
        stable, best = map(self._whole_characters, (snapshot.stable, snapshot.best))
        gap = self._gap(best)
        beams = tuple(self._beam(tokens, score) for tokens, score in snapshot.beams)
        if not stable:
            return Partial(self._done, gap + best, False, None, beams)
        return Partial(self._done + gap + stable, best[len(stable) :], False, None, beams)

    def _beam(self, tokens: Tokens, score: float) -> LiveBeam:
        text = self._whole_characters(tokens)
        return LiveBeam(self._done + self._gap(text) + text, score)

    def _gap(self, text: str) -> str:
        """Return what stands before the current segment.

        It may depend on the first character of the segment's translation.
        """
        segment = self._segments[len(self._texts)]
        return gap_before(segment, "".join(self._texts), text) if text else ""

    def _whole_characters(self, tokens: Tokens) -> str:
        """Return the text of tokens without a character of which some bytes may be missing."""
        return self._decode(tokens).rstrip("\ufffd")


def grow(
    searcher: Searcher,
    encoded: EncodedText,
    decode: Callable[[Tokens], str],
    tell: Callable[[Partial], None],
) -> list[list[Hypothesis]]:
    """Search for the segments of a text in turn; tell the text as it grows, return hypotheses."""
    growing = GrowingText(encoded.segmented.segments, decode)
    found: list[list[Hypothesis]] = []
    last: Partial | None = None

    def tell_news(snapshot: Snapshot) -> None:
        nonlocal last
        before, last = last, growing.partial(snapshot)
        if last != before:
            tell(last)

    for segment, item in zip(encoded.segmented.segments, encoded.inputs, strict=True):
        # With spans, a second search may follow: nothing is certain before the end.
        silent = bool(segment.protected.spans)
        found += (
            searcher.find([item], None) if silent else _search_telling(searcher, item, tell_news)
        )
        growing.add(found[-1][0].tokens)
    return found


def _search_telling(
    searcher: Searcher, item: DecoderInput, tell: Callable[[Snapshot], None]
) -> list[list[Hypothesis]]:
    """Search for one segment, and tell what there is before each step."""
    tree = LiveTree() if searcher.settings.method in _RECORDED_LIVE else None
    return searcher.find([item], tree, lambda stepper: ToldStepper(stepper, tree, tell))


class _Abandoned(Exception):  # noqa: N818 - nothing is wrong: nobody listens any more
    pass


def in_background(
    work: Callable[[Callable[[Told], None]], Result],
) -> Generator[Told, None, Result]:
    """Do some work in another thread; yield what it tells, return its result.

    When the generator is closed early, the work ends where it next tells something.
    """
    told: queue.SimpleQueue[tuple[Told] | None] = queue.SimpleQueue()
    closed = threading.Event()

    def tell(item: Told) -> None:
        if closed.is_set():
            raise _Abandoned
        told.put((item,))

    def end(_: Future[Result]) -> None:
        told.put(None)

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="stream") as pool:
        future = pool.submit(work, tell)
        future.add_done_callback(end)
        try:
            while (item := told.get()) is not None:
                yield item[0]
            return future.result()
        finally:
            closed.set()
