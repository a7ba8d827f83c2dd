"""Translating over HTTP: what comes back is what the library returns, whole and in order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from served import Running, random_network, serving, taught
from small_translators import reversed_translation, sentences
from translucid.decoding.config import SearchConfig
from translucid.serving.config import LIMITS, ServingConfig
from translucid.serving.problems import Problem
from translucid.serving.schemas import SearchFields, build_search


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with serving() as running:
        yield running


def test_a_list_comes_back_in_its_order_with_everything_that_the_library_tells(
    server: Running,
) -> None:
    texts = [*sentences(12, seed=5), "", "  chat noir \n\nmaison"]
    answer = server.post("/v1/translate", {"texts": texts, "alignment": True}).json()

    assert (answer["model"], answer["source"], answer["target"]) == ("taught", "fr", "en")
    expected = taught().translate(texts, alignment=True)
    assert [one["text"] for one in answer["translations"]] == [one.text for one in expected]
    assert [one["text"] for one in answer["translations"][:12]] == [
        reversed_translation(text) for text in texts[:12]
    ]
    for told, known in zip(answer["translations"], expected, strict=True):
        assert told["source"] == known.source
        assert told["tokens"] == list(known.tokens)
        assert told["log_probs"] == pytest.approx(known.log_probs, abs=1e-4)
        assert told["log_prob"] == pytest.approx(sum(told["log_probs"]), abs=1e-6)
        assert told["score"] == pytest.approx(known.score, abs=1e-4)
        assert told["flags"] == vars(known.flags)
        assert known.alignment is not None
        assert told["alignment"]["links"] == [list(link) for link in known.alignment.links]
        for row in told["alignment"]["weights"]:
            assert sum(row) == pytest.approx(1, abs=1e-4)


def test_every_search_option_reaches_the_search(server: Running) -> None:
    body = {"texts": ["chat noir dort"], "search": {"beam": 6, "n_best": 6, "length_penalty": 0}}
    (told,) = server.post("/v1/translate", body).json()["translations"]
    (known,) = taught().translate(
        ["chat noir dort"], search=SearchConfig(beam=6, n_best=6, length_penalty=0.0)
    )
    assert [one["text"] for one in told["n_best"]] == [one.text for one in known.n_best]
    assert [one["score"] for one in told["n_best"]] == pytest.approx(
        [one.score for one in known.n_best], abs=1e-4
    )
    assert [one["ending"] for one in told["n_best"]] == [one.ending for one in known.n_best]


@pytest.mark.parametrize(
    ("wish", "beginning"),
    [
        ({"prefixes": ["old"]}, "old"),
        ({"forbidden": ["sleeps"]}, ""),
        ({"keep": ["dort"]}, ""),
        ({"terms": {}}, ""),
    ],
)
def test_wishes_are_granted(server: Running, wish: dict[str, Any], beginning: str) -> None:
    answer = server.post("/v1/translate", {"texts": ["chat noir dort"], **wish})
    (told,) = answer.json()["translations"]
    assert told["text"].startswith(beginning)
    assert "forbidden" not in wish or "sleeps" not in told["text"]
    assert ("dort" in told["text"]) == ("keep" in wish)


def test_a_term_becomes_what_it_must(server: Running) -> None:
    body = {"texts": ["chat noir dort"], "terms": {"chat": "dog"}}
    assert "dog" in server.post("/v1/translate", body).json()["translations"][0]["text"]


def test_the_settings_of_a_search_are_those_of_the_library() -> None:
    assert SearchFields.model_fields.keys() == SearchConfig.model_fields.keys()
    default = SearchConfig(beam=7)
    limits = ServingConfig(max_samples=8)
    assert build_search(default, None, limits) is default
    asked = SearchFields.model_validate(
        {"method": "sampling", "n_best": 3}, context=ServingConfig()
    )
    assert build_search(default, asked, limits) == SearchConfig(
        beam=7, method="sampling", n_best=3, samples=3
    )
    wide = SearchFields.model_validate({"method": "diverse", "beam": 6}, context=ServingConfig())
    assert build_search(default, wide, limits).groups == 6


def test_what_follows_from_a_method_keeps_to_the_limits() -> None:
    limits = ServingConfig(max_samples=8)
    asked = SearchFields.model_validate({"method": "mbr"}, context=limits)
    assert build_search(SearchConfig(), asked, limits).samples == 8
    many = SearchFields.model_validate({"method": "sampling", "n_best": 16}, context=limits)
    with pytest.raises(Problem, match="16"):
        build_search(SearchConfig(), many, limits)


def events(text: str) -> list[tuple[str, Any]]:
    """Return the events of a stream as an SSE client reads them."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def test_a_stream_only_grows_and_ends_with_the_translation(server: Running) -> None:
    body = {"text": "petit chien mange maison rouge"}
    answer = server.post("/v1/translate/stream", body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    *growing, (last, done) = events(answer.text)
    stable = ""
    for name, partial in growing:
        assert name == "partial"
        assert partial["stable"].startswith(stable)
        assert {"text", "score"} == set(partial["beams"][0])
        stable = partial["stable"]
    assert growing
    assert last == "done"
    whole = server.post("/v1/translate", {"texts": [body["text"]]}).json()["translations"][0]
    assert done["translation"]["text"] == whole["text"] == reversed_translation(body["text"])
    assert done["model"] == "taught"


def test_what_is_wrong_with_a_stream_is_told_before_it_begins(server: Running) -> None:
    answer = server.post("/v1/translate/stream", {"text": "chat", "prefix": "漢字"})
    assert "漢字" in server.problem(answer, 422, "unusable-input")


def test_scores_are_those_of_the_library(server: Running) -> None:
    sources, targets = ["chat noir", "eau"], ["black cat", "old book"]
    told = server.post("/v1/score", {"sources": sources, "targets": targets}).json()
    known = taught().score(sources, targets)
    assert [one["log_prob"] for one in told["scores"]] == pytest.approx(
        [one.log_prob for one in known], abs=1e-4
    )
    assert told["scores"][0]["tokens"] == list(known[0].tokens)
    assert told["scores"][0]["perplexity"] < told["scores"][1]["perplexity"]
    answer = server.post("/v1/score", {"sources": sources, "targets": targets[:1]})
    assert "2 sources and 1 targets" in server.problem(answer, 422, "unusable-input")


@pytest.mark.parametrize(
    ("wish", "model", "target"),
    [
        ({}, "taught", "en"),
        ({"model": "random", "target": "fr"}, "random", "fr"),
        ({"target": "de"}, "random", "de"),
        ({"source": "fr", "target": "de"}, "random", "de"),
        ({"source": "fr"}, "taught", "en"),
    ],
)
def test_a_model_is_picked_by_name_or_by_languages(
    server: Running, wish: dict[str, str], model: str, target: str
) -> None:
    body = {"texts": ["chat"], "search": {"max_length": 3}, **wish}
    answer = server.post("/v1/translate", body).json()
    assert (answer["model"], answer["target"]) == (model, target)


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"model": "taugt"}, "did you mean 'taught'?"),
        ({"target": "ja"}, "taught: fr→en"),
        ({"model": "taught", "target": "de"}, "does not translate into 'de'"),
        ({"model": "random"}, "random translates into fr, de: say which"),
    ],
)
def test_a_model_that_is_not_there_is_named_with_those_that_are(
    server: Running, wish: dict[str, str], words: str
) -> None:
    answer = server.post("/v1/translate", {"texts": ["chat"], **wish})
    assert words in server.problem(answer, 422, "unusable-input")


def test_models_tell_what_they_are_and_what_the_server_allows(server: Running) -> None:
    told = server.client.get("/v1/models").json()
    assert told["limits"] == {name: getattr(ServingConfig(), name) for name in LIMITS}
    assert told["runs"] is False
    first, second = told["models"]
    assert (first["name"], first["default"], second["default"]) == ("taught", True, False)
    assert first["directions"] == [["fr", "en"]]
    assert second["targets"] == ["fr", "de"]
    network = random_network().members[0].model
    assert second["parameters"] == sum(p.numel() for p in network.parameters())
    assert SearchConfig(**first["search"]) == taught().default_search


def test_a_vocabulary_is_fetched_once(server: Running) -> None:
    answer = server.client.get("/v1/models/taught/vocabulary")
    pieces = answer.json()["pieces"]
    tokenizer = taught().tokenizer
    assert pieces == [tokenizer.piece(token) for token in range(tokenizer.vocab_size)]
    known = {"If-None-Match": answer.headers["etag"]}
    assert server.client.get("/v1/models/taught/vocabulary", headers=known).status_code == 304
    detail = server.problem(server.client.get("/v1/models/nobody/vocabulary"), 404, "unknown-model")
    assert "taught, random" in detail
