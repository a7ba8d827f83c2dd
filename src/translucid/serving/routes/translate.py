"""Endpoints that translate and score."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import StreamingResponse
from pydantic_core import to_json

from translucid.errors import InputError
from translucid.serving.problems import (
    REQUEST_ERRORS,
    internal_problem,
    json_response,
    problem_from_error,
)
from translucid.serving.request_bodies import json_body, post
from translucid.serving.schemas import (
    RequestBody,
    ScoreAnswer,
    ScoreBody,
    StreamBody,
    TranslateAnswer,
    TranslateBody,
    build_search,
)
from translucid.serving.served_models import ServedModel
from translucid.serving.state import ServerState
from translucid.translator import Alignment, PartialTranslation, Translation, TranslationRequest

EVENT_STREAM = "text/event-stream"
_SSE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events: `partial` {stable, tail, beams}; at the end `done` "
        "{model, target, translation} or `problem`",
        "content": {
            EVENT_STREAM: {
                "schema": {
                    "type": "object",
                    "properties": {
                        "event": {"enum": ["partial", "done", "problem"]},
                        "data": {"type": "string", "contentMediaType": "application/json"},
                    },
                    "required": ["event", "data"],
                }
            }
        },
    }
}

TranslateInput = Annotated[TranslateBody, Depends(json_body(TranslateBody))]
StreamInput = Annotated[StreamBody, Depends(json_body(StreamBody))]
ScoreInput = Annotated[ScoreBody, Depends(json_body(ScoreBody))]


def router(state: ServerState) -> APIRouter:
    """Return the endpoints that translate and score."""
    routes = APIRouter(tags=["translate"])
    _add_translate(routes, state)
    _add_stream(routes, state)

    @post(routes, "/v1/score", ScoreBody, ScoreAnswer)
    async def score(body: ScoreInput) -> Response:
        """Score given translations: log P of each token and of the whole."""
        served = state.models.choose(body.model, body.source, body.target)
        target = served.target(body.source, body.target, body.sources)
        scores = await state.engine.score(served, body.sources, body.targets, target=target)
        state.log_texts(body.sources, body.targets)
        return json_response({"model": served.name, "scores": scores})

    return routes


def _add_translate(routes: APIRouter, state: ServerState) -> None:
    @post(routes, "/v1/translate", TranslateBody, TranslateAnswer)
    async def translate(body: TranslateInput) -> Response:
        """Translate texts: a list in, a list out, in the same order."""
        served = state.models.choose(body.model, body.source, body.target)
        target = served.target(body.source, body.target, body.texts)
        prefixes = "" if body.prefixes is None else tuple(body.prefixes)
        request = _build_request(state, body, served, target, prefixes)
        translations = await state.engine.translate(served, body.texts, request)
        state.log_texts(body.texts, [one.text for one in translations])
        check_alignments(translations, state.settings.max_alignment)
        return json_response(
            {
                "model": served.name,
                "source": source_language(served, body.source, target),
                "target": target,
                "translations": [translation_json(one) for one in translations],
            }
        )


def _add_stream(routes: APIRouter, state: ServerState) -> None:
    @post(routes, "/v1/translate/stream", StreamBody, None, response_class=Response, responses=_SSE)
    async def stream(body: StreamInput, request: Request) -> Response:
        """Translate one text and tell what there is as it grows, as server-sent events."""
        served = state.models.choose(body.model, body.source, body.target)
        target = served.target(body.source, body.target, [body.text])
        wanted = _build_request(state, body, served, target, body.prefix)
        partials = state.engine.stream(served, body.text, wanted)
        first = await anext(partials)  # what is wrong with the request is raised here
        return event_stream(
            _events(state, served, target, first, partials, request.scope["request_id"]),
            state.settings.heartbeat_seconds,
        )


def _build_request(
    state: ServerState,
    body: RequestBody,
    served: ServedModel,
    target: str,
    prefix: str | tuple[str, ...],
) -> TranslationRequest:
    return TranslationRequest(
        target=target,
        search=build_search(served.translator.default_search, body.search, state.settings),
        terms=body.terms or {},
        forbidden=body.forbidden,
        keep=body.keep,
        prefix=prefix,
        alignment=body.alignment,
        token_scores=True,
    )


async def _events(
    state: ServerState,
    served: ServedModel,
    target: str,
    first: PartialTranslation,
    partials: AsyncGenerator[PartialTranslation, None],
    request_id: str,
) -> AsyncGenerator[ServerEvent, None]:
    """Yield the events of a stream, errors included, because status 200 was already sent."""
    try:
        yield _event(state, served, target, first)
        async for partial in partials:
            yield _event(state, served, target, partial)
    except REQUEST_ERRORS as error:
        yield ServerEvent("problem", problem_from_error(error).to_json())
    except Exception:
        yield ServerEvent("problem", internal_problem(request_id).to_json())
        raise  # to the log
    finally:
        await partials.aclose()


def _event(
    state: ServerState, served: ServedModel, target: str, partial: PartialTranslation
) -> ServerEvent:
    if partial.translation is None:
        return ServerEvent("partial", partial_json(partial))
    state.log_texts([partial.translation.source], [partial.translation.text])
    check_alignments([partial.translation], state.settings.max_alignment)
    told = {"model": served.name, "target": target}
    return ServerEvent("done", {**told, "translation": translation_json(partial.translation)})


def source_language(served: ServedModel, body: str | None, target: str) -> str | None:
    """Return the language of the texts: the given one, or the only possible one."""
    sources = [one for one, other in served.translator.directions if other == target]
    return body or (sources[0] if len(sources) == 1 else None)


def check_alignments(translations: Sequence[Translation], most: int) -> None:
    """Refuse alignments of too many numbers: they grow with the square of a text's length."""
    each = [one.alignment for one in translations if one.alignment is not None]
    numbers = sum(len(one.source_tokens) * len(one.target_tokens) for one in each)
    if numbers > most:
        raise InputError(
            f"the alignments would have {numbers} numbers; this server sends at most "
            f"{most} (max_alignment): send fewer or shorter texts, or leave alignment out"
        )


