"""Run the server process: its socket, its signals, and limits on every connection.

::

    serving  ──signal──►  draining: 503 for new requests  ──all answered, or timeout──►  exit

The first signal lets the server finish, the second stops it at once. SIGHUP reloads the models
(reload.py); where it comes because the server's terminal was closed, it ends the server as well.

uvicorn bounds the size of headers and the time between two requests, but a client that opens a
connection and sends nothing, or half a header, could keep it forever, and so could one that never
reads its answer, which then stays in memory. :class:`GuardedConnection` closes both gaps. It also
tells a client that has gone from one that has said all it has to say: both send the same end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from types import FrameType
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from pydantic_core import to_json
from uvicorn.protocols.http.h11_impl import H11Protocol

from translucid.errors import InputError, TranslucidError
from translucid.serving.middleware import SECURITY_HEADERS
from translucid.serving.problems import PROBLEM, Problem
from translucid.serving.state import ServerState

BACKLOG = 2048
LOG = logging.getLogger("translucid.serving")
_PAUSE = 0.01  # seconds between two looks whether a server has started
_GONE_SECONDS = 0.1  # between two looks whether a client has gone
_SEND_BUFFER = 65_536  # bytes that wait for a client to read; as many in the system, or twice
_LAST_SECONDS = 5  # for tasks that are cancelled when the time to finish is over


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address; raise an error that says why it cannot be."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise InputError(f"--host {host}: there is no such address ({error.strerror})") from error
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(address)
    except PermissionError as error:
        made.close()
        raise InputError(
            f"port {port} is reserved for the administrator: choose one above 1023 with --port"
        ) from error
    except OSError as error:
        made.close()
        if error.errno in _TAKEN:
            raise TranslucidError(
                f"port {port} of {host} is taken by another program: stop it, or choose another "
                "port with --port (0: any that is free)"
            ) from error
        raise InputError(f"cannot listen on {host}, port {port}: {error.strerror}") from error
    made.set_inheritable(False)
    return made


_TAKEN = (98, 48, 10048)  # EADDRINUSE of Linux, macOS and Windows


def server_url(bound: socket.socket) -> str:
    """Return the URL of a server."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class DrainingServer(uvicorn.Server):
    """A server that finishes what it has accepted before it ends."""

    def __init__(
        self, config: uvicorn.Config, state: ServerState, tell: Callable[[str], None]
    ) -> None:
        super().__init__(config)
        self._state, self._tell = state, tell
        self.stopped_by: int | None = None
        self._ending: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._had_terminal = _has_terminal()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain at the first signal; exit at once at the second."""
        del frame
        if self.stopped_by is not None:
            os._exit(128 + sig)  # nothing is written to disk, so nothing can be left half done
        self.stopped_by = sig
        self.stop()

    def handle_hangup(self, sig: int, frame: FrameType | None) -> None:
        """Reload the models, or end with the terminal."""
        if self._had_terminal and not _has_terminal():
            self.handle_exit(sig, frame)
        else:
            self.reload()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals within the block, in the main thread."""
        with ExitStack() as stack:
            stack.enter_context(super().capture_signals())
            if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
                before = signal.signal(signal.SIGHUP, self.handle_hangup)
                stack.callback(signal.signal, signal.SIGHUP, before)
            yield

    def stop(self) -> None:
        """Drain; any thread may call this."""
        self._call(self._begin_draining)

    def reload(self) -> None:
        """Load the models again; any thread may call this."""
        self._call(self._state.reloader.request)

    def _call(self, work: Callable[[], None]) -> None:
        """Have the event loop do something, while there is one."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(work)

    def _begin_draining(self) -> None:
        self._ending = asyncio.ensure_future(self._drain())  # whatever becomes of the message
        self._tell(
            f"Shutting down (requests still being answered: {self._state.in_flight.count}); once "
            "more stops at once"
        )

    async def _drain(self) -> None:
        self._state.in_flight.drain()
        seconds = self._state.settings.drain_seconds
        try:
            await asyncio.wait_for(self._state.in_flight.finished(), seconds)
        except TimeoutError:
            self._tell(f"Not all was answered within {seconds:g} seconds (drain_seconds)")
        finally:
            self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and announce the address once requests are accepted."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.started:
            self._announce(sockets or [])

    def _announce(self, sockets: list[socket.socket]) -> None:
        names = ", ".join(
            f"{one.name} ({', '.join('→'.join(pair) for pair in one.translator.directions)})"
            for one in self._state.models
        )
        self._tell(f"Serving {names} at {server_url(sockets[0])}")


def _has_terminal() -> bool:
    """Tell whether this process belongs to a terminal that is still there."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | getattr(os, "O_NOCTTY", 0)))
    except OSError:
        return False
    return True


