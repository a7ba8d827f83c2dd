"""One connection: headers must come in time and within bounds, and nonsense gets a clear answer.

uvicorn bounds the size of headers and the time between two requests, but a client that opens a
connection and sends nothing, or half a header, may keep it for ever, and so may one that asks and
never reads the answer, which then stays in memory. This closes both gaps.
"""

from __future__ import annotations

import asyncio
import sys
from http import HTTPStatus
from typing import Any

import h11
from pydantic_core import to_json
from uvicorn.protocols.http.h11_impl import H11Protocol

from translucid.serving.answers import PROBLEM
from translucid.serving.headers import SECURITY_HEADERS
from translucid.serving.problems import Problem


class GuardedConnection(H11Protocol):
    """A connection that a client must use.

    Its request line and headers must be there within `header_seconds`, and it must take some of an
    answer that waits for it within `send_seconds`.
    """

    header_seconds = 20.0
    send_seconds = 30.0
    most_connections = 512

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._impatience: asyncio.TimerHandle | None = None
        self._sending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, unless too many others are here already."""
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            self._tell(
                Problem(
                    "too-many-connections",
                    f"{self.most_connections} connections are open (max_connections): try again "
                    "in a moment",
                    headers={"Retry-After": "1"},
                )
            )
            return
        self._wait_for_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        self._stop_waiting()
        self._stop_sending()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Take what has come; with whole headers, the waiting is over."""
        if self.transport.is_closing():
            return
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next request on the same connection."""
        if self.transport.is_closing():
            self._watch_rest()
        else:
            self._wait_for_headers()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Begin to watch a client that does not read as fast as it is written to."""
        super().pause_writing()
        self._watch_sending()

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        self._stop_sending()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, or has too much of it."""
        del msg
        error = sys.exception()
        hint = getattr(error, "error_status_hint", 400)
        if hint == 431:
            limit = self.config.h11_max_incomplete_event_size
            problem = Problem(
                "headers-too-large",
                f"the request's line and headers have more than {limit} bytes (max_header_bytes)",
            )
        else:
            problem = Problem("bad-request", f"this is not HTTP/1.1: {error}")
        self._tell(problem)

    def _wait_for_headers(self) -> None:
        self._stop_waiting()
        self._impatience = self.loop.call_later(self.header_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
        self._watch_rest()

    def _watch_rest(self) -> None:
        """A connection that is closed stays until the client has read all: see that it does."""
        if self._sending is None and self.transport.get_write_buffer_size():
            self._watch_sending()

    def _watch_sending(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._sending = self.loop.call_later(self.send_seconds, self._check_sending, left)

    def _stop_sending(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None

    def _check_sending(self, left: int) -> None:
        """End a connection whose client has read nothing; closing it would wait for the client."""
        if self.transport.get_write_buffer_size() < left:
            self._watch_sending()
        else:
            self.transport.abort()

    def _tell(self, problem: Problem) -> None:
        """Write a problem to the client and close the connection."""
        self._stop_waiting()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = to_json(problem.to_json())
            headers = {
                **SECURITY_HEADERS,
                **problem.headers,
                "content-type": PROBLEM,
                "content-length": str(len(body)),
                "connection": "close",
            }
            status = HTTPStatus(problem.kind.status)
            response = h11.Response(
                status_code=status, headers=list(headers.items()), reason=status.phrase
            )
            events = (response, h11.Data(data=body), h11.EndOfMessage())
            self.transport.write(b"".join(self.conn.send(event) or b"" for event in events))
        self.transport.close()
