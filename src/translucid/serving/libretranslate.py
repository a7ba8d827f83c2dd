"""LibreTranslate's endpoints, so that clients made for it work unchanged.

Differences: languages are those of the served models; HTML is refused, not translated; there are no
files and no suggestions. Errors are `{"error": …}`, as there.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qsl

from fastapi import APIRouter, Query, Request, Response
from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag

from translucid.decoding.config import SearchConfig
from translucid.errors import optional
from translucid.serving.auth import bearer_key, check_key
from translucid.serving.config import ServingConfig
from translucid.serving.problems import Fault, Problem, invalid_fields, json_response
from translucid.serving.request_bodies import (
    LIST_TAG,
    TEXT_TAG,
    check_characters,
    check_media_type,
    decode_utf8,
    media_type,
    parse_json,
    post,
    validate_body,
)
from translucid.serving.schemas import Answer, AtMost, Body, Text, Texts
from translucid.serving.served_models import ServedModels
from translucid.serving.state import ServerState
from translucid.text.languages import language_name
from translucid.translator import Translation, TranslationRequest

JSON, FORM, MULTIPART = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
)
_MOST_FIELDS = 100
_DISPOSITION = re.compile(rb"^content-disposition:(.*)", re.IGNORECASE | re.MULTILINE)
BodyT = TypeVar("BodyT", bound=Body)


def _parse_number(value: Any) -> Any:
    """Return the number that a form has as text; text that is not a number is refused unchanged."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _tag(value: Any) -> str:
    return LIST_TAG if isinstance(value, list) else TEXT_TAG


TextOrTexts = Annotated[
    Annotated[Text, Tag(TEXT_TAG)] | Annotated[Texts, Tag(LIST_TAG)], Discriminator(_tag)
]


class LibreBody(Body):
    """Base of what these clients send; fields that are not known are passed over, as there."""

    model_config = ConfigDict(extra="ignore")


class LibreTranslateBody(LibreBody):
    """A text or several to translate."""

    q: TextOrTexts = Field(description="text, or list of texts", examples=["Le chat dort."])
    source: Annotated[str, Field(max_length=35)] = Field(
        description="language of the text, or 'auto'", examples=["auto"]
    )
    target: Annotated[str, Field(max_length=35)] = Field(
        description="language to translate into", examples=["en"]
    )
    format: Literal["text", "html"] = Field(
        "text", description="'text'; 'html' is known but refused: markup would be translated too"
    )
    alternatives: Annotated[
        int, BeforeValidator(_parse_number), Field(ge=0), AtMost("max_n_best")
    ] = Field(0, description="further translations of each text")
    api_key: Annotated[str, Field(max_length=1000)] | None = Field(None, description="API key")


class LibreDetectBody(LibreBody):
    """A text whose language is to be detected."""

    q: Text = Field(description="text", examples=["Le chat dort."])
    api_key: Annotated[str, Field(max_length=1000)] | None = Field(None, description="API key")


class DetectedFields(Answer):
    """A language that a text may be in."""

    confidence: float = Field(description="0 to 100", examples=[98.0])
    language: str = Field(examples=["fr"])


