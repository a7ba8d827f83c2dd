"""Patching over HTTP is that of Python, within the limits of the server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest
from fastapi.testclient import TestClient
from inspected_server import problem, running, tagged_translator

from networks import network
from small_traces import SENTENCE, pair_trace, taught_translator
from translucid.interpret.ablation import measure_head_margins
from translucid.interpret.decision import Contrast
from translucid.interpret.explain import explain
from translucid.interpret.minimal_pairs import measure_against, repeat_patching
from translucid.interpret.network import replace_network, single_network
from translucid.interpret.patched_runs import Cell
from translucid.interpret.patching import PatchablePair, apply_patch
from translucid.serving.app import create_app
from translucid.serving.config import ServingConfig
from translucid.serving.served_models import ServedModel, ServedModels
from translucid.serving.trace_schemas import PatchedAnswer, TraceAnswer

OTHER = "chat noir mange"
PAIR = {"text": SENTENCE, "against": OTHER, "model": "taught"}
CELLS = [{"part": "source", "layer": 1, "index": 2}, {"part": "cross", "layer": 0, "index": 1}]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with running(max_patch_tokens=12, max_patch_cells=3, max_patch_pairs=2) as found:
        yield found


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def answered(client: TestClient, path: str, **asked: Any) -> Any:
    answer = client.post(path, json={**PAIR, **asked})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_it_is_what_python_measures(client: TestClient) -> None:
    expected = pair_trace().patching
    assert expected is not None
    assert answered(client, "/v1/patch") == plain(asdict(expected))


def test_a_decision_and_a_control_are_chosen(client: TestClient) -> None:
    translator = taught_translator()
    tokens = translator.tokenizer.encode("cat dog")
    expected = measure_against(
        translator, explain(translator, SENTENCE), explain(translator, OTHER),
        contrast=Contrast(0, *tokens), control="livre rouge",
    )  # fmt: skip
    found = answered(client, "/v1/patch", step=0, tokens=tokens, control="livre rouge")
    assert found == plain(asdict(expected))
    assert found["decision"]["pieces"] == [" cat", " dog"]


def test_cells_are_patched_together(client: TestClient) -> None:
    found = answered(client, "/v1/patch/cells", cells=CELLS)
    PatchedAnswer.model_validate(found)
    translator = taught_translator()
    pair = PatchablePair.of(translator, *(explain(translator, text) for text in (SENTENCE, OTHER)))
    runs = apply_patch(pair, [Cell(**one) for one in CELLS])
    assert found == plain({"forward": asdict(runs[0]), "backward": asdict(runs[1])})
    assert found["forward"]["translation"] == "eats black cat"


def test_other_sentences_are_tried(client: TestClient) -> None:
    translator = taught_translator()
    first, second = (explain(translator, text) for text in (SENTENCE, OTHER))
    decision = PatchablePair.of(translator, first, second).decision()
    expected = repeat_patching(translator, SENTENCE, OTHER, decision, count=2)
    assert answered(client, "/v1/patch/repeat", count=2) == plain(asdict(expected))


def test_a_trace_holds_what_was_measured(client: TestClient) -> None:
    answer = client.post("/v1/trace", json=PAIR)
    assert answer.status_code == 201, answer.text
    TraceAnswer.model_validate_json(answer.content)
    assert answer.json()["patching"] == answered(client, "/v1/patch")
    alone = client.post("/v1/trace", json={"text": SENTENCE, "model": "taught"}).json()
    assert alone["patching"] is None


def test_each_head_is_tried_on_a_decision(client: TestClient) -> None:
    translator = taught_translator()
    tokens = translator.tokenizer.encode("black red")
    asked = {"text": SENTENCE, "model": "taught", "step": 1, "tokens": tokens}
    answer = client.post("/v1/heads", json=asked)
    assert answer.status_code == 200, answer.text
    trace = explain(translator, SENTENCE)
    expected = measure_head_margins(translator, trace, Contrast(1, *tokens))
    assert answer.json() == plain(asdict(expected))
    forced = client.post("/v1/heads", json={**asked, "prefix": [tokens[1]]})
    assert forced.json()["margin"] != expected.margin
    told = problem(client.post("/v1/heads", json={**asked, "step": 7}), 422, "unusable-input")
    assert "the decision must be one of 0 to 3" in told
    told = problem(client.post("/v1/heads", json={**asked, "text": LONG}), 422, "invalid-fields")
    assert "text: has 15 tokens" in told


def test_heads_that_are_off_are_off_in_both_sentences(client: TestClient) -> None:
    off = [{"side": "cross", "layer": 0, "head": head} for head in (0, 1)]
    found = answered(client, "/v1/patch", without=off)
    shares = {
        (one["cell"]["part"], one["cell"]["layer"], one["cell"]["index"]): one["forward"]
        for one in found["cells"]
    }
    assert shares["cross", 0, 0] != 0  # patched in, it is on again
    assert found["decision"]["margins"] != answered(client, "/v1/patch")["decision"]["margins"]


def test_the_language_is_chosen(client: TestClient) -> None:
    translator = tagged_translator()
    asked = {"text": "Le chat", "against": "Le lit", "model": "tagged", "target": "de",
             "search": {"max_length": 3}, "step": 0, "tokens": [130, 131]}  # fmt: skip
    answer = client.post("/v1/patch", json=asked)
    assert answer.status_code == 200, answer.text
    tag = translator.generation.tags["de"]
    assert answer.json()["first_tokens"][0]["id"] == tag


LONG = " ".join(["chat"] * 14)


@pytest.mark.parametrize(
    ("path", "asked", "kind", "told"),
    [
        ("", {"against": None}, "invalid-fields", "against: "),
        ("", {"against": SENTENCE}, "unusable-input", "so nothing is decided between them"),
        ("", {"text": LONG}, "invalid-fields", "text: has 15 tokens"),
        ("", {"against": LONG}, "invalid-fields", "against: has 15 tokens"),
        ("", {"step": 0}, "invalid-fields", "tokens: give both, step and tokens, or neither"),
        ("", {"tokens": [21, 22]}, "invalid-fields", "step: give both"),
        ("", {"step": 2, "tokens": [21, 22]}, "unusable-input", "the same up to step 0"),
        ("", {"control": " "}, "unusable-input", "is blank"),
        ("", {"tokens": [21], "step": 0}, "invalid-fields", "tokens: "),
        ("", {"against_model": "tagged"}, "unusable-input", "cannot be patched into each other"),
        ("", {"against_model": "both"}, "unusable-input", "is an ensemble of 2 models"),
        ("", {"againts": "x"}, "invalid-fields", "did you mean 'against'?"),
        ("/cells", {"cells": CELLS * 2}, "invalid-fields", "limit of 3 (max_patch_cells)"),
        ("/cells", {"cells": [{**CELLS[0], "index": 9}]}, "unusable-input", "no such cell"),
        ("/cells", {"cells": [{**CELLS[0], "part": "x"}]}, "invalid-fields", "cells.0.part"),
        ("/cells", {}, "invalid-fields", "cells"),
        ("/repeat", {"count": 3}, "invalid-fields", "limit of 2 (max_patch_pairs)"),
        ("/repeat", {"against_model": "taught"}, "invalid-fields", "under one model: leave it out"),
        ("/repeat", {"against": "chat noir dort vieux"}, "unusable-input", "do not differ by"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(
    client: TestClient, path: str, asked: dict[str, Any], kind: str, told: str
) -> None:
    answer = client.post(f"/v1/patch{path}", json={**PAIR, **asked})
    assert told in problem(answer, 422, kind)


def test_a_trace_that_compares_keeps_to_the_limit_too(client: TestClient) -> None:
    for field in ("text", "against"):
        answer = client.post("/v1/trace", json={**PAIR, field: LONG})
        assert f"{field}: has 15 tokens" in problem(answer, 422, "invalid-fields")


def test_one_sentence_is_compared_under_two_models() -> None:
    taught = taught_translator()
    other = replace_network(taught, network(single_network(taught).config, 3), "untaught")
    served = ServedModels([ServedModel("taught", taught), ServedModel("untaught", other)])
    asked = {"text": SENTENCE, "against": SENTENCE, "model": "taught", "against_model": "untaught"}
    with TestClient(create_app(served, ServingConfig()), base_url="http://localhost") as client:
        found = client.post("/v1/trace", json=asked).json()["patching"]
        assert client.post("/v1/patch", json=asked).json() == found
        lonely = client.post("/v1/trace", json={**asked, "against": None})
        assert "give against too" in problem(lonely, 422, "invalid-fields")
    expected = explain(taught, SENTENCE, against_model=other).patching
    assert expected is not None
    assert found["cells"] == plain(asdict(expected))["cells"]
    assert found["models"] == ["taught", "untaught"]
