"""The types of the page are those of the server."""

from __future__ import annotations

from inspected_server import running

from page_types import DOCUMENT, SCHEMA, header, page_document


def test_the_types_of_the_page_are_those_of_the_server() -> None:
    with running() as client:
        now = page_document(client.get("/openapi.json").json())
    assert DOCUMENT.read_text(encoding="utf-8") == now, "the API has changed: run `make page-types`"
    assert SCHEMA.read_text(encoding="utf-8").startswith(header(now)), "run `make page-types`"
