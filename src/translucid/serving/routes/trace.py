"""Endpoints that look into a translation: make a trace, read it, read its tensors, its lenses."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic_core import to_json

from translucid.decoding.settings import SearchConfig
from translucid.interpret.ablation import disable_heads
from translucid.interpret.explain import encode_prefix, explain
from translucid.interpret.network import AttentionHead
from translucid.interpret.next_tokens import NextTokens, next_tokens
from translucid.interpret.page import lens_json, saved_page
from translucid.interpret.trace_file import file_bytes, file_parts
from translucid.interpret.trace_json import trace_json
from translucid.serving.engine.cancellation import check_wanted
from translucid.serving.problems import JSON, Fault, invalid, json_answer
from translucid.serving.request_bodies import json_body, takes
from translucid.serving.schemas import build_search, told
from translucid.serving.served_models import Served
from translucid.serving.state import ServerState
from translucid.serving.trace_schemas import (
    LensAnswer,
    NextAnswer,
    NextBody,
    TraceAnswer,
    TraceBody,
)
from translucid.serving.traces import StoredTrace, large_ones_told, new_id, tensor_bytes
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

Asked = Annotated[TraceBody, Depends(json_body(TraceBody))]
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

    @routes.post(
        "/v1/trace",
        status_code=201,
        response_model=TraceAnswer,
        openapi_extra=takes(TraceBody),
        responses=_NOT_KEPT,
    )
    async def make_trace(asked: Asked) -> Response:
        """Translate one sentence and keep everything that the network did."""
        served = state.models.choose(asked.model, asked.source, asked.target)
        search = build_search(served.translator.default_search, asked.search, state.settings)
        limit = state.settings.max_trace_bytes
        with large_ones_told():
            stored = await state.engine.run(_made, served, asked, search, limit)
        state.log_texts([asked.text], [stored.trace.translation])
        if not asked.keep:
            return Response(stored.body, 200, media_type=JSON)
        state.traces.add(stored)
        place = {"Location": f"/v1/trace/{stored.id}"}
        return Response(stored.body, 201, place, JSON)

    @routes.get("/v1/trace/{id}", response_model=TraceAnswer, responses={**_SAME, **told(404)})
    async def read_trace(id: str, request: Request) -> Response:  # noqa: A002
        """Read a trace that was made before."""
        stored = state.traces.find(id)
        return unchanged(request, id) or Response(stored.body, 200, kept(id), JSON)

    @routes.get(
        "/v1/trace/{id}/tensors/{name}",
        response_class=Response,
        responses={**_BYTES, **_SAME, **told(404)},
    )
    def read_tensor(id: str, name: str, request: Request, at: At = None) -> Response:  # noqa: A002
        """Read one tensor of a trace, or a part of it."""
        found = tensor_bytes(state.traces.find(id).trace, name, at)
        tag = f"{id}.{name}" if at is None else f"{id}.{name}.{at}"
        shape = {"X-Shape": ",".join(map(str, found.shape))}
        return unchanged(request, tag) or Response(found.data, 200, {**kept(tag), **shape}, OCTETS)

    @routes.get("/v1/trace/{id}/lens", response_model=LensAnswer, responses={**_SAME, **told(404)})
    async def read_lens(id: str, request: Request) -> Response:  # noqa: A002
        """Read what every layer would have said; of a trace of the level "full"."""
        stored, tag = state.traces.find(id), f"{id}.lens"
        if same := unchanged(request, tag):
            return same
        return json_answer(await state.engine.run(_lenses, stored), headers=kept(tag))

    @routes.get("/v1/trace/{id}/file", response_class=Response, responses={**_FILE, **told(404)})
    def read_file(id: str) -> Response:  # noqa: A002
        """Download a trace as the file that `translucid explain --trace` reads."""
        trace = state.traces.find(id).trace
        headers = {
            "Content-Disposition": f'attachment; filename="{file_name(trace.source)}"',
            "Content-Length": str(file_bytes(trace)),
            "Cache-Control": _IMMUTABLE,
        }
        parts = (bytes(part) for part in file_parts(trace))
        return StreamingResponse(parts, headers=headers, media_type=OCTETS)

    @routes.get("/v1/trace/{id}/page", response_class=Response, responses={**_PAGE, **told(404)})
    async def read_page(id: str, address: Address = "") -> Response:  # noqa: A002
        """Download the explorer with a trace inside: one HTML file that needs no server."""
        stored = state.traces.find(id)
        saved = await state.engine.run(_saved, stored, address)
        name = file_name(stored.trace.source, ".html")
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(saved, 200, headers, "text/html; charset=utf-8")

    _add_next(routes, state)
    return routes


def _saved(stored: StoredTrace, address: str) -> bytes:
    """Return the page of a trace, by the network that made it."""
    translator = _without(stored.served, stored.without)
    target = str(json.loads(stored.body)["target"])
    page = saved_page(
        stored.trace,
        translator=translator,
        target=target,
        without=stored.without,
        address=address,
        emit=lambda _: check_wanted(),
    )
    return page.html.encode()


def _made(served: Served, asked: TraceBody, search: SearchConfig, max_bytes: int) -> StoredTrace:
    """Make a trace, and all that is told of it."""
    heads = tuple(AttentionHead(head.side, head.layer, head.head) for head in asked.without)
    target = served.target(asked.source, asked.target, [asked.text])
    trace = explain(
        _without(served, heads),
        asked.text,
        target=target,
        search=search,
        level=asked.level,
        given=asked.given,
        prefix=asked.prefix,
        max_bytes=max_bytes,
        emit=lambda _: check_wanted(),
    )
    key = new_id()
    told = trace_json(trace, key=key if asked.keep else None, target=target, without=heads)
    return StoredTrace(key, trace, served, heads, to_json(told))


def _without(served: Served, heads: tuple[AttentionHead, ...]) -> Translator:
    return disable_heads(served.translator, heads) if heads else served.translator


def _lenses(stored: StoredTrace) -> dict[str, Any]:
    """Read a trace through both lenses, by the network that made it."""
    translator = _without(stored.served, stored.without)
    return lens_json(translator, stored.trace, emit=lambda _: check_wanted())


def kept(tag: str) -> dict[str, str]:
    """Return the headers of what never changes."""
    return {"ETag": f'"{tag}"', "Cache-Control": _IMMUTABLE}


def unchanged(request: Request, tag: str) -> Response | None:
    """Return the answer to a client that has this already, or None."""
    known = request.headers.get("if-none-match", "")
    tags = {one.strip().removeprefix("W/") for one in known.split(",")}
    return Response(None, 304, kept(tag)) if f'"{tag}"' in tags or "*" in tags else None


def file_name(source: str, suffix: str = ".safetensors") -> str:
    """Return a name for the file of a trace, of plain letters and digits.

    >>> file_name("Où est l'eau ?")
    'ou-est-l-eau.safetensors'
    """
    plain = unicodedata.normalize("NFKD", source).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain)[:40].strip("-")
    return f"{words or 'trace'}{suffix}"


AskedNext = Annotated[NextBody, Depends(json_body(NextBody))]


def _add_next(routes: APIRouter, state: ServerState) -> None:
    @routes.post("/v1/next", response_model=NextAnswer, openapi_extra=takes(NextBody))
    async def read_next(asked: AskedNext) -> Response:
        """Read the distribution of the next token, with temperature and cuts as in sampling."""
        if asked.prefix is not None and asked.prefix_text is not None:
            problem = "give the beginning as token ids (prefix) or as text, not both"
            raise invalid([Fault("prefix_text", problem)])
        served = state.models.choose(asked.model, asked.source, asked.target)
        return json_answer(await state.engine.run(_next, served, asked))


def _next(served: Served, asked: NextBody) -> NextTokens:
    translator = served.translator
    prefix: Sequence[int] = asked.prefix or ()
    if asked.prefix_text is not None:
        prefix = encode_prefix(translator, asked.prefix_text)
    return next_tokens(
        translator,
        asked.text,
        prefix=prefix,
        target=served.target(asked.source, asked.target, [asked.text]),
        sampling=SearchConfig(
            method="sampling",
            temperature=asked.temperature,
            top_k=asked.top_k,
            top_p=asked.top_p,
            min_p=asked.min_p,
        ),
        count=asked.count,
    )
