"""Requests of bad faith or bad programs: each a clear refusal, and the server goes on."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from typing import Any

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from served import LIMIT, Running, serving
from translucid.serving.auth import Access, allowed_hosts

JSON = {"Content-Type": "application/json"}
GOOD = {"texts": ["chat noir"]}


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    limits = {"body_seconds": 0.6, "send_seconds": 0.6, "max_connections": 40}
    with serving(limits) as running:
        yield running


@pytest.fixture(scope="module")
def open_to_a_site() -> Iterator[Running]:
    """Run a server that pages of one site may call, so that it reads their headers too."""
    access = Access(hosts=allowed_hosts("127.0.0.1", []), origins=("https://example.org",))
    with serving(access=access) as running:
        yield running


@pytest.fixture(autouse=True)
def _goes_on(server: Running) -> Iterator[None]:
    yield
    assert server.post("/v1/translate", GOOD).json()["translations"][0]["text"] == "black cat"


def connected(server: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT)


def answer_of(connection: socket.socket) -> tuple[int, dict[str, Any]]:
    """Read an answer until the server closes the connection."""
    data = b""
    while part := connection.recv(65536):
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def test_a_body_that_says_it_has_100_megabytes_is_refused_before_it_is_sent(
    server: Running,
) -> None:
    with closing(connected(server)) as connection:
        connection.sendall(
            b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 104857600\r\nExpect: 100-continue\r\n\r\n"
        )
        connection.shutdown(socket.SHUT_WR)
        status, problem = answer_of(connection)
    assert (status, problem["type"]) == (413, "/problems/body-too-large")
    assert (
        "104857600 bytes; this server accepts at most 1000000 (max_body_bytes)" in problem["detail"]
    )


def test_100_megabytes_in_pieces_without_a_length_are_refused_on_the_way(server: Running) -> None:
    pieces = (b" " * 65536 for _ in range(1600))
    answer = server.client.post("/v1/translate", content=pieces, headers=JSON)
    detail = server.problem(answer, 413, "body-too-large")
    assert "more than 1000000 bytes" in detail
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("sent", [b"", b'{"texts": ['])
def test_a_body_that_does_not_come_is_not_waited_for(server: Running, sent: bytes) -> None:
    with closing(connected(server)) as connection:
        connection.sendall(
            b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100\r\n\r\n" + sent
        )
        status, problem = answer_of(connection)
    assert (status, problem["type"]) == (408, "/problems/slow-body")
    assert "did not arrive within 0.6 seconds (body_seconds)" in problem["detail"]


def test_a_body_that_drips_is_not_waited_for(server: Running) -> None:
    with closing(connected(server)) as connection:
        connection.sendall(
            b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        connection.settimeout(0.1)
        data = b""
        end = time.monotonic() + LIMIT
        while b"\r\n\r\n" not in data and time.monotonic() < end:
            connection.sendall(b"1\r\n \r\n")
            try:
                data += connection.recv(65536)
            except TimeoutError:
                continue
    assert data.startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("sent", [b"", b"GET /health/live HT", b"GET / HTTP/1.1\r\nHost: loc"])
def test_headers_that_do_not_come_are_not_waited_for(server: Running, sent: bytes) -> None:
    with closing(connected(server)) as connection:
        connection.sendall(sent)
        assert connection.recv(1) == b""


def test_a_client_that_never_reads_its_answers_is_let_go(server: Running) -> None:
    def ask_on(connection: socket.socket) -> None:
        while True:  # it would block for ever, were the server to wait for it
            connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)

    with closing(connected(server)) as connection, pytest.raises(ConnectionError):
        ask_on(connection)
    end = time.monotonic() + LIMIT
    while server.state.in_flight.count and time.monotonic() < end:
        server.client.get("/health/live")
    assert server.state.in_flight.count == 0


@pytest.mark.parametrize(
    ("sent", "status", "words"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400, "not HTTP/1.1"),
        (b"GET / HTTP/1.1\r\nno colon here\r\n\r\n", 400, "not HTTP/1.1"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, ""),
        (b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 40000, 431, "more than 32768 bytes"),
        (b"GET /" + b"a" * 40000, 431, "(max_header_bytes)"),
    ],
)
def test_what_is_no_http_is_told_so(server: Running, sent: bytes, status: int, words: str) -> None:
    with closing(connected(server)) as connection:
        connection.sendall(sent)
        found, problem = answer_of(connection)
    assert found == status == problem["status"]
    assert words in problem["detail"]


def asking(length: int) -> bytes:
    """Return a request whose line and headers have this many bytes."""
    request = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nA: %s\r\n\r\n"
    return request % (b"a" * (length - len(request) + 2))


@pytest.mark.parametrize(("size", "status"), [(32_768, 200), (32_769, 431), (200_000, 431)])
@pytest.mark.parametrize("before", [b"", b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_headers_are_limited_to_the_byte_though_they_come_at_once(
    server: Running, size: int, status: int, before: bytes
) -> None:
    with closing(connected(server)) as connection:
        connection.sendall(before + asking(size))
        data = b""
        with suppress(ConnectionResetError):  # what was sent beyond the limit was not read
            while part := connection.recv(65536):
                data += part
    found = [int(code) for code in re.findall(rb"HTTP/1\.1 (\d+)", data)]
    assert found == ([200, status] if before else [status])


@pytest.mark.parametrize("path", ["/v1/translate", "/translate", "/nothing"])
def test_a_request_that_says_twice_how_long_it_is_is_refused(server: Running, path: str) -> None:
    with closing(connected(server)) as connection:
        connection.sendall(
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\n".encode()
            + b"Content-Type: application/json\r\n"
            + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            + b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"  # smuggled
        )
        data = b""
        while part := connection.recv(65536):
            data += part
    assert data.count(b"HTTP/1.1 ") == 1
    assert data.startswith(b"HTTP/1.1 400")
    assert b"both a Content-Length and a Transfer-Encoding" in data


UNFINISHED = (
    b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 9\r\n\r\n"
)


@pytest.mark.parametrize("limit", ["max_connections", "max_connections_per_address"])
@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_idle_connections_make_room_for_new_clients(limit: str, sent: bytes) -> None:
    limits = {limit: 10, "body_seconds": LIMIT, "keep_alive_seconds": LIMIT}
    with serving(limits) as server, ExitStack() as stack:
        for _ in range(100):
            connection = stack.enter_context(closing(connected(server)))
            connection.sendall(sent)
            if sent.endswith(b"\r\n\r\n"):
                connection.recv(65536)  # then it is idle
        for _ in range(20):
            client = stack.enter_context(httpx.Client(base_url=server.url, trust_env=False))
            assert client.get("/health/live").status_code == 200


def test_a_connection_that_says_nothing_is_closed_earlier_than_one_that_began() -> None:
    with (
        serving({"keep_alive_seconds": 0.2, "body_seconds": LIMIT}) as server,
        closing(connected(server)) as begun,
        closing(connected(server)) as silent,
    ):
        begun.sendall(b"GET /health/live HTTP/1.1\r\n")
        assert silent.recv(1) == b""
        begun.sendall(b"Host: localhost\r\n\r\n")
        assert begun.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize("limit", ["max_connections", "max_connections_per_address"])
def test_more_connections_than_allowed_are_refused(limit: str) -> None:
    with serving({limit: 10, "body_seconds": LIMIT}) as server, ExitStack() as stack:
        server.client.close()
        for _ in range(10):
            busy = stack.enter_context(closing(connected(server)))
            busy.sendall(UNFINISHED)
        while server.state.in_flight.count < 10:
            pass
        status, problem = answer_of(stack.enter_context(closing(connected(server))))
        assert (status, problem["type"]) == (503, "/problems/too-many-connections")
        assert f"10 connections are open and busy ({limit})" in problem["detail"]


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "http://[v1.x]:y", "://", "\xff"])
def test_an_origin_that_is_none_is_that_of_another_site(server: Running, origin: str) -> None:
    answer = server.client.get("/v1/models", headers={"Origin": origin.encode("latin-1")})
    server.problem(answer, 403, "wrong-origin")


HEADERS = (
    *("Accept", "Accept-Encoding", "Access-Control-Request-Headers"),
    *("Access-Control-Request-Method", "Authorization", "Connection", "Content-Length"),
    *("Content-Type", "Cookie", "Expect", "Forwarded", "Host", "If-None-Match", "Origin", "Range"),
    *("Sec-Fetch-Mode", "Sec-Fetch-Site", "Te", "Transfer-Encoding", "Upgrade"),
)
BEGINNINGS = (
    *("", "http://", "https://example.org", "[", "localhost:", "Bearer ", "bearer", "gzip;q="),
    *("application/json", "application/json; charset=", "multipart/form-data; boundary="),
    *('W/"', '"', "cross-site", "websocket", "chunked", "100-continue", "bytes=0-", "9" * 25),
)


@settings(max_examples=300)
@example([("Origin", b"http://[")], "GET", "/v1/models")
@example([("Content-Length", b"9" * 20)], "POST", "/v1/translate")
@given(
    st.lists(
        st.tuples(
            st.sampled_from(HEADERS),
            st.builds(
                lambda beginning, rest: (beginning + rest).encode("latin-1"),
                st.sampled_from(BEGINNINGS),
                st.text(st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=40),
            ),
        ),
        max_size=4,
    ),
    st.sampled_from(["GET", "HEAD", "POST", "OPTIONS", "PUT", "BREW"]),
    st.sampled_from(["/", "/docs", "/v1/models", "/v1/translate", "/translate", "/detect?q=chat"]),
)
def test_no_header_is_the_fault_of_the_server(
    open_to_a_site: Running, headers: list[tuple[str, bytes]], method: str, path: str
) -> None:
    own = {name for name, _ in headers}
    given = [] if "Host" in own else [("Host", b"localhost")]
    given += [*headers, ("Connection", b"close")]
    lines = b"".join(b"%s: %s\r\n" % (name.encode(), value) for name, value in given)
    with closing(connected(open_to_a_site)) as connection:
        connection.sendall(f"{method} {path} HTTP/1.1\r\n".encode() + lines + b"\r\n")
        connection.shutdown(socket.SHUT_WR)  # there is no body, whatever the headers say
        data = b""
        while part := connection.recv(65536):
            data += part
    assert not data or int(data.split()[1]) < 500, (data, lines)


@pytest.mark.parametrize(
    ("body", "status", "name", "words"),
    [
        (b"[" * 900_000, 400, "bad-json", "nested deeper than 16"),
        (b'{"a":' * 500 + b"1" + b"}" * 500, 400, "bad-json", "nested deeper than 16"),
        (b"[" * 18 + b"]" * 18, 400, "bad-json", "nested deeper than 16"),
        (b'{"texts": ["\xff"]}', 400, "bad-encoding", "byte 12 (0xff) is not UTF-8"),
        (b'{"texts": ["\xed\xa0\x80"]}', 400, "bad-encoding", "is not UTF-8"),
        (b'{"texts": ["\\ud800"]}', 400, "bad-json", "\\ud800 is half of a surrogate pair"),
        (b'{"\\udfff": 1}', 400, "bad-json", "\\udfff is half of a surrogate pair"),
        (b'{"texts": NaN}', 400, "bad-json", "NaN is not a number in JSON"),
        (b'{"texts": -Infinity}', 400, "bad-json", "-Infinity is not a number"),
        (b'{"texts": [], "texts": []}', 400, "bad-json", '"texts" occurs twice'),
        (b'{"texts": ' + b"9" * 5000 + b"}", 400, "bad-json", "too many digits"),
        (b"", 400, "bad-json", "line 1, column 1"),
        (b'{"texts": ["a"] 1}', 400, "bad-json", "at line 1, column 17"),
        (b"3", 422, "invalid-fields", "body: is 3: send an object"),
        (b'{"texts": "a"}', 422, "invalid-fields", 'texts: is "a": must be a valid list'),
        (b'{"texts": [3]}', 422, "invalid-fields", "texts.0: is 3: must be a valid string"),
        (b"{}", 422, "invalid-fields", "texts: is missing"),
        (
            b'{"texts": ["a"], "search": {"length_penalty": 1e999}}',
            422,
            "invalid-fields",
            "search.length_penalty",
        ),
    ],
)
def test_a_body_that_cannot_be_read(
    server: Running, body: bytes, status: int, name: str, words: str
) -> None:
    answer = server.client.post("/v1/translate", content=body, headers=JSON)
    assert words in server.problem(answer, status, name)


@pytest.mark.parametrize(
    ("more", "where", "words"),
    [
        (
            {"search": {"n_best": 10_000}},
            "search.n_best",
            "10000 is above this server's limit of 16",
        ),
        ({"search": {"beam": 10**30}}, "search.beam", "limit of 16 (max_beam)"),
        ({"search": {"samples": 65}}, "search.samples", "limit of 64 (max_samples)"),
        ({"search": {"max_length": 513}}, "search.max_length", "limit of 512 (max_length)"),
        ({"search": {"n_best": 9}}, "search", "n_best = 9, but the method 'beam' finds at most 4"),
        ({"search": {"beam": 2.0}}, "search.beam", "must be a valid integer"),
        ({"search": {"beem": 2}}, "search.beem", "unknown field; did you mean 'beam'?"),
        ({"serch": {}}, "serch", "unknown field; did you mean 'search'?"),
        ({"texts": ["a" * 5001]}, "texts.0", "5001 characters are above this server's limit of"),
        ({"texts": ["a"] * 65}, "texts", "65 entries are above this server's limit of 64"),
        ({"texts": ["a" * 5000] * 11}, "texts", "55000 characters together are above"),
        ({"terms": {"a" * 201: "b"}}, "terms", "limit of 200 (max_word_characters)"),
        ({"forbidden": ["a"] * 201}, "forbidden", "limit of 200 (max_forbidden)"),
        ({"keep": ["a"] * 201}, "keep", "limit of 200 (max_forbidden)"),
        ({"prefixes": ["a" * 501]}, "prefixes.0", "limit of 500 (max_prefix_characters)"),
        ({"alignment": "yes"}, "alignment", "must be a valid boolean"),
    ],
)
def test_fields_beyond_what_is_allowed(
    server: Running, more: dict[str, Any], where: str, words: str
) -> None:
    answer = server.post("/v1/translate", {**GOOD, **more})
    assert words in server.problem(answer, 422, "invalid-fields")
    (fault,) = answer.json()["faults"]
    assert fault["where"].startswith(where)


@pytest.mark.parametrize(
    ("text", "terms", "words"),
    [
        ("chat\n" * 513, None, "have 513 sentences (lines, and parts of long lines)"),
        (
            "chat noir eau",
            dict.fromkeys(["chat", "noir", "eau"], "old " * 49),
            "have 147 tokens in the translation; this server accepts at most 128 (max_term_tokens)",
        ),
    ],
)
def test_what_characters_do_not_bound(
    server: Running, text: str, terms: dict[str, str] | None, words: str
) -> None:
    answer = server.post("/v1/translate", {"texts": [text], "terms": terms})
    assert words in server.problem(answer, 422, "unusable-input")
    answer = server.post("/v1/translate/stream", {"text": text, "terms": terms})
    assert words in server.problem(answer, 422, "unusable-input")


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["漢" * 21], r"a text has \d+ tokens; this server accepts at most 60 \(max_tokens\)"),
        (
            ["漢" * 15] * 3,
            r"the texts have \d+ tokens; this server accepts at most 100 \(max_total",
        ),
    ],
)
def test_texts_of_many_tokens_are_refused_before_they_are_translated(
    texts: list[str], words: str
) -> None:
    """A character that a model has hardly seen takes a token for each of its bytes."""
    with serving({"max_tokens": 60, "max_total_tokens": 100}) as server:
        more = {"model": "random", "target": "fr"}
        answer = server.post("/v1/translate", {"texts": texts, **more})
        assert re.match(words, server.problem(answer, 413, "too-many-tokens"))
        answer = server.post("/v1/score", {"sources": texts, "targets": texts, **more})
        server.problem(answer, 413, "too-many-tokens")
        if len(texts) == 1:
            answer = server.post("/v1/translate/stream", {"text": texts[0], **more})
            assert re.match(words, server.problem(answer, 413, "too-many-tokens"))
        assert server.post("/v1/translate", {"texts": ["chat"]}).status_code == 200


def test_scores_of_many_lines(server: Running) -> None:
    lines = "chat\n" * 513
    detail = server.problem(
        server.post("/v1/score", {"sources": [lines], "targets": [lines]}), 422, "unusable-input"
    )
    assert (
        "513 sentences (lines, and parts of long lines); this server accepts at most 512" in detail
    )


def test_alignments_grow_with_the_square_of_a_text() -> None:
    body = {"texts": ["chat\n" * 9], "alignment": True}
    with serving({"max_alignment": 9 * 2 * 9 - 1}) as server:
        detail = server.problem(server.post("/v1/translate", body), 422, "unusable-input")
        assert "would have 162 numbers; this server sends at most 161 (max_alignment)" in detail
        stream = server.post("/v1/translate/stream", {"text": "chat\n" * 9, "alignment": True})
        assert "162 numbers" in stream.text
        short = server.post("/v1/translate", {"texts": ["chat\n" * 8], "alignment": True}).json()
        assert len(short["translations"][0]["alignment"]["weights"]) == 8


def test_all_faults_are_told_together(server: Running) -> None:
    body = {"texts": [1], "search": {"beam": 0, "n_best": 99}, "sorce": "fr"}
    faults = server.post("/v1/translate", body).json()["faults"]
    assert {fault["where"] for fault in faults} == {
        *("texts.0", "search.beam", "search.n_best", "sorce"),
    }


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_another_type_of_body(server: Running, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    answer = server.client.post("/v1/translate", content=b"{}", headers=headers)
    detail = server.problem(answer, 415, "unsupported-media-type")
    assert (kind or "no Content-Type") in detail
    assert "application/json" in detail


@pytest.mark.parametrize(
    "path",
    [
        "/v1/trace/..%2f..%2fetc%2fpasswd",
        "/v1/trace/../../etc/passwd",
        "/v1/trace/%00",
        "/v1/trace/" + "a" * 5000,
        "/v1/trace/aaaaaaaaaaaaaaaaaaaaaa/tensors/..%2f..",
        "/v1/models/..%2f..%2f/vocabulary",
        "/v1/runs/..%2f../events",
        "/assets/..%2f..%2fapp.py",
        "/..%2fapp.py",
        "/static/../app.py",
        "//etc/passwd",
        "/problems/..%2f",
        "/docs/",
    ],
)
def test_tricks_with_paths_find_nothing(server: Running, path: str) -> None:
    with closing(connected(server)) as connection:
        request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        status, problem = answer_of(connection)
    assert status == 404
    assert len(problem["detail"]) < 500


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("requests", [1, 3])
def test_a_client_that_has_said_all_it_has_to_say_gets_its_answers(
    server: Running, version: str, requests: int
) -> None:
    body = json.dumps({"texts": ["chat noir"] * 64}).encode()
    head = f"POST /v1/translate HTTP/{version}\r\nHost: localhost\r\nContent-Type: application/json"
    head += f"\r\nContent-Length: {len(body)}\r\n\r\n"
    with closing(connected(server)) as connection:
        connection.sendall((head.encode() + body) * requests)
        connection.shutdown(socket.SHUT_WR)  # as `nc -N` does
        data = b""
        while part := connection.recv(65536):
            data += part
    interim = data.count(b"HTTP/1.1 100 ")
    assert interim <= (version == "1.1")
    answers = requests if version == "1.1" else 1
    assert data.count(b"HTTP/1.1 ") - interim == data.count(b"HTTP/1.1 200 OK") == answers
    assert data.count(b'"text":"black cat","tokens"') == 64 * answers


def test_a_client_that_goes_away_is_not_worked_for(server: Running) -> None:
    slow = {
        "texts": ["a b c d e f g h"] * 64,
        "model": "random",
        "target": "fr",
        "search": {"beam": 16, "min_length": 500, "max_length": 512},
    }
    with pytest.raises(httpx.ReadTimeout):
        server.client.post("/v1/translate", json=slow, timeout=0.3)
    end = time.monotonic() + LIMIT
    while server.state.engine.running and time.monotonic() < end:
        server.client.get("/health/live")
    assert server.state.engine.running == 0
    assert b'translucid_job_seconds_count{outcome="cancelled",request="translate"}' in (
        server.client.get("/metrics").content
    )
