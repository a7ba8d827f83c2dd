"""Hours of mixed traffic at 70 % of what the server can do: nothing wrong, nothing that grows."""

from __future__ import annotations

import http.client
import json
import math
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from campaign.area import Area, Server, serving

CLIENTS = 8
SHARE = 0.7  # of the capacity
CAPACITY_SECONDS = 10.0
SAMPLE_SECONDS = 1.0
SOUND = (200, 201)
WORDS = ("le chat", "une maison", "la gare", "mon père", "un livre", "cette ville", "du pain")
VERBS = ("est grand", "dort", "arrive demain", "n'est pas ici", "coûte cher", "me plaît")


@dataclass(frozen=True)
class Request:
    """What to ask, and what of the answer is compared."""

    path: str
    body: dict[str, Any]
    read: Callable[[bytes], Any]


def read_texts(answer: bytes) -> list[str]:
    return [one["text"] for one in json.loads(answer)["translations"]]


def read_stream(answer: bytes) -> str:
    """Return the translation of the last event."""
    return str(json.loads(answer.rpartition(b"data: ")[2])["translation"]["text"])


def read_scores(answer: bytes) -> list[float]:
    return [round(one["log_prob"], 2) for one in json.loads(answer)["scores"]]


def read_trace(answer: bytes) -> Any:
    return json.loads(answer)["translation"]


def write_requests(area: Area) -> list[Request]:
    """Translations of one to eight texts, short and long; some streams, scores and traces."""

    def text() -> str:
        parts = [
            f"{area.draw.choice(WORDS)} {area.draw.choice(VERBS)}"
            for _ in range(area.draw.choice([1, 1, 1, 2, 9]))
        ]
        return ", ".join(parts).capitalize() + "."

    def request() -> Request:
        match area.draw.choices(["translate", "stream", "score", "trace"], [16, 2, 2, 1])[0]:
            case "stream":
                return Request(
                    "/v1/translate/stream", {"text": text(), "target": "en"}, read_stream
                )
            case "score":
                body = {"sources": [text()], "targets": ["The cat sleeps."], "target": "en"}
                return Request("/v1/score", body, read_scores)
            case "trace":
                body = {"text": area.draw.choice(WORDS), "target": "en", "level": "light"}
                return Request("/v1/trace", body, read_trace)
        texts = [text() for _ in range(area.draw.choice([1, 1, 1, 3, 8]))]
        return Request("/v1/translate", {"texts": texts, "target": "en"}, read_texts)

    return [request() for _ in range(80)]


@dataclass
class Traffic:
    """What the clients share: what to ask, the right answers, the pace, and what came."""

    port: int
    requests: list[Request]
    right: dict[int, Any] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    answered: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    stop: threading.Event = field(default_factory=threading.Event)

    def ask(self, connection: http.client.HTTPConnection, number: int) -> tuple[int, Any]:
        asked = self.requests[number]
        headers = {"Content-Type": "application/json"}
        connection.request("POST", asked.path, json.dumps(asked.body), headers)
        answer = connection.getresponse()
        body = answer.read()
        found = asked.read(body) if answer.status in SOUND else body[-500:]
        return answer.status, found

    def work(self, first: int, pause: float | None) -> None:
        """Ask on, every `pause` seconds, or at once when answered."""
        number, due = first, time.monotonic()
        while not self.stop.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)
            number = (number + CLIENTS) % len(self.requests)
            begin = time.monotonic()
            with self.lock:
                self.asked += 1
            try:
                status, found = self.ask(connection, number)
            except (OSError, http.client.HTTPException, ValueError, LookupError) as error:
                status, found = 0, repr(error)
            finally:
                connection.close()
            with self.lock:
                self.answered += 1
                self.seconds.append(time.monotonic() - begin)
                self.statuses[str(status)] += 1
                if status not in (*SOUND, 429, 503, 504) or (
                    status in SOUND and found != self.right.get(number, found)
                ):
                    asked = self.requests[number]
                    self.faults.append(f"{asked.path} {asked.body}: {status} {found}")
            if pause is not None:
                due = max(due + pause, time.monotonic() - pause)
                self.stop.wait(max(0.0, due - time.monotonic()))

    def run(self, seconds: float, pause: float | None, sample: Any = None) -> float:
        """Let all clients ask for some seconds; return the answers per second."""
        self.stop.clear()
        before, begin = self.answered, time.monotonic()
        threads = [threading.Thread(target=self.work, args=(n, pause)) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        while time.monotonic() - begin < seconds:
            self.stop.wait(SAMPLE_SECONDS)
            if sample is not None:
                sample()
        self.stop.set()
        for thread in threads:
            thread.join()
        return (self.answered - before) / (time.monotonic() - begin)


def fit_slope(xs: list[float], ys: list[float]) -> tuple[float, float]:
    """Return the slope of a line through points, and half of its 95 % interval."""
    if len(xs) < 3 or not (spread := math.fsum((x - statistics.fmean(xs)) ** 2 for x in xs)):
        return 0.0, math.inf
    slope, start = statistics.linear_regression(xs, ys)
    rest = math.fsum((y - start - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))
    return slope, 1.96 * math.sqrt(rest / (len(xs) - 2) / spread)


def run(area: Area) -> None:
    """Measure the capacity, then keep to a share of it, and watch the process.

    In float32: in int8 a few translations in a thousand may depend on what is computed with them.
    """
    with serving(area, "--precision", "float32") as server:
        traffic = Traffic(server.port, write_requests(area))
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=90)
        for number in range(len(traffic.requests)):  # each alone
            status, traffic.right[number] = traffic.ask(connection, number)
            area.check(status in SOUND, f"alone: {status} {traffic.right[number]}")
        connection.close()
        capacity = traffic.run(min(CAPACITY_SECONDS, area.seconds / 5), None)
        traffic.seconds.clear()
        traffic.statuses.clear()
        samples: list[tuple[float, int, int, int]] = []
        begin = time.monotonic()
        rate = traffic.run(
            area.seconds,
            CLIENTS / (SHARE * capacity),
            lambda: samples.append(measure(server, begin)),
        )
    for fault in traffic.faults:
        area.check(False, fault)
    area.check(traffic.asked == traffic.answered, "not every request was answered")
    area.tried["requests compared"] = traffic.answered
    settled = samples[len(samples) // 5 :]  # when every thread has its memory
    slope, half = fit_slope([s[0] / 3600 for s in settled], [s[1] / 1e6 for s in settled])
    ordered = sorted(traffic.seconds) or [0.0]
    area.numbers |= {
        "capacity_per_second": round(capacity, 1),
        "answered_per_second": round(rate, 1),
        "statuses": dict(traffic.statuses),
        "p50_seconds": round(ordered[len(ordered) // 2], 4),
        "p99_seconds": round(ordered[int(len(ordered) * 0.99)], 4),
        "memory_mb": [round(s[1] / 1e6, 1) for s in samples[:: max(1, len(samples) // 60)]],
        "memory_slope_mb_per_hour": [round(slope, 1), round(half, 1)],
        "open_files": [min(s[2] for s in samples), max(s[2] for s in samples)],
        "threads": [min(s[3] for s in samples), max(s[3] for s in samples)],
    }


def measure(server: Server, begin: float) -> tuple[float, int, int, int]:
    return time.monotonic() - begin, server.memory(), server.open_files(), server.threads()
