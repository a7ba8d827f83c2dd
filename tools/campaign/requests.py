"""Bad requests over raw sockets: grammar, types, texts, headers, slow clients and gone ones."""

from __future__ import annotations

import json
import random
import select
import socket
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any

from campaign.area import Area, Server, serving

LIMIT = 75.0  # seconds for an answer; request_seconds is 60
CONTROL = ("Je ne sais pas.", "I don't know.")
CONTROL_EVERY = 100
BODIES: dict[str, dict[str, Any]] = {
    "/v1/translate": {
        "texts": ["Le chat dort."], "target": "en", "alignment": True, "terms": {"chat": "cat"},
        "search": {"method": "beam", "beam": 4, "n_best": 2, "length_penalty": 0.6},
    },
    "/v1/translate/stream": {"text": "Le chat dort.", "target": "en", "search": {"beam": 2}},
    "/v1/score": {"sources": ["Le chat dort."], "targets": ["The cat sleeps."], "target": "en"},
    "/v1/trace": {"text": "Le chat dort.", "target": "en", "level": "light", "keep": True},
    "/v1/next": {"text": "Le chat dort.", "target": "en", "prefix_text": "The", "count": 5},
    "/translate": {"q": "Le chat dort.", "source": "fr", "target": "en", "format": "text"},
    "/detect": {"q": "Le chat dort."},
}  # fmt: skip
PATHS = (
    *("/", "/docs", "/openapi.json", "/health/live", "/health/ready", "/metrics", "/v1/models"),
    *("/v1/runs", "/languages", "/v1/trace/AAAAAAAAAAAAAAAAAAAAAA", "/v1/trace/../../etc/passwd"),
    *("/%2e%2e/%2e%2e/etc/passwd", "//", "/v1/models/fr-en/vocabulary?q=%00&limit=-1", "*", "a"),
)
HEADERS = (
    *("Host", "Origin", "Content-Length", "Transfer-Encoding", "Content-Type", "Expect", "Range"),
    *("Accept-Encoding", "If-None-Match", "Authorization", "Connection", "Upgrade", "Cookie"),
    *("Sec-Fetch-Site", "Sec-Fetch-Mode", "X-Forwarded-For", "Access-Control-Request-Method"),
)
VALUES = (
    *("", "http://[", "http://evil.example", "null", "-1", "0", "99999999999999999999", "chunked"),
    *("gzip, chunked", "localhost@evil.example", "[::1]x", "localhost:99999", "evil.example", "*"),
    *(
        "application/json;charset=utf-7",
        "multipart/form-data; boundary=",
        "100-continue",
        "\xff\xfe",
    ),
    *(
        'W/"',
        "bytes=0-",
        "close, keep-alive",
        "Bearer ",
        "Bearer \xe9",
        "h2c",
        "cross-site",
        "a" * 9000,
    ),
)


def build(path: str, body: bytes, headers: list[tuple[str, str]], method: str = "POST") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def usual(body: bytes) -> list[tuple[str, str]]:
    return [
        ("Host", "localhost"),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("Connection", "close"),
    ]


def encode(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")


def broken_grammar(draw: random.Random) -> bytes:
    """A sound request with some of its bytes, lines or lengths changed."""
    path = draw.choice([*BODIES])
    body = encode(BODIES[path])
    request = bytearray(build(path, body, usual(body), draw.choice(["POST", "PUT", "GET", "BREW"])))
    for _ in range(draw.randint(1, 6)):
        place = draw.randrange(len(request))
        match draw.randrange(6):
            case 0:
                request[place] = draw.randrange(256)
            case 1:
                del request[place : place + draw.randint(1, 20)]
            case 2:
                request[place:place] = draw.randbytes(draw.randint(1, 40))
            case 3:
                request = request.replace(
                    b"\r\n", draw.choice([b"\n", b"\r", b"\r\n ", b"\r\r\n"]), 1
                )
            case 4:
                request = request.replace(
                    b"HTTP/1.1", draw.choice([b"HTTP/1.0", b"HTTP/9", b"h"]), 1
                )
            case _:
                request = request[: max(1, place)]
        if not request:
            return b"\r\n\r\n"
    return bytes(request)


def odd_headers(draw: random.Random) -> bytes:
    """Hosts, origins, keys, lengths and encodings that are none, or those of others."""
    is_post = draw.random() < 0.5
    path = draw.choice([*BODIES]) if is_post else draw.choice(PATHS)
    body = encode(BODIES[path]) if is_post else b""
    headers = usual(body)
    for _ in range(draw.randint(1, 4)):
        one = (draw.choice(HEADERS), draw.choice(VALUES))
        headers.insert(draw.randrange(len(headers) + 1), one)
        if draw.random() < 0.5:
            headers = [h for h in headers if h is one or h[0] != one[0]]
    return build(
        path, body, headers, "POST" if is_post else draw.choice(["GET", "HEAD", "OPTIONS"])
    )


ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1.5, 10**40, 1e308, "", "a" * 9000, "\ud800", "\0", [], {}, [[]], [None]),
    *({"a": {"b": []}}, ["x"] * 100, "fr", "de", [1, 2], float("nan"), "\u202e\u200b", 2**63),
)


