"""The OpenAPI document against the running server: no 5xx, no answer that breaks its schema."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import (
    allow_header_conformance,
    content_type_conformance,
    negative_data_rejection,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from served import Running, serving
from translucid.serving.auth import Access, Keys
from translucid.serving.config import ServingConfig
from translucid.serving.problems import PROBLEM_TYPES

# What is sound by its schema may still be refused (a language that no model has), so that
# `positive_data_acceptance` is not among them.
CHECKS = [
    allow_header_conformance,
    content_type_conformance,
    negative_data_rejection,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]
SMALL = {"max_characters": 60, "max_texts": 3, "max_beam": 3, "max_samples": 3, "max_length": 12}


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with serving({**SMALL, "max_n_best": 3, "max_prefix_tokens": 4}) as running:
        yield running


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_every_operation_keeps_to_the_document(server: Running, mode: GenerationMode) -> None:
    api = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    operations = [found.ok() for found in api.get_all_operations()]
    assert len(operations) >= 20
    for operation in operations:
        if mode is GenerationMode.NEGATIVE and not operation.body:
            continue  # any text is sound as part of a path

        @settings(
            max_examples=5,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def keeps_to_it(case: schemathesis.Case) -> None:
            case.call_and_validate(checks=CHECKS, timeout=60)

        keeps_to_it()


def test_the_document_has_the_limits_of_this_server(server: Running) -> None:
    schemas = server.client.get("/openapi.json").json()["components"]["schemas"]
    texts = schemas["TranslateBody"]["properties"]["texts"]
    assert (texts["maxItems"], texts["items"]["maxLength"]) == (3, 60)
    beam = schemas["SearchFields"]["properties"]["beam"]["anyOf"][0]
    assert (beam["minimum"], beam["maximum"]) == (1, 3)
    assert "x-limit" not in server.client.get("/openapi.json").text


def test_the_document_says_everything_once(server: Running) -> None:
    document = server.client.get("/openapi.json").json()
    names = [
        operation["operationId"]
        for path in document["paths"].values()
        for operation in path.values()
    ]
    assert len(names) == len(set(names))
    text = server.client.get("/openapi.json").text
    used = set(re.findall(r"#/components/schemas/([A-Za-z_]+)", text))
    assert used == document["components"]["schemas"].keys() - {"ProblemFields"} | {"ProblemFields"}
    for path in document["paths"].values():
        for operation in path.values():
            assert operation["description"]


def test_every_field_that_is_sent_is_described(server: Running) -> None:
    schemas = server.client.get("/openapi.json").json()["components"]["schemas"]
    bodies = {name: one for name, one in schemas.items() if name.endswith("Body")}
    assert {"TranslateBody", "StreamBody", "ScoreBody", "TraceBody", "NextBody"} <= bodies.keys()
    missing = [
        f"{name}.{field}"
        for name, body in {**bodies, "SearchFields": schemas["SearchFields"]}.items()
        for field, told in body["properties"].items()
        if not told.get("description")
    ]
    assert not missing


def test_keys_are_in_the_document_where_there_are_keys() -> None:
    with serving(access=Access(keys=Keys(["a-key-of-16-letters"]))) as server:
        document = server.client.get("/openapi.json").json()
    assert document["paths"]["/v1/translate"]["post"]["security"] == [{"key": []}]
    assert "401" in document["paths"]["/v1/translate"]["post"]["responses"]
    assert "security" not in document["paths"]["/health/live"]["get"]


@pytest.mark.parametrize("name", sorted(PROBLEM_TYPES))
def test_every_problem_explains_itself(server: Running, name: str) -> None:
    told = server.client.get(f"/problems/{name}").json()
    kind = PROBLEM_TYPES[name]
    assert (told["status"], told["title"]) == (kind.status, kind.title)
    assert len(told["meaning"]) > 40
    mentioned = set(re.findall(r"\b(?:max|queue|request|body)_[a-z_]+", kind.meaning))
    assert mentioned <= ServingConfig.model_fields.keys()
    page = server.client.get(f"/problems/{name}", headers={"Accept": "text/html"})
    assert kind.title.replace("'", "&#x27;") in page.text
    assert page.headers["content-type"].startswith("text/html")


def test_a_problem_that_there_is_not(server: Running) -> None:
    server.problem(server.client.get("/problems/none"), 404, "not-found")
