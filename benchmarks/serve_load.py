"""The server under load: micro-batching against one by one, memory, disconnects, SIGTERM.

    .venv/bin/python benchmarks/serve_load.py [-m MODEL --source FILE] [--requests 10000]

Servers are real ones (`translucid serve`), each in a process of its own, and take turns: three
rounds of 1, 8 and 32 clients that ask for one text at a time, of mixed lengths. The baselines
decode one sentence at a time, or with the engine pytorch.
"processor ms" is what all threads of the server compute for a request; other programs that run on
the machine change it less than the rest.

Then, on the micro-batching server alone: its memory over many requests; half of the clients go
away in the middle of their requests, while the answers of the others are compared with those given
one by one; and SIGTERM under load, after which every request it had accepted must be answered.

Without MODEL the network is the preset `tiny` with random weights, and searches go on until a
translation is as long as its source, so that the work is that of a trained one.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import itertools
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import torch
from load_clients import GONE, Answer, Client, Tally, Target, ask_all, load

from translucid.checkpoint.model_directory import (
    CARD,
    ModelFiles,
    named_weights,
    write_model,
)
from translucid.config import GenerationConfig
from translucid.data.readers.built_in import lesson_pairs
from translucid.model import Transformer
from translucid.presets import find_preset
from translucid.text.tokenizer import train_tokenizer

CLIENTS = (1, 8, 32)
ROUNDS = 3
BATCHING = "micro-batching"
ONE_BY_ONE = "one by one"
CONTENDERS = {
    BATCHING: (),
    ONE_BY_ONE: ("--set", "batch_sentences=1"),
    "micro-batching, PyTorch": ("--engine", "pytorch"),
    "one by one, PyTorch": ("--engine", "pytorch", "--set", "batch_sentences=1"),
}
# A random network's translations end where this search makes them end: as long as the source.
TO_THE_LIMIT = {
    "method": "beam",
    "beam": 4,
    "length_penalty": 2.0,
    "length_form": "plain",
    "extra_length": 0,
    "loop_guard": False,
}


def sources(file: Path | None) -> list[str]:
    """Return texts of one to four sentences."""
    if file is not None:
        lines = [line for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]
    else:
        lines = [french for french, _ in lesson_pairs("test")]
    draw = random.Random(0)
    return [" ".join(draw.choices(lines, k=draw.choice((1, 1, 1, 2, 2, 3, 4)))) for _ in range(512)]


def write_random_tiny(folder: Path) -> Path:
    """Write a model directory with the preset tiny, not trained."""
    lines = [line for pair in lesson_pairs("test") for line in pair]
    path = folder / "tokenizer.model"
    tokenizer = train_tokenizer(lines, kind="bpe", vocab_size=4000, path=path)
    torch.manual_seed(0)
    model = Transformer(find_preset("tiny").config(tokenizer.vocab_size))
    files = ModelFiles(
        config=model.config,
        generation=GenerationConfig(directions=[("fr", "en")], tags={}),
        tokenizer=path.read_bytes(),
        provenance={"made": "for a benchmark"},
        texts={CARD: "# Random weights\n"},
    )
    write_model(folder / "tiny", named_weights(model), files)
    return folder / "tiny"


@dataclass(frozen=True)
class Server:
    """A server in a process of its own, and the file that has what it says."""

    process: subprocess.Popen[bytes]
    target: Target
    log: Path

    @property
    def megabytes(self) -> float:
        """Memory that the process holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]

    @property
    def processor_seconds(self) -> float:
        """Time that all threads of the process have computed."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(model: Path, options: Sequence[str], search: dict[str, Any] | None) -> Iterator[Server]:
    """Start a server on any free port, and wait until it is ready."""
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        command = ["-m", "translucid", "serve", "-m", str(model), "--port", "0", *options]
        process = subprocess.Popen([sys.executable, *command], stderr=log)
        try:
            host, port = _address(Path(log.name), process)
            _wait_until_ready(host, port)
            yield Server(process, Target(host, port, search), Path(log.name))
        finally:
            process.kill()
            process.wait()


def _address(log: Path, process: subprocess.Popen[bytes]) -> tuple[str, int]:
    while process.poll() is None:
        found = re.search(r"at http://([\d.]+):(\d+)", log.read_text(encoding="utf-8"))
        if found:
            return found[1], int(found[2])
        time.sleep(0.1)
    raise SystemExit(f"the server ended:\n{log.read_text(encoding='utf-8')}")


def _wait_until_ready(host: str, port: int) -> None:
    while True:
        connection = http.client.HTTPConnection(host, port)
        connection.request("GET", "/health/ready")
        status = connection.getresponse().status
        connection.close()
        if status == 200:
            return
        time.sleep(0.1)


@dataclass(frozen=True)
class Measured:
    """One round of one contender: requests a second, what each took, processor time of each."""

    rate: float
    processor: float
    seconds: list[float]


def throughput(
    servers: dict[str, Server], texts: Sequence[str], seconds: float, known: dict[str, str]
) -> None:
    """Show what the contenders do for 1, 8 and 32 clients; keep the translations one by one."""
    found: dict[tuple[int, str], list[Measured]] = {}
    differ = asked = 0
    for round_ in range(ROUNDS):
        for clients, name in itertools.product(CLIENTS, servers):
            began, computed = time.monotonic(), servers[name].processor_seconds
            tally = asyncio.run(load(servers[name].target, texts, clients, seconds))
            took = time.monotonic() - began
            computed = servers[name].processor_seconds - computed
            good = check_answered(tally)
            if name == BATCHING:
                asked += len(good)
                differ += sum(known.get(a.text, a.translation) != a.translation for a in good)
            elif name == ONE_BY_ONE:
                known.update({answer.text: answer.translation for answer in good})
            waited = [answer.seconds for answer in good]
            measured = Measured(len(good) / took, computed / len(good), waited)
            found.setdefault((clients, name), []).append(measured)
            show(
                f"round {round_ + 1}: {clients} clients, {name}: {measured.rate:.1f}/s", sys.stderr
            )
    print(
        f"{'clients':7} {'':30} requests/s (of rounds)   p50 ms   p99 ms  p99/p50  processor ms"
        "   micro-batching is faster"
    )
    for (clients, name), rounds in found.items():
        rates = [one.rate for one in rounds]
        ours = statistics.median(one.rate for one in found[clients, BATCHING])
        p50, p99 = percentiles([second for one in rounds for second in one.seconds])
        processor = statistics.median(one.processor for one in rounds)
        spread = f"({min(rates):.1f}-{max(rates):.1f})"
        show(
            f"{clients:7} {name:30} {statistics.median(rates):8.1f} {spread:14} {1000 * p50:8.0f}"
            f"{1000 * p99:9.0f}{p99 / p50:9.1f}{1000 * processor:14.1f}"
            f"{ours / statistics.median(rates):17.2f} ×"
        )
    show(f"translations that differ from those made one by one: {differ} of {asked}")


def check_answered(tally: Tally) -> list[Answer]:
    """Return the answers, all of which must be translations."""
    wrong = {answer.status for answer in tally.answers} - {200}
    if wrong:
        raise SystemExit(f"answers with the status {sorted(wrong)}")
    return tally.answers


def percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(seconds)
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]


def memory(server: Server, texts: Sequence[str], requests: int) -> None:
    """Show the server's memory after each tenth of many requests, of four words each."""
    short = [" ".join(text.split()[:4]) for text in texts]
    curve = [server.megabytes]
    for part in range(10):
        share = [short[n % len(short)] for n in range(part, requests, 10)]
        tally = Tally()
        asyncio.run(ask_all(server.target, iter(share), 32, tally))
        check_answered(tally)
        curve.append(server.megabytes)
        show(f"memory after {(part + 1) * requests // 10} requests: {curve[-1]:.0f} MB", sys.stderr)
    show(
        f"memory over {requests} requests, MB at the start and after each tenth: "
        f"{' '.join(f'{one:.0f}' for one in curve)}; second half {curve[-1] - curve[5]:+.1f}"
    )


