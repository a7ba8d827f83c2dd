"""The middleware around every request, the outermost first.

::

    SecurityHeaders   headers that restrict what a browser may do
    AccessLog         one log line and one measurement per request; unexpected errors become a 500
    BodyPacer         send long bodies as fast as their clients read, within a total
    Gate              framing_problem: the end of the request is where everybody sees it
    Gate              host_problem: Host and Origin are those of this server (auth.py)
    DrainCheck        a server that shuts down refuses new requests
    (CORS)            where pages of other sites may call
    Gate              key_problem: API keys (auth.py)
    RequestReader     read the body within its limits; cancel the work when the client disconnects
    routes

All are plain ASGI, so that a refusal costs next to nothing.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from fastapi.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from translucid.serving.config import ServingConfig
from translucid.serving.log import facts, noting
from translucid.serving.problems import Problem, internal_problem, problem_response
from translucid.serving.state import InFlight, ServerState

LOG = logging.getLogger("translucid.serving")
GONE = 499  # nginx's status: the client closed the connection before there was an answer
_LINGER_SECONDS = 5.0  # how long to keep reading (and discarding) a refused body


class AccessLog:
    """Log one line per request, never its text; count it; answer 500 to unexpected errors."""

    def __init__(self, app: ASGIApp, *, state: ServerState) -> None:
        self._app, self._state = app, state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and log its outcome."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        entry = _Entry(receive, send)
        scope["request_id"] = entry.id
        self._state.in_flight.enter()
        with noting() as notes:
            try:
                await self._answered(scope, entry)
            finally:
                self._state.in_flight.leave()
                self._write(scope, entry, notes)

    async def _answered(self, scope: Scope, entry: _Entry) -> None:
        try:
            await self._app(scope, entry.receive, entry.send)
        except Exception as error:
            self._note(entry, error)
            if entry.status is None:
                await problem_response(scope, internal_problem(entry.id))(
                    scope, entry.receive, entry.send
                )

    def _note(self, entry: _Entry, error: Exception) -> None:
        """Log the place of an error, without its message, which may contain text."""
        extra = facts("error", request_id=entry.id, error=type(error).__name__)
        if self._state.access.log_text:
            LOG.error("request %s failed", entry.id, exc_info=error, extra=extra)
            return
        places = "".join(traceback.format_tb(error.__traceback__)).rstrip()
        LOG.error(
            "request %s failed: %s (--log-text shows its message)\n%s",
            entry.id,
            type(error).__name__,
            places,
            extra=extra,
        )

    def _write(self, scope: Scope, entry: _Entry, notes: Mapping[str, Any]) -> None:
        seconds = time.perf_counter() - entry.began
        status = GONE if entry.status is None else entry.status
        method, path = _known_method(scope["method"]), template(scope)
        self._state.metrics.count_request(method, path, status, seconds)
        self._state.metrics.count_bytes(entry.received, entry.sent)
        LOG.info(
            "%s %s %d %.1f ms, %d bytes in, %d bytes out, %s",
            method,
            path,
            status,
            seconds * 1000,
            entry.received,
            entry.sent,
            entry.id,
            extra=facts(
                "request",
                request_id=entry.id,
                method=method,
                path=path,
                status=status,
                milliseconds=round(seconds * 1000, 1),
                bytes_in=entry.received,
                bytes_out=entry.sent,
                **notes,
            ),
        )


class _Entry:
    """What the log says about one request."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.id = secrets.token_hex(6)
        self.began = time.perf_counter()
        self.status: int | None = None
        self.received = self.sent = 0

    async def receive(self) -> Message:
        message = await self._receive()
        self.received += len(message.get("body", b""))
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], (b"x-request-id", self.id.encode())]
        elif message["type"] == "http.response.body":
            self.sent += len(message.get("body", b""))
        await self._send(message)