def build_server(app: FastAPI, tell: Callable[[str], None]) -> DrainingServer:
    """Return a server for an application, with its limits on every connection."""
    state: ServerState = app.state.server
    settings = state.settings

    class Connection(GuardedConnection):
        header_seconds = settings.body_seconds
        send_seconds = settings.send_seconds
        idle_seconds = settings.keep_alive_seconds
        most_connections = settings.max_connections
        most_per_address = settings.max_connections_per_address

    config = uvicorn.Config(
        app,
        http=Connection,
        loop="asyncio",  # others give no access to the state of a socket
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        h11_max_incomplete_event_size=settings.max_header_bytes,
        timeout_keep_alive=max(1, round(settings.keep_alive_seconds)),
        timeout_graceful_shutdown=_LAST_SECONDS,
    )
    return DrainingServer(config, state, tell)


class Server:
    """A server that runs until a signal comes, or in the background until it is stopped."""

    def __init__(self, app: FastAPI, bound: socket.socket, tell: Callable[[str], None]) -> None:
        self.url = server_url(bound)
        self._bound = bound
        self._server = build_server(app, tell)
        self._thread: threading.Thread | None = None

    def run(self) -> None:
        """Serve until a signal comes."""
        with self._bound:
            self._server.run(sockets=[self._bound])

    def start(self) -> None:
        """Serve in a thread; requests are accepted as soon as this returns."""
        self._thread = threading.Thread(target=self.run, daemon=True)
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(_PAUSE)

    def stop(self) -> None:
        """Finish what was accepted, then end a server in the background."""
        if self._thread is not None:
            self._server.stop()
            self._thread.join()

    def reload(self) -> None:
        """Put what the directories of the models have now in their place, as SIGHUP does.

        This does not wait: `GET /v1/models` and the log say what became of it.
        """
        self._server.reload()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def exit_code(self) -> int:
        """0, 130 after Ctrl-C, or 1 where it could not start."""
        if not self._server.started:
            return 1
        return 130 if self._server.stopped_by == signal.SIGINT else 0


_END_OF_HEADERS = re.compile(rb"\n\r?\n")


def _headers_too_large(limit: int | None) -> Problem:
    return Problem(
        "headers-too-large",
        f"the request's line and headers have more than {limit} bytes (max_header_bytes)",
    )


