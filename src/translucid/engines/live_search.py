"""A search of PyTorch's that reports between its steps what it has written.

Shapes: N rows, V vocabulary, S source.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from torch import Tensor

from translucid.decoding.hypothesis import Hypothesis, Tokens
from translucid.decoding.stepper import Stepper
from translucid.decoding.tree import Recorder, Status
from translucid.engines.base import DecoderInput, SearchOptions, Snapshot
from translucid.engines.pytorch import PyTorchEngine
from translucid.text.tokenizer import EOS

_RECORDED_LIVE = ("beam", "diverse")  # the other methods have rows that do not compete


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
            contenders = self._contenders()
            beams = () if self._tree is None else self._tree.beams()
            self._report(Snapshot(common_prefix(contenders), contenders[0], beams))
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


def common_prefix(rows: Sequence[Tokens]) -> Tokens:
    """Return the tokens that all rows begin with.

    >>> common_prefix([(7, 8, 9), (7, 8), (7, 8, 5)])
    (7, 8)
    """
    first, last = min(rows), max(rows)  # rows in between have what these two have in common
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return tuple(token for token, _ in same)


def stream(
    engine: PyTorchEngine,
    item: DecoderInput,
    options: SearchOptions,
    report: Callable[[Snapshot], None],
) -> list[list[Hypothesis]]:
    """Search for one segment, and report a snapshot before each step."""
    tree = LiveTree() if options.settings.method in _RECORDED_LIVE else None
    return engine.search(
        [item],
        options,
        recorder=tree,
        wrap=lambda stepper: ObservedStepper(stepper, tree, report),
    )
