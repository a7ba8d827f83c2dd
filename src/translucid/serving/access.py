"""Who may call the server: keys, names it goes by, pages of other sites."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from translucid.errors import DataError, InputError

SHORTEST_KEY = 16
KEYS_VARIABLE = "TRANSLUCID_API_KEYS"
_MAKE_ONE = 'python -c "import secrets; print(secrets.token_urlsafe(32))"'
_OWN_NAMES = ("localhost", "127.0.0.1", "[::1]")
_ANY_ADDRESS = {"", "0.0.0.0", "[::]"}  # noqa: S104 - what a server may listen to, and nobody's name


class Keys:
    """API keys. Only their hashes are kept, and all are compared, each in constant time.

    So neither the time of an answer nor a memory dump tells a key.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._hashes = tuple(dict.fromkeys(_hashed(key) for key in keys))

    def __len__(self) -> int:
        return len(self._hashes)

    def accepts(self, key: str) -> bool:
        """Tell whether this is one of the keys."""
        given = _hashed(key)
        matches = [hmac.compare_digest(given, known) for known in self._hashes]
        return any(matches)


def _hashed(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def read_keys(path: Path | None) -> Keys:
    """Return the keys of a file, one a line, and of the environment, with commas between them."""
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
            path, "is not UTF-8 text", remedy="Write one key a line; '#' begins a comment."
        ) from error
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1)]
    found = [(n, line) for n, line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not found:
        raise DataError(path, "has no keys", remedy=f"Make one with:  {_MAKE_ONE}")
    return found


@dataclass(frozen=True)
class Access:
    """Keys; names of the server (None: any); other sites whose pages may call it; what is logged.

    Without keys, everybody who reaches the server may use it.
    """

    keys: Keys = field(default_factory=lambda: Keys(()))
    hosts: frozenset[str] | None = None
    origins: tuple[str, ...] = ()
    log_text: bool = False


def names_of(host: str, more: Sequence[str]) -> frozenset[str] | None:
    """Return the names that a server at this address answers to; None: any.

    One that listens to its own machine alone has only the names of that machine, so that no page
    whose name was pointed at 127.0.0.1 (DNS rebinding) can talk to it.
    """
    if not is_loopback(host) and not more:
        return None
    own = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return frozenset(host_name(name) for name in (*_OWN_NAMES, own, *more)) - _ANY_ADDRESS


def is_loopback(host: str) -> bool:
    """Tell whether only programs of this machine can reach an address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_name(header: str) -> str:
    """Return the name in a Host header, without the port.

    >>> host_name("[::1]:8000"), host_name("localhost:8000")
    ('[::1]', 'localhost')
    """
    header = header.strip().lower()
    if header.startswith("["):
        return header.partition("]")[0] + "]"
    return header.partition(":")[0]
