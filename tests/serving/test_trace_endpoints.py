"""Traces over HTTP: what is read is what the trace holds, to the bit."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient
from inspected_server import problem, running, tagged_translator

from saved_pages import saved_content
from small_traces import SENTENCE, taught_trace, taught_translator
from translucid.decoding.config import SearchConfig
from translucid.interpret import Trace, explain, trace_bytes
from translucid.interpret.ablation import ablate, disable_heads
from translucid.interpret.head_statistics import trace_head_statistics
from translucid.interpret.lens import decoder_lens, logit_lens
from translucid.interpret.network import AttentionHead
from translucid.interpret.trace_json import detect_hallucination, summary_names, summary_tensor
from translucid.interpret.word_attention import word_groups
from translucid.serving.routes.trace import file_name
from translucid.serving.trace_schemas import LensAnswer, TraceAnswer
from translucid.serving.traces import StoredTrace
from translucid.text.tokenizer import EOS

HEADS = [{"side": "cross", "layer": layer, "head": head} for layer in (0, 1) for head in (0, 1, 2)]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with running() as found:
        yield found


def made(client: TestClient, **asked: Any) -> dict[str, Any]:
    """Make a trace, and return what is told of it."""
    answer = client.post("/v1/trace", json={"text": SENTENCE, "model": "taught", **asked})
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    TraceAnswer.model_validate_json(answer.content)  # all fields are there, and no others
    assert answer.headers["location"] == f"/v1/trace/{body['id']}"
    assert client.get(answer.headers["location"]).json() == body
    return body


def stored(client: TestClient, body: dict[str, Any]) -> StoredTrace:
    """Return what the server itself keeps."""
    found: StoredTrace = client.app.state.server.traces.find(body["id"])  # type: ignore[attr-defined]
    return found


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"level": "light"},
        {"search": {"method": "greedy"}},
        {"search": {"beam": 2, "length_penalty": 1.0, "n_best": 2}},
        {"search": {"method": "sampling", "seed": 3, "top_k": 4}},
        {"given": "cat sleeps"},
    ],
)
def test_the_body_is_the_trace_and_what_can_be_read_from_it(
    client: TestClient, asked: dict[str, Any]
) -> None:
    body = made(client, **asked)
    kept = stored(client, body).trace
    default = taught_translator().default_search
    search = default.replace(**asked.get("search", {}))
    others = {key: asked[key] for key in ("level", "given") if key in asked}
    direct = explain(taught_translator(), SENTENCE, search=search, **others)
    assert plain(kept.to_json()) == plain(direct.to_json())
    assert {key: body[key] for key in kept.to_json()} == plain(kept.to_json())
    more = {key: value for key, value in body.items() if key not in kept.to_json()}
    judged = detect_hallucination(kept)
    measured = {(one["side"], one["layer"], one["head"]): one for one in more.pop("heads")}
    for one in trace_head_statistics(kept):
        told = measured.pop(tuple(one.head))
        assert (told["role"], told["rule"], told["entropy"]) == (one.role, one.rule, one.entropy)
        assert told["shares"] == {kind: one.share(kind) for kind in told["shares"]}
    assert not measured
    assert more == plain(
        {
            "id": body["id"],
            "bytes": kept.bytes,
            "target": "en",
            "without": [],
            "words": {
                "source": word_groups(kept.source, kept.source_tokens),
                "target": word_groups(kept.translation, kept.target_tokens),
            },
            "confidence": {
                **asdict(judged),
                "doubtful": judged.suspicious,
                "warnings": judged.warnings,
            },
        }
    )
    assert {int(token) for token in body["pieces"]} >= {
        node["token"] for node in (body["tree"] or {"nodes": []})["nodes"]
    }


def test_every_tensor_is_served_to_the_bit(client: TestClient) -> None:
    body = made(client)
    trace = stored(client, body).trace
    assert list(body["tensors"]) == list(trace.tensors)
    infinite = 0
    for name, tensor in trace.tensors.items():
        answer = client.get(f"/v1/trace/{body['id']}/tensors/{name}")
        assert answer.headers["content-type"] == "application/octet-stream"
        shape = [int(size) for size in answer.headers["x-shape"].split(",")]
        assert shape == list(tensor.shape) == body["tensors"][name]
        assert answer.content == tensor.numpy().astype("<f4").tobytes()
        infinite += answer.content.count(np.float32(-math.inf).tobytes())
    assert infinite > 0  # the mask of the decoder keeps its −∞
    for name in summary_names(trace):
        answer = client.get(f"/v1/trace/{body['id']}/tensors/{name}")
        expected = summary_tensor(trace, name)
        assert expected is not None
        assert answer.content == expected.numpy().astype("<f4").tobytes()


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("log_probs", (2,)),
        ("decoder.0.self_attention.mask", (0,)),
        ("decoder.1.cross_attention.weights", (3,)),
        ("decoder.1.cross_attention.weights", (3, 1)),
        ("decoder.1.cross_attention.weights", (3, 1, 2)),
    ],
)
def test_a_part_of_a_tensor_is_served(client: TestClient, name: str, at: tuple[int, ...]) -> None:
    body = made(client)
    part = stored(client, body).trace.tensor(name)[at]
    asked = ",".join(map(str, at))
    answer = client.get(f"/v1/trace/{body['id']}/tensors/{name}", params={"at": asked})
    assert answer.headers["x-shape"] == ",".join(map(str, part.shape))
    assert answer.content == part.numpy().astype("<f4").tobytes()


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("4", "at: 4 at place 0: allowed is 0 to 3"),
        ("0,99", "at: 99 at place 1: allowed is 0 to 3"),
        ("0,0,0,0", "at: has 4 indices, and the tensor has 3 dimensions: 0 to 3, 0 to 3, 0 to 3"),
        ("-1", "at: is '-1': give whole numbers with commas between them, such as 3 or 1,0"),
        ("1,", "at: is '1,': give whole numbers"),
        ("", "at: is '': give whole numbers"),
        ("1_0", "at: is '1_0': give whole numbers"),
        ("٣", "at: is '٣': give whole numbers"),
        ("9" * 90, "at: is '999"),
        ("9" * 200, "at: is "),
    ],
)
def test_a_wrong_index_is_told_with_what_is_allowed(client: TestClient, at: str, told: str) -> None:
    body = made(client)
    name = "decoder.1.cross_attention.weights"
    answer = client.get(f"/v1/trace/{body['id']}/tensors/{name}", params={"at": at})
    assert told in problem(answer, 422, "invalid-fields")
    assert answer.json()["faults"][0]["where"] == "at"


def test_a_tensor_that_is_not_there_is_told_with_the_nearest_or_the_level(
    client: TestClient,
) -> None:
    place = f"/v1/trace/{made(client)['id']}/tensors"
    detail = problem(client.get(f"{place}/decoder.state"), 404, "unknown-tensor")
    assert "did you mean 'decoder.states'?" in detail
    detail = problem(client.get(f"{place}/{'x' * 3000}"), 404, "unknown-tensor")
    assert "known: source.embedding" in detail
    place = f"/v1/trace/{made(client, level='light')['id']}/tensors"
    detail = problem(client.get(f"{place}/memory"), 404, "unknown-tensor")
    assert "record it again with the level 'full'" in detail
    assert client.get(f"{place}/encoder.0.self_attention.weights").status_code == 200


def test_what_never_changes_is_fetched_once(client: TestClient) -> None:
    place = f"/v1/trace/{made(client)['id']}"
    tags = set()
    for path in ("", "/tensors/memory", "/tensors/memory?at=1", "/lens"):
        answer = client.get(f"{place}{path}")
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
        tags.add(answer.headers["etag"])
        for known in (answer.headers["etag"], f'"x", W/{answer.headers["etag"]}', "*"):
            again = client.get(f"{place}{path}", headers={"If-None-Match": known})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == answer.headers["etag"]
        other = client.get(f"{place}{path}", headers={"If-None-Match": '"x"'})
        assert other.content == answer.content
    assert len(tags) == 4


@pytest.mark.parametrize(
    "key",
    ["x", "..%2f..%2fetc%2fpasswd", "%2e%2e", "a%00b", "x" * 4000, "A" * 22, "%F0%9F%99%82", " "],
)
@pytest.mark.parametrize("part", ["", "/lens", "/file", "/tensors/memory"])
def test_an_id_that_is_none_is_not_found(client: TestClient, key: str, part: str) -> None:
    answer = client.get(f"/v1/trace/{key}{part}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] in {"/problems/unknown-trace", "/problems/not-found"}
    assert len(answer.text) < 1000


def test_the_least_used_traces_give_way() -> None:
    with running(trace_store_count=2) as client:
        first, second = made(client), made(client)
        third = made(client)  # `made` reads it, and so the second was used before the third
        assert client.get(f"/v1/trace/{first['id']}").status_code == 404
        assert client.get(f"/v1/trace/{second['id']}").status_code == 200
        assert made(client)["id"] != third["id"]
        detail = problem(client.get(f"/v1/trace/{third['id']}"), 404, "unknown-trace")
        assert "kept for 3,600 seconds after its last use" in detail
        assert len({first["id"], second["id"], third["id"]}) == 3


def test_a_trace_that_nobody_wants_kept_is_answered_only(client: TestClient) -> None:
    before = len(client.app.state.server.traces)  # type: ignore[attr-defined]
    asked = {"text": SENTENCE, "model": "taught", "keep": False}
    answer = client.post("/v1/trace", json=asked)
    assert (answer.status_code, "location" in answer.headers) == (200, False)
    body = made(client)
    assert answer.json() == {**body, "id": None}
    assert len(client.app.state.server.traces) == before + 1  # type: ignore[attr-defined]


def test_the_file_is_the_one_that_the_command_line_reads(
    client: TestClient, tmp_path: Path
) -> None:
    body = made(client)
    answer = client.get(f"/v1/trace/{body['id']}/file")
    assert answer.headers["content-length"] == str(len(answer.content))
    assert answer.headers["content-disposition"] == (
        'attachment; filename="chat-noir-dort.safetensors"'
    )
    (tmp_path / "t.safetensors").write_bytes(answer.content)
    trace, kept = Trace.load(tmp_path / "t.safetensors", taught_translator()), stored(client, body)
    assert trace.to_json() == kept.trace.to_json()
    assert all(torch.equal(trace.tensors[n], t) for n, t in kept.trace.tensors.items())


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("../../etc/passwd", "etc-passwd.safetensors"),
        ('a"b\r\nSet-Cookie: x', "a-b-set-cookie-x.safetensors"),
        ("日本", "trace.safetensors"),
        ("Où est l'eau ?", "ou-est-l-eau.safetensors"),
        ("mot " * 40, "mot-mot-mot-mot-mot-mot-mot-mot-mot-mot.safetensors"),
    ],
)
def test_the_name_of_a_file_is_plain(source: str, name: str) -> None:
    assert file_name(source) == name


@pytest.mark.parametrize("without", [[], HEADS])
def test_the_lenses_are_those_of_the_network_that_made_the_trace(
    client: TestClient, without: list[dict[str, Any]]
) -> None:
    body = made(client, without=without)
    heads = [AttentionHead(**head) for head in without]
    translator = disable_heads(taught_translator(), heads) if heads else taught_translator()
    answer = client.get(f"/v1/trace/{body['id']}/lens")
    LensAnswer.model_validate_json(answer.content)
    told = answer.json()
    kept = stored(client, body).trace
    logit = logit_lens(translator, kept).layers
    assert told["logit"] == plain([[asdict(cell) for cell in row] for row in logit])
    assert told["decoder"] == plain([asdict(one) for one in decoder_lens(translator, kept)])
    light = made(client, level="light")
    detail = problem(client.get(f"/v1/trace/{light['id']}/lens"), 422, "unusable-input")
    assert "record it again with the level 'full'" in detail


def test_heads_switched_off_give_the_translation_of_an_ablation(client: TestClient) -> None:
    body = made(client, without=HEADS)
    heads = [AttentionHead(**head) for head in HEADS]
    found = ablate(taught_translator(), taught_trace(), heads)
    assert found.changed
    assert body["translation"] == found.translation_without
    assert body["without"] == HEADS
    same = made(client, without=HEADS, given=found.translation)
    assert same["log_prob"] == pytest.approx(found.log_prob_without, abs=1e-5)
    unknown = {"side": "cross", "layer": 7, "head": 0}
    answer = client.post("/v1/trace", json={"text": SENTENCE, "without": [unknown]})
    assert "no such head: cross 8.1" in problem(answer, 422, "unusable-input")


def test_a_prefix_is_forced(client: TestClient) -> None:
    ids = taught_translator().tokenizer.encode("old cat")
    body = made(client, prefix=ids)
    assert [step["token"]["id"] for step in body["steps"][:2]] == ids
    assert body["prefix_length"] == 2
    assert body["translation"].startswith("old cat")
    trace = explain(taught_translator(), SENTENCE, prefix=ids)
    assert body["log_prob"] == pytest.approx(trace.log_prob, abs=1e-5)
    ended = made(client, prefix=[*ids, EOS])
    assert (ended["translation"], ended["tree"]) == ("old cat", None)
    both = client.post("/v1/trace", json={"text": SENTENCE, "prefix": ids, "given": "cat"})
    assert "is a whole translation" in problem(both, 422, "unusable-input")
    wrong = client.post("/v1/trace", json={"text": SENTENCE, "prefix": [99999]})
    assert "prefix[0] = 99999 is no token" in problem(wrong, 422, "unusable-input")


def test_a_trace_that_is_too_large_is_refused_with_its_size() -> None:
    config = taught_trace().model
    size, light = (trace_bytes(config, 4, 4, level) for level in ("full", "light"))
    with running(max_trace_bytes=size - 1) as client:
        answer = client.post("/v1/trace", json={"text": SENTENCE})
        detail = problem(answer, 413, "trace-too-large")
        assert (
            f"a full trace of these 4 source tokens would take about {size / 1e3:.1f} kB" in detail
        )
        assert f"the limit is {(size - 1) / 1e3:.1f} kB (max_trace_bytes)" in detail
        assert f'take level "light" (about {light / 1e3:.1f} kB), or send a shorter text' in detail
        assert made(client, level="light")["bytes"] == light
    with running(max_trace_bytes=1024) as client:
        for level in ("full", "light"):
            answer = client.post("/v1/trace", json={"text": SENTENCE, "level": level})
            detail = problem(answer, 413, "trace-too-large")
            assert f"a {level} trace" in detail
            assert "take level" not in detail  # a light one would not fit either
    with running() as client:
        answer = client.post("/v1/trace", json={"text": "chat " * 300})
        detail = problem(answer, 413, "trace-too-large")
        assert "a full trace is made of shorter texts only: take level" in detail


def test_the_language_and_the_model_are_chosen(client: TestClient) -> None:
    search = {"method": "greedy", "max_length": 6}
    body = made(client, model="tagged", target="de", search=search, text="Le chat")
    trace = explain(
        tagged_translator(),
        "Le chat",
        target="de",
        search=SearchConfig(method="greedy", max_length=6, extra_length=50),
    )
    assert (body["target"], body["translation"]) == ("de", trace.translation)
    assert body["source_tokens"][0]["piece"] == "→ de"
    answer = client.post("/v1/trace", json={"text": "Le chat", "model": "tagged"})
    assert "translates into en, de: say which" in problem(answer, 422, "unusable-input")
    answer = client.post("/v1/trace", json={"text": "Le chat", "model": "taugt"})
    assert "did you mean 'taught'?" in problem(answer, 422, "unusable-input")
    answer = client.post("/v1/trace", json={"text": "chat", "model": "both"})
    assert "both is an ensemble of 2 models" in problem(answer, 422, "unusable-input")


def test_work_that_takes_too_long_ends_and_the_server_goes_on() -> None:
    with running(request_seconds=0.02) as client:
        asked = {"text": "Le chat", "model": "tagged", "target": "en"}
        search = {"method": "beam", "beam": 8, "min_length": 400, "max_length": 500}
        answer = client.post("/v1/trace", json={**asked, "search": search})
        problem(answer, 504, "timed-out")
        assert client.get("/v1/trace/x").status_code == 404


def test_the_page_of_a_trace_is_one_file_to_download(client: TestClient) -> None:
    body = made(client, text="Où chat ?", without=HEADS[:2])
    answer = client.get(f"/v1/trace/{body['id']}/page", params={"address": "#/explore/lens?step=1"})
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="ou-chat.html"'
    content = saved_content(answer.text)
    kept = {key: value for key, value in body.items() if key not in ("id", "tensors")}
    assert {key: content["trace"][key] for key in kept} == kept
    assert content["address"] == "#/explore/lens?step=1"
    assert content["other"]["without"] == body["without"]
    assert content["lens"] == client.get(f"/v1/trace/{body['id']}/lens").json()
    problem(client.get(f"/v1/trace/{'a' * 22}/page"), 404, "unknown-trace")
    long = client.get(f"/v1/trace/{body['id']}/page", params={"address": "x" * 30_000})
    assert long.status_code == 422