def template(scope: Scope) -> str:
    """Return the path template of a request's route; ids and names stay out of the log."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else "(no route)"


def _known_method(method: str) -> str:
    """Return the method, or OTHER for unknown ones: it is a label of metrics."""
    known = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT")
    return method if method in known else "OTHER"


PIECE_BYTES = 32_768  # of a long body, handed on at a time


class BodyPacer:
    """Send long bodies piece by piece, each when its client has read those before.

    So a client that reads slowly holds no copy of its answer. What it does hold is the answer
    itself, which another may share, such as a tensor of a trace; all answers that are being sent
    may have `most` bytes together, and those beyond are refused.
    """

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app, self._most = app, most
        self._holders: Counter[tuple[int, int]] = Counter()  # by address and length

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer piece by piece."""
        begin: Message | None = None

        async def send_in_pieces(message: Message) -> None:
            nonlocal begin
            if message["type"] == "http.response.start":
                begin = message  # a refusal may take its place
                return
            body = memoryview(message.get("body", b""))
            if begin is not None:
                if len(body) > PIECE_BYTES and not self._has_room(body):
                    begin = None
                    await problem_response(scope, self._full())(scope, receive, send)
                    raise _RefusedError
                await send(begin)
                begin = None
            if len(body) <= PIECE_BYTES:
                await send(message)
                return
            with self._hold(body):
                for place in range(0, len(body), PIECE_BYTES):
                    piece = bytes(body[place : place + PIECE_BYTES])
                    more = place + len(piece) < len(body) or message.get("more_body", False)
                    await send({**message, "body": piece, "more_body": more})

        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with suppress(_RefusedError):
            await self._app(scope, receive, send_in_pieces)

    def _has_room(self, body: memoryview) -> bool:
        others = {*self._holders} - {_identity(body)}
        return sum(size for _, size in others) + len(body) <= self._most

    @contextmanager
    def _hold(self, body: memoryview) -> Iterator[None]:
        self._holders[_identity(body)] += 1
        try:
            yield
        finally:
            self._holders[_identity(body)] -= 1
            self._holders += Counter()  # without those that nobody holds

    def _full(self) -> Problem:
        return Problem(
            "sending-full",
            f"answers of {self._most} bytes are being sent (max_sending_bytes): try again in a "
            "moment",
            headers={"Retry-After": "5"},
        )


class _RefusedError(Exception):
    """Ends the work on an answer that was refused instead of sent."""


def _identity(body: memoryview) -> tuple[int, int]:
    """Return where a body is in memory, and its length: clients of one tensor share both."""
    return np.frombuffer(body, np.uint8).ctypes.data, len(body)


class Gate:
    """Refuse the requests of which `problem` says what is wrong."""

    def __init__(self, app: ASGIApp, *, problem: Callable[[Scope], Problem | None]) -> None:
        self._app, self._problem = app, problem

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request, or answer why not."""
        if scope["type"] == "http" and (problem := self._problem(scope)):
            await problem_response(scope, problem)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def framing_problem(scope: Scope) -> Problem | None:
    """Return what is wrong with a request that says twice how long it is; its connection closes.

    With both Content-Length and Transfer-Encoding, a proxy in front of the server may take for the
    next request what the server takes for the rest of this one (RFC 9112, section 11.2).
    """
    names = {name for name, _ in scope["headers"]}
    if not names >= {b"content-length", b"transfer-encoding"}:
        return None
    return Problem(
        "bad-request",
        "the request has both a Content-Length and a Transfer-Encoding: send one of the two",
        headers={"Connection": "close"},
    )


class RequestReader:
    """Read the body within its limits; cancel the work when the client disconnects."""

    def __init__(self, app: ASGIApp, *, settings: ServingConfig) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on once its whole body has arrived."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._body(scope, receive)
        except Problem as problem:
            answer = problem_response(scope, problem)
            if problem.kind.name == "body-too-large":
                await _refuse_while_sending(answer, scope, receive, send)
            else:
                await answer(scope, receive, send)
            return
        if body is not None:
            await _run_until_disconnect(self._app, scope, body, receive, send)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the body, or None if the client has disconnected."""
        limit = self._settings.max_body_bytes
        _check_content_length(scope, limit)
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                return await _read(receive, limit)
        except TimeoutError as error:
            raise Problem(
                "slow-body",
                f"the request body did not arrive within {self._settings.body_seconds:g} seconds "
                "(body_seconds): send it faster",
                headers={"Connection": "close"},
            ) from error


