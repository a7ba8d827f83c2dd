"""Who is let in: the names of the server, its end, its keys."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from translucid.serving.access import Access, host_name
from translucid.serving.answers import refusal
from translucid.serving.problems import Problem
from translucid.serving.state import InFlight

_OPEN_WHILE_DRAINING = frozenset({"/health/live", "/metrics"})


def header(scope: Scope, name: bytes) -> str | None:
    """Return a header of a request, the first of that name."""
    found = [value for key, value in scope["headers"] if key == name]
    return found[0].decode("latin-1") if found else None


class Names:
    """Refuses requests to another name than the server's, and those that other sites' pages send.

    A page of any site can make a browser send requests to this machine. It cannot read the answers,
    unless its own name was pointed here (DNS rebinding), but it could keep the server busy.
    """

    def __init__(self, app: ASGIApp, *, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that was meant for this server."""
        if scope["type"] == "http" and (problem := self._problem(scope)):
            await refusal(scope, problem)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _problem(self, scope: Scope) -> Problem | None:
        host = header(scope, b"host") or ""
        if self._access.hosts is not None and host_name(host) not in self._access.hosts:
            return Problem(
                "wrong-host",
                f"the Host header says {host[:80]!r}; this server goes by "
                f"{', '.join(sorted(self._access.hosts))}: use one of these, or start it with "
                "--allow-host NAME",
            )
        origin = header(scope, b"origin")
        if not _from_another_site(scope, host, origin):
            return None
        if origin in self._access.origins or "*" in self._access.origins:
            return None
        return Problem(
            "wrong-origin",
            f"a page of {(origin or 'another site')[:80]} sent this: start the server with "
            "--allow-origin ORIGIN to let it",
        )


def _from_another_site(scope: Scope, host: str, origin: str | None) -> bool:
    """Tell whether a page of another site sent a request, as browsers mark it.

    Following a link to this server is no such request. Over plain HTTP, browsers leave out
    Sec-Fetch-Site unless the server is on their own machine; then Origin tells.
    """
    if header(scope, b"sec-fetch-mode") == "navigate" and scope["method"] in ("GET", "HEAD"):
        return False
    site = header(scope, b"sec-fetch-site")
    if site is not None:
        return site in ("cross-site", "same-site")
    return origin is not None and urlsplit(origin).netloc.lower() != host.strip().lower()


class Drain:
    """Refuses new requests once the server shuts down, and closes connections behind answers."""

    def __init__(self, app: ASGIApp, *, in_flight: InFlight) -> None:
        self._app, self._in_flight = app, in_flight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that came before the end."""
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
            await refusal(scope, problem)(scope, receive, send_last)
            return
        await self._app(scope, receive, send_last)


class KeyCheck:
    """Refuses requests without a key, if the server has keys.

    Health checks, the page, its files and the reference stay open: they tell nothing. The
    LibreTranslate endpoints check the key themselves, for it may be a field of the body.
    """

    def __init__(self, app: ASGIApp, *, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that may use what it asks for."""
        if scope["type"] == "http" and needs_key(scope["path"]):
            try:
                check_key(self._access, bearer(scope))
            except Problem as problem:
                await refusal(scope, problem)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def needs_key(path: str) -> bool:
    """Tell whether a path is for holders of a key, where there are keys."""
    return path == "/metrics" or path == "/v1" or path.startswith("/v1/")


def bearer(scope: Scope) -> str | None:
    """Return the key that a request brings in its headers."""
    scheme, _, key = (header(scope, b"authorization") or "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


def check_key(access: Access, key: str | None) -> None:
    """Refuse a request that has not one of the keys, if there are any."""
    if not len(access.keys) or (key is not None and access.keys.accepts(key)):
        return
    sent = "no API key was sent" if key is None else "the API key is not one of this server's"
    raise Problem(
        "wrong-key",
        f"{sent}: send the header 'Authorization: Bearer KEY' (LibreTranslate clients: api_key)",
        headers={"WWW-Authenticate": 'Bearer realm="translucid"'},
    )
