"""Bring one file over HTTP to the disk, from wherever an earlier try has stopped.

The bytes go to a part file, which outlives a lost connection, an interruption and ``kill -9``; the
next try asks for the rest with a Range request. Whether the bytes are the right ones is not decided
here: the caller knows the sha256 of the whole.
"""

from __future__ import annotations

import hashlib
import http.client
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol
from urllib.parse import urlsplit

from translucid import __version__
from translucid.errors import DataError, TranslucidError
from translucid.events import Emit, Notice

BLOCK = 1 << 16
# Answers that say "not now" rather than "never".
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class RetryPolicy:
    """How long to bear with a server.

    ``timeout`` is how many seconds it may be silent; ``attempts`` how often to try one file; before
    the second attempt there is a rest of ``pause`` seconds, then twice that, and so on.
    """

    timeout: float
    attempts: int
    pause: float


@dataclass(frozen=True)
class Download:
    """One file to bring: from ``url`` to ``part``, which must end up ``size`` bytes long.

    ``progress`` is told how many bytes the part file holds.
    """

    url: str
    part: Path
    size: int
    progress: Callable[[int], None]


class _LostError(Exception):
    """The connection did not hold; another try may continue."""


def download(job: Download, *, patience: RetryPolicy, emit: Emit) -> None:
    """Bring the part file to its full size, continuing from what it already holds.

    A lost connection is tried again with what has come so far; after the last attempt the part
    file stays for the next run. A server that refuses, or offers a file of another size, is an
    error at once.
    """
    for attempt in range(1, patience.attempts + 1):
        try:
            _receive(job, timeout=patience.timeout)
            return
        except _LostError as lost:
            trouble = str(lost)
        if attempt < patience.attempts:
            rest = patience.pause * 2 ** (attempt - 1)
            emit(Notice(f"{job.part.stem}: {trouble}; trying again in {rest:g} s"))
            time.sleep(rest)
    raise TranslucidError(
        f"{job.url}: gave up after {patience.attempts} attempts with {_held(job.part):,} of "
        f"{job.size:,} bytes: {trouble}\n"
        "  Check the connection (proxies are taken from HTTPS_PROXY) and run the same command\n"
        "  again: it continues from there. Without internet, copy the files from another machine\n"
        "  and use --mirror DIR."
    )


def _held(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _receive(job: Download, *, timeout: float) -> None:
    """Make one request and write what comes; return when the part file is complete."""
    held = _held(job.part)
    if held > job.size:
        job.part.unlink()
        held = 0
    if held == job.size:
        return
    with _answer(job, held, timeout) as response:
        start = _start(response, job, held)
        with job.part.open("ab" if start else "wb") as file:
            held = copy_blocks(
                lambda: _read(response),
                file,
                start=start,
                progress=job.progress,
                limit=job.size,
            )
    if held > job.size:
        raise _wrong_size(job, f"more than {job.size:,} bytes")
    if held < job.size:
        raise _LostError(f"the connection ended after {held:,} of {job.size:,} bytes")


def copy_blocks(
    read: Callable[[], bytes],
    file: IO[bytes],
    *,
    start: int,
    progress: Callable[[int], None],
    limit: int,
) -> int:
    """Write the blocks that ``read`` gives until it gives none, or ``limit`` is passed.

    Returns the size that has been reached. The block that passes the limit is not written, so an
    endless answer fills no disk.
    """
    done = start
    progress(done)
    while block := read():
        done += len(block)
        if done > limit:
            break
        file.write(block)
        progress(done)
    return done


def _answer(job: Download, held: int, timeout: float) -> http.client.HTTPResponse:
    """Ask for the file, or for the rest of it when some is held already."""
    headers = {"User-Agent": f"translucid/{__version__}", "Accept-Encoding": "identity"}
    if held:
        headers["Range"] = f"bytes={held}-"
    request = urllib.request.Request(job.url, headers=headers)  # noqa: S310 (the table is https)
    opener = urllib.request.build_opener(_HttpsRedirects)
    try:
        response: http.client.HTTPResponse = opener.open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            job.part.unlink()
            raise _LostError("the server has no such range; starting over") from error
        if error.code in TRANSIENT:
            raise _LostError(f"the server answered {error.code} {error.reason}") from error
        raise _refused(job, f"the server answered {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise _refused(job, f"its certificate is not valid: {error.reason}") from error
        raise _LostError(f"no connection: {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        raise _LostError(f"no answer: {_words(error)}") from error
    return response


def _start(response: http.client.HTTPResponse, job: Download, held: int) -> int:
    """Return the position of the first byte that the answer holds, after checking its size."""
    if response.status == http.client.PARTIAL_CONTENT:
        span = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers["Content-Range"] or "")
        if span is None or int(span[1]) != held:
            job.part.unlink(missing_ok=True)
            raise _LostError("the server sent another range than asked for; starting over")
        start, total = held, span[2]
    elif response.status == http.client.OK:  # the server does not know ranges: all from the start
        start, total = 0, response.headers["Content-Length"] or "*"
    else:
        raise _refused(job, f"the server answered {response.status} {response.reason}")
    if total != "*" and int(total) != job.size:
        raise _wrong_size(job, f"{int(total):,} bytes")
    return start


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(BLOCK)
    except (OSError, http.client.HTTPException) as error:
        raise _LostError(f"the connection was lost: {_words(error)}") from error


def _words(error: Exception) -> str:
    """Say what an exception means even where it has no text of its own."""
    return str(error) or type(error).__name__


def _refused(job: Download, why: str) -> TranslucidError:
    return TranslucidError(
        f"{job.url}: {why}\n"
        "  If the address opens in a browser, download the files there and use --mirror DIR."
    )


def _wrong_size(job: Download, offered: str) -> DataError:
    return DataError(
        job.url,
        f"the server offers {offered}, but the known file has {job.size:,}",
        remedy="Nothing was kept. A proxy or a login page may have answered in its place; run the "
        "command again elsewhere, or copy the files from another machine and use --mirror DIR.",
    )


class _HttpsRedirects(urllib.request.HTTPRedirectHandler):
    """Follow a redirect only to https: nothing on the way may turn the encryption off."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Return the request to follow with, or refuse."""
        if urlsplit(newurl).scheme != "https":
            fp.close()
            raise TranslucidError(
                f"{req.full_url}: redirected to {newurl}, which is not https; not followed.\n"
                "  Run the command on another network, or copy the files from another machine and\n"
                "  use --mirror DIR."
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Known(Protocol):
    """Anything whose content is known beforehand."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def size(self) -> int:
        """How many bytes it has."""

    @property
    def sha256(self) -> str:
        """The checksum of its content in hexadecimal."""


def compute_sha256(path: Path) -> str:
    """Return the checksum of a file's content in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def has_known_content(path: Path, known: Known) -> bool:
    """Whether the path holds a file with just the known content."""
    return (
        path.is_file()
        and path.stat().st_size == known.size
        and compute_sha256(path) == known.sha256
    )


def wrong_content(path: Path, known: Known, *, origin: str, remedy: str) -> DataError:
    """Return the error for a file at the path that is not the known one; ``origin`` is its source.

    The file is read for the message, so this comes before deleting it.
    """
    return DataError(
        origin,
        f"this is not the known {known.name}:\n"
        f"  expected sha256 {known.sha256} ({known.size:,} bytes)\n"
        f"  actual   sha256 {compute_sha256(path)} ({path.stat().st_size:,} bytes)",
        remedy=remedy,
    )
