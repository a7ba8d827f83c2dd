"""A real HTTP server on 127.0.0.1 that misbehaves on demand, for the tests of fetching."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any


class FileServer(ThreadingHTTPServer):
    """Serves ``files``; answers request after request as ``script`` says, then plainly."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.script: deque[Callable[[_Handler, bytes], None]] = deque()
        self.requests: list[tuple[str, str | None]] = []
        self.agents: set[str] = set()
        self.reached = Event()
        self.released = Event()

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"

    def ranges(self) -> list[str | None]:
        return [asked for _, asked in self.requests]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are what these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        self.server.requests.append((self.path, self.headers["Range"]))
        self.server.agents.add(self.headers["User-Agent"])
        answer = self.server.script.popleft() if self.server.script else plainly
        answer(self, self.server.files[name])

    def head(self, status: int, **headers: object) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), str(value))
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        """Stay quiet."""


def plainly(handler: _Handler, body: bytes) -> None:
    """Answer as a good server does, with the range that was asked for."""
    asked = re.fullmatch(r"bytes=(\d+)-", handler.headers["Range"] or "")
    if asked is None:
        handler.head(200, Content_Length=len(body))
        handler.wfile.write(body)
    elif int(asked[1]) >= len(body):
        handler.head(416, Content_Range=f"bytes */{len(body)}", Content_Length=0)
    else:
        rest = body[int(asked[1]) :]
        span = f"bytes {asked[1]}-{len(body) - 1}/{len(body)}"
        handler.head(206, Content_Length=len(rest), Content_Range=span)
        handler.wfile.write(rest)


def whole(handler: _Handler, body: bytes) -> None:
    """Ignore the range and send everything."""
    handler.head(200, Content_Length=len(body))
    handler.wfile.write(body)


def cut(after: int) -> Callable[[_Handler, bytes], None]:
    """Promise everything from the start, send so many bytes, and hang up."""

    def answer(handler: _Handler, body: bytes) -> None:
        handler.head(200, Content_Length=len(body))
        handler.wfile.write(body[:after])

    return answer


def stall(after: int) -> Callable[[_Handler, bytes], None]:
    """Send so many bytes, then wait until the test releases the server, then send the rest."""

    def answer(handler: _Handler, body: bytes) -> None:
        handler.head(200, Content_Length=len(body))
        handler.wfile.write(body[:after])
        handler.server.reached.set()
        handler.server.released.wait()
        handler.wfile.write(body[after:])

    return answer


def refuse(status: int, **headers: object) -> Callable[[_Handler, bytes], None]:
    """Answer with a status and no body."""
    return lambda handler, _body: handler.head(status, Content_Length=0, **headers)


def without_length(handler: _Handler, body: bytes) -> None:
    """Send everything, its length untold: the end of the connection is the end of the file."""
    handler.head(200)
    handler.wfile.write(body)


def another_range(handler: _Handler, body: bytes) -> None:
    """Answer a range with one that was not asked for."""
    handler.head(206, Content_Length=1, Content_Range=f"bytes 0-0/{len(body)}")
    handler.wfile.write(body[:1])


def hang_up(handler: _Handler, _body: bytes) -> None:
    """Close the connection without a word."""


@contextmanager
def file_server() -> Iterator[FileServer]:
    with FileServer() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join()
