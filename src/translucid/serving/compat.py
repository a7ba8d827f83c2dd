"""LibreTranslate's endpoints, so that clients made for it work unchanged.

Differences: languages are those of the served models; HTML is refused, not translated; there are no
files and no suggestions. Errors are `{"error": …}`, as there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from translucid.decoding.settings import SearchConfig
from translucid.serving.answers import json_answer
from translucid.serving.bodies import takes, validated
from translucid.serving.compat_forms import (
    DetectedFields,
    LibreDetectBody,
    LibreError,
    LibreHealth,
    LibreLanguage,
    LibreTranslateBody,
    LibreTranslation,
    libre_body,
)
from translucid.serving.detection import Detected, detect
from translucid.serving.gates import bearer, check_key
from translucid.serving.language_names import language_name
from translucid.serving.problems import Fault, Problem, invalid
from translucid.serving.state import ServerState
from translucid.serving.text_log import log_texts
from translucid.translator import Translation, TranslationRequest

AUTO = "auto"
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": LibreError, "description": description}
    for status, description in {
        400: "Something in the request cannot be used",
        403: "The API key is missing or wrong, or a page of another site sent this",
        408: "The body came too slowly",
        413: "The body is too large",
        421: "This server does not go by that name",
        429: "The server is busy",
        431: "The headers are too large",
        500: "Something went wrong in the server",
        503: "The server is shutting down",
        504: "The answer took too long",
    }.items()
}
_ALTERNATIVE_BEAM = 4  # alternatives of a narrower beam would hardly be worth reading


def router(state: ServerState) -> APIRouter:
    """Return LibreTranslate's endpoints."""
    routes = APIRouter(tags=["LibreTranslate"], responses=_ERRORS)
    _add_translation(routes, state)
    _add_detection(routes, state)
    _add_languages(routes, state)
    _add_health(routes, state)
    return routes


def _add_translation(routes: APIRouter, state: ServerState) -> None:
    @routes.post(
        "/translate", response_model=LibreTranslation, openapi_extra=takes(LibreTranslateBody)
    )
    async def translate(request: Request) -> Response:
        """Translate a text or several; JSON or a form."""
        asked = await libre_body(request, LibreTranslateBody)
        check_key(state.access, asked.api_key or bearer(request.scope))
        if asked.format == "html":
            raise Problem(
                "unusable-input",
                "format 'html' is not supported, markup would be translated like words: send the "
                "text alone, with format 'text'",
            )
        texts = [asked.q] if isinstance(asked.q, str) else asked.q
        _check(state, asked)
        detected = None
        sources = [asked.source] * len(texts)
        if asked.source == AUTO:
            detected = await _sources(state, texts, asked.target)
            sources = [one.language for one in detected]
        found = await _translated(state, texts, sources, asked)
        return json_answer(_told(asked, found, detected))


def _check(state: ServerState, asked: LibreTranslateBody) -> None:
    """Refuse languages that no model has, and more alternatives than may be asked for."""
    sources = {source for source, _ in state.models.directions}
    targets = {target for _, target in state.models.directions}
    faults = []
    most = min(state.settings.max_n_best, state.settings.max_beam) - 1
    if asked.alternatives > most:
        faults.append(Fault("alternatives", f"{asked.alternatives} is above the limit of {most}"))
    if asked.source != AUTO and asked.source not in sources:
        faults.append(_unsupported("source", asked.source, [AUTO, *sorted(sources)]))
    if asked.target not in targets:
        faults.append(_unsupported("target", asked.target, sorted(targets)))
    if faults:
        raise invalid(faults)


def _unsupported(field: str, value: str, there: Sequence[str]) -> Fault:
    return Fault(field, f"{value!r} is not supported; there are {', '.join(there)}")


async def _sources(state: ServerState, texts: Sequence[str], target: str) -> list[Detected]:
    """Return for each text the likeliest of the languages that can be translated into `target`."""
    served = _served(state)
    possible = {source for source, into in state.models.directions if into == target}
    rankings = await state.engine.run(lambda: [detect(text, served) for text in texts])
    return [next(one for one in ranking if one.language in possible) for ranking in rankings]


def _served(state: ServerState) -> list[str]:
    return sorted({language for pair in state.models.directions for language in pair})


