"""What happens to every request: its measurement, its end, and what nobody expected."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from served import LIMIT, Running, serving
from translucid.serving.engine.tasks import Draining, Full, TimedOut
from translucid.serving.problems import Problem, problem_from_error
from translucid.serving.routes import translate as translate_routes
from translucid.serving.routes.translate import ServerEvent, event_stream
from translucid.serving.state import InFlight


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with serving() as running:
        yield running


def numbers(server: Running) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return all measurements, as a Prometheus client reads them."""
    answer = server.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_measurements_count_what_was_done(server: Running) -> None:
    while server.client.get("/health/ready").status_code == 503:
        pass  # the warm-up translates too
    before = numbers(server)
    for _ in range(3):
        server.post("/v1/translate", {"texts": ["chat", "noir chien"], "alignment": True})
    server.post("/v1/translate", {})
    server.client.get("/no/such/path")
    after = numbers(server)

    def grown(name: str, **labels: str) -> float:
        key = (f"translucid_{name}", frozenset(labels.items()))
        return after[key] - before.get(key, 0)

    post = {"method": "POST", "path": "/v1/translate"}
    assert grown("http_requests_total", **post, status="200") == 3
    assert grown("http_requests_total", **post, status="422") == 1
    assert grown("http_requests_total", method="GET", path="(no route)", status="404") == 1
    assert grown("http_request_seconds_count", path="/v1/translate") == 4
    assert grown("batch_sentences_sum", kind="search") == 6
    assert grown("batch_sentences_sum", kind="align") == 6
    assert grown("batch_source_tokens_sum", kind="search") >= 6 + 3 * 3
    assert grown("written_tokens_total", kind="search") > 0
    assert grown("job_seconds_count", request="translate", outcome="done") == 3
    assert after["translucid_running", frozenset()] == 0
    assert after["translucid_waiting", frozenset()] == 0
    assert after["translucid_http_requests_in_flight", frozenset()] == 1
    models = {dict(labels)["model"] for name, labels in after if name == "translucid_model_info"}
    assert models == {"taught", "random"}


def test_health(server: Running) -> None:
    assert server.client.get("/health/live").json() == {"status": "alive"}
    assert server.client.head("/health/live").status_code == 200
    while (answer := server.client.get("/health/ready")).status_code == 503:
        assert server.problem(answer, 503, "not-ready") == "the models are being warmed up"
    assert answer.json() == {"status": "ready", "models": ["taught", "random"]}
    assert numbers(server)["translucid_ready", frozenset()] == 1


def test_a_model_whose_warm_up_fails_is_never_ready(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.state.readiness, "fault", "the warm-up translation of x failed")
    detail = server.problem(server.client.get("/health/ready"), 503, "not-ready")
    assert detail == "the warm-up translation of x failed"


