"""Beam search: follow the most probable hypotheses in parallel.

Each step takes the best continuations of all rows of a source. Those that write the end symbol, and
rank among the first `beam`, have ended; the best `beam` others continue. A source is done at its
limit of length, where all rows end, when no row is left, or as soon as nothing under way can change
the result (`cannot_be_beaten`); then it leaves the batch. That `beam` hypotheses have ended is no
reason to stop: they may be improbable, such as the empty translation. Only log P decides which rows
continue, as all are equally long; the penalties decide how finished hypotheses rank.

With several groups this is diverse beam search (Vijayakumar et al. 2016): the rows are divided, and
a token that one group has just written costs the groups after it. For required terms, see
`terminology.py`.

Shapes: B sources under way, W rows per source, G groups, N = B × W, T tokens so far, V vocabulary,
S source, K candidates, E hypotheses that end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from translucid.decoding.candidates import Choice, choose, choose_in_groups
from translucid.decoding.config import SearchConfig
from translucid.decoding.constraints import (
    Filter,
    LengthLimits,
    LoopGuard,
    apply_filters,
    build_filters,
    build_loop_guard,
)
from translucid.decoding.hypothesis import Ending, FinishedHypotheses, Hypothesis, length_penalty
from translucid.decoding.penalties import coverage_penalty, get_attention, longest_length_penalty
from translucid.decoding.request import SearchRequest
from translucid.decoding.stepper import Stepper
from translucid.decoding.tree import Recorder, Status, Stop
from translucid.errors import InputError, TranslucidError


@dataclass(frozen=True)
class Beam:
    """The hypotheses under way, all of the same length; a dead row has the total −∞.

    `totals_BW` is the log-probability of each row so far, summed over its tokens; `attended_NS` is
    the attention summed over all steps, if there is a coverage penalty; `nodes_BW` is the node of
    each row in the search tree, if one is recorded.
    """

    sources_B: Tensor
    totals_BW: Tensor
    tokens_NT: Tensor
    log_probs_NT: Tensor
    attended_NS: Tensor | None
    nodes_BW: Tensor | None

    @property
    def width(self) -> int:
        """Number of rows W per source."""
        return self.totals_BW.size(1)

    @property
    def length(self) -> int:
        """Number of tokens T per row."""
        return self.tokens_NT.size(1)

    @cached_property
    def row_sources(self) -> Tensor:
        """The source of each row."""
        return self.sources_B.repeat_interleave(self.width)


Choose = Callable[[Tensor, Beam], tuple[Choice, Tensor | None]]
"""From log P of the next tokens as (N, V), which it may write into, and the beam: what continues,
and as (N,) which rows the limit of length cuts short; None if no source is at its limit."""


def beam_search(
    start: Callable[[int], Stepper],
    request: SearchRequest,
    settings: SearchConfig,
    recorder: Recorder | None,
) -> list[list[Hypothesis]]:
    """Return the `n_best` hypotheses of every source, best first; fewer if no more exist."""
    if any(request.terms):
        raise InputError(
            f"method {settings.method!r} cannot guarantee that terms occur: set method = 'beam', "
            "or leave the terms out"
        )
    groups = settings.groups if settings.method == "diverse" else 1
    chooser = BeamChooser.build(request, settings, groups)
    search = BeamSearch(start(settings.beam), request, settings, chooser, recorder)
    return search.run(settings.beam, groups)


@dataclass(frozen=True)
class BeamChooser:
    """Chooses the most probable continuations among all rows of a group."""

    filters: tuple[Filter, ...]
    limits: LengthLimits
    end: int
    groups: int
    diversity: float

    @classmethod
    def build(cls, request: SearchRequest, settings: SearchConfig, groups: int) -> BeamChooser:
        """Return the chooser of a request."""
        filters = build_filters(request, settings)
        return cls(filters, LengthLimits(request), request.end, groups, settings.diversity)

    def __call__(self, log_probs_NV: Tensor, beam: Beam) -> tuple[Choice, Tensor | None]:
        """Apply the filters, then choose."""

        def rules(log_probs_NV: Tensor) -> Tensor:
            return apply_filters(self.filters, log_probs_NV, beam.tokens_NT, beam.row_sources)

        log_probs_NV, cut_N = self.limits(rules, log_probs_NV, beam.tokens_NT, beam.row_sources)
        log_probs_BWV = log_probs_NV.view(*beam.totals_BW.shape, -1)
        if self.groups == 1:
            return choose(log_probs_BWV, beam.totals_BW, self.end, None), cut_N
        choice = choose_in_groups(
            log_probs_BWV, beam.totals_BW, self.end, self.groups, self.diversity
        )
        return choice, cut_N


def cannot_be_beaten(best_B: Tensor, to_beat_B: Tensor, max_penalty_B: Tensor) -> Tensor:
    """Tell for which sources the result is certain although hypotheses are still under way.

    `best_B` is the highest log P under way, `to_beat_B` the score of the n_best-th hypothesis that
    has ended (−∞ with fewer), `max_penalty_B` the length penalty at the source's limit of length.

    Proof. Let p ≤ 0 be log P of a row. Whatever it still becomes has n ≤ limit tokens, its end
    symbol counted, and log P = q ≤ p, as no token has log P above 0. Its score is q / lp(n) + c,
    with coverage c ≤ 0. As lp grows with n and q ≤ 0, q / lp(n) ≤ q / lp(limit) ≤ p / lp(limit).
    So no row can exceed max p / lp(limit); where that is not above the score to beat, no row can
    enter the n_best: of equal scores the one found earlier ranks first, and loops rank last. Each
    inequality holds for rounded numbers too, since rounding never turns ≤ into >.
    """
    return (to_beat_B > -math.inf) & (best_B / max_penalty_B <= to_beat_B)


@dataclass(eq=False)
class BeamSearch:
    """The beam search of one batch: its fixed parts, and the hypotheses that have ended."""

    stepper: Stepper
    request: SearchRequest
    settings: SearchConfig
    chooser: Choose
    recorder: Recorder | None

    def __post_init__(self) -> None:
        self.finished = [FinishedHypotheses() for _ in range(self.request.sources)]
        self._guard: LoopGuard | None = build_loop_guard(self.request, self.settings)
        self._max_penalty_B = longest_length_penalty(self.request.limits_B, self.settings)
        self._to_beat_B = torch.full_like(self._max_penalty_B, -math.inf)

    @torch.inference_mode()
    def run(self, width: int, groups: int) -> list[list[Hypothesis]]:
        """Search with `width` rows per source until every source is done."""
        beam = self._start_beam(width, groups)
        last_N = beam.row_sources.new_full((beam.row_sources.numel(),), self.request.begin)
        while beam.sources_B.numel():
            log_probs_NV = self.stepper.step(last_N)
            beam = self._add_attention(beam)
            choice, cut_N = self.chooser(log_probs_NV, beam)
            beam = self._advance(beam, choice, cut_N)
            last_N = beam.tokens_NT[:, -1]
        return [each.best(self.settings.n_best) for each in self.finished]

    def _start_beam(self, width: int, groups: int) -> Beam:
        """Return the beam before the first step: one row of each group is alive."""
        sources = self.request.sources
        sources_B = torch.arange(sources, device=self.request.limits_B.device)
        totals_BW = self._max_penalty_B.new_full((sources, width), -math.inf)
        totals_BW[:, :: width // groups] = 0
        nodes_BW = None
        if self.recorder is not None:
            roots = [self.recorder.root(source, self.request.begin) for source in range(sources)]
            nodes_BW = sources_B.new_tensor(roots)[:, None].expand(-1, width)
        return Beam(
            sources_B=sources_B,
            totals_BW=totals_BW,
            tokens_NT=sources_B.new_empty(sources * width, 0),
            log_probs_NT=torch.empty(sources * width, 0, device=sources_B.device),
            attended_NS=None,
            nodes_BW=nodes_BW,
        )

    def _add_attention(self, beam: Beam) -> Beam:
        """Add the attention of the newest step, if there is a coverage penalty."""
        if not self.settings.coverage_penalty:
            return beam
        newest_NS = get_attention(self.stepper)
        attended_NS = newest_NS if beam.attended_NS is None else beam.attended_NS + newest_NS
        return replace(beam, attended_NS=attended_NS)

    def _advance(self, beam: Beam, choice: Choice, cut_N: Tensor | None) -> Beam:
        """Collect what ends, continue the rest, and remove sources that are done."""
        nodes_BK = self._record(beam, choice)
        self._collect_ended(beam, choice, cut_N, nodes_BK)
        grown, rows_BW = self._extend(beam, choice, nodes_BK)
        alive_BW = grown.totals_BW
        grown = self._end_loops(grown)
        done_B = self._find_done(grown)
        if bool(done_B.any()):
            if self.request.on_finished is not None:
                for source in grown.sources_B[done_B].tolist():
                    self.request.on_finished(
                        source, self.finished[source].best(self.settings.n_best)
                    )
            if self.recorder is not None:
                cut_BW = None if cut_N is None else cut_N.view_as(alive_BW)
                self._record_stops(self.recorder, grown, alive_BW, cut_BW, done_B)
            grown, rows_BW = _select_sources(grown, rows_BW, (~done_B).nonzero()[:, 0])
        rows_N = rows_BW.reshape(-1)
        if rows_N.numel() and not _is_identity(rows_N, beam.totals_BW.numel()):
            self.stepper.reorder(rows_N)
        return grown

    def _collect_ended(
        self, beam: Beam, choice: Choice, cut_N: Tensor | None, nodes_BK: Tensor | None
    ) -> None:
        """Keep the hypotheses that wrote the end symbol in this step."""
        at = choice.ended_BK.nonzero(as_tuple=True)
        if not at[0].numel():
            return
        rows_E = at[0] * beam.width + choice.parents_BK[at]
        newest_E1 = choice.log_probs_BK[at][:, None]
        found = _build_hypotheses(
            beam.tokens_NT[rows_E],
            torch.cat([beam.log_probs_NT[rows_E], newest_E1], dim=1),
            self._scores(beam, rows_E, choice.totals_BK[at], beam.length + 1),
            _find_endings(rows_E, cut_N),
        )
        sources_E = beam.sources_B[at[0]]
        self._keep(sources_E, found, None if nodes_BK is None else nodes_BK[at])
        to_beat = [self.finished[s].score_to_beat(self.settings.n_best) for s in sources_E.tolist()]
        self._to_beat_B[sources_E] = self._to_beat_B.new_tensor(to_beat)

    def _extend(self, beam: Beam, choice: Choice, nodes_BK: Tensor | None) -> tuple[Beam, Tensor]:
        """Return the beam one token longer, and the row that each of its rows continues."""
        first_B = torch.arange(0, beam.totals_BW.numel(), beam.width, device=beam.sources_B.device)
        rows_BW = first_B[:, None] + choice.parents_BK.gather(1, choice.kept_BW)
        rows_N = rows_BW.view(-1)
        tokens_N1 = choice.tokens_BK.gather(1, choice.kept_BW).view(-1, 1)
        log_probs_N1 = choice.log_probs_BK.gather(1, choice.kept_BW).view(-1, 1)
        grown = Beam(
            sources_B=beam.sources_B,
            totals_BW=choice.totals_BK.gather(1, choice.kept_BW),
            tokens_NT=torch.cat([beam.tokens_NT[rows_N], tokens_N1], dim=1),
            log_probs_NT=torch.cat([beam.log_probs_NT[rows_N], log_probs_N1], dim=1),
            attended_NS=None if beam.attended_NS is None else beam.attended_NS[rows_N],
            nodes_BW=None if nodes_BK is None else nodes_BK.gather(1, choice.kept_BW),
        )
        return grown, rows_BW

    def _end_loops(self, beam: Beam) -> Beam:
        """End the rows that loop."""
        if self._guard is None:
            return beam
        looping_N = self._guard(beam.tokens_NT, beam.row_sources)
        if looping_N is None:
            return beam
        which_BW = looping_N.view_as(beam.totals_BW) & (beam.totals_BW > -math.inf)
        rows_E = which_BW.view(-1).nonzero()[:, 0]
        return self._end_rows(beam, which_BW, rows_E) if rows_E.numel() else beam

    def _end_rows(self, beam: Beam, which_BW: Tensor, rows_E: Tensor) -> Beam:
        """End these rows as they are, without an end symbol."""
        scores_E = self._scores(beam, rows_E, beam.totals_BW.view(-1)[rows_E], beam.length)
        endings: list[Ending] = ["loop"] * rows_E.numel()
        found = _build_hypotheses(
            beam.tokens_NT[rows_E], beam.log_probs_NT[rows_E], scores_E, endings
        )
        sources_E = beam.row_sources[rows_E]
        nodes_E = None if beam.nodes_BW is None else beam.nodes_BW.reshape(-1)[rows_E]
        self._keep(sources_E, found, nodes_E)
        if self.recorder is not None and nodes_E is not None:
            cut = zip(sources_E.tolist(), nodes_E.tolist(), scores_E.tolist(), strict=True)
            for source, node, score in cut:
                self.recorder.cut(source, node, score)
        return replace(beam, totals_BW=beam.totals_BW.masked_fill(which_BW, -math.inf))

    def _keep(self, sources_E: Tensor, found: list[Hypothesis], nodes_E: Tensor | None) -> None:
        nodes = [-1] * len(found) if nodes_E is None else nodes_E.tolist()
        for source, hypothesis, node in zip(sources_E.tolist(), found, nodes, strict=True):
            self.finished[source].add(hypothesis, node)

    def _scores(self, beam: Beam, rows_E: Tensor, totals_E: Tensor, length: int) -> Tensor:
        """Return the scores of hypotheses of `length` tokens that end in these rows."""
        scores_E = totals_E / length_penalty(length, self.settings)
        if beam.attended_NS is None:
            return scores_E
        return scores_E + coverage_penalty(beam.attended_NS[rows_E], self.settings)

    def _find_done(self, beam: Beam) -> Tensor:
        """Return the sources with nothing under way, or nothing that could change the result."""
        best_B = beam.totals_BW.amax(dim=1)
        if best_B.isnan().any():
            raise TranslucidError(
                "the network returned log-probabilities that are not numbers (NaN); its weights "
                "are probably damaged"
            )
        certain_B = cannot_be_beaten(
            best_B, self._to_beat_B[beam.sources_B], self._max_penalty_B[beam.sources_B]
        )
        return certain_B | (best_B == -math.inf)

    def _record(self, beam: Beam, choice: Choice) -> Tensor | None:
        """Record all candidates; return their numbers in the trees."""
        if self.recorder is None or beam.nodes_BW is None:
            return None
        first_B = torch.arange(0, beam.totals_BW.numel(), beam.width, device=beam.sources_B.device)
        rows_BK = first_B[:, None] + choice.parents_BK
        scores_BK = self._scores(
            beam, rows_BK.view(-1), choice.totals_BK.view(-1), beam.length + 1
        ).view_as(choice.totals_BK)
        kept_BK = torch.zeros_like(choice.ended_BK).scatter_(1, choice.kept_BW, True)
        at = (choice.totals_BK > -math.inf).nonzero(as_tuple=True)
        facts = zip(
            beam.sources_B[at[0]].tolist(),
            beam.nodes_BW.gather(1, choice.parents_BK)[at].tolist(),
            choice.tokens_BK[at].tolist(),
            choice.log_probs_BK[at].tolist(),
            scores_BK[at].tolist(),
            kept_BK[at].tolist(),
            choice.ended_BK[at].tolist(),
            strict=True,
        )
        nodes = []
        for source, parent, token, log_prob, score, kept, ended in facts:
            status: Status = "finished" if ended else "kept" if kept else "dropped"
            nodes.append(self.recorder.add(source, parent, token, log_prob, score, status))
        nodes_BK = torch.full_like(choice.tokens_BK, -1)
        nodes_BK[at] = nodes_BK.new_tensor(nodes)
        return nodes_BK

    def _record_stops(
        self,
        recorder: Recorder,
        beam: Beam,
        alive_BW: Tensor,
        cut_BW: Tensor | None,
        done_B: Tensor,
    ) -> None:
        """Record why sources are done.

        `alive_BW` are the totals before loops were ended; `cut_BW` says which rows the limit cut
        short.
        """
        for place in done_B.nonzero()[:, 0].tolist():
            reason: Stop = "end"
            if bool((beam.totals_BW[place] > -math.inf).any()):
                reason = "bound"
            elif bool((alive_BW[place] > -math.inf).any()):
                reason = "loop"
            elif cut_BW is not None and bool(cut_BW[place].any()):
                reason = "limit"
            source = int(beam.sources_B[place])
            recorder.stop(source, self.finished[source].best_nodes(self.settings.n_best), reason)


def _find_endings(rows_E: Tensor, cut_N: Tensor | None) -> list[Ending]:
    """Return the endings of rows that have just written the end symbol."""
    if cut_N is None:
        return ["end"] * rows_E.numel()
    return ["limit" if cut else "end" for cut in cut_N[rows_E].tolist()]


def _build_hypotheses(
    tokens_ET: Tensor, log_probs_ET: Tensor, scores_E: Tensor, endings: list[Ending]
) -> list[Hypothesis]:
    """Return rows as hypotheses."""
    parts = (tokens_ET.tolist(), log_probs_ET.tolist(), endings, scores_E.tolist())
    return [Hypothesis(tuple(t), tuple(p), e, score) for t, p, e, score in zip(*parts, strict=True)]


def _select_sources(beam: Beam, rows_BW: Tensor, places_B: Tensor) -> tuple[Beam, Tensor]:
    """Return the beam, and the rows it continues, for these sources only."""
    offsets_W = torch.arange(beam.width, device=places_B.device)
    rows_N = (places_B[:, None] * beam.width + offsets_W).view(-1)
    smaller = Beam(
        sources_B=beam.sources_B[places_B],
        totals_BW=beam.totals_BW[places_B],
        tokens_NT=beam.tokens_NT[rows_N],
        log_probs_NT=beam.log_probs_NT[rows_N],
        attended_NS=None if beam.attended_NS is None else beam.attended_NS[rows_N],
        nodes_BW=None if beam.nodes_BW is None else beam.nodes_BW[places_B],
    )
    return smaller, rows_BW[places_B]


def _is_identity(rows_N: Tensor, size: int) -> bool:
    """Tell whether the rows are all that there are, in order."""
    return rows_N.numel() == size and torch.equal(
        rows_N, torch.arange(size, device=rows_N.device, dtype=rows_N.dtype)
    )
