"""Restart replicas behind a load balancer, one after the other, under load: which requests fail?

::

    python tools/rolling_restart.py --haproxy /usr/sbin/haproxy

Two replicas of ``translucid serve`` with the built-in model stand behind HAProxy with
examples/haproxy.cfg. While clients translate, each replica is told to end (SIGTERM), and started
again when it has ended. Each answer must be a translation. It also prints what docs/how-to-scale.md
reads off /metrics, under that load.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

from translucid.data.readers.built_in import lesson_pairs

ROOT = Path(__file__).parents[1]
TEXTS = [pair[0] for pair in lesson_pairs("test")[:400]]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_replica(port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "translucid", "serve", "--quiet", "--port", str(port)]
    replica = subprocess.Popen([*command, "--threads", "1", "--precision", "float32"])
    while not is_ready(port):
        time.sleep(0.1)
    return replica


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def translate(port: int, text: str) -> str:
    body = json.dumps({"texts": [text], "target": "en"}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/translate", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=70) as answer:
        return str(json.load(answer)["translations"][0]["text"])


class Clients:
    """Threads that translate texts again and again, and count what becomes of it."""

    def __init__(self, port: int, count: int) -> None:
        self.outcomes: Counter[str] = Counter()
        self._port, self._known = port, dict[str, str]()
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(n,)) for n in range(count)]
        for thread in self._threads:
            thread.start()

    def _run(self, number: int) -> None:
        while not self._ended.is_set():
            number += 1
            text = TEXTS[number * 37 % len(TEXTS)]
            try:
                found = translate(self._port, text)
                same = self._known.setdefault(text, found) == found
                self.outcomes["answered" if same else "answered in another way"] += 1
            except urllib.error.HTTPError as error:
                reason = error.read(200).decode(errors="replace")
                self.outcomes[f"status {error.code}: {reason}"] += 1
            except OSError as error:
                self.outcomes[type(error).__name__] += 1

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()


def read_metrics(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode()
    found: Counter[str] = Counter()
    for name, value in re.findall(r"^(\w+)(?:{[^}]*})? ([\d.e+-]+)$", lines, re.MULTILINE):
        found[name] += float(value)
    return dict(found)


def report_load(port: int, seconds: float) -> None:
    """Print how busy a replica is, and how long a new sentence waits."""
    before = read_metrics(port)
    waiting = []
    for _ in range(10):
        time.sleep(seconds / 10)
        after = read_metrics(port)
        waiting.append(after["translucid_waiting"])
    rates = {
        name: (after[name] - before[name]) / seconds
        for name in ("translucid_batch_seconds_sum", "translucid_batch_sentences_sum")
    }
    print(
        f"busy {rates['translucid_batch_seconds_sum']:.2f} of 1 worker, "
        f"{rates['translucid_batch_sentences_sum']:.0f} sentences per second, "
        f"{sum(waiting) / len(waiting):.1f} waiting"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--haproxy", default="haproxy")
    parser.add_argument("--clients", type=int, default=8)
    given = parser.parse_args()
    port, *ports = free_port(), free_port(), free_port()
    replicas = [start_replica(each) for each in ports]
    names = {"PORT": str(port), "FIRST": str(ports[0]), "SECOND": str(ports[1])}
    balancer = subprocess.Popen(
        [given.haproxy, "-f", ROOT / "examples" / "haproxy.cfg"], env=os.environ | names
    )
    while not is_ready(port):
        time.sleep(0.1)
    clients = Clients(port, given.clients)
    try:
        report_load(ports[0], 5.0)
        for number in (0, 1):
            replicas[number].send_signal(signal.SIGTERM)
            code = replicas[number].wait()
            before = clients.outcomes.total()
            replicas[number] = start_replica(ports[number])
            answered = clients.outcomes.total() - before
            print(f"replica {number + 1} ended with {code}; {answered} answers until it was back")
            time.sleep(3)
    finally:
        clients.end()
        for process in (balancer, *replicas):
            process.terminate()
            process.wait()
    print(", ".join(f"{count:,} {outcome}" for outcome, count in clients.outcomes.items()))
    return int(set(clients.outcomes) != {"answered"})


if __name__ == "__main__":
    sys.exit(main())
