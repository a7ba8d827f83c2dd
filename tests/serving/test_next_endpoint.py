"""The next token over HTTP is that of `next_tokens`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest
from fastapi.testclient import TestClient
from inspected_server import problem, running, tagged_translator

from small_traces import SENTENCE, taught_translator
from translucid.decoding.config import SearchConfig
from translucid.interpret.next_tokens import next_tokens
from translucid.serving.trace_schemas import NextAnswer


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with running() as found:
        yield found


@pytest.mark.parametrize(
    "cuts",
    [
        {},
        {"temperature": 0.5, "count": 3},
        {"temperature": 0},
        {"temperature": 2, "top_k": 4, "top_p": 0.9, "min_p": 0.01},
    ],
)
@pytest.mark.parametrize("begin", ["", "sleeps"])
def test_it_is_what_python_tells(client: TestClient, cuts: dict[str, Any], begin: str) -> None:
    ids = taught_translator().tokenizer.encode(begin)
    how = {name: float(value) for name, value in cuts.items() if name not in ("top_k", "count")}
    sampling = SearchConfig(method="sampling", top_k=cuts.get("top_k", 0), **how)
    count = cuts.get("count", 20)
    expected = next_tokens(
        taught_translator(), SENTENCE, prefix=ids, sampling=sampling, count=count
    )
    for prefix in ({"prefix": ids}, {"prefix_text": begin}):
        answer = client.post("/v1/next", json={"text": SENTENCE, **prefix, **cuts})
        assert answer.status_code == 200, answer.text
        NextAnswer.model_validate_json(answer.content)
        assert answer.json() == json.loads(json.dumps(asdict(expected)))


def test_the_language_is_chosen(client: TestClient) -> None:
    asked = {"text": "Le chat", "model": "tagged", "target": "de", "count": 5}
    expected = next_tokens(tagged_translator(), "Le chat", target="de", count=5)
    assert client.post("/v1/next", json=asked).json() == json.loads(json.dumps(asdict(expected)))


@pytest.mark.parametrize(
    ("asked", "kind", "told"),
    [
        ({"prefix": [21], "prefix_text": "cat"}, "invalid-fields", "give the beginning as token"),
        ({"top_p": 0}, "invalid-fields", "top_p"),
        ({"temperature": -1}, "invalid-fields", "temperature"),
        ({"count": 100_000}, "invalid-fields", "above this server's limit of 1000 (max_next)"),
        ({"prefix": [3]}, "unusable-input", "nothing can come after it"),
        ({"prefix_text": "giraffe"}, "unusable-input", "cannot begin a translation"),
        ({"text": "a\nb"}, "unusable-input", "the text has 2 lines"),
        ({"text": ""}, "unusable-input", "the text is blank"),
        ({"topk": 3}, "invalid-fields", "did you mean 'top_k'?"),
    ],
)
def test_what_cannot_be_told_is_refused(
    client: TestClient, asked: dict[str, Any], kind: str, told: str
) -> None:
    answer = client.post("/v1/next", json={"text": SENTENCE, **asked})
    assert told in problem(answer, 422, kind)
