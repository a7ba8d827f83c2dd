"""Schemas of the OpenAPI document as rows of a table: field, type, bounds, meaning."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schemas = Mapping[str, Any]
_BOUNDS = {
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
    """A field: how deep it lies in others, its name, type, bounds, and what it means."""

    depth: int
    name: str
    kind: str
    bounds: str
    meaning: str
    required: bool


def rows(schema: Mapping[str, Any], schemas: Schemas, depth: int = 0) -> Iterator[Row]:
    """Yield the fields of an object, needed ones first, each followed by those that it holds."""
    schema = resolved(schema, schemas)
    required = schema.get("required", ())
    fields = schema.get("properties", {}).items()
    for name, field in sorted(fields, key=lambda pair: pair[0] not in required):
        plain = without_null(resolved(field, schemas), schemas)
        meaning = field.get("description") or plain.get("description", "")
        if "default" in field and field["default"] not in (None, [], ""):
            meaning += f" (left out: {json.dumps(field['default'])})"
        yield Row(depth, name, kind(plain, schemas), bounds(plain), meaning, name in required)
        inner = without_null(resolved(plain.get("items", plain), schemas), schemas)
        if depth < 2 and "properties" in inner:
            yield from rows(inner, schemas, depth + 1)


def resolved(schema: Mapping[str, Any], schemas: Schemas) -> Mapping[str, Any]:
    """Return what a reference points at, or the schema itself."""
    while "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    return schema


def without_null(schema: Mapping[str, Any], schemas: Schemas) -> Mapping[str, Any]:
    """Return the one thing that a field is where it is not null."""
    kinds = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return resolved(kinds[0], schemas) if len(kinds) == 1 else schema


def kind(schema: Mapping[str, Any], schemas: Schemas) -> str:
    """Return the type of a field in a few words."""
    schema = without_null(resolved(schema, schemas), schemas)
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(kind(one, schemas) for one in schema["anyOf"]))
    if schema.get("type") == "array" and "prefixItems" in schema:
        return "[" + ", ".join(kind(one, schemas) for one in schema["prefixItems"]) + "]"
    if schema.get("type") == "array":
        return f"list of {kind(schema.get('items', {}), schemas)}"
    return str(schema.get("type", "any"))


def bounds(schema: Mapping[str, Any]) -> str:
    """Return the bounds of a field in words, those of its entries too."""
    found = [
        words.format(f"{schema[key]:,}")
        for key, words in _BOUNDS.items()
        if key in schema and schema[key] < _LARGEST_SHOWN
    ]
    if isinstance(schema.get("items"), dict) and (inner := bounds(schema["items"])):
        found.append(f"each {inner}")
    return ", ".join(found)


def example(schema: Mapping[str, Any], schemas: Schemas) -> Any:
    """Return an example of a body: the required fields, as their schemas give them."""
    schema = resolved(schema, schemas)
    fields = schema.get("properties", {})
    return {name: sample(fields[name], schemas) for name in schema.get("required", ())}


def sample(schema: Mapping[str, Any], schemas: Schemas) -> Any:
    """Return an example value of a field."""
    if schema.get("examples"):
        return schema["examples"][0]
    schema = without_null(resolved(schema, schemas), schemas)
    if schema.get("examples"):
        return schema["examples"][0]
    if "enum" in schema:
        return schema["enum"][0]
    if "properties" in schema:
        return example(schema, schemas)
    by_type = {"string": "Le chat dort.", "integer": 0, "number": 0.0, "boolean": False}
    return by_type.get(schema.get("type", ""), [])