def confused_types(draw: random.Random) -> bytes:
    """A sound body with fields of other types, values or names."""
    path = draw.choice([*BODIES])
    body = json.loads(json.dumps(BODIES[path]))
    for _ in range(draw.randint(1, 3)):
        part = body
        while True:
            key = draw.choice([*part, "unknown"])
            if isinstance(part.get(key), dict) and part[key] and draw.random() < 0.7:
                part = part[key]
                continue
            part[key] = draw.choice(ODD)
            break
    content = encode(body)
    return build(path, content, usual(content))


ALPHABETS = (
    *(
        "漢",
        "😀",
        "\u200b",
        "\u0301",
        "e\u0301\u0302",
        "\u202e",
        "👩\u200d",
        "ж",
        "a",
        ".",
        "<b>",
        "&amp;",
    ),
    *("\x00", "\ufffe", "non ", "{x} ", "http://a.b ", "1 ", "\t", "\n", "\r", "ﷺ", "𝕏", "ก็็็", "-"),
)


def hostile_texts(draw: random.Random) -> bytes:
    """Texts that no network has seen, short and up to every limit."""
    pieces = [draw.choice(ALPHABETS) for _ in range(draw.randint(1, 4))]
    length = draw.choice([1, 3, 20, 200, 1000, 4999, 5001])
    text = "".join(draw.choice(pieces) for _ in range(length))[:length]
    path = draw.choice(["/v1/translate", "/v1/translate/stream", "/translate"])
    field = {"/v1/translate": "texts", "/v1/translate/stream": "text", "/translate": "q"}[path]
    body = {**BODIES[path], field: [text] if field == "texts" else text}
    body.pop("terms", None)
    content = encode(body)
    return build(path, content, usual(content))


KINDS: tuple[Callable[[random.Random], bytes], ...] = (
    *(broken_grammar, odd_headers, confused_types, confused_types, broken_grammar, hostile_texts),
)


def ask(server: Server, request: bytes, *, ends: bool = True) -> bytes:
    """Send bytes, and return all that comes back."""
    with closing(socket.create_connection(("127.0.0.1", server.port), LIMIT)) as connection:
        data = b""
        with suppress(ConnectionError):  # refused before all was read
            connection.sendall(request)
            if ends:
                connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(1 << 16):
                data += part
        return data


def status_of(answer: bytes) -> int:
    """Return the status of an answer, the one after 100 Continue, or 0 if there is none."""
    answer = answer.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    first = answer.split(b"\r\n", 1)[0].split()
    return int(first[1]) if len(first) > 1 and first[1].isdigit() else 0


def leave(server: Server, draw: random.Random) -> None:
    """Begin a request, or begin to read its answer, and go away without a word."""
    body = encode(
        BODIES["/v1/translate/stream"] | {"text": "Où est la gare ? " * draw.randint(1, 90)}
    )
    request = build("/v1/translate/stream", body, usual(body))
    with closing(socket.create_connection(("127.0.0.1", server.port), LIMIT)) as connection:
        connection.sendall(request[: draw.randint(1, len(request))])
        if draw.random() < 0.5:
            select.select([connection], [], [], draw.random() / 2)


def check_control(area: Area, server: Server) -> None:
    """Check that a sound request is answered as ever."""
    body = encode({"texts": [CONTROL[0]], "target": "en"})
    answer = ask(server, build("/v1/translate", body, usual(body)))
    area.check(CONTROL[1].encode() in answer, f"the control was answered: {answer[-300:]!r}")


CLIENTS = 4


def run(area: Area) -> None:
    """Send bad requests of all kinds from several clients; some are slow, and some leave."""
    statuses: Counter[str] = Counter()
    with serving(area) as server:
        check_control(area, server)
        area.start_clock()
        draws = [random.Random(f"{area.seed} client {number}") for number in range(CLIENTS)]
        with ThreadPoolExecutor(CLIENTS) as pool:
            for done in [pool.submit(bother, area, server, draw, statuses) for draw in draws]:
                done.result()
        check_control(area, server)
    area.numbers["statuses"] = dict(statuses)


def bother(area: Area, server: Server, draw: random.Random, statuses: Counter[str]) -> None:
    """Send bad requests, one after another, until the time is over."""
    slow: list[socket.socket] = []
    number = 0
    while area.has_time:
        number += 1
        if number % CONTROL_EVERY == 0:
            check_control(area, server)
        if number % 20 == 10:
            area.tried["left"] += 1
            leave(server, draw)
            continue
        if number % 20 == 0:
            area.tried["slow"] += 1
            connection = socket.create_connection(("127.0.0.1", server.port), LIMIT)
            whole = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
            connection.sendall(whole[: draw.randrange(60)])
            slow.append(connection)
            if len(slow) > 20:
                slow.pop(0).close()
            continue
        kind = draw.choice(KINDS)
        request = kind(draw)
        area.tried[kind.__name__] += 1
        begin = time.monotonic()
        try:
            status = status_of(ask(server, request))
        except TimeoutError:
            area.check(False, f"no answer within {LIMIT:g} s to {request[:300]!r}")
            continue
        statuses[str(status)] += 1
        area.check(
            status < 500 or status in (503, 504),
            f"{status} after {time.monotonic() - begin:.1f} s to {request[:400]!r}",
        )
    for connection in slow:
        connection.close()
