"""Tasks that run in batches: search for translations, align them, score given ones.

A task is one sentence. Tasks of equal `work` may share a batch, whichever requests they are from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from translucid.decoding.job import Tokens
from translucid.decoding.settings import SearchConfig
from translucid.decoding.stepper import Hypothesis
from translucid.serving.engine.admission import CancellableStepper, Kind
from translucid.translator.alignment import soft_alignments
from translucid.translator.member import Member
from translucid.translator.scoring import Pair, score_pairs
from translucid.translator.searching import DecoderInput, Searcher

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
        return self.searcher.find(inputs, None, CancellableStepper, report)

    def written(self, result: list[Hypothesis]) -> int:
        """Return the tokens of all hypotheses."""
        return sum(len(hypothesis.log_probs) for hypothesis in result)


@dataclass(frozen=True)
class AlignWork:
    """Alignments of sources with translations, each a pair of tokens, by the same networks."""

    members: tuple[Member, ...]
    kind: Kind = "align"

    def run(self, inputs: Sequence[tuple[Tokens, Tokens]], report: Report) -> list[Any]:
        """Return the weights_TS of each pair."""
        del report  # all are final at once
        sources, targets = zip(*inputs, strict=True)
        # A view would keep the whole batch in memory.
        return [
            weights_TS.clone() for weights_TS in soft_alignments(self.members, sources, targets)
        ]

    def written(self, result: Any) -> int:
        """Return the tokens aligned."""
        return int(result.size(0))


@dataclass(frozen=True)
class ScoreWork:
    """Scores of given translations by the same networks."""

    members: tuple[Member, ...]
    kind: Kind = "score"

    def run(self, inputs: Sequence[Pair], report: Report) -> list[list[float]]:
        """Return log P of every token of each target."""
        del report  # all are final at once
        return score_pairs(self.members, inputs)

    def written(self, result: list[float]) -> int:
        """Return the tokens scored."""
        return len(result)


def search_tasks(searcher: Searcher, requests: Sequence[DecoderInput]) -> list[Task]:
    """Return the tasks of a search for some sentences."""
    each = {terms: SearchWork(searcher, terms) for terms in (False, True)}
    width = copies(searcher.settings)
    limits = searcher.job(requests).limits_B.tolist() if requests else []
    return [
        Task(
            work=each[bool(request.terms)],
            input=request,
            length=len(request.source),
            copies=width + sum(map(len, request.terms)),
            max_output_length=limit,
        )
        for request, limit in zip(requests, limits, strict=True)
    ]


def align_tasks(members: tuple[Member, ...], pairs: Sequence[tuple[Tokens, Tokens]]) -> list[Task]:
    """Return the tasks of aligning sources with their translations."""
    work = AlignWork(members)
    return [Task(work, pair, length=max(map(len, pair)) + 1, copies=1) for pair in pairs]


def score_tasks(members: tuple[Member, ...], pairs: Sequence[Pair]) -> list[Task]:
    """Return the tasks of scoring translations."""
    work = ScoreWork(members)
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
