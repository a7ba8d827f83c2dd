"""Hours of mixed traffic at 70 % of what the server can do: nothing wrong, nothing that grows."""

from __future__ import annotations

import http.client
import json
import math
import statistics
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from campaign.area import Area, Server, serving

CLIENTS = 8
SHARE = 0.7  # of the capacity
CAPACITY_SECONDS = 10.0
SAMPLE_SECONDS = 1.0
WORDS = ("le chat", "une maison", "la gare", "mon père", "un livre", "cette ville", "du pain")
VERBS = ("est grand", "dort", "arrive demain", "n'est pas ici", "coûte cher", "me plaît")


def write_texts(area: Area) -> list[list[str]]:
    """Requests of one to eight texts, short and long."""

    def text() -> str:
        parts = [
            f"{area.draw.choice(WORDS)} {area.draw.choice(VERBS)}"
            for _ in range(area.draw.choice([1, 1, 1, 2, 9]))
        ]
        return ", ".join(parts).capitalize() + "."

    return [[text() for _ in range(area.draw.choice([1, 1, 1, 3, 8]))] for _ in range(80)]


@dataclass
class Traffic:
    """What the clients share: what to ask, the right answers, the pace, and what came."""

    port: int
    requests: list[list[str]]
    right: dict[int, list[str]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    asked: int = 0
    answered: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    stop: threading.Event = field(default_factory=threading.Event)

    def ask(self, connection: http.client.HTTPConnection, number: int) -> tuple[int, list[str]]:
        body = json.dumps({"texts": self.requests[number], "target": "en"})
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/v1/translate", body, headers)
        answer = connection.getresponse()
        told = json.loads(answer.read())
        if answer.status != 200:
            return answer.status, [str(told.get("detail"))]
        return 200, [one["text"] for one in told["translations"]]

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
                status, texts = self.ask(connection, number)
            except (OSError, http.client.HTTPException, ValueError) as error:
                status, texts = 0, [repr(error)]
            finally:
                connection.close()
            with self.lock:
                self.answered += 1
                self.seconds.append(time.monotonic() - begin)
                if status not in (200, 429, 503, 504) or (
                    status == 200 and texts != self.right.get(number, texts)
                ):
                    self.faults.append(f"{self.requests[number]}: {status} {texts}")
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
    """Measure the capacity, then keep to a share of it, and watch the process."""
    with serving(area) as server:
        traffic = Traffic(server.port, write_texts(area))
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=90)
        for number in range(len(traffic.requests)):  # each alone
            status, traffic.right[number] = traffic.ask(connection, number)
            area.check(status == 200, f"alone: {status} {traffic.right[number]}")
        connection.close()
        capacity = traffic.run(min(CAPACITY_SECONDS, area.seconds / 5), None)
        traffic.seconds.clear()
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
        "p50_seconds": round(ordered[len(ordered) // 2], 4),
        "p99_seconds": round(ordered[int(len(ordered) * 0.99)], 4),
        "memory_mb": [round(s[1] / 1e6, 1) for s in samples[:: max(1, len(samples) // 60)]],
        "memory_slope_mb_per_hour": [round(slope, 1), round(half, 1)],
        "open_files": [min(s[2] for s in samples), max(s[2] for s in samples)],
        "threads": [min(s[3] for s in samples), max(s[3] for s in samples)],
    }


def measure(server: Server, begin: float) -> tuple[float, int, int, int]:
    return time.monotonic() - begin, server.memory(), server.open_files(), server.threads()
