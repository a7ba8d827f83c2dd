"""Endpoints that compare two sentences: where a decision is made, and whether that holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from translucid.decoding.config import SearchConfig
from translucid.interpret.ablation import HeadMargins, measure_head_margins
from translucid.interpret.decision import Contrast
from translucid.interpret.explain import explain
from translucid.interpret.minimal_pairs import (
    Repetition,
    explain_against,
    measure_against,
    repeat_patching,
)
from translucid.interpret.network import AttentionHead
from translucid.interpret.patched_runs import Cell
from translucid.interpret.patching import PatchablePair, PatchedRun, Patching, apply_patch
from translucid.interpret.trace import Trace
from translucid.serving.engine.tasks import check_cancelled
from translucid.serving.problems import Fault, invalid_fields, json_response
from translucid.serving.request_bodies import json_body, post
from translucid.serving.routes.trace import check_tokens, disabled
from translucid.serving.schemas import build_search
from translucid.serving.served_models import ServedModel
from translucid.serving.state import ServerState
from translucid.serving.trace_schemas import (
    DecisionBody,
    HeadMarginsBody,
    PairBody,
    PatchBody,
    PatchCellsBody,
    PatchedAnswer,
    RepeatBody,
)
from translucid.translator import Translator

PatchInput = Annotated[PatchBody, Depends(json_body(PatchBody))]
CellsInput = Annotated[PatchCellsBody, Depends(json_body(PatchCellsBody))]
HeadsInput = Annotated[HeadMarginsBody, Depends(json_body(HeadMarginsBody))]
RepeatInput = Annotated[RepeatBody, Depends(json_body(RepeatBody))]


def router(state: ServerState) -> APIRouter:
    """Return the endpoints of patching."""
    routes = APIRouter(tags=["trace"])

    @post(routes, "/v1/patch", PatchBody, Patching)
    async def measure_patching(body: PatchInput) -> Response:
        """Say which states and heads decide where the translations of two sentences part."""
        pair = _choose(state, body)
        return json_response(await state.engine.run(_measure, pair, body))

    @post(routes, "/v1/patch/cells", PatchCellsBody, PatchedAnswer)
    async def patch_cells(body: CellsInput) -> Response:
        """Patch some cells together, and read what the two sentences become then."""
        pair = _choose(state, body)
        forward, backward = await state.engine.run(_patch, pair, body)
        return json_response({"forward": forward, "backward": backward})

    @post(routes, "/v1/patch/repeat", RepeatBody, Repetition)
    async def repeat_patch(body: RepeatInput) -> Response:
        """Measure the same decision in other sentences, made by exchanging the same words."""
        pair = _choose(state, body)
        return json_response(await state.engine.run(_repeat, pair, body))

    @post(routes, "/v1/heads", HeadMarginsBody, HeadMargins)
    async def measure_heads(body: HeadsInput) -> Response:
        """Switch off each head by itself, and read what becomes of one decision."""
        served = state.models.choose(body.model, body.source, body.target)
        search = build_search(served.translator.default_search, body.search, state.settings)
        limit = state.settings.max_patch_tokens
        return json_response(await state.engine.run(_try_heads, served, body, search, limit))

    return routes


def _try_heads(
    served: ServedModel, body: HeadMarginsBody, search: SearchConfig, most: int
) -> HeadMargins:
    trace = explain(
        served.translator,
        body.text,
        target=served.target(body.source, body.target, [body.text]),
        search=search,
        level="light",
        prefix=body.prefix,
        on_event=lambda _: check_cancelled(),
    )
    check_tokens("text", trace, most)
    first, second = body.tokens
    return measure_head_margins(served.translator, trace, Contrast(body.step, first, second))


@dataclass(frozen=True)
class _Pair:
    """The models of a request that compares, how they search, and the limit of its tokens."""

    served: ServedModel
    other: ServedModel | None
    search: SearchConfig
    max_tokens: int

    def explain(self, body: PairBody) -> _Runs:
        """Return the traces of both sentences, made without the heads that are switched off."""
        heads = tuple(AttentionHead(one.side, one.layer, one.head) for one in body.without)
        translator = disabled(self.served, heads)
        other = None if self.other is None else disabled(self.other, heads)
        target = self.served.target(body.source, body.target, [body.text])
        first = explain(
            translator,
            body.text,
            target=target,
            search=self.search,
            level="light",
            on_event=_check_cancelled,
        )
        check_tokens("text", first, self.max_tokens)
        second = explain_against(
            translator, first, body.against, target=target, other=other, on_event=_check_cancelled
        )
        check_tokens("against", second, self.max_tokens)
        return _Runs(translator, other, target, first, second)


@dataclass(frozen=True)
class _Runs:
    """Two sentences and their models; `other` reads the second, where it is another model."""

    translator: Translator
    other: Translator | None
    target: str
    first: Trace
    second: Trace

    def patchable(self, body: DecisionBody) -> PatchablePair:
        """Return the runs up to the decision that the request chooses."""
        return PatchablePair.of(
            self.translator, self.first, self.second, other=self.other, contrast=_contrast(body)
        )


def _check_cancelled(_: object) -> None:
    check_cancelled()


def _choose(state: ServerState, body: PairBody) -> _Pair:
    """Return the models of a request."""
    served = state.models.choose(body.model, body.source, body.target)
    other = None
    if body.against_model is not None:
        other = state.models.choose(body.against_model, body.source, body.target)
    search = build_search(served.translator.default_search, body.search, state.settings)
    return _Pair(served, other, search, state.settings.max_patch_tokens)


def _contrast(body: DecisionBody) -> Contrast | None:
    """Return the decision that was chosen, if one was."""
    if (body.step is None) != (body.tokens is None):
        missing = "step" if body.step is None else "tokens"
        raise invalid_fields([Fault(missing, "give both, step and tokens, or neither")])
    if body.step is None or body.tokens is None:
        return None
    first, second = body.tokens
    return Contrast(body.step, first, second)


def _measure(pair: _Pair, body: PatchBody) -> Patching:
    runs = pair.explain(body)
    return measure_against(
        runs.translator,
        runs.first,
        runs.second,
        target=runs.target,
        other=runs.other,
        contrast=_contrast(body),
        control=body.control,
        on_event=_check_cancelled,
    )


def _patch(pair: _Pair, body: PatchCellsBody) -> tuple[PatchedRun, PatchedRun]:
    return apply_patch(
        pair.explain(body).patchable(body),
        [Cell(one.part, one.layer, one.index) for one in body.cells],
    )


def _repeat(pair: _Pair, body: RepeatBody) -> Repetition:
    if pair.other is not None:
        problem = "other sentences are made of two different ones, under one model: leave it out"
        raise invalid_fields([Fault("against_model", problem)])
    runs = pair.explain(body)
    return repeat_patching(
        runs.translator,
        runs.first.source,
        runs.second.source,
        runs.patchable(body).decision(),
        target=runs.target,
        count=body.count,
        on_event=_check_cancelled,
    )
