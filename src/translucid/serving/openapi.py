"""The OpenAPI document: what FastAPI knows of the routes, with limits and problems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from translucid import __version__
from translucid.serving.auth import needs_key
from translucid.serving.config import ServingConfig
from translucid.serving.problems import LIBRETRANSLATE, PROBLEM, PROBLEM_TYPES
from translucid.serving.schemas import LIMIT, Body, ProblemFields

_REF = "#/components/schemas/{model}"
_ANYWHERE = (400, 403, 421, 429, 431, 500, 503, 504)
_WITH_BODY = (408, 413, 415, 422)
_BOUNDS = {"string": "maxLength", "array": "maxItems", "object": "maxProperties"}
TAGS = (
    ("translate", "Translate and score."),
    ("models", "What is served."),
    ("trace", "Look inside one translation: tokens, attention, search, every number."),
    ("runs", "Training runs, while they train and after."),
    ("server", "Health and measurements."),
    ("LibreTranslate", "The same endpoints as LibreTranslate's, for clients made for it."),
)


def build_openapi(app: FastAPI, settings: ServingConfig, *, keys: bool) -> dict[str, Any]:
    """Return the OpenAPI document of a server."""
    made = get_openapi(
        title="Translucid",
        version=__version__,
        description="Translation, and a look inside it.",
        routes=app.routes,
        tags=[{"name": name, "description": text} for name, text in TAGS],
    )
    components = made.setdefault("components", {}).setdefault("schemas", {})
    components.pop("HTTPValidationError", None)
    components.pop("ValidationError", None)
    _add_model(components, ProblemFields)
    for path, operations in made["paths"].items():
        for operation in operations.values():
            _add_problems(path, operation, keys=keys)
    bodies = {model.__name__: model for model in _kinds_of(Body)}
    for name in sorted(_references(made["paths"]) - components.keys()):
        _add_model(components, bodies[name])
    statuses = {kind.status for kind in PROBLEM_TYPES.values()}
    made["components"]["responses"] = {f"Problem{s}": _problem(s) for s in sorted(statuses)}
    if keys:
        made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    bounded: dict[str, Any] = _with_limits(made, settings)
    return bounded


def _kinds_of(model: type[Body]) -> Iterator[type[Body]]:
    for kind in model.__subclasses__():
        yield kind
        yield from _kinds_of(kind)


def _references(part: Any) -> set[str]:
    """Return the names of all schemas that a part of the document points at."""
    if isinstance(part, list):
        return set().union(*map(_references, part))
    if not isinstance(part, dict):
        return set()
    area, _, name = str(part.get("$ref", "")).rpartition("/")
    own = {name} if area == "#/components/schemas" else set()
    return own.union(*map(_references, part.values()))


def _add_model(components: dict[str, Any], model: type[Body] | type[ProblemFields]) -> None:
    schema = model.model_json_schema(ref_template=_REF)
    components.update(schema.pop("$defs", {}))
    components[model.__name__] = schema


def _add_problems(path: str, operation: dict[str, Any], *, keys: bool) -> None:
    """Say of an operation which problems it may answer with."""
    responses = operation["responses"]
    if path in LIBRETRANSLATE:
        responses.pop("422", None)
        return
    takes_more = "requestBody" in operation or "parameters" in operation
    statuses = [*_ANYWHERE, *(_WITH_BODY if "requestBody" in operation else ())]
    statuses += [422] if takes_more else []
    if keys and needs_key(path):
        statuses.append(401)
        operation["security"] = [{"key": []}]
    for status in statuses:
        responses[str(status)] = {"$ref": f"#/components/responses/Problem{status}"}


def _problem(status: int) -> dict[str, Any]:
    """Return what the document says of all problems of one status."""
    return {
        "description": "; or: ".join(k.title for k in PROBLEM_TYPES.values() if k.status == status),
        "content": {PROBLEM: {"schema": {"$ref": _REF.format(model="ProblemFields")}}},
    }


def _with_limits(part: Any, settings: ServingConfig) -> Any:
    """Return a part of the document with the value of each limit in place of its name."""
    if isinstance(part, list):
        return [_with_limits(item, settings) for item in part]
    if not isinstance(part, dict):
        return part
    made = {key: _with_limits(value, settings) for key, value in part.items() if key != LIMIT}
    if isinstance(setting := part.get(LIMIT), str):
        made[_BOUNDS.get(made.get("type", ""), "maximum")] = getattr(settings, setting)
    return made
