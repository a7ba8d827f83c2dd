"""Download one file over HTTP, continuing where an earlier attempt stopped.

The bytes go to a part file, which survives a lost connection, an interruption and ``kill -9``; the
next attempt requests the rest with a Range header. The caller checks the SHA-256 of the whole.
"""

from __future__ import annotations

import http.client
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from translucid import __version__
from translucid.errors import DataError, TranslucidError
from translucid.events import Emit, Notice

BLOCK = 1 << 16
# Status codes that mean "not now" rather than "never".
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long to try.

    ``timeout`` is how many seconds a server may be silent; ``attempts`` how often to try one file;
    before the second attempt there is a pause of ``pause`` seconds, then twice that, and so on.
    """

    timeout: float
    attempts: int
    pause: float


@dataclass(frozen=True)
class Download:
    """One file to download: from ``url`` to ``part``, which must become ``size`` bytes long.

    ``progress`` is called with the size of the part file.
    """

    url: str
    part: Path
    size: int
    progress: Callable[[int], None]


class _ConnectionLostError(Exception):
    """The connection was lost; another attempt may continue."""


def download(job: Download, *, retries: RetryPolicy, emit: Emit) -> None:
    """Download the part file to its full size, continuing an earlier download.

    After a lost connection it tries again from there; after the last attempt the part file stays
    for the next run. A server that refuses, or offers a file of another size, is an error at once.
    """
    for attempt in range(1, retries.attempts + 1):
        try:
            _receive(job, timeout=retries.timeout)
            return
        except _ConnectionLostError as lost:
            trouble = str(lost)
        if attempt < retries.attempts:
            rest = retries.pause * 2 ** (attempt - 1)
            emit(Notice(f"{job.part.stem}: {trouble}; trying again in {rest:g} s"))
            time.sleep(rest)
    raise TranslucidError(
        f"{job.url}: gave up after {retries.attempts} attempts with {_part_size(job.part):,} of "
        f"{job.size:,} bytes: {trouble}\n"
        "  Check the connection (proxies are taken from HTTPS_PROXY) and run the same command\n"
        "  again: it continues from there. Without internet, copy the files from another machine\n"
        "  and use --mirror DIR."
    )


def _part_size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _receive(job: Download, *, timeout: float) -> None:
    """Make one request and write the response; return when the part file is complete."""
    held = _part_size(job.part)
    if held > job.size:
        job.part.unlink()
        held = 0
    if held == job.size:
        return
    with _request(job, held, timeout) as response:
        start = _start_position(response, job, held)
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
        raise _ConnectionLostError(f"the connection ended after {held:,} of {job.size:,} bytes")


def copy_blocks(
    read: Callable[[], bytes],
    file: IO[bytes],
    *,
    start: int,
    progress: Callable[[int], None],
    limit: int,
) -> int:
    """Write the blocks that ``read`` returns until it returns none, or ``limit`` is passed.

    Return the final size. The block that passes the limit is not written, so an endless response
    does not fill the disk.
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


def _request(job: Download, held: int, timeout: float) -> http.client.HTTPResponse:
    """Request the file, or the rest of it if a part was already downloaded."""
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
            raise _ConnectionLostError("the server has no such range; starting over") from error
        if error.code in TRANSIENT:
            raise _ConnectionLostError(
                f"the server answered {error.code} {error.reason}"
            ) from error
        raise _refused(job, f"the server answered {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise _refused(job, f"its certificate is not valid: {error.reason}") from error
        raise _ConnectionLostError(f"no connection: {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        raise _ConnectionLostError(f"no answer: {_describe(error)}") from error
    return response


def _start_position(response: http.client.HTTPResponse, job: Download, held: int) -> int:
    """Return the position of the first byte of the response, after checking its size."""
    if response.status == http.client.PARTIAL_CONTENT:
        span = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers["Content-Range"] or "")
        if span is None or int(span[1]) != held:
            job.part.unlink(missing_ok=True)
            raise _ConnectionLostError(
                "the server sent another range than requested; starting over"
            )
        start, total = held, span[2]
    elif response.status == http.client.OK:  # the server does not support ranges
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
        raise _ConnectionLostError(f"the connection was lost: {_describe(error)}") from error


def _describe(error: Exception) -> str:
    """Return the message of an exception, or its name if it has none."""
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
    """Follow a redirect only to https, so that nothing can turn the encryption off."""

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