def translation_json(translation: Translation) -> dict[str, Any]:
    """Return a translation as JSON."""
    alignment = translation.alignment
    return {
        "source": translation.source,
        "text": translation.text,
        "score": translation.score,
        "log_prob": translation.log_prob,
        "tokens": translation.tokens,
        "log_probs": translation.log_probs,
        "confidence": translation.confidence,
        "flags": translation.flags,
        "n_best": translation.n_best,
        "alignment": None if alignment is None else _alignment_json(alignment),
    }


def _alignment_json(alignment: Alignment) -> dict[str, Any]:
    return {
        "source_tokens": alignment.source_tokens,
        "target_tokens": alignment.target_tokens,
        "weights": alignment.weights,
        "links": alignment.links,
    }


def partial_json(partial: PartialTranslation) -> dict[str, Any]:
    """Return a partial translation of a stream as JSON."""
    return {"stable": partial.stable, "tail": partial.tail, "beams": partial.beams}


_HEARTBEAT = b": still at work\n\n"
# A proxy that collects an answer before it passes it on would make a stream of no use.
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@dataclass(frozen=True)
class ServerEvent:
    """A server-sent event: its name, and its data as JSON, which has no line breaks."""

    name: str
    data: Any

    def encode(self) -> bytes:
        """Return the bytes to send."""
        return b"event: %s\ndata: %s\n\n" % (self.name.encode(), to_json(self.data))


def event_stream(events: AsyncGenerator[ServerEvent, None], heartbeat: float) -> StreamingResponse:
    """Return a response that sends events as they come, and a comment where none comes for long.

    When the client disconnects, the generator of the events is closed.
    """
    return StreamingResponse(_encode(events, heartbeat), 200, _HEADERS, EVENT_STREAM)


async def _encode(
    events: AsyncGenerator[ServerEvent, None], heartbeat: float
) -> AsyncIterator[bytes]:
    coming: asyncio.Future[ServerEvent] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait((coming,), timeout=heartbeat)
            if not done:
                yield _HEARTBEAT
                continue
            event, coming = await _next_event(coming), None
            if event is None:
                return
            yield event.encode()
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.wait((coming,))
        await events.aclose()


async def _next_event(coming: asyncio.Future[ServerEvent]) -> ServerEvent | None:
    """Return the next event, or None at the end."""
    try:
        return await coming
    except StopAsyncIteration:
        return None
