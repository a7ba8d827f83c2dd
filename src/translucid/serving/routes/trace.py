"""Endpoints that look inside a translation: traces, their tensors and lenses, the next token."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic_core import to_json

from translucid.decoding.config import SearchConfig
from translucid.interpret.ablation import disable_heads
from translucid.interpret.decision import Contrast
from translucid.interpret.explain import encode_prefix, explain
from translucid.interpret.minimal_pairs import explain_against, measure_against
from translucid.interpret.network import AttentionHead
from translucid.interpret.next_tokens import NextTokens, next_tokens
from translucid.interpret.page import lens_json, saved_page
from translucid.interpret.trace import Trace
from translucid.interpret.trace_file import file_bytes, file_parts
from translucid.interpret.trace_json import trace_json
from translucid.serving.config import ServingConfig
from translucid.serving.engine.tasks import check_cancelled
from translucid.serving.problems import JSON, Fault, Problem, invalid_fields, json_response
from translucid.serving.request_bodies import json_body, post
from translucid.serving.schemas import build_search, problem_responses
from translucid.serving.served_models import ServedModel
from translucid.serving.state import ServerState
from translucid.serving.trace_schemas import (
    LensAnswer,
    NextAnswer,
    NextBody,
    TraceAnswer,
    TraceBody,
)
from translucid.serving.traces import StoredTrace, encode_tensor, new_id, report_too_large
from translucid.translator import Translator

OCTETS = "application/octet-stream"
_IMMUTABLE = "private, max-age=31536000, immutable"  # a trace never changes under its id
_BYTES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "the numbers: float32, little-endian, C order; −∞ stays −∞",
        "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}},
        "headers": {
            "X-Shape": {
                "description": "sizes of the dimensions, such as 4,12,12",
                "schema": {"type": "string"},
            }
        },
    }
}
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "a safetensors file",
        "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}},
    }
}
_PAGE: dict[int | str, dict[str, Any]] = {
    200: {"description": "an HTML file", "content": {"text/html": {"schema": {"type": "string"}}}}
}
_SAME: dict[int | str, dict[str, Any]] = {
    304: {"description": "The client has it already (If-None-Match)"}
}
_NOT_KEPT: dict[int | str, dict[str, Any]] = {
    200: {"model": TraceAnswer, "description": "The trace was made and is not kept (keep: false)"}
}

TraceInput = Annotated[TraceBody, Depends(json_body(TraceBody))]
At = Annotated[
    str | None,
    Query(max_length=100, description="leading indices, such as 3 or 1,0", examples=["0"]),
]

Address = Annotated[
    str,
    Query(
        max_length=20_000,
        description="where the page opens: the part of its address from # on",
        examples=["#/explore/attention"],
    ),
]


def router(state: ServerState) -> APIRouter:
    """Return the endpoints of traces."""
    routes = APIRouter(tags=["trace"])

    @post(routes, "/v1/trace", TraceBody, TraceAnswer, status_code=201, responses=_NOT_KEPT)
    async def make_trace(body: TraceInput) -> Response:
        """Translate one sentence and keep everything that the network did."""
        served = state.models.choose(body.model, body.source, body.target)
        search = build_search(served.translator.default_search, body.search, state.settings)
        other = None
        if body.against_model is not None:
            other = state.models.choose(body.against_model, body.source, body.target)
        with report_too_large():
            stored = await state.engine.run(
                _make_trace, served, other, body, search, state.settings
            )
        state.log_texts([body.text], [stored.trace.translation])
        if not body.keep:
            return Response(stored.body, 200, media_type=JSON)
        state.traces.add(stored)
        place = {"Location": f"/v1/trace/{stored.id}"}
        return Response(stored.body, 201, place, JSON)

    @routes.get(
        "/v1/trace/{id}", response_model=TraceAnswer, responses={**_SAME, **problem_responses(404)}
    )
    async def read_trace(id: str, request: Request) -> Response:  # noqa: A002
        """Read a trace that was made before."""
        stored = state.traces.find(id)
        return not_modified(request, id) or Response(stored.body, 200, cache_headers(id), JSON)

    @routes.get(
        "/v1/trace/{id}/tensors/{name}",
        response_class=Response,
        responses={**_BYTES, **_SAME, **problem_responses(404, 410)},
    )
    async def read_tensor(id: str, name: str, request: Request, at: At = None) -> Response:  # noqa: A002
        """Read one tensor of a trace, or a part of it."""
        stored = state.traces.find(id)
        wanted = partial(encode_tensor, stored, name, at, partial(_find_model, state))
        if name in stored.trace.tensors:
            found = wanted()
        else:  # it has to be computed
            found = await state.engine.run(wanted)
        tag = f"{id}.{name}" if at is None else f"{id}.{name}.{at}"
        shape = {"X-Shape": ",".join(map(str, found.shape))}
        return not_modified(request, tag) or Response(
            found.data, 200, {**cache_headers(tag), **shape}, OCTETS
        )

    @routes.get(
        "/v1/trace/{id}/lens",
        response_model=LensAnswer,
        responses={**_SAME, **problem_responses(404, 410)},
    )
    async def read_lens(id: str, request: Request) -> Response:  # noqa: A002
        """Read what every layer would have said; of a trace of the level "full"."""
        stored, tag = state.traces.find(id), f"{id}.lens"
        if same := not_modified(request, tag):
            return same
        served = _find_model(state, stored)
        return json_response(
            await state.engine.run(_read_lenses, served, stored), headers=cache_headers(tag)
        )

    @routes.get(
        "/v1/trace/{id}/file",
        response_class=Response,
        responses={**_FILE, **problem_responses(404)},
    )
    def read_file(id: str) -> Response:  # noqa: A002
        """Download a trace as the file that `translucid explain --trace` reads."""
        trace = state.traces.find(id).trace
        headers = {
            "Content-Disposition": f'attachment; filename="{file_name(trace.source)}"',
            "Content-Length": str(file_bytes(trace)),
            "Cache-Control": _IMMUTABLE,
        }
        return StreamingResponse(file_parts(trace), headers=headers, media_type=OCTETS)

    @routes.get(
        "/v1/trace/{id}/page",
        response_class=Response,
        responses={**_PAGE, **problem_responses(404, 410)},
    )
    async def read_page(id: str, address: Address = "") -> Response:  # noqa: A002
        """Download the explorer with a trace inside: one HTML file that needs no server."""
        stored = state.traces.find(id)
        served = _find_model(state, stored)
        saved = await state.engine.run(_render_page, served, stored, address)
        name = file_name(stored.trace.source, ".html")
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(saved, 200, headers, "text/html; charset=utf-8")

    _add_next(routes, state)
    return routes


def _find_model(state: ServerState, stored: StoredTrace) -> ServedModel:
    """Return the model that made a trace; raise a Problem if it was replaced since."""
    served = state.models.named(stored.model)
    if served.hash != stored.model_hash:
        raise Problem(
            "model-replaced",
            f"the model {stored.model!r} was replaced after it made this trace, whose numbers are "
            "kept; this needs the model. Make the trace again with POST /v1/trace",
        )
    return served


def _render_page(served: ServedModel, stored: StoredTrace, address: str) -> bytes:
    """Return the saved page of a trace, by the network that made it."""
    translator = disabled(served, stored.without)
    target = str(json.loads(stored.body)["target"])
    page = saved_page(
        stored.trace,
        translator=translator,
        target=target,
        without=stored.without,
        address=address,
        on_event=lambda _: check_cancelled(),
    )
    return page.html.encode()


def _make_trace(
    served: ServedModel,
    other: ServedModel | None,
    body: TraceBody,
    search: SearchConfig,
    settings: ServingConfig,
) -> StoredTrace:
    """Make a trace and its JSON."""
    heads = tuple(AttentionHead(head.side, head.layer, head.head) for head in body.without)
    target = served.target(body.source, body.target, [body.text])
    translator = disabled(served, heads)
    trace = explain(
        translator,
        body.text,
        target=target,
        search=search,
        level=body.level,
        given=body.given,
        prefix=body.prefix,
        max_bytes=settings.max_trace_bytes,
        on_event=lambda _: check_cancelled(),
    )
    if body.against is not None:
        reader = None if other is None else disabled(other, heads)
        trace = _compare(translator, reader, trace, body, target, settings.max_patch_tokens)
    elif body.decision is not None:
        raise invalid_fields([Fault("decision", "is one between two sentences: give against too")])
    elif other is not None:
        problem = "reads another sentence, or the same one again: give against too"
        raise invalid_fields([Fault("against_model", problem)])
    key = new_id()
    summary = trace_json(trace, key=key if body.keep else None, target=target, without=heads)
    return StoredTrace(key, trace, served.name, served.hash, heads, to_json(summary))


def _compare(
    translator: Translator,
    other: Translator | None,
    trace: Trace,
    body: TraceBody,
    target: str,
    most: int,
) -> Trace:
    """Return the trace with what patching against another sentence shows."""
    check_tokens("text", trace, most)
    assert body.against is not None
    chosen = body.decision
    contrast = None if chosen is None else Contrast(chosen.step, *chosen.tokens)

    def on_event(_: object) -> None:
        check_cancelled()

    second = explain_against(
        translator, trace, body.against, target=target, other=other, on_event=on_event
    )
    check_tokens("against", second, most)
    patching = measure_against(
        translator,
        trace,
        second,
        target=target,
        other=other,
        contrast=contrast,
        on_event=on_event,
    )
    return replace(trace, patching=patching)


def check_tokens(field: str, trace: Trace, most: int) -> None:
    """Refuse a sentence that is too long to be patched cell by cell."""
    count = max(len(trace.source_tokens), len(trace.steps))
    if count > most:
        problem = (
            f"has {count} tokens, itself or its translation: the limit of a sentence that is "
            f"compared is {most} (max_patch_tokens)"
        )
        raise invalid_fields([Fault(field, problem)])


def disabled(served: ServedModel, heads: tuple[AttentionHead, ...]) -> Translator:
    """Return the translator of a model without these heads."""
    return disable_heads(served.translator, heads) if heads else served.translator


def _read_lenses(served: ServedModel, stored: StoredTrace) -> dict[str, Any]:
    """Read a trace through both lenses, by the network that made it."""
    translator = disabled(served, stored.without)
    return lens_json(translator, stored.trace, on_event=lambda _: check_cancelled())


def cache_headers(tag: str) -> dict[str, str]:
    """Return the headers of an answer that never changes."""
    return {"ETag": f'"{tag}"', "Cache-Control": _IMMUTABLE}


def not_modified(request: Request, tag: str) -> Response | None:
    """Return a 304 for a client that has this already, or None."""
    known = request.headers.get("if-none-match", "")
    tags = {one.strip().removeprefix("W/") for one in known.split(",")}
    return Response(None, 304, cache_headers(tag)) if f'"{tag}"' in tags or "*" in tags else None


def file_name(source: str, suffix: str = ".safetensors") -> str:
    """Return a name for the file of a trace, of plain letters and digits.

    >>> file_name("Où est l'eau ?")
    'ou-est-l-eau.safetensors'
    """
    plain = unicodedata.normalize("NFKD", source).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain)[:40].strip("-")
    return f"{words or 'trace'}{suffix}"


NextInput = Annotated[NextBody, Depends(json_body(NextBody))]


def _add_next(routes: APIRouter, state: ServerState) -> None:
    @post(routes, "/v1/next", NextBody, NextAnswer)
    async def read_next(body: NextInput) -> Response:
        """Read the distribution of the next token, with temperature and cuts as in sampling."""
        if body.prefix is not None and body.prefix_text is not None:
            problem = "give the beginning as token ids (prefix) or as text, not both"
            raise invalid_fields([Fault("prefix_text", problem)])
        served = state.models.choose(body.model, body.source, body.target)
        return json_response(await state.engine.run(_predict_next, served, body))


def _predict_next(served: ServedModel, body: NextBody) -> NextTokens:
    translator = served.translator
    prefix: Sequence[int] = body.prefix or ()
    if body.prefix_text is not None:
        prefix = encode_prefix(translator, body.prefix_text)
    return next_tokens(
        translator,
        body.text,
        prefix=prefix,
        target=served.target(body.source, body.target, [body.text]),
        sampling=SearchConfig(
            method="sampling",
            temperature=body.temperature,
            top_k=body.top_k,
            top_p=body.top_p,
            min_p=body.min_p,
        ),
        count=body.count,
    )
