"""Who may call the server: API keys, its host names, and pages of other sites."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from starlette.types import Scope

from translucid.errors import DataError, InputError
from translucid.serving.config import KEYS_VARIABLE
from translucid.serving.problems import Problem

SHORTEST_KEY = 16
_MAKE_ONE = 'python -c "import secrets; print(secrets.token_urlsafe(32))"'
_OWN_NAMES = ("localhost", "127.0.0.1", "[::1]")
_ANY_ADDRESS = {"", "0.0.0.0", "[::]"}  # noqa: S104 - what a server may listen to, and nobody's name


class Keys:
    """API keys. Only their hashes are kept, and all are compared, each in constant time.

    So neither response times nor a memory dump reveal a key.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._hashes = tuple(dict.fromkeys(_hash(key) for key in keys))

    def __len__(self) -> int:
        return len(self._hashes)

    def accepts(self, key: str) -> bool:
        """Return whether this is one of the keys."""
        given = _hash(key)
        matches = [hmac.compare_digest(given, known) for known in self._hashes]
        return any(matches)


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def read_keys(path: Path | None) -> Keys:
    """Return the keys of a file, one per line, and of the environment, separated by commas."""
    named = [("line", n, line) for n, line in _lines(path)]
    from_environment = os.environ.get(KEYS_VARIABLE, "").split(",")
    named += [("key", n, key) for n, key in enumerate(from_environment, 1) if key.strip()]
    keys = []
    for kind, number, line in named:
        key = line.strip()
        if len(key) < SHORTEST_KEY or not key.isascii() or " " in key:
            place = f"{path}, line {number}" if kind == "line" else f"{KEYS_VARIABLE}, {number}."
            raise InputError(
                f"{place}: a key has at least {SHORTEST_KEY} characters of ASCII and no spaces; "
                f"make one with:  {_MAKE_ONE}"
            )
        keys.append(key)
    return Keys(keys)


def _lines(path: Path | None) -> list[tuple[int, str]]:
    if path is None:
        return []
    if not path.is_file():
        raise InputError(f"--api-key-file {path}: there is no such file")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            path, "is not UTF-8 text", remedy="Write one key per line; '#' begins a comment."
        ) from error
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1)]
    found = [(n, line) for n, line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not found:
        raise DataError(path, "has no keys", remedy=f"Make one with:  {_MAKE_ONE}")
    return found


@dataclass(frozen=True)
class Access:
    """Keys; host names of the server (None: any); allowed origins; whether texts are logged.

    Without keys, everybody who reaches the server may use it.
    """

    keys: Keys = field(default_factory=lambda: Keys(()))
    hosts: frozenset[str] | None = None
    origins: tuple[str, ...] = ()
    log_text: bool = False


def allowed_hosts(host: str, more: Sequence[str]) -> frozenset[str] | None:
    """Return the host names that a server at this address answers to; None: any.

    A server on a loopback address answers only to the names of its machine, so that no page whose
    name was pointed at 127.0.0.1 (DNS rebinding) can talk to it.
    """
    if not is_loopback(host) and not more:
        return None
    own = f"[{host}]" if ":" in host and not host.startswith("[") else host
    for name in more:
        if not host_name(name):
            raise InputError(f"--allow-host {name}: give a host name, such as box.local")
    return frozenset(host_name(name) or "" for name in (*_OWN_NAMES, own, *more)) - _ANY_ADDRESS


def check_origins(origins: Sequence[str]) -> tuple[str, ...]:
    """Return origins as browsers send them: a scheme and a host, no path."""
    for origin in origins:
        scheme, _, rest = origin.partition("://")
        if origin != "*" and (scheme not in ("http", "https") or not rest or "/" in rest):
            raise InputError(
                f"--allow-origin {origin}: give a scheme and a host without a path, such as "
                "https://example.org, or * for every site"
            )
    return tuple(origins)


def is_loopback(host: str) -> bool:
    """Return whether only programs on this machine can reach an address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_name(header: str) -> str | None:
    """Return the name in a Host header, without the port, or None if that is not what it has.

    >>> host_name("[::1]:8000"), host_name("localhost:8000"), host_name("localhost@evil.example")
    ('[::1]', 'localhost', None)
    """
    found = _HOST.fullmatch(header.strip())
    return None if found is None else found[1].lower()


_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*)(:[0-9]*)?", re.ASCII)


def header(scope: Scope, name: bytes) -> str | None:
    """Return a header of a request, the first of that name."""
    found = [value for key, value in scope["headers"] if key == name]
    return found[0].decode("latin-1") if found else None


def host_problem(access: Access, scope: Scope) -> Problem | None:
    """Return what is wrong with a request to another host name, or from a page of another site.

    A page of any site can make a browser send requests to this machine. It cannot read the answers,
    unless its own name was pointed here (DNS rebinding), but it could keep the server busy.
    """
    host = header(scope, b"host") or ""
    name = host_name(host)
    if name is None:
        return Problem(
            "bad-request",
            f"the Host header says {host[:80]!r}: it must be the name or address of the "
            "server, and nothing else but a port",
            headers={"Connection": "close"},
        )
    if access.hosts is not None and name not in access.hosts:
        return Problem(
            "wrong-host",
            f"the Host header says {host[:80]!r}; this server goes by "
            f"{', '.join(sorted(access.hosts))}: use one of these, or start it with "
            "--allow-host NAME",
        )
    origin = header(scope, b"origin")
    if not _is_cross_site(scope, host, origin):
        return None
    if origin in access.origins or "*" in access.origins:
        return None
    return Problem(
        "wrong-origin",
        f"a page of {(origin or 'another site')[:80]} sent this: start the server with "
        "--allow-origin ORIGIN to let it",
    )


def _is_cross_site(scope: Scope, host: str, origin: str | None) -> bool:
    """Return whether a page of another site sent a request, as browsers mark it.

    Following a link to this server is no such request. Over plain HTTP, browsers leave out
    Sec-Fetch-Site unless the server is on their own machine; then Origin tells.
    """
    if header(scope, b"sec-fetch-mode") == "navigate" and scope["method"] in ("GET", "HEAD"):
        return False
    site = header(scope, b"sec-fetch-site")
    if site is not None:
        return site in ("cross-site", "same-site")
    return origin is not None and origin.partition("://")[2].lower() != host.strip().lower()


def key_problem(access: Access, scope: Scope) -> Problem | None:
    """Return what is wrong with a request without a key, if the server has keys.

    Health checks, the page, its files and the reference stay open: they reveal nothing. The
    LibreTranslate endpoints check the key themselves, because it may be a field of the body.
    """
    try:
        if needs_key(scope["path"]):
            check_key(access, bearer_key(scope))
    except Problem as problem:
        return problem
    return None


def needs_key(path: str) -> bool:
    """Return whether a path needs a key, if the server has keys."""
    return path == "/metrics" or path == "/v1" or path.startswith("/v1/")


def bearer_key(scope: Scope) -> str | None:
    """Return the key in a request's Authorization header."""
    scheme, _, key = (header(scope, b"authorization") or "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


def check_key(access: Access, key: str | None) -> None:
    """Raise a Problem unless the key is valid or the server has no keys."""
    if not len(access.keys) or (key is not None and access.keys.accepts(key)):
        return
    sent = "no API key was sent" if key is None else "the API key is not one of this server's"
    raise Problem(
        "wrong-key",
        f"{sent}: send the header 'Authorization: Bearer KEY' (LibreTranslate clients: api_key)",
        headers={"WWW-Authenticate": 'Bearer realm="translucid"'},
    )