class LibreTranslation(Answer):
    """Translations; lists where `q` was a list. What was not requested is left out."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    translatedText: str | list[str]
    alternatives: list[str] | list[list[str]] | None = None
    detectedLanguage: DetectedFields | list[DetectedFields] | None = None


class LibreLanguage(Answer):
    """A language that is served, and those that it is translated into."""

    code: str
    name: str
    targets: list[str]


class LibreError(Answer):
    """What went wrong, as LibreTranslate tells it."""

    error: str


class LibreHealth(Answer):
    """The server answers."""

    status: str


AUTO = "auto"
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": LibreError, "description": description}
    for status, description in {
        400: "Something in the request cannot be used",
        403: "The API key is missing or wrong, or a page of another site sent this",
        408: "The body came too slowly",
        413: "The body is too large",
        421: "This server does not have that name",
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
    @post(routes, "/translate", LibreTranslateBody, LibreTranslation)
    async def translate(request: Request) -> Response:
        """Translate a text or several; JSON or a form."""
        body = await read_body(request, LibreTranslateBody)
        check_key(state.access, body.api_key or bearer_key(request.scope))
        if body.format == "html":
            raise Problem(
                "unusable-input",
                "format 'html' is not supported, markup would be translated like words: send the "
                "text alone, with format 'text'",
            )
        texts = [body.q] if isinstance(body.q, str) else body.q
        models = state.models  # which a reload may exchange before the end
        _check(state, models, body)
        detected = None
        sources = [body.source] * len(texts)
        if body.source == AUTO:
            detected = await _detect_sources(state, models, texts, body.target)
            sources = [one.language for one in detected]
        found = await _translate(state, models, texts, sources, body)
        return json_response(_build_answer(body, found, detected))


def _check(state: ServerState, models: ServedModels, body: LibreTranslateBody) -> None:
    """Refuse languages that no model has, and more alternatives than are allowed."""
    sources = {source for source, _ in models.directions}
    targets = {target for _, target in models.directions}
    faults = []
    most = min(state.settings.max_n_best, state.settings.max_beam) - 1
    if body.alternatives > most:
        faults.append(Fault("alternatives", f"{body.alternatives} is above the limit of {most}"))
    if body.source != AUTO and body.source not in sources:
        faults.append(_unsupported("source", body.source, [AUTO, *sorted(sources)]))
    if body.target not in targets:
        faults.append(_unsupported("target", body.target, sorted(targets)))
    if faults:
        raise invalid_fields(faults)


def _unsupported(field: str, value: str, there: Sequence[str]) -> Fault:
    return Fault(field, f"{value!r} is not supported; there are {', '.join(there)}")


async def _detect_sources(
    state: ServerState, models: ServedModels, texts: Sequence[str], target: str
) -> list[DetectedLanguage]:
    """Return for each text the likeliest of the languages that can be translated into `target`."""
    served = _served_languages(models)
    possible = {source for source, into in models.directions if into == target}
    rankings = await state.engine.run(lambda: [detect(text, served) for text in texts])
    return [next(one for one in ranking if one.language in possible) for ranking in rankings]


def _served_languages(models: ServedModels) -> list[str]:
    return sorted({language for pair in models.directions for language in pair})


async def _translate(
    state: ServerState,
    models: ServedModels,
    texts: Sequence[str],
    sources: Sequence[str],
    body: LibreTranslateBody,
) -> list[Translation]:
    """Translate each text with the model of its languages; the order is kept."""

    async def group(source: str) -> dict[int, Translation]:
        numbers = [number for number, other in enumerate(sources) if other == source]
        served = models.choose(None, source, body.target)
        some = [texts[number] for number in numbers]
        default, most = served.translator.default_search, state.settings.max_beam
        search = _search(default, body.alternatives, most)
        request = TranslationRequest(target=body.target, search=search)
        done = await state.engine.translate(served, some, request)
        state.log_texts(some, [one.text for one in done])
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
    """Return a search that finds this many alternatives, with a beam of `most` at most."""
    if not alternatives:
        return default
    beam = max(default.beam, alternatives + 1, min(most, _ALTERNATIVE_BEAM))
    return default.replace(method="beam", beam=beam, n_best=alternatives + 1)


def _build_answer(
    body: LibreTranslateBody,
    found: Sequence[Translation],
    detected: Sequence[DetectedLanguage] | None,
) -> dict[str, Any]:
    """Return translations as LibreTranslate tells them: lists only where a list was sent."""
    one = isinstance(body.q, str)
    told: dict[str, Any] = {"translatedText": [each.text for each in found]}
    if body.alternatives:
        told["alternatives"] = [[c.text for c in each.n_best[1:]] for each in found]
    if detected is not None:
        told["detectedLanguage"] = list(detected)
    return {name: each[0] for name, each in told.items()} if one else told


def _add_detection(routes: APIRouter, state: ServerState) -> None:
    async def answer(text: str, key: str | None) -> Response:
        check_key(state.access, key)
        found = await state.engine.run(detect, text, _served_languages(state.models))
        return json_response(found)

    @post(routes, "/detect", LibreDetectBody, list[DetectedFields])
    async def detect_sent(request: Request) -> Response:
        """Detect the language of a text, among those that are served; JSON or a form."""
        body = await read_body(request, LibreDetectBody)
        return await answer(body.q, body.api_key or bearer_key(request.scope))

    @routes.get("/detect", response_model=list[DetectedFields])
    async def detect_named(
        request: Request,
        q: Annotated[str, Query(description="text")],
        api_key: Annotated[str | None, Query(description="API key")] = None,
    ) -> Response:
        """Detect the language of a short text in the address."""
        body = validate_body(LibreDetectBody, {"q": q, "api_key": api_key}, state.settings)
        return await answer(body.q, body.api_key or bearer_key(request.scope))


def _add_languages(routes: APIRouter, state: ServerState) -> None:
    @routes.get("/languages", response_model=list[LibreLanguage])
    async def languages() -> Response:
        """List the languages that can be translated, and into which."""
        directions = state.models.directions
        return json_response(
            [
                {
                    "code": code,
                    "name": language_name(code),
                    "targets": sorted({target for source, target in directions if source == code}),
                }
                for code in _served_languages(state.models)
            ]
        )


def _add_health(routes: APIRouter, state: ServerState) -> None:
    @routes.get("/health", response_model=LibreHealth)
    async def health() -> Response:
        """Tell that the server answers."""
        return json_response({"status": "ok"})

    @routes.get("/frontend/settings", response_model=dict[str, Any])
    async def frontend_settings() -> Response:
        """Tell what LibreTranslate's page wants to know."""
        source, target = state.models.directions[0]
        keys = bool(len(state.access.keys))
        return json_response(
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


async def read_body(request: Request, model: type[BodyT]) -> BodyT:
    """Return the fields of a body in any of the encodings that these clients use."""
    settings: ServingConfig = request.app.state.settings
    check_media_type(request, JSON, FORM, MULTIPART)
    raw, kind = await request.body(), media_type(request)
    if kind == JSON:
        return validate_body(model, parse_json(raw, settings.max_json_depth), settings)
    fields = parse_form(raw) if kind == FORM else parse_multipart(raw, request.headers)
    for text in fields.values():
        check_characters(text)
    return validate_body(model, fields, settings)


def parse_form(raw: bytes) -> dict[str, str]:
    """Return the fields of a form; of several of one name, the first."""
    try:
        pairs = parse_qsl(
            decode_utf8(raw), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except UnicodeDecodeError as error:
        raise Problem(
            "bad-encoding", "a field of the form is not UTF-8: encode its text as UTF-8"
        ) from error
    except ValueError as error:
        raise _too_many_fields() from error
    return dict(reversed(pairs))


def parse_multipart(raw: bytes, headers: Any) -> dict[str, str]:
    """Return the text fields of a form in parts; of several of one name, the first."""
    boundary = _header_parameter("boundary", headers["content-type"])
    parts = _split_parts(raw, boundary.encode("latin-1")) if boundary else []
    if not parts:
        raise Problem(
            "unusable-input",
            "the parts of the form cannot be separated: name the "
            "boundary in the Content-Type, as HTTP libraries do by themselves",
        )
    if len(parts) > _MOST_FIELDS:
        raise _too_many_fields()
    fields: dict[str, str] = {}
    for part in parts:
        head, _, content = part.partition(b"\r\n\r\n")
        disposition = _DISPOSITION.search(head)
        name = _header_parameter("name", disposition[1].decode("latin-1")) if disposition else None
        if name is not None:
            fields.setdefault(name, decode_utf8(content))
    return fields


def _split_parts(raw: bytes, boundary: bytes) -> list[bytes]:
    """Return what is between the boundaries, one more part than a form may have at most."""
    line = re.compile(rb"\r\n--" + re.escape(boundary) + rb"(?=--|[ \t]*\r\n)")
    pieces = line.split(b"\r\n" + raw, _MOST_FIELDS + 2)[1:]
    return list(itertools.takewhile(lambda piece: not piece.startswith(b"--"), pieces))


def _header_parameter(name: str, header: str) -> str | None:
    """Return a parameter of a header's value.

    >>> _header_parameter("name", 'form-data; filename=a; name="q"')
    'q'
    """
    found = re.search(rf';\s*{name}=(?:"([^"]*)"|([^;\s"]+))', header, re.IGNORECASE)
    return None if found is None else found[1] or found[2]


def _too_many_fields() -> Problem:
    return Problem("unusable-input", f"the form has more than {_MOST_FIELDS} fields: send fewer")


@dataclass(frozen=True)
class DetectedLanguage:
    """A language, and how sure the recogniser is of it among those it chose from, 0 to 100."""

    confidence: float
    language: str


def detect(text: str, languages: Sequence[str]) -> list[DetectedLanguage]:
    """Return the languages in the order of how well a text fits them; one that is unknown is last.

    The recogniser's scores add up over features that overlap; divided by √bytes they are near to
    log-odds.
    """
    rank = optional("py3langid", extra="serve", job="Detecting languages").rank
    scores = dict(rank(text))
    scale = math.sqrt(max(1, len(text.encode())))
    known = {code: scores[base] / scale for code in languages if (base := _base(code)) in scores}
    best = max(known.values(), default=0.0)
    weights = {code: math.exp(score - best) for code, score in known.items()}
    total = sum(weights.values())
    found = [DetectedLanguage(round(100 * w / total, 1), code) for code, w in weights.items()]
    unknown = [DetectedLanguage(0.0, code) for code in languages if code not in known]
    return sorted(found, key=lambda one: -one.confidence) + unknown


def _base(code: str) -> str:
    """Return the language of a code such as zh-Hans, as the recogniser writes it."""
    return code.replace("_", "-").partition("-")[0].lower()
