"""What computes translations, and which engine computes which.

::

    base                    what an engine promises, its input and output
    ctranslate2             the fast one: greedy and beam search, without PyTorch
    conversion              our weights as CTranslate2's
    ctranslate2_directory   a model of CTranslate2's as one of ours, as it is
    pytorch                 the one that can do everything
    live_search             a search of PyTorch's that reports while it is under way
    heads                   the heads that align, in a model directory

`Engines` asks the fast engine for what it can do, and PyTorch's for the rest. PyTorch is loaded
when it is first needed, which takes seconds, or never.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from translucid.config import ModelConfig
from translucid.decoding.hypothesis import Hypothesis, Tokens
from translucid.engines.base import (
    Array,
    DecoderInput,
    OnFinished,
    Pair,
    SearchOptions,
    Snapshot,
    count_positions,
)
from translucid.engines.heads import AlignmentHeads
from translucid.errors import InputError, optional
from translucid.machine import apply_own_limit, thread_count

if TYPE_CHECKING:
    from translucid.engines.ctranslate2 import CTranslate2Engine
    from translucid.engines.pytorch import Member, PyTorchEngine, Wrap


class Engines:
    """The engines of a model or an ensemble; each input goes to the fastest that can take it.

    `configs` and `heads` are those of each network. Without `fast`, PyTorch does everything;
    `only_fast` refuses what the fast engine cannot do, instead of asking PyTorch.
    """

    def __init__(
        self,
        configs: Sequence[ModelConfig],
        heads: Sequence[AlignmentHeads],
        load_pytorch: Callable[[], PyTorchEngine],
        fast: CTranslate2Engine | None = None,
        *,
        only_fast: bool = False,
    ) -> None:
        self.configs, self.heads = tuple(configs), tuple(heads)
        self.fast = fast
        self._only_fast = only_fast
        self._load_pytorch = load_pytorch
        self._pytorch: PyTorchEngine | None = None
        self._lock = threading.Lock()

    @classmethod
    def of(cls, members: Sequence[Member]) -> Engines:
        """Return the engines of networks that PyTorch has in memory."""
        from translucid.engines.pytorch import PyTorchEngine

        engine = PyTorchEngine(tuple(members))
        configs = [member.model.config for member in members]
        return cls(configs, [member.heads for member in members], lambda: engine)

    @property
    def pytorch(self) -> PyTorchEngine:
        """The engine of PyTorch, loaded when it is first asked for."""
        with self._lock:
            if self._pytorch is None:
                why = "What CTranslate2 does not offer" if self.fast else "The engine pytorch"
                optional("torch", extra="train", job=why)
                thread_count()  # which tells PyTorch what was chosen before it was loaded
                self._pytorch = self._load_pytorch()
        apply_own_limit()  # of a worker that began before PyTorch was loaded
        return self._pytorch

    @property
    def has_loaded_pytorch(self) -> bool:
        """Whether PyTorch's engine has been asked for."""
        return self._pytorch is not None

    @property
    def description(self) -> str:
        """What computes, as far as the results depend on it: ctranslate2 int8, pytorch."""
        return "pytorch" if self.fast is None else f"{self.fast.name} {self.fast.precision}"

    def network_hashes(self) -> list[str]:
        """Return the SHA-256 of settings and weights of each network."""
        if self._pytorch is None and self.fast is not None:
            return [self.fast.hash]
        return [member.hash() for member in self.pytorch.members]

    @property
    def positions(self) -> int:
        """The most tokens that all networks can read or write at once."""
        return min(map(count_positions, self.configs))

    def search(
        self,
        inputs: Sequence[DecoderInput],
        options: SearchOptions,
        on_finished: OnFinished | None = None,
        wrap: Wrap | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each input, best first.

        `on_finished` is called with the hypotheses of an input as soon as they are certain; `wrap`
        puts something between PyTorch's search and its network.
        """
        found: list[list[Hypothesis]] = [[] for _ in inputs]
        if self.fast is not None:
            numbers = [n for n, item in enumerate(inputs) if self._is_fast(options, item)]
            report = _renumbered(on_finished, numbers)
            some = self.fast.search([inputs[number] for number in numbers], options, report)
            for number, hypotheses in zip(numbers, some, strict=True):
                found[number] = hypotheses
        rest = [number for number, hypotheses in enumerate(found) if not hypotheses]
        if not rest:
            return found
        if self.fast is not None and self._without_pytorch:
            for number in rest:
                self._refuse_without_pytorch(options, inputs[number])
                found[number] = self.fast.repair(inputs[number], options)
                if on_finished is not None:
                    on_finished(number, found[number])
            return found
        some = self.pytorch.search(
            [inputs[number] for number in rest], options, _renumbered(on_finished, rest), wrap=wrap
        )
        for number, hypotheses in zip(rest, some, strict=True):
            found[number] = hypotheses
        return found

    def stream(
        self, item: DecoderInput, options: SearchOptions, report: Callable[[Snapshot], None]
    ) -> list[list[Hypothesis]]:
        """Search for one input, and report what there is of it while it grows.

        The fast engine reports a greedy search only. Where a beam has no PyTorch to report it, the
        search is silent.
        """
        fast = self.fast if self.fast is not None and self._is_fast(options, item) else None
        if fast is not None and options.settings.method == "greedy" and not item.prefix:
            return [fast.stream(item, options, lambda tokens: report(Snapshot(tokens, tokens)))]
        if fast is not None and self._without_pytorch:
            return self.search([item], options)
        if self.fast is not None and self._without_pytorch:
            self._refuse_without_pytorch(options, item)
        from translucid.engines.live_search import stream

        return stream(self.pytorch, item, options, report)

    def _is_fast(self, options: SearchOptions, item: DecoderInput) -> bool:
        """Tell whether the fast engine can search for an input; refuse it if nothing else may."""
        assert self.fast is not None
        obstacle = self.fast.find_obstacle(options, item)
        if obstacle is not None and self._only_fast:
            raise InputError(
                f"engine = 'ctranslate2' cannot do this: {obstacle}. Leave it out, or choose "
                "engine = 'auto' or 'pytorch'"
            )
        return obstacle is None

    @property
    def _without_pytorch(self) -> bool:
        """Whether PyTorch may not be asked, or is not installed."""
        return self._only_fast or not _has_pytorch()

    def _refuse_without_pytorch(self, options: SearchOptions, item: DecoderInput) -> None:
        """Say what needs PyTorch, which is not installed."""
        assert self.fast is not None
        obstacle = self.fast.find_obstacle(options, item)
        if obstacle is not None:
            optional("torch", extra="train", job=f"Searching with {obstacle}")

    def score(self, pairs: Sequence[Pair]) -> list[list[float]]:
        """Return log P of every token of each target, and last that of its end."""
        longest = max((pair.length for pair in pairs), default=0)
        if self.fast is not None and longest <= self.fast.positions:
            return self.fast.score(pairs)
        if self.fast is not None and self._only_fast:
            raise InputError(
                f"engine = 'ctranslate2' scores up to {self.fast.positions} tokens, and a pair has "
                f"{longest}: divide it, or choose engine = 'auto' or 'pytorch'"
            )
        return self.pytorch.score(pairs)

    def align(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> list[Array]:
        """Return how much each token of a target attends to each of its source, (T, S)."""
        longest = max((len(tokens) for pair in pairs for tokens in pair), default=0)
        fits = self.fast is not None and longest < self.fast.positions
        if self.fast is not None and fits and (self.fast.aligns or self._without_pytorch):
            return self.fast.align(pairs)
        return self.pytorch.align(pairs)


def _has_pytorch() -> bool:
    return importlib.util.find_spec("torch") is not None


def _renumbered(report: OnFinished | None, numbers: Sequence[int]) -> OnFinished | None:
    """Return a report for a part of the inputs, which have these numbers among all."""
    if report is None:
        return None
    return lambda number, hypotheses: report(numbers[number], hypotheses)
