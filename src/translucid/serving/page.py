"""The explorer's built files: read once, packed once, answered from memory by their exact paths.

No path of a request ever reaches the file system, so none can leave the folder.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse
from starlette.routing import Route

STATIC = Path(__file__).parent / "static"
INDEX = "index.html"
_HASHED = re.compile(r"[-.][A-Za-z0-9_-]{8,}\.[a-z0-9]+$")  # as the build names what it hashes
_FOREVER = "public, max-age=31536000, immutable"
_PACKED = (".html", ".js", ".css", ".svg", ".json", ".txt", ".map", ".webmanifest")
_TYPES = {".js": "text/javascript", ".webmanifest": "application/manifest+json"}
_NOT_BUILT = (
    "The explorer is not built. With Node at hand, build it in the source tree:\n\n"
    "    cd web && npm ci && npm run build\n\n"
    "The API works without it: /docs describes it.\n"
)


@dataclass(frozen=True)
class PageFile:
    """A file of the page, plain and packed, and how browsers may keep it."""

    plain: bytes
    packed: bytes | None
    media_type: str
    tag: str
    forever: bool

    def answer(self, request: Request) -> Response:
        """Return the file, packed if the browser takes that, or word that it has the newest."""
        headers = {
            "ETag": self.tag,
            "Cache-Control": _FOREVER if self.forever else "no-cache",
            "Vary": "Accept-Encoding",
        }
        if self.tag in request.headers.get("if-none-match", ""):
            return Response(None, 304, headers)
        body = self.plain
        if self.packed is not None and _takes_gzip(request.headers.get("accept-encoding", "")):
            body, headers = self.packed, {**headers, "Content-Encoding": "gzip"}
        return Response(body, 200, headers, self.media_type)


def _takes_gzip(accepted: str) -> bool:
    """Tell whether a browser says that it unpacks gzip.

    >>> _takes_gzip("br, gzip;q=0.8"), _takes_gzip("gzip;q=0"), _takes_gzip("")
    (True, False, False)
    """
    for offer in accepted.lower().split(","):
        name, _, weight = offer.strip().partition(";")
        if name.strip() == "gzip":
            return weight.strip().replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def read_page(folder: Path) -> dict[str, PageFile]:
    """Return the files of a built page by their paths on the server."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".gz")
    return {f"/{path.relative_to(folder).as_posix()}": _page_file(path) for path in files}


def _page_file(path: Path) -> PageFile:
    plain = path.read_bytes()
    packed = gzip.compress(plain, 9, mtime=0) if path.suffix in _PACKED else None
    guessed = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    return PageFile(
        plain=plain,
        packed=packed if packed is not None and len(packed) < len(plain) else None,
        media_type=guessed or "application/octet-stream",
        tag=f'"{hashlib.sha256(plain).hexdigest()[:32]}"',
        forever=bool(_HASHED.search(path.name)),
    )


def page_routes(folder: Path = STATIC) -> Iterator[Route]:
    """Yield a route for each file of the built page, and for `/`."""
    files = read_page(folder)
    for path, file in files.items():
        yield _route(path, file)
    index = files.get(f"/{INDEX}")
    yield Route("/", _not_built) if index is None else _route("/", index)


def _route(path: str, file: PageFile) -> Route:
    async def answer(request: Request) -> Response:
        request.scope["route"] = made  # as FastAPI's own routes do, for the log
        return file.answer(request)

    made = Route(path, answer)
    return made


async def _not_built(request: Request) -> Response:
    del request
    return PlainTextResponse(_NOT_BUILT, 404)
