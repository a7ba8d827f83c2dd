"""Running a server until it is told to stop: the first signal lets it finish, the second does not.

::

    serving  ──signal──►  draining: 503 for what is new  ──all answered, or time over──►  the end
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from translucid.errors import InputError, TranslucidError
from translucid.serving.connection import GuardedConnection
from translucid.serving.state import ServerState

BACKLOG = 2048
_LAST_SECONDS = 5  # for tasks that are cancelled when the time to finish is over


class BusyPortError(TranslucidError):
    """A port that another program listens on."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"port {port} of {host} is taken by another program: stop it, or choose another port "
            "with --port (0: any that is free)"
        )


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address, or say why it cannot be."""
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
            f"port {port} is for the system's administrator: choose one above 1023 with --port"
        ) from error
    except OSError as error:
        made.close()
        if error.errno in _TAKEN:
            raise BusyPortError(host, port) from error
        raise InputError(f"cannot listen on {host}, port {port}: {error.strerror}") from error
    made.set_inheritable(False)
    return made


_TAKEN = (98, 48, 10048)  # EADDRINUSE of Linux, macOS and Windows


def address_of(bound: socket.socket) -> str:
    """Return the address of a server as a browser takes it."""
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

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end at the first signal; end at once at the second."""
        del frame
        if self.stopped_by is not None:
            os._exit(128 + sig)  # nothing is written to disk, so nothing can be left half done
        self.stopped_by = sig
        asyncio.get_event_loop().call_soon_threadsafe(self._begin_to_end)

    def _begin_to_end(self) -> None:
        self._tell(
            f"Shutting down (requests still being answered: {self._state.in_flight.count}); once "
            "more stops at once"
        )
        self._ending = asyncio.ensure_future(self._end())

    async def _end(self) -> None:
        self._state.in_flight.drain()
        seconds = self._state.settings.drain_seconds
        try:
            await asyncio.wait_for(self._state.in_flight.finished(), seconds)
        except TimeoutError:
            self._tell(f"Not all was answered within {seconds:g} seconds (drain_seconds)")
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so when requests are taken."""
        await super().startup(sockets)
        if self.started:
            self._tell_address(sockets or [])

    def _tell_address(self, sockets: list[socket.socket]) -> None:
        names = ", ".join(
            f"{one.name} ({', '.join('→'.join(pair) for pair in one.translator.directions)})"
            for one in self._state.models
        )
        self._tell(f"Serving {names} at {address_of(sockets[0])}")


def server_of(app: FastAPI, tell: Callable[[str], None]) -> DrainingServer:
    """Return a server of an application, with the bounds of its settings on every connection."""
    state: ServerState = app.state.server
    settings = state.settings

    class Connection(GuardedConnection):
        header_seconds = settings.body_seconds
        send_seconds = settings.send_seconds
        most_connections = settings.max_connections

    config = uvicorn.Config(
        app,
        http=Connection,
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


def run(app: FastAPI, bound: socket.socket, tell: Callable[[str], None]) -> int:
    """Serve until a signal comes; return the exit code: 0, or 130 after Ctrl-C."""
    server = server_of(app, tell)
    server.run(sockets=[bound])
    if not server.started:
        return 1
    return 130 if server.stopped_by == signal.SIGINT else 0
