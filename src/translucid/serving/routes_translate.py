"""Endpoints that translate and score."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from translucid.serving.answers import json_answer
from translucid.serving.bodies import json_body, takes
from translucid.serving.event_stream import MEDIA_TYPE, ServerEvent, event_stream
from translucid.serving.problems import TOLD, of_error, unexpected
from translucid.serving.schemas import build_search
from translucid.serving.served_models import Served
from translucid.serving.state import ServerState
from translucid.serving.text_log import log_texts
from translucid.serving.translation_json import check_alignments, partial_json, translation_json
from translucid.serving.translation_schemas import (
    RequestBody,
    ScoreAnswer,
    ScoreBody,
    StreamBody,
    TranslateAnswer,
    TranslateBody,
)
from translucid.translator import Partial, TranslationRequest

_SSE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events: `partial` {stable, tail, beams}; at the end `done` "
        "{model, target, translation} or `problem`",
        "content": {
            MEDIA_TYPE: {
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

Asked = Annotated[TranslateBody, Depends(json_body(TranslateBody))]
AskedStream = Annotated[StreamBody, Depends(json_body(StreamBody))]
AskedScore = Annotated[ScoreBody, Depends(json_body(ScoreBody))]


def router(state: ServerState) -> APIRouter:
    """Return the endpoints that translate and score."""
    routes = APIRouter(tags=["translate"])
    _add_translate(routes, state)
    _add_stream(routes, state)

    @routes.post("/v1/score", response_model=ScoreAnswer, openapi_extra=takes(ScoreBody))
    async def score(asked: AskedScore) -> Response:
        """Score given translations: log P of each token and of the whole."""
        served = state.models.choose(asked.model, asked.source, asked.target)
        target = served.target(asked.source, asked.target, asked.sources)
        scores = await state.engine.score(served, asked.sources, asked.targets, target=target)
        log_texts(state, asked.sources, asked.targets)
        return json_answer({"model": served.name, "scores": scores})

    return routes


def _add_translate(routes: APIRouter, state: ServerState) -> None:
    @routes.post(
        "/v1/translate", response_model=TranslateAnswer, openapi_extra=takes(TranslateBody)
    )
    async def translate(asked: Asked) -> Response:
        """Translate texts: a list in, a list out, in the same order."""
        served = state.models.choose(asked.model, asked.source, asked.target)
        target = served.target(asked.source, asked.target, asked.texts)
        prefixes = "" if asked.prefixes is None else tuple(asked.prefixes)
        request = _build_request(state, asked, served, target, prefixes)
        translations = await state.engine.translate(served, asked.texts, request)
        log_texts(state, asked.texts, [one.text for one in translations])
        check_alignments(translations, state.settings.max_alignment)
        return json_answer(
            {
                "model": served.name,
                "source": source_of(served, asked.source, target),
                "target": target,
                "translations": [translation_json(one) for one in translations],
            }
        )


def _add_stream(routes: APIRouter, state: ServerState) -> None:
    @routes.post(
        "/v1/translate/stream",
        response_class=Response,
        openapi_extra=takes(StreamBody),
        responses=_SSE,
    )
    async def stream(asked: AskedStream, request: Request) -> Response:
        """Translate one text and tell what there is as it grows, as server-sent events."""
        served = state.models.choose(asked.model, asked.source, asked.target)
        target = served.target(asked.source, asked.target, [asked.text])
        wanted = _build_request(state, asked, served, target, asked.prefix)
        partials = state.engine.stream(served, asked.text, wanted)
        first = await anext(partials)  # what is wrong with the request is raised here
        return event_stream(
            _events(state, served, target, first, partials, request.scope["request_id"]),
            state.settings.heartbeat_seconds,
        )


def _build_request(
    state: ServerState,
    asked: RequestBody,
    served: Served,
    target: str,
    prefix: str | tuple[str, ...],
) -> TranslationRequest:
    return TranslationRequest(
        target=target,
        search=build_search(served.translator.default_search, asked.search, state.settings),
        terms=asked.terms or {},
        forbidden=asked.forbidden,
        keep=asked.keep,
        prefix=prefix,
        alignment=asked.alignment,
    )


async def _events(
    state: ServerState,
    served: Served,
    target: str,
    first: Partial,
    partials: AsyncGenerator[Partial, None],
    request_id: str,
) -> AsyncGenerator[ServerEvent, None]:
    """Yield what a stream tells; what goes wrong on the way is told too, for the 200 is sent."""
    try:
        yield _event(state, served, target, first)
        async for partial in partials:
            yield _event(state, served, target, partial)
    except TOLD as error:
        yield ServerEvent("problem", of_error(error).to_json())
    except Exception:
        yield ServerEvent("problem", unexpected(request_id).to_json())
        raise  # to the log
    finally:
        await partials.aclose()


def _event(state: ServerState, served: Served, target: str, partial: Partial) -> ServerEvent:
    if partial.translation is None:
        return ServerEvent("partial", partial_json(partial))
    log_texts(state, [partial.translation.source], [partial.translation.text])
    check_alignments([partial.translation], state.settings.max_alignment)
    told = {"model": served.name, "target": target}
    return ServerEvent("done", {**told, "translation": translation_json(partial.translation)})


def source_of(served: Served, asked: str | None, target: str) -> str | None:
    """Return the language of the texts: the one named, or the only one that it can be."""
    sources = [one for one, other in served.translator.directions if other == target]
    return asked or (sources[0] if len(sources) == 1 else None)