async def _translated(
    state: ServerState, texts: Sequence[str], sources: Sequence[str], asked: LibreTranslateBody
) -> list[Translation]:
    """Translate each text with the model of its languages; the order is kept."""

    async def group(source: str) -> dict[int, Translation]:
        numbers = [number for number, other in enumerate(sources) if other == source]
        served = state.models.choose(None, source, asked.target)
        some = [texts[number] for number in numbers]
        default, most = served.translator.default_search, state.settings.max_beam
        search = _search(default, asked.alternatives, most)
        request = TranslationRequest(target=asked.target, search=search)
        done = await state.engine.translate(served, some, request)
        log_texts(state, some, [one.text for one in done])
        return dict(zip(numbers, done, strict=True))

    groups = [asyncio.ensure_future(group(source)) for source in dict.fromkeys(sources)]
    found: dict[int, Translation] = {}
    try:
        for part in await asyncio.gather(*groups):
            found |= part
    finally:
        for one in groups:  # where one has failed, nobody waits for the others
            one.cancel()
    return [found[number] for number in range(len(texts))]


def _search(default: SearchConfig, alternatives: int, most: int) -> SearchConfig:
    """Return a search that finds so many alternatives, with a beam of `most` at most."""
    if not alternatives:
        return default
    beam = max(default.beam, alternatives + 1, min(most, _ALTERNATIVE_BEAM))
    return default.replace(method="beam", beam=beam, n_best=alternatives + 1)


def _told(
    asked: LibreTranslateBody, found: Sequence[Translation], detected: Sequence[Detected] | None
) -> dict[str, Any]:
    """Return translations as LibreTranslate tells them: lists only where a list was sent."""
    one = isinstance(asked.q, str)
    told: dict[str, Any] = {"translatedText": [each.text for each in found]}
    if asked.alternatives:
        told["alternatives"] = [[c.text for c in each.n_best[1:]] for each in found]
    if detected is not None:
        told["detectedLanguage"] = list(detected)
    return {name: each[0] for name, each in told.items()} if one else told


def _add_detection(routes: APIRouter, state: ServerState) -> None:
    async def answer(text: str, key: str | None) -> Response:
        check_key(state.access, key)
        found = await state.engine.run(detect, text, _served(state))
        return json_answer(found)

    @routes.post(
        "/detect", response_model=list[DetectedFields], openapi_extra=takes(LibreDetectBody)
    )
    async def detect_sent(request: Request) -> Response:
        """Detect the language of a text, among those that are served; JSON or a form."""
        asked = await libre_body(request, LibreDetectBody)
        return await answer(asked.q, asked.api_key or bearer(request.scope))

    @routes.get("/detect", response_model=list[DetectedFields])
    async def detect_named(
        request: Request,
        q: Annotated[str, Query(description="text")],
        api_key: Annotated[str | None, Query(description="API key")] = None,
    ) -> Response:
        """Detect the language of a short text in the address."""
        asked = validated(LibreDetectBody, {"q": q, "api_key": api_key}, state.settings)
        return await answer(asked.q, asked.api_key or bearer(request.scope))


def _add_languages(routes: APIRouter, state: ServerState) -> None:
    @routes.get("/languages", response_model=list[LibreLanguage])
    async def languages() -> Response:
        """List the languages that can be translated, and into which."""
        directions = state.models.directions
        return json_answer(
            [
                {
                    "code": code,
                    "name": language_name(code),
                    "targets": sorted({target for source, target in directions if source == code}),
                }
                for code in _served(state)
            ]
        )


def _add_health(routes: APIRouter, state: ServerState) -> None:
    @routes.get("/health", response_model=LibreHealth)
    async def health() -> Response:
        """Tell that the server answers."""
        return json_answer({"status": "ok"})

    @routes.get("/frontend/settings", response_model=dict[str, Any])
    async def frontend_settings() -> Response:
        """Tell what LibreTranslate's page wants to know."""
        source, target = state.models.directions[0]
        keys = bool(len(state.access.keys))
        return json_answer(
            {
                "apiKeys": keys,
                "keyRequired": keys,
                "charLimit": state.settings.max_characters,
                "frontendTimeout": 500,
                "suggestions": False,
                "filesTranslation": False,
                "supportedFilesFormat": [],
                "language": {
                    "source": {"code": source, "name": language_name(source)},
                    "target": {"code": target, "name": language_name(target)},
                },
            }
        )
