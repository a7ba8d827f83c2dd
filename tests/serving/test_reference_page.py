"""The reference: what it shows is true of this server, and its examples work."""

from __future__ import annotations

import html
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from served import Running, serving
from translucid.serving.reference import (
    describe_bounds,
    describe_type,
    example_body,
    schema_rows,
)


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with serving() as running:
        yield running


def commands(page: str) -> list[list[str]]:
    return [shlex.split(html.unescape(found)) for found in re.findall(r"<pre>(.*?)</pre>", page)]


def test_every_example_works_as_it_stands(server: Running) -> None:
    page = server.client.get("/docs").text
    made = server.post("/v1/trace", {"text": "chat noir"}).json()["id"]
    tensor = next(iter(server.client.get(f"/v1/trace/{made}").json()["tensors"]))
    found = commands(page)
    assert len(found) > 20
    for command in found:
        assert command[:2] == ["curl", "-sS"]
        address = command[-1]
        assert address.startswith(server.url)
        if "/v1/runs/NAME" in address:  # there is no run to show
            continue
        name = "taught" if "/v1/models/" in address else tensor
        path = address.replace("/ID", f"/{made}").replace("NAME", name)
        headers = dict(
            word.split(": ", 1) for flag, word in itertools.pairwise(command) if flag == "-H"
        )
        if "-d" in command:
            sent = command[command.index("-d") + 1]
            answer = server.client.post(path, content=sent.encode(), headers=headers)
        else:
            answer = server.client.get(path, headers=headers)
        assert answer.status_code in (200, 201), f"{command}: {answer.text}"


def test_the_page_shows_the_limits_of_this_server_and_all_endpoints(server: Running) -> None:
    page = html.unescape(server.client.get("/docs").text)
    assert "≤ 64 entries, each ≤ 5,000 characters" in page
    for path in server.client.get("/openapi.json").json()["paths"]:
        assert path in page


def test_the_page_needs_no_script_and_no_other_site(server: Running) -> None:
    answer = server.client.get("/docs")
    assert "<script" not in answer.text
    assert "style=" not in answer.text
    links = re.findall(r"(?:href|src)='([^']*)'", answer.text)
    assert all(link.startswith(("/", "#", "data:,")) for link in links)
    style = server.client.get("/docs/style.css")
    assert style.headers["content-type"].startswith("text/css")
    assert "prefers-color-scheme: dark" in style.text
    assert "url(" not in style.text


def test_an_address_in_the_host_header_cannot_write_into_the_page() -> None:
    from translucid.serving.auth import Access

    with serving(access=Access()) as server:
        answer = server.client.get("/docs", headers={"Host": "x'><script>alert(1)</script>"})
        assert "<script" not in server.client.get("/docs", headers={"Host": "any.name"}).text
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_fields_as_rows() -> None:
    schemas = {
        "Inner": {"type": "object", "properties": {"layer": {"type": "integer", "minimum": 0}}},
    }
    schema = {
        "type": "object",
        "required": ["text"],
        "properties": {
            "heads": {"type": "array", "maxItems": 3, "items": {"$ref": "#/x/Inner"}},
            "way": {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}], "default": "a"},
            "text": {"type": "string", "maxLength": 5000, "examples": ["Le chat dort."]},
        },
    }
    found = [(row.depth, row.name, row.kind, row.bounds) for row in schema_rows(schema, schemas)]
    assert found == [
        (0, "text", "string", "≤ 5,000 characters"),
        (0, "heads", "list of object", "≤ 3 entries"),
        (1, "layer", "integer", "≥ 0"),
        (0, "way", '"a" | "b"', ""),
    ]
    assert example_body(schema, schemas) == {"text": "Le chat dort."}
    assert describe_bounds({"maximum": 2**63}) == ""
    assert describe_type({"type": "array", "prefixItems": [{"type": "integer"}] * 2}, {}) == (
        "[integer, integer]"
    )


def test_files_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<p>" + "explorer " * 100)
    (tmp_path / "assets" / "index-B1b2C3d4.js").write_text("let a = 1;" * 100)
    (tmp_path / "favicon.svg").write_text("<svg/>")
    with serving(page=tmp_path) as server:
        index = server.client.get("/")
        assert index.text.startswith("<p>explorer")
        assert index.headers["content-type"] == "text/html; charset=utf-8"
        assert index.headers["content-encoding"] == "gzip"
        assert index.headers["cache-control"] == "no-cache"
        known = {"If-None-Match": index.headers["etag"]}
        assert server.client.get("/", headers=known).status_code == 304
        plain = server.client.get("/index.html", headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert plain.text == index.text
        script = server.client.get("/assets/index-B1b2C3d4.js")
        assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert script.headers["content-type"] == "text/javascript; charset=utf-8"
        assert server.client.head("/favicon.svg").headers["content-type"] == "image/svg+xml"
        server.problem(server.client.get("/assets/none.js"), 404, "not-found")
        assert server.problem(server.client.post("/"), 405, "method-not-allowed").endswith(
            "it takes GET, HEAD"
        )


def test_a_page_that_is_not_built_says_how(tmp_path: Path) -> None:
    with serving(page=tmp_path) as server:
        answer = server.client.get("/")
    assert answer.status_code == 404
    assert "npm run build" in answer.text
