"""`translucid serve` as a process of its own, for tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx

LIMIT = 120.0  # seconds that anything may take on a busy machine before a test gives up


@contextmanager
def started(
    arguments: Sequence[str], environment: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """Run the command; yield the process, its address and the lines of its log so far."""
    process = subprocess.Popen(
        [sys.executable, "-m", "translucid", "serve", "--port", "0", "--threads", "1", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    assert process.stderr is not None
    log: list[str] = []
    stderr, found = process.stderr, None
    for line in stderr:
        log.append(line)
        if found := re.search(r"Serving .+ at (http://127\.0\.0\.1:\d+)", line):
            break
    reader = threading.Thread(target=lambda: log.extend(stderr), daemon=True)
    reader.start()
    try:
        assert found, "".join(log)
        yield process, found[1], log
    finally:
        process.kill()
        process.wait(LIMIT)
        reader.join(LIMIT)
        process.stderr.close()


@contextmanager
def clients(url: str) -> Iterator[tuple[httpx.Client, ThreadPoolExecutor]]:
    """Give a client that several threads may use."""
    with (
        httpx.Client(base_url=url, timeout=LIMIT, trust_env=False) as client,
        ThreadPoolExecutor() as pool,
    ):
        yield client, pool