def disconnects(
    server: Server, texts: Sequence[str], known: dict[str, str], seconds: float
) -> None:
    """Let 16 clients leave in the middle of their requests, again and again, while 16 stay."""
    left = 0

    async def leave(number: int) -> None:
        nonlocal left
        draw = random.Random(number)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            await Client(server.target).ask_and_leave(draw.choice(texts), draw.uniform(0, 0.2))
            left += 1
            await asyncio.sleep(draw.uniform(0, 0.4))

    async def both() -> Tally:
        stay = asyncio.ensure_future(load(server.target, texts, 16, seconds))
        await asyncio.gather(*(leave(number) for number in range(16)))
        return await stay

    tally = asyncio.run(both())
    lost = sum(answer.status != 200 for answer in tally.answers)
    wrong = sum(known.get(a.text, a.translation) != a.translation for a in tally.of(200))
    show(
        f"half of the clients disconnect: {left} left before their answer; of the others' "
        f"{len(tally.answers)} requests {lost} were lost, {wrong} got another translation"
    )


def sigterm(server: Server, texts: Sequence[str]) -> None:
    """Stop the server under load, and account for every request."""
    tally = Tally()
    told = time.monotonic()

    async def test() -> None:
        nonlocal told
        asking = asyncio.ensure_future(ask_all(server.target, itertools.cycle(texts), 32, tally))
        await asyncio.sleep(2)
        told = time.monotonic()
        os.kill(server.process.pid, signal.SIGTERM)
        await asking

    asyncio.run(test())
    code = server.process.wait()
    log = server.log.read_text(encoding="utf-8")
    accepted = int(re.search(r"still being answered: (\d+)", log)[1])  # type: ignore[index]
    after = [answer for answer in tally.of(200) if answer.ended > told]
    sent = len(re.findall(r"POST /v1/translate 200", log))
    show(
        f"SIGTERM under load: {accepted} requests under way, {len(after)} answered after it, "
        f"{len(tally.of(503))} refused with 503, {len(tally.of(GONE))} connections found closed; "
        f"exit code {code}; all in all the server's log has {sent} translations"
    )


def show(line: str, file: IO[str] = sys.stdout) -> None:
    print(line, file=file, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-m", "--model", type=Path, help="model directory or run")
    parser.add_argument("--source", type=Path, help="lines to translate; else the lesson's")
    parser.add_argument("--requests", type=int, default=10_000, help="of the memory test")
    parser.add_argument("--seconds", type=float, default=8.0, help="of one round of one contender")
    arguments = parser.parse_args()
    texts = sources(arguments.source)
    known: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        model = arguments.model or write_random_tiny(Path(folder))
        search = None if arguments.model else TO_THE_LIMIT
        servers = {
            name: running.enter_context(served(model, options, search))
            for name, options in CONTENDERS.items()
        }
        show(f"torch {torch.__version__}, {os.cpu_count()} processors, model {model.name}")
        throughput(servers, texts, arguments.seconds, known)
        disconnects(servers[BATCHING], texts, known, 2 * arguments.seconds)
        memory(servers[BATCHING], texts, arguments.requests)
        sigterm(servers[BATCHING], texts)


if __name__ == "__main__":
    main()
