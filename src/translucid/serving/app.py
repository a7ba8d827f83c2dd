"""The application: routes, middleware, error handlers, the engine's lifespan, the explorer's files.

The built files of the explorer are read and packed once, and answered from memory by their exact
paths. No path of a request ever reaches the file system, so none can leave the folder.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import importlib.util
import mimetypes
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Match, Route

from translucid import __version__
from translucid.errors import needs_pytorch
from translucid.serving import libretranslate, reference
from translucid.serving.auth import Access, host_problem, key_problem
from translucid.serving.config import ServingConfig
from translucid.serving.engine.engine import Engine
from translucid.serving.middleware import (
    AccessLog,
    BodyPacer,
    DrainCheck,
    Gate,
    RequestReader,
    SecurityHeaders,
    framing_problem,
)
from translucid.serving.problems import (
    REQUEST_ERRORS,
    Problem,
    invalid_fields,
    problem_from_error,
    problem_response,
)
from translucid.serving.reference import build_openapi
from translucid.serving.reload import warm_up
from translucid.serving.request_bodies import describe_fault
from translucid.serving.routes import models as model_routes
from translucid.serving.routes import translate
from translucid.serving.served_models import ServedModels
from translucid.serving.state import Inside, Metrics, ServerState

STATIC = Path(__file__).parent / "static"  # the explorer, as `make page` builds it
_SECONDS_BETWEEN_LOOKS = 60.0


def create_app(
    models: ServedModels,
    settings: ServingConfig,
    runs: Sequence[Path] = (),
    access: Access | None = None,
    page: Path = STATIC,
) -> FastAPI:
    """Return the application that serves these models; its state is `app.state.server`.

    Without PyTorch it translates and scores; what looks inside a model answers that it is missing.
    """
    state = ServerState(
        models=models,
        settings=settings,
        access=access or Access(),
        metrics=Metrics(),
        inside=_look_inside(settings, runs),
    )
    app = FastAPI(
        title="Translucid",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan(state),
    )
    app.state.server, app.state.settings = state, settings
    routers = _routers(state)
    routers.append(reference.router(lambda: app.openapi(), models.default.targets[0]))
    for part in routers:
        app.include_router(part)
    files = list(page_routes(page))
    app.router.routes.extend(files)
    app.openapi = cache(  # type: ignore[method-assign]
        lambda: build_openapi(app, settings, keys=bool(len(state.access.keys)))
    )
    _add_problems(app, [*(route for part in routers for route in part.routes), *files])
    _add_middleware(app, state)
    _add_gauges(state)
    return app


def _look_inside(settings: ServingConfig, runs: Sequence[Path]) -> Inside | None:
    """Return the stores of traces and films; None where PyTorch is not installed."""
    if not runs and importlib.util.find_spec("torch") is None:
        return None
    with needs_pytorch("Showing runs"):
        from translucid.serving.runs import Films, Runs
        from translucid.serving.traces import TraceStore

    return Inside(Runs(runs), TraceStore(settings), Films(settings))


def _routers(state: ServerState) -> list[APIRouter]:
    parts = [translate.router(state), model_routes.router(state)]
    if state.inside is None:
        parts.append(_answer_without_pytorch())
    else:
        from translucid.serving.routes import patch, runs, trace

        parts += [trace.router(state), patch.router(state), runs.router(state)]
    return [*parts, libretranslate.router(state)]


def _answer_without_pytorch() -> APIRouter:
    """Return endpoints that say what is missing, in the place of those that look inside."""
    routes = APIRouter(include_in_schema=False)

    async def missing(rest: str = "") -> None:
        del rest
        raise Problem(
            "not-installed",
            "looking inside a model needs PyTorch, which is not installed on this server: pip "
            "install 'translucid[train]'",
        )

    for path in ("trace", "patch", "heads", "next", "runs"):
        for address in (f"/v1/{path}", f"/v1/{path}/{{rest:path}}"):
            routes.add_api_route(address, missing, methods=["GET", "POST"])
    return routes


def _lifespan(state: ServerState) -> Any:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        del app
        state.started = engine = Engine(state.settings, state.metrics.count_event)
        beside = [asyncio.ensure_future(work(state)) for work in (warm_up, _expire_stores)]
        try:
            yield
        finally:
            state.reloader.cancel()
            for work in beside:
                work.cancel()
            await asyncio.wait(beside)
            await engine.drain()
            state.started = None

    return lifespan


async def _expire_stores(state: ServerState) -> None:
    """Drop expired traces and films regularly, even if nobody requests any."""
    while True:
        await asyncio.sleep(min(_SECONDS_BETWEEN_LOOKS, state.settings.trace_seconds))
        if state.inside is not None:
            state.traces.expire()
            state.films.expire()


def _add_problems(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Convert every error in a route into a problem."""

    async def problem(request: Request, error: Exception) -> Response:
        assert isinstance(error, Problem)
        return problem_response(request.scope, error)

    async def request_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, REQUEST_ERRORS)
        return problem_response(request.scope, problem_from_error(error))

    async def framework(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return problem_response(request.scope, _problem_from_http(request, error, routes))

    async def parameters(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        faults = [describe_fault(None, {**e, "loc": e["loc"][1:]}) for e in error.errors()]
        return problem_response(request.scope, invalid_fields(faults))

    app.add_exception_handler(Problem, problem)
    for kind in REQUEST_ERRORS:
        app.add_exception_handler(kind, request_error)
    app.add_exception_handler(HTTPException, framework)
    app.add_exception_handler(RequestValidationError, parameters)


def _problem_from_http(
    request: Request, error: HTTPException, routes: Sequence[BaseRoute]
) -> Problem:
    path = request.url.path[:200]
    if error.status_code == 405:
        allowed = ", ".join(_methods_at(request, routes))
        return Problem(
            "method-not-allowed",
            f"{path} does not take {request.method[:20]}; it takes {allowed}",
            headers={"Allow": allowed},
        )
    return Problem("not-found", f"there is nothing at {path}; /docs lists all endpoints")


def _methods_at(request: Request, routes: Sequence[BaseRoute]) -> list[str]:
    """Return the methods of all routes of a path; the framework names those of one only."""
    here = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    each = [route.methods or () for route in here if isinstance(route, Route)]
    return sorted({method for methods in each for method in methods})


def _add_middleware(app: FastAPI, state: ServerState) -> None:
    """Add the middleware; requests pass first through what is added last."""
    access = state.access
    app.add_middleware(RequestReader, settings=state.settings)
    app.add_middleware(Gate, problem=partial(key_problem, access))
    if access.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(access.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["Location", "Retry-After", "X-Request-Id", "X-Shape"],
        )
    app.add_middleware(DrainCheck, in_flight=state.in_flight)
    app.add_middleware(Gate, problem=partial(host_problem, access))
    app.add_middleware(Gate, problem=framing_problem)
    app.add_middleware(BodyPacer, most=state.settings.max_sending_bytes)
    app.add_middleware(AccessLog, state=state)
    app.add_middleware(SecurityHeaders, shared=bool(access.origins))


def _add_gauges(state: ServerState) -> None:
    """Add gauges, whose values are read whenever the metrics are."""
    gauges: dict[str, tuple[str, Callable[[], float]]] = {
        "ready": ("1 when all models are warm", lambda: state.readiness.ready),
        "http_requests_in_flight": ("HTTP requests under way", lambda: state.in_flight.count),
        "models_in_memory": (
            "Models in memory, those counted that were replaced and still have requests",
            lambda: state.models_in_memory,
        ),
        "waiting": (
            "Sentences, streams and jobs that wait",
            lambda: state.started.waiting if state.started else 0,
        ),
        "running": (
            "Requests that the engine has accepted and not answered",
            lambda: state.started.running if state.started else 0,
        ),
    }
    if (inside := state.inside) is not None:
        gauges["traces"] = "Traces kept", lambda: len(inside.traces)
        gauges["trace_bytes"] = "Bytes of the traces kept", lambda: inside.traces.bytes
    for name, (description, read) in gauges.items():
        state.metrics.add_gauge(name, description, read)


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