class GuardedConnection(H11Protocol):
    """A connection with timeouts.

    Request line and headers must arrive within `header_seconds`, and the client must read on by
    about 64 kB, or to the end of what waits to be sent, within `send_seconds`.
    """

    header_seconds = 20.0
    send_seconds = 30.0
    idle_seconds = 5.0
    most_connections = 512
    most_per_address = 256

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._header_timer: asyncio.TimerHandle | None = None
        self._send_timer: asyncio.TimerHandle | None = None
        self._gone_timer: asyncio.TimerHandle | None = None
        self._is_half_closed = False
        self._has_begun = False  # whether a byte of the next request has come
        self.idle_since = self.loop.time()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, unless too many connections are open and none of them is idle."""
        super().connection_made(transport)
        # What waits to be sent is bounded here, and in the system.
        transport.set_write_buffer_limits(high=_SEND_BUFFER, low=_SEND_BUFFER // 4)
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        if full := self._make_room():
            self._tell(
                Problem(
                    "too-many-connections",
                    f"{full}: try again in a moment",
                    headers={"Retry-After": "1"},
                )
            )
            return
        self._wait_for_headers(self.idle_seconds)

    def _make_room(self) -> str | None:
        """Close the connection that has been idle the longest, if there are too many.

        Return what is full if all of them are busy.
        """
        others = [c for c in self.connections if isinstance(c, GuardedConnection) and c is not self]
        own = [c for c in others if c.client and self.client and c.client[0] == self.client[0]]
        for name, most, rivals in (
            ("max_connections_per_address", self.most_per_address, own),
            ("max_connections", self.most_connections, others),
        ):
            open_now = [c for c in rivals if not c.transport.is_closing()]
            if len(open_now) < most:
                continue
            idle = [c for c in open_now if c.is_idle()]
            if not idle:
                return f"{most} connections are open and busy ({name})"
            min(idle, key=lambda c: c.idle_since).transport.close()
        return None

    def is_idle(self) -> bool:
        """Tell whether there is neither a request to answer nor an answer to send."""
        return not self._is_answering() and not self.transport.get_write_buffer_size()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of the headers longer than for their first byte."""
        if self._header_timer is not None and not self._has_begun:
            self._wait_for_headers(self.header_seconds)
        self._has_begun = True
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        self._stop_waiting()
        self._stop_sending()
        if self._gone_timer is not None:
            self._gone_timer.cancel()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection if a whole request waits for its answer.

        Whether the client still reads shows when something is sent: to a connection that the
        client has closed, its system replies with a reset. So an interim answer is sent, which
        HTTP/1.1 clients skip; for those of HTTP/1.0, the answer itself must do.
        """
        if not self._is_answering() or self.cycle.more_body:
            return False
        if self._is_half_closed:
            return True  # reading was paused and resumed, and has come to the end again
        self._is_half_closed = True
        if self.conn.our_state is h11.SEND_RESPONSE and self.scope["http_version"] == "1.1":
            interim = h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue")
            self.transport.write(self.conn.send(interim) or b"")
        self._check_gone()
        return True

    def handle_events(self) -> None:
        """Handle what has arrived; complete headers stop the header timer."""
        if self.transport.is_closing():
            return
        if self._has_long_headers():
            self._tell(_headers_too_large(self.config.h11_max_incomplete_event_size))
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
            self._has_begun = False
            self.idle_since = self.loop.time()
            self._wait_for_headers(self.idle_seconds)
        super().on_response_complete()
        if self._is_half_closed and not self._is_answering():
            self.transport.close()

    def pause_writing(self) -> None:
        """Watch a client that reads more slowly than the server writes."""
        super().pause_writing()
        self._watch_sending()

    def resume_writing(self) -> None:
        """Continue: the client has read."""
        self._stop_sending()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not HTTP, or whose headers are too large."""
        del msg
        error = sys.exception()
        hint = getattr(error, "error_status_hint", 400)
        if hint == 431:
            problem = _headers_too_large(self.config.h11_max_incomplete_event_size)
        else:
            problem = Problem("bad-request", f"this is not HTTP/1.1: {error}")
        self._tell(problem)

    def _has_long_headers(self) -> bool:
        """Tell whether a request waits to be parsed whose headers are too large.

        h11 measures what is incomplete: too large headers that arrive at once would pass.
        """
        if self.conn.their_state is not h11.IDLE:
            return False
        waiting, _ = self.conn.trailing_data
        limit = self.config.h11_max_incomplete_event_size or 0
        return len(waiting) > limit and not _END_OF_HEADERS.search(waiting, 0, limit)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _check_gone(self) -> None:
        """Abort a half-closed connection that was reset; nothing else tells, as none is read."""
        if self.transport.is_closing():
            return
        connection = self.transport.get_extra_info("socket")
        if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self.transport.abort()
        else:
            self._gone_timer = self.loop.call_later(_GONE_SECONDS, self._check_gone)

    def _wait_for_headers(self, seconds: float) -> None:
        self._stop_waiting()
        self._header_timer = self.loop.call_later(seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
        self._watch_rest()

    def _watch_rest(self) -> None:
        """Watch a closed connection, which stays until the client has read everything."""
        if self._send_timer is None and self.transport.get_write_buffer_size():
            self._watch_sending()

    def _watch_sending(self) -> None:
        """Abort a connection that is not read on in time; closing it would wait for the client."""
        self._send_timer = self.loop.call_later(self.send_seconds, self.transport.abort)

    def _stop_sending(self) -> None:
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None

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
