"""Strict parsing of request bodies: whatever does not match its schema is refused, with reasons.

::

    bytes  ──►  UTF-8  ──►  JSON, whole characters, not deep  ──►  fields, limits  ──►  Body
           400         400                                    422

`middleware.RequestReader` has limited the body's size and time before.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from types import UnionType
from typing import Any, NoReturn, TypeVar, Union, get_args, get_origin

from fastapi import APIRouter, Request
from pydantic import BaseModel, ValidationError

from translucid.errors import nearest
from translucid.serving.config import ServingConfig
from translucid.serving.problems import Fault, Problem, invalid_fields
from translucid.serving.schemas import Body

BodyT = TypeVar("BodyT", bound=Body)
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
# Tags of a union; they are not part of the path of a fault.
TEXT_TAG, LIST_TAG = "(text)", "(list)"
_MOST_FAULTS = 20  # reported per body
_SHOWN = 60  # characters of a wrong value that a message shows


def json_body(model: type[BodyT]) -> Callable[[Request], Awaitable[BodyT]]:
    """Return a FastAPI dependency that reads a body of this class."""

    async def read(request: Request) -> BodyT:
        settings: ServingConfig = request.app.state.settings
        check_media_type(request, "application/json")
        value = parse_json(await request.body(), settings.max_json_depth)
        return validate_body(model, value, settings)

    return read


def post(
    routes: APIRouter, path: str, body: type[Body], answer: Any, **more: Any
) -> Callable[[Endpoint], Endpoint]:
    """Add an endpoint that reads a body of this class, and say so in the OpenAPI document."""
    schema = {"$ref": f"#/components/schemas/{body.__name__}"}
    content = {"application/json": {"schema": schema}}
    extra = {"requestBody": {"required": True, "content": content}}
    return routes.post(path, response_model=answer, openapi_extra=extra, **more)


def media_type(request: Request) -> str:
    """Return the type of the body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def check_media_type(request: Request, *allowed: str) -> None:
    """Refuse bodies of other media types; this also blocks forms of other sites."""
    found = media_type(request)
    if found not in allowed:
        received = f"Content-Type {found[:_SHOWN]!r}" if found else "no Content-Type"
        raise Problem(
            "unsupported-media-type",
            f"received {received}; send {' or '.join(allowed)} (curl: "
            "-H 'Content-Type: application/json')",
        )


def decode_utf8(raw: bytes) -> str:
    """Return the text of bytes, which must be UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem(
            "bad-encoding",
            f"byte {error.start} (0x{raw[error.start]:02x}) is not UTF-8: encode the body as UTF-8",
        ) from error


def parse_json(raw: bytes, max_depth: int) -> Any:
    """Parse JSON strictly: limited depth, no duplicate keys, no NaN, no lone surrogates."""
    text = decode_utf8(raw)
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise Problem(
            "bad-json", f"{error.msg}, at line {error.lineno}, column {error.colno}"
        ) from error
    except RecursionError as error:
        raise _too_deep(max_depth) from error
    except ValueError as error:  # a whole number of thousands of digits
        raise Problem("bad-json", "a number has too many digits") from error
    _check(value, max_depth)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise Problem("bad-json", f"the key {_shown(twice)} occurs twice in one object")
    return found


def _no_number(name: str) -> NoReturn:
    raise Problem("bad-json", f"{name} is not a number in JSON: send finite numbers")


def _too_deep(max_depth: int) -> Problem:
    return Problem(
        "bad-json",
        f"brackets are nested deeper than {max_depth} (max_json_depth): no request needs that",
    )


def _check(value: Any, max_depth: int) -> None:
    """Refuse deep nesting and strings with lone surrogates."""
    level = [value]
    for _ in range(max_depth + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, str):
                check_characters(item)
            elif isinstance(item, list):
                below += item
            elif isinstance(item, dict):
                below += item.keys()
                below += item.values()
        if not below:
            return
        level = below
    raise _too_deep(max_depth)


def check_characters(text: str) -> None:
    """Refuse a text with lone surrogates, which UTF-8 cannot encode."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = ord(text[error.start])
        raise Problem(
            "bad-json",
            f"\\u{half:04x} is half of a surrogate pair, not a character: send both halves, or "
            "the character itself in UTF-8",
        ) from error


def validate_body(model: type[BodyT], value: Any, settings: ServingConfig) -> BodyT:
    """Return a valid body within the limits; raise a Problem with all of its faults."""
    try:
        return model.model_validate(value, context=settings)
    except ValidationError as error:
        found = error.errors(include_url=False)
        faults = [describe_fault(model, detail) for detail in found[:_MOST_FAULTS]]
        raise invalid_fields(faults, left_out=len(found) - len(faults)) from error


def describe_fault(model: type[BaseModel] | None, detail: Any) -> Fault:
    """Convert one of pydantic's errors into a path and a sentence."""
    place = tuple(part for part in detail["loc"] if part not in (TEXT_TAG, LIST_TAG))
    value = detail["input"]
    where = ".".join(map(str, place))[:_SHOWN] or "body"
    match detail["type"]:
        case "extra_forbidden":
            inner = _model_at(model, place[:-1])
            hint = nearest(str(place[-1])[:_SHOWN], inner.model_fields) if inner else "leave it out"
            return Fault(where, f"unknown field; {hint}")
        case "missing":
            return Fault(where, "is missing")
        case "over_limit":
            return Fault(where, str(detail["msg"]))
        case "model_type" | "dict_type":
            return Fault(where, f"is {_shown(value)}: send an object")
        case _:
            message = str(detail["msg"]).removeprefix("Input ").replace("should", "must")
            return Fault(where, f"is {_shown(value)}: {message}")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _model_at(model: type[BaseModel] | None, place: tuple[int | str, ...]) -> Any:
    """Return the class of the object at a place, to know which fields it has."""
    for part in place:
        if isinstance(part, int) or model is None:
            continue
        field = model.model_fields.get(part)
        model = None if field is None else _model_in(field.annotation)
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the one class of fields that an annotation such as `list[Head] | None` has."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, UnionType, list):
        found = [inner for part in get_args(annotation) if (inner := _model_in(part))]
        return found[0] if found else None
    return None