def _check_content_length(scope: Scope, limit: int) -> None:
    """Refuse a body whose Content-Length is too large, before reading it."""
    for name, value in scope["headers"]:
        if name == b"content-length" and int(value) > limit:
            raise _too_large(f"{int(value)} bytes", limit)


def _too_large(size: str, limit: int) -> Problem:
    return Problem(
        "body-too-large",
        f"the request body is {size}; this server accepts at most {limit} (max_body_bytes): send "
        "several smaller requests",
        headers={"Connection": "close"},
    )


async def _read(receive: Receive, limit: int) -> bytes | None:
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
        if size > limit:
            raise _too_large(f"more than {limit} bytes", limit)
    return b"".join(parts)


async def _refuse_while_sending(
    answer: Response, scope: Scope, receive: Receive, send: Send
) -> None:
    """Send a refusal while the body is still arriving.

    Closing a connection that still has unread data makes the system discard what was sent last:
    the client would see a broken connection and no reason. So the last, empty part of the answer
    waits until the client stops sending, for a few seconds at most.
    """

    async def send_open(message: Message) -> None:
        await send({**message, "more_body": True} if "body" in message else message)

    await answer(scope, receive, send_open)
    with suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_SECONDS):
            while (message := await receive())["type"] != "http.disconnect":
                if not message.get("more_body", False):
                    break
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _run_until_disconnect(
    app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send
) -> None:
    """Run the application; cancel it when the client disconnects."""
    gone = asyncio.Event()
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def whole() -> Message:
        if messages:
            return messages.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    answered = False

    async def send_noting(message: Message) -> None:
        nonlocal answered
        answered = message["type"] == "http.response.body" and not message.get("more_body", False)
        await send(message)

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()

    work = asyncio.ensure_future(app(scope, whole, send_noting))
    watching = asyncio.ensure_future(watch())
    try:
        await asyncio.wait((work, watching), return_when=asyncio.FIRST_COMPLETED)
        if not work.done() and not answered:
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work
            return
        await work
    finally:
        for task in (work, watching):
            task.cancel()


_OPEN_WHILE_DRAINING = frozenset({"/health/live", "/metrics"})
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_OWN_SITE_ONLY = ("cross-origin-resource-policy", "same-origin")
_UNSTORED = ("cache-control", "no-store")


class SecurityHeaders:
    """Add the security headers; answers without Cache-Control are not stored by any cache."""

    def __init__(self, app: ASGIApp, *, shared: bool) -> None:
        """`shared`: pages of other sites may read answers, so that CORS alone decides who."""
        self._app = app
        pairs = SECURITY_HEADERS.items() if shared else (*SECURITY_HEADERS.items(), _OWN_SITE_ONLY)
        self._headers = [(name.encode(), value.encode()) for name, value in pairs]
        self._unstored = tuple(part.encode() for part in _UNSTORED)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and add headers to its answer."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = list(message["headers"])
                if not any(name.lower() == self._unstored[0] for name, _ in own):
                    own.append(self._unstored)
                message["headers"] = [*own, *self._headers]
            await send(message)

        await self._app(scope, receive, send_with_headers)


class DrainCheck:
    """Refuse new requests once the server shuts down, and close connections after answers."""

    def __init__(self, app: ASGIApp, *, in_flight: InFlight) -> None:
        self._app, self._in_flight = app, in_flight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that arrived before the shutdown."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_last(message: Message) -> None:
            if message["type"] == "http.response.start" and self._in_flight.draining:
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        if self._in_flight.draining and scope["path"] not in _OPEN_WHILE_DRAINING:
            problem = Problem(
                "draining",
                "the server is shutting down: it finishes what it has accepted and takes nothing "
                "new; send this to another one, or again later",
                headers={"Retry-After": "5"},
            )
            await problem_response(scope, problem)(scope, receive, send_last)
            return
        await self._app(scope, receive, send_last)
