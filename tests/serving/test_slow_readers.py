"""Clients that read slowly or not at all: their answers take no memory, and have an end."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from served import LIMIT, Running, serving
from small_traces import taught_trace
from translucid.interpret.trace import FrozenTensors
from translucid.serving.traces import StoredTrace, new_id

LARGE = 8_000_000  # bytes


def keep_large_trace(server: Running) -> str:
    """Keep a trace whose logits are large; return the path of these."""
    trace = taught_trace()
    logits = torch.arange(LARGE // 4, dtype=torch.float32)
    large = replace(trace, tensors=FrozenTensors({"logits": logits}))
    stored = StoredTrace(new_id(), large, "taught", "", (), b"{}")
    server.state.traces.add(stored)
    return f"/v1/trace/{stored.id}/tensors/logits"


@contextmanager
def asking(server: Running, path: str) -> Iterator[socket.socket]:
    """Ask for something, and read the first byte of the answer."""
    with closing(socket.socket()) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(LIMIT)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert connection.recv(1) == b"H"
        yield connection


def memory() -> int:
    """Return the bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_slow_readers_of_one_tensor_have_no_copies_of_it() -> None:
    with serving() as server:
        path = keep_large_trace(server)
        whole = server.client.get(path)
        assert whole.headers["x-shape"] == f"{LARGE // 4}"
        assert torch.equal(
            torch.frombuffer(bytearray(whole.content), dtype=torch.float32),
            torch.arange(LARGE // 4, dtype=torch.float32),
        )
        with ExitStack() as stack:
            stack.enter_context(asking(server, path))
            before = memory()
            for _ in range(50):
                stack.enter_context(asking(server, path))
                assert server.client.get("/health/live").status_code == 200
            assert memory() - before < 50 * LARGE / 3  # the server may still be warming up


def test_all_answers_that_are_being_sent_have_a_limit_together() -> None:
    with serving({"max_sending_bytes": 2 * LARGE + 1}) as server:
        paths = [keep_large_trace(server) for _ in range(3)]
        with ExitStack() as stack:
            for path in (paths[0], paths[1], paths[0], paths[1]):  # shared ones count once
                stack.enter_context(asking(server, path))
            answer = server.client.get(paths[2])
            assert "(max_sending_bytes)" in server.problem(answer, 503, "sending-full")
            assert answer.headers["retry-after"] == "5"
            assert answer.headers["x-request-id"]
            assert server.client.get(paths[0] + "?at=3").content  # short ones are always sent
        while server.client.get(paths[2]).status_code == 503:
            pass  # until the server has seen that the others have gone


def test_a_client_that_reads_a_little_now_and_then_is_let_go() -> None:
    """It read something whenever the server looked, and so could have stayed for hours."""
    with serving({"send_seconds": 0.5}) as server:
        path = keep_large_trace(server)
        read = 0
        with asking(server, path) as connection:
            while server.state.in_flight.count:
                read += len(connection.recv(64))
                server.client.get("/health/live")  # takes long enough
        assert 0 < read < LARGE / 2
        assert len(server.client.get(path).content) == LARGE


def test_a_trace_that_is_dropped_meanwhile_is_sent_to_its_end() -> None:
    with serving({"trace_store_count": 1}) as server:
        path = keep_large_trace(server)
        with asking(server, path) as connection:
            keep_large_trace(server)
            assert server.client.get(path).status_code == 404
            size = 1
            while size < LARGE and (part := connection.recv(1 << 20)):
                size += len(part)
            assert size >= LARGE
