"""Crowds: hundreds of slow readers, a thousand idle connections, and one text that is long work."""

from __future__ import annotations

import http.client
import itertools
import json
import resource
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any

from campaign.area import Area, Server, serving

LIMIT = 75.0
READERS, IDLE = 512, 1000
ADDRESSES = [f"127.0.0.{number}" for number in range(2, 10)]
READ_BYTES, READ_PAUSE = 4096, 12.0
MOST_MEMORY = 200_000_000
LIVE_SECONDS, NEW_CLIENT_SECONDS = 0.1, 1.0
SENTENCE = "Le chat dort dans la maison pendant que mon père lit un livre. "
SHORT = {"texts": ["Je ne sais pas."], "target": "en"}
LONG = (SENTENCE * 78, "漢" * 1900, SENTENCE[:-2] * 78, "e\u0301\u0302" * 1600)
MOST_P99 = 4  # times that of clients alone


def connect(server: Server, address: str) -> socket.socket:
    """Connect from an address of loopback, with little room for what is sent."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, READ_BYTES)
    connection.settimeout(LIMIT)
    connection.bind((address, 0))
    connection.connect(("127.0.0.1", server.port))
    return connection


def ask(server: Server, method: str, path: str, body: Any = None) -> tuple[int, bytes, float]:
    """Return status, body and seconds of an answer to a new client."""
    begin = time.monotonic()
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, LIMIT)) as connection:
        headers = {"Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), time.monotonic() - begin


def ask_for(
    server: Server, seconds: float, method: str, path: str, body: Any = None
) -> Iterator[tuple[int, float]]:
    """Ask the same again and again, each time as a new client; yield status and seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        status, _, took = ask(server, method, path, body)
        yield status, took
        time.sleep(0.02)


def percentile(values: list[float], share: float) -> float:
    return round(sorted(values)[int(len(values) * share)], 4)


def read_slowly(area: Area, server: Server, seconds: float) -> None:
    """Let hundreds of clients read a large tensor by drops; watch memory and /health/live."""
    body = {"text": SENTENCE * 8, "target": "en", "level": "full", "keep": True}
    status, answer, _ = ask(server, "POST", "/v1/trace", body)
    if not area.check(status in (200, 201), f"the trace was answered with {status}: {answer!r}"):
        return
    path = f"/v1/trace/{json.loads(answer)['id']}/tensors/logits"
    _, tensor, _ = ask(server, "GET", path)
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    readers: list[socket.socket] = []
    answers: Counter[bytes] = Counter()
    before, most = server.memory(), 0
    times: list[float] = []
    each, due = itertools.cycle(ADDRESSES), time.monotonic()
    for status, took in ask_for(server, seconds, "GET", "/health/live"):
        times.append(took)
        area.check(status == 200, f"/health/live was answered with {status}")
        most = max(most, server.memory() - before)
        for _ in range(min(16, READERS - len(readers))):
            readers.append(connect(server, next(each)))
            readers[-1].sendall(request)
            answers[readers[-1].recv(12)] += 1
        if time.monotonic() >= due:
            due += READ_PAUSE
            readers = [one for one in readers if reads_on(one)]
    for one in readers:
        one.close()
    area.check([*answers] == [b"HTTP/1.1 200"], f"slow readers were answered {dict(answers)}")
    area.check(most < MOST_MEMORY, f"{READERS} slow readers took {most / 1e6:.0f} MB")
    late = percentile(times, 0.99)
    area.check(late < LIVE_SECONDS, f"/health/live took {late} s (p99) beside slow readers")
    area.numbers["slow_readers"] = {
        "readers": READERS,
        "tensor_mb": round(len(tensor) / 1e6, 1),
        "memory_mb": round(most / 1e6, 1),
        "live_p50_seconds": percentile(times, 0.5),
        "live_p99_seconds": late,
    }
    area.tried["slow readers"] += READERS


def reads_on(reader: socket.socket) -> bool:
    """Read some bytes; close what the server has closed."""
    with suppress(OSError):
        if reader.recv(READ_BYTES):
            return True
    reader.close()
    return False


def stay_idle(area: Area, server: Server, seconds: float) -> None:
    """Open many connections that say nothing, again and again; others come and are served."""
    times: list[float] = []
    idle: deque[socket.socket] = deque()
    each = itertools.cycle(ADDRESSES)
    opened = 0
    for status, took in ask_for(server, seconds, "POST", "/v1/translate", SHORT):
        area.check(status == 200, f"beside idle connections a client was answered {status}")
        times.append(took)
        for _ in range(25 if opened < IDLE else 1):
            idle.append(connect(server, next(each)))
            opened += 1
        while len(idle) > IDLE:
            idle.popleft().close()
    for one in idle:
        one.close()
    late = max(times)
    area.check(late < NEW_CLIENT_SECONDS, f"beside idle connections a client waited {late:.2f} s")
    area.numbers["idle"] = {"connections": opened, "slowest_seconds": round(late, 4)}
    area.tried["idle connections"] += opened


def work_long(area: Area, server: Server, seconds: float) -> None:
    """Send one long text after another; the p99 of others stays within a few times what it was."""

    def measure(share: float) -> list[float]:
        found = [*ask_for(server, share * seconds, "POST", "/v1/translate", SHORT)]
        for status, _ in found:
            area.check(status == 200, f"beside long texts a client was answered {status}")
        return [took for _, took in found]

    alone = measure(0.3)
    stop = threading.Event()
    statuses: list[int] = []

    def send() -> None:
        for text in itertools.cycle(LONG):
            if stop.is_set():
                return
            status, _, _ = ask(server, "POST", "/v1/translate", {"texts": [text], "target": "en"})
            statuses.append(status)

    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(send)
        try:
            beside = measure(0.7)
        finally:
            stop.set()
        sending.result()
    area.check({*statuses} == {200}, f"long texts were answered {Counter(statuses)}")
    figures = {
        name: {"p50_seconds": percentile(times, 0.5), "p99_seconds": percentile(times, 0.99)}
        for name, times in (("alone", alone), ("beside_long_texts", beside))
    }
    ratio = figures["beside_long_texts"]["p99_seconds"] / figures["alone"]["p99_seconds"]
    area.check(
        ratio <= MOST_P99, f"beside long texts the p99 of others is {ratio:.1f} times as long"
    )
    area.numbers["long_texts"] = {**figures, "p99_ratio": round(ratio, 2), "sent": len(statuses)}
    area.tried["long texts"] += len(statuses)


def run(area: Area) -> None:
    """Three crowds in turn, each for a third of the time."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    room = str(READERS + 88)
    limits = ("--set", f"max_connections={room}", "--set", f"max_connections_per_address={room}")
    with serving(area, *limits) as server:
        read_slowly(area, server, area.seconds / 3)
    with serving(area) as server:
        ask(server, "POST", "/v1/translate", SHORT)
        stay_idle(area, server, area.seconds / 3)
        work_long(area, server, area.seconds / 3)
