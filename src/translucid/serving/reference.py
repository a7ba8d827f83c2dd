"""The OpenAPI document, and the reference at /docs that is made of it.

The document is what FastAPI knows of the routes, with limits and problems. The reference is
one page without script or other sites.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi

from translucid import __version__
from translucid.serving.auth import needs_key
from translucid.serving.config import ServingConfig
from translucid.serving.problems import LIBRETRANSLATE, PROBLEM, PROBLEM_TYPES, json_response
from translucid.serving.routes.models import describe_problem
from translucid.serving.schemas import LIMIT, Body, ProblemFields

_REF = "#/components/schemas/{model}"
_ANYWHERE = (400, 403, 421, 429, 431, 500, 503, 504)
_WITH_BODY = (408, 413, 415, 422)
_LIMITED = {"string": "maxLength", "array": "maxItems", "object": "maxProperties"}
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
        made[_LIMITED.get(made.get("type", ""), "maximum")] = getattr(settings, setting)
    return made


Document = Mapping[str, Any]
Operation = tuple[str, str, Mapping[str, Any]]  # method, path, what the document says
_STYLE = Path(__file__).with_name("reference.css")
_HTML = "text/html"
_CACHED = {"Cache-Control": "public, max-age=3600"}


def router(document: Callable[[], Document], target: str) -> APIRouter:
    """Return the endpoints that describe the API; examples translate into `target`."""
    routes = APIRouter(include_in_schema=False)
    style = _STYLE.read_bytes()

    @routes.get("/openapi.json")
    async def openapi() -> Response:
        return json_response(document())

    @routes.get("/docs")
    async def docs(request: Request) -> Response:
        base = str(request.base_url).rstrip("/")
        return Response(
            render_reference(document(), ExampleContext(base, target)), media_type=_HTML
        )

    @routes.get("/docs/style.css")
    async def stylesheet() -> Response:
        return Response(style, media_type="text/css", headers=_CACHED)

    @routes.get("/problems/{name}")
    async def problem(request: Request, name: str) -> Response:
        told = describe_problem(name)
        if _HTML not in request.headers.get("accept", ""):
            return json_response(told)
        body = (
            f"<h1>{told['status']}: {escape(str(told['title']))}</h1>"
            f"<p>{_prose(str(told['meaning']))}</p><p><a href='/docs'>All endpoints</a></p>"
        )
        return Response(_page(str(told["title"]), body), media_type=_HTML)

    return routes


@dataclass(frozen=True)
class ExampleContext:
    """What the examples need to know of this server: its address, and a language to ask for."""

    base: str
    target: str


def render_reference(document: Document, context: ExampleContext) -> str:
    """Return the page that describes every operation of an OpenAPI document."""
    schemas = document["components"]["schemas"]
    keys = "securitySchemes" in document["components"]
    groups: dict[str, tuple[str, list[Operation]]] = {
        tag["name"]: (tag["description"], []) for tag in document["tags"]
    }
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            tag = operation.get("tags", ["server"])[0]
            groups[tag][1].append((method, path, operation))
    used = {name: group for name, group in groups.items() if group[1]}
    parts = [_opening(document, keys), _contents(used)]
    for name, (description, operations) in used.items():
        parts.append(f"<section><h2 id='{escape(name)}'>{escape(name)}</h2>")
        parts.append(f"<p>{escape(description)}</p>")
        parts += [_operation(one, schemas, context, keys=keys) for one in operations]
        parts.append("</section>")
    parts.append(_problems())
    return _page("Translucid: API", "\n".join(parts))


def _page(title: str, body: str) -> str:
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<meta name='color-scheme' content='light dark'>"
        f"<title>{escape(title)}</title><link rel='icon' href='data:,'>"
        "<link rel='stylesheet' href='/docs/style.css'></head>"
        f"<body><main>{body}</main></body></html>"
    )


def _opening(document: Document, keys: bool) -> str:
    key = (
        "This server has API keys: send <code>Authorization: Bearer KEY</code> with every "
        "request under <code>/v1</code>."
        if keys
        else "This server has no API keys."
    )
    return (
        f"<h1>Translucid {escape(document['info']['version'])}: API</h1>"
        "<p>JSON in UTF-8, in and out. Fields that are not listed here are refused. Errors are "
        "<a href='#problems'>problems</a> that say what is allowed. "
        f"{key} The same description for programs: <a href='/openapi.json'>openapi.json</a>. "
        "<a href='/'>Explorer</a>.</p>"
    )


def _contents(groups: Mapping[str, tuple[str, list[Operation]]]) -> str:
    lines = []
    for name, (_, operations) in groups.items():
        links = ", ".join(
            f"<a href='#{_anchor(method, path)}'>{method.upper()} {escape(path)}</a>"
            for method, path, _ in operations
        )
        lines.append(f"<li><a href='#{escape(name)}'>{escape(name)}</a>: {links}</li>")
    return f"<nav aria-label='Contents'><ul>{''.join(lines)}</ul></nav>"


def _anchor(method: str, path: str) -> str:
    return method + path.replace("/", "-").replace("{", "").replace("}", "").replace(":path", "")


def _operation(one: Operation, schemas: Schemas, context: ExampleContext, *, keys: bool) -> str:
    method, path, operation = one
    parts = [
        f"<article id='{_anchor(method, path)}'>",
        f"<h3><code>{method.upper()} {escape(path)}</code></h3>",
        f"<p>{_prose(operation.get('description', operation.get('summary', '')))}</p>",
        f"<pre>{escape(curl_command(one, schemas, context, keys=keys))}</pre>",
    ]
    if parameters := operation.get("parameters"):
        parts.append(_parameters(parameters, schemas))
    if body := _json_schema(operation.get("requestBody", {})):
        parts.append(_table("Body", body, schemas))
    answer = operation["responses"].get("200") or operation["responses"].get("201", {})
    if schema := _json_schema(answer):
        parts.append(_table("Answer", schema, schemas))
    elif answer:
        kinds = ", ".join(answer.get("content", {}))
        parts.append(f"<p>Answer: {escape(kinds)}. {_prose(answer.get('description', ''))}</p>")
    return "".join([*parts, "</article>"])


def _json_schema(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = (
        holder.get("content", {}).get("application/json", {}).get("schema", {})
    )
    return schema


def _parameters(parameters: list[Mapping[str, Any]], schemas: Schemas) -> str:
    lines = "".join(
        f"<tr><td><code>{escape(one['name'])}</code>{_mark(one.get('required', False))}</td>"
        f"<td>{escape(describe_type(one['schema'], schemas))}</td><td>{escape(one['in'])}</td>"
        f"<td>{_prose(one.get('description', one['schema'].get('description', '')))}</td></tr>"
        for one in parameters
    )
    return _wrapped("Parameters", ("name", "type", "where", "meaning"), lines)


def _table(title: str, schema: Mapping[str, Any], schemas: Schemas) -> str:
    inner = schema.get("items", schema) if schema.get("type") == "array" else schema
    lines = "".join(
        f"<tr><td class='depth-{row.depth}'><code>{escape(row.name)}</code>{_mark(row.required)}"
        f"</td><td>{escape(row.kind)}</td><td>{escape(row.bounds)}</td>"
        f"<td>{_prose(row.meaning)}</td></tr>"
        for row in schema_rows(inner, schemas)
    )
    of_list = " (a list of these)" if schema.get("type") == "array" else ""
    return _wrapped(f"{title}{of_list}", ("field", "type", "bounds", "meaning"), lines)


def _wrapped(title: str, columns: tuple[str, ...], lines: str) -> str:
    if not lines:
        return ""
    heads = "".join(f"<th scope='col'>{column}</th>" for column in columns)
    return (
        f"<div class='table' tabindex='0' role='region' aria-label='{escape(title)}'><table>"
        f"<caption>{escape(title)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{lines}</tbody></table></div>"
    )


def _mark(required: bool) -> str:
    return " <span class='needed'>needed</span>" if required else ""


def _prose(text: str) -> str:
    """Return text as HTML, with what is between back quotes as code."""
    return "".join(
        f"<code>{escape(part)}</code>" if number % 2 else escape(part)
        for number, part in enumerate(text.split("`"))
    )


def curl_command(one: Operation, schemas: Schemas, context: ExampleContext, *, keys: bool) -> str:
    """Return a command that calls an operation; names in capitals are to be filled in."""
    _, path, operation = one
    for parameter in operation.get("parameters", ()):
        path = path.replace(f"{{{parameter['name']}}}", parameter["name"].upper())
    words = ["curl", "-sS"]
    if keys and "security" in operation:
        words += ["-H", "Authorization: Bearer KEY"]
    if body := _json_schema(operation.get("requestBody", {})):
        fields = example_body(body, schemas)
        if "target" in resolve(body, schemas).get("properties", {}):
            fields["target"] = context.target
        sent = json.dumps(fields, ensure_ascii=False)
        words += ["-H", "Content-Type: application/json", "-d", sent]
    return " ".join(map(shlex.quote, [*words, context.base + path + "".join(_query(operation))]))


def _query(operation: Mapping[str, Any]) -> Iterator[str]:
    needed = (p for p in operation.get("parameters", ()) if p["in"] == "query")
    for number, parameter in enumerate(p for p in needed if p.get("required")):
        yield f"{'&' if number else '?'}{parameter['name']}=TEXT"


def _problems() -> str:
    lines = "".join(
        f"<tr><td>{one.status}</td><td><a href='/problems/{one.name}'>{one.name}</a></td>"
        f"<td>{escape(one.title)}</td></tr>"
        for one in sorted(PROBLEM_TYPES.values(), key=lambda one: (one.status, one.name))
    )
    return (
        "<section><h2 id='problems'>Problems</h2><p>Errors are <code>application/problem+json"
        "</code> (RFC 9457): <code>type</code>, <code>title</code>, <code>status</code>, "
        "<code>detail</code>, and <code>faults</code> where several things are wrong.</p>"
        + _wrapped("Problems", ("status", "type", "title"), lines)
        + "</section>"
    )


Schemas = Mapping[str, Any]
_BOUND_LABELS = {
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "exclusiveMaximum": "< {}",
    "minLength": "≥ {} characters",
    "maxLength": "≤ {} characters",
    "maxItems": "≤ {} entries",
    "maxProperties": "≤ {} entries",
}
_LARGEST_SHOWN = 10**15  # a bound beyond it is there for the machine's sake


@dataclass(frozen=True)
class Row:
    """A field: how deep it is nested, its name, type, bounds, and what it means."""

    depth: int
    name: str
    kind: str
    bounds: str
    meaning: str
    required: bool


def schema_rows(schema: Mapping[str, Any], schemas: Schemas, depth: int = 0) -> Iterator[Row]:
    """Yield the fields of an object, needed ones first, each followed by those that it holds."""
    schema = resolve(schema, schemas)
    required = schema.get("required", ())
    fields = schema.get("properties", {}).items()
    for name, field in sorted(fields, key=lambda pair: pair[0] not in required):
        plain = strip_null(resolve(field, schemas), schemas)
        meaning = field.get("description") or plain.get("description", "")
        if "default" in field and field["default"] not in (None, [], ""):
            meaning += f" (left out: {json.dumps(field['default'])})"
        yield Row(
            depth,
            name,
            describe_type(plain, schemas),
            describe_bounds(plain),
            meaning,
            name in required,
        )
        inner = strip_null(resolve(plain.get("items", plain), schemas), schemas)
        if depth < 2 and "properties" in inner:
            yield from schema_rows(inner, schemas, depth + 1)


def resolve(schema: Mapping[str, Any], schemas: Schemas) -> Mapping[str, Any]:
    """Return what a reference points at, or the schema itself."""
    while "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    return schema


def strip_null(schema: Mapping[str, Any], schemas: Schemas) -> Mapping[str, Any]:
    """Return the one thing that a field is where it is not null."""
    kinds = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return resolve(kinds[0], schemas) if len(kinds) == 1 else schema


def describe_type(schema: Mapping[str, Any], schemas: Schemas) -> str:
    """Return the type of a field in a few words."""
    schema = strip_null(resolve(schema, schemas), schemas)
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(describe_type(one, schemas) for one in schema["anyOf"]))
    if schema.get("type") == "array" and "prefixItems" in schema:
        return "[" + ", ".join(describe_type(one, schemas) for one in schema["prefixItems"]) + "]"
    if schema.get("type") == "array":
        return f"list of {describe_type(schema.get('items', {}), schemas)}"
    return str(schema.get("type", "any"))


def describe_bounds(schema: Mapping[str, Any]) -> str:
    """Return the bounds of a field in words, those of its entries too."""
    found = [
        words.format(f"{schema[key]:,}")
        for key, words in _BOUND_LABELS.items()
        if key in schema and schema[key] < _LARGEST_SHOWN
    ]
    if isinstance(schema.get("items"), dict) and (inner := describe_bounds(schema["items"])):
        found.append(f"each {inner}")
    return ", ".join(found)


def example_body(schema: Mapping[str, Any], schemas: Schemas) -> Any:
    """Return an example of a body: the required fields, as their schemas give them."""
    schema = resolve(schema, schemas)
    fields = schema.get("properties", {})
    return {name: example_value(fields[name], schemas) for name in schema.get("required", ())}


def example_value(schema: Mapping[str, Any], schemas: Schemas) -> Any:
    """Return an example value of a field."""
    if schema.get("examples"):
        return schema["examples"][0]
    schema = strip_null(resolve(schema, schemas), schemas)
    if schema.get("examples"):
        return schema["examples"][0]
    if "enum" in schema:
        return schema["enum"][0]
    if "properties" in schema:
        return example_body(schema, schemas)
    by_type = {"string": "Le chat dort.", "integer": 0, "number": 0.0, "boolean": False}
    return by_type.get(schema.get("type", ""), [])