def test_what_nobody_expected_is_a_500_that_tells_no_secrets(
    server: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    message = "the secret inside"

    def broken(*_: object) -> None:
        raise RuntimeError(message)

    monkeypatch.setattr(server.state.models, "describe", broken)
    answer = server.client.get("/v1/models")
    detail = server.problem(answer, 500, "internal")
    assert "secret" not in answer.text
    assert answer.headers["x-request-id"] in detail
    assert "content-security-policy" in answer.headers
    assert "secret" not in caplog.text  # it may be a text that was sent
    assert f"request {answer.headers['x-request-id']} failed: RuntimeError" in caplog.text
    assert ", in broken" in caplog.text
    monkeypatch.setattr(server.state, "access", replace(server.state.access, log_text=True))
    server.problem(server.client.get("/v1/models"), 500, "internal")
    assert message in caplog.text
    monkeypatch.setattr(server.state.models, "choose", broken)
    answer = server.post("/translate", {"q": "a", "source": "fr", "target": "en"})
    assert answer.status_code == 500
    assert list(answer.json()) == ["error"]


def test_a_stream_that_fails_on_the_way_says_so_at_its_end(
    server: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(translate_routes, "translation_json", broken)
    told = ""
    with (
        server.client.stream("POST", "/v1/translate/stream", json={"text": "chat"}) as answer,
        suppress(httpx.RemoteProtocolError),  # the answer is cut off behind its last event
    ):
        for part in answer.iter_text():
            told += part
    last = told.rstrip().splitlines()[-2:]
    assert last[0] == "event: problem"
    problem = json.loads(last[1].removeprefix("data: "))
    assert problem["type"] == "/problems/internal"
    assert problem["detail"].endswith(f"under {answer.headers['x-request-id']}")
    assert "failed: ZeroDivisionError" in caplog.text


def test_a_full_queue_is_429_with_the_time_to_wait() -> None:
    body = {
        "texts": ["a b c"] * 3,
        "model": "random",
        "target": "fr",
        "search": {"beam": 4, "min_length": 40, "max_length": 40},
    }
    with serving({"queue_size": 1, "batch_sentences": 1}) as server, ThreadPoolExecutor(8) as pool:
        each = list(pool.map(lambda _: server.post("/v1/translate", body), range(8)))
        refused = [answer for answer in each if answer.status_code == 429]
        assert refused
        assert all(answer.status_code in (200, 429) for answer in each)
        assert "may: try again in" in server.problem(refused[0], 429, "queue-full")
        assert int(refused[0].headers["retry-after"]) >= 1


def test_an_answer_that_takes_too_long_is_504() -> None:
    with serving({"request_seconds": 1.0}) as server:
        body = {
            "texts": ["a b c d e"] * 64,
            "model": "random",
            "target": "fr",
            "search": {"beam": 16, "min_length": 400, "max_length": 400},
        }
        detail = server.problem(server.post("/v1/translate", body), 504, "timed-out")
        assert "not ready within 1 seconds" in detail
        stream = {**body, "text": "a b c d e"}
        del stream["texts"]
        answer = server.post("/v1/translate/stream", stream)
        assert "/problems/timed-out" in answer.text


@pytest.mark.parametrize(
    ("error", "name", "after"),
    [
        (Full("sentences", 9, 9, 3), "queue-full", "3"),
        (TimedOut(2.5), "timed-out", None),
        (Draining(), "draining", "5"),
    ],
)
def test_refusals_of_the_engine_are_problems(
    error: Full | TimedOut | Draining, name: str, after: str | None
) -> None:
    problem = problem_from_error(error)
    assert problem.kind.name == name
    assert problem.detail == str(error)
    assert problem.headers.get("Retry-After") == after


def test_a_stream_shows_that_it_lives_while_nothing_comes() -> None:
    async def run() -> list[bytes]:
        closed = asyncio.Event()
        go = asyncio.Event()

        async def slowly() -> AsyncGenerator[ServerEvent, None]:
            try:
                await go.wait()
                yield ServerEvent("done", {"text": "a\nb"})
            finally:
                closed.set()

        parts = []
        async for part in event_stream(slowly(), 0.01).body_iterator:
            assert isinstance(part, bytes)
            parts.append(part)
            go.set()
        await asyncio.wait_for(closed.wait(), LIMIT)
        return parts

    first, *_, last = asyncio.run(run())
    assert first == b": still at work\n\n"
    assert last == b'event: done\ndata: {"text":"a\\nb"}\n\n'


def test_a_stream_that_is_left_early_is_closed() -> None:
    async def run() -> bool:
        closed = False

        async def endless() -> AsyncGenerator[ServerEvent, None]:
            nonlocal closed
            try:
                while True:
                    yield ServerEvent("partial", 1)
            finally:
                closed = True

        stream = event_stream(endless(), 1.0).body_iterator
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        return closed

    assert asyncio.run(run())


def test_the_last_request_ends_the_drain() -> None:
    async def run() -> None:
        requests = InFlight()
        requests.enter()
        waiting = asyncio.ensure_future(requests.finished())
        requests.drain()
        await asyncio.sleep(0)
        assert not waiting.done()
        requests.leave()
        await asyncio.wait_for(waiting, LIMIT)

    asyncio.run(run())


def test_a_problem_has_a_name_that_is_known() -> None:
    with pytest.raises(KeyError):
        Problem("no-such-problem", "")
