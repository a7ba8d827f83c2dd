"""The application: routes, middleware, error handlers, and the lifespan of the engine."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Match, Route

from translucid import __version__
from translucid.serving import libretranslate, reference_page
from translucid.serving.auth import Access, HostCheck, KeyCheck
from translucid.serving.config import ServingConfig
from translucid.serving.engine.admission import Full, TimedOut
from translucid.serving.engine.engine import Engine
from translucid.serving.metrics import Metrics
from translucid.serving.middleware import AccessLog, DrainCheck, RequestReader, SecurityHeaders
from translucid.serving.openapi import build_openapi
from translucid.serving.page import STATIC, page_routes
from translucid.serving.problems import (
    REQUEST_ERRORS,
    Problem,
    invalid_fields,
    problem_from_error,
    problem_response,
)
from translucid.serving.request_bodies import describe_fault
from translucid.serving.routes import models as model_routes
from translucid.serving.routes import runs as run_routes
from translucid.serving.routes import trace, translate
from translucid.serving.runs import Films, Runs
from translucid.serving.served_models import ServedModel, ServedModels
from translucid.serving.state import ServerState
from translucid.serving.traces import TraceStore
from translucid.translator import TranslationRequest

LOG = logging.getLogger("translucid.serving")
WARM_UP_TEXT = "1 2 3."
_WARM_UP_PAUSE = 0.5  # seconds
_SECONDS_BETWEEN_LOOKS = 60.0


def create_app(
    models: ServedModels,
    settings: ServingConfig,
    runs: Runs,
    access: Access | None = None,
    page: Path = STATIC,
) -> FastAPI:
    """Return the application that serves these models; its state is `app.state.server`."""
    state = ServerState(
        models=models,
        settings=settings,
        access=access or Access(),
        runs=runs,
        traces=TraceStore(settings),
        films=Films(settings),
        metrics=Metrics(),
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
    routers.append(reference_page.router(lambda: app.openapi(), models.default.targets[0]))
    for part in routers:
        app.include_router(part)
    files = list(page_routes(page))
    app.router.routes.extend(files)
    _describe(app, state)
    _add_problems(app, [*(route for part in routers for route in part.routes), *files])
    _add_middleware(app, state)
    _add_gauges(state)
    return app


def _routers(state: ServerState) -> list[APIRouter]:
    parts = (translate, model_routes, trace, run_routes, libretranslate)
    return [part.router(state) for part in parts]


def _describe(app: FastAPI, state: ServerState) -> None:
    made: list[dict[str, Any]] = []  # built at the first request, then cached

    def openapi() -> dict[str, Any]:
        if not made:
            made.append(build_openapi(app, state.settings, keys=bool(len(state.access.keys))))
        return made[0]

    app.openapi = openapi  # type: ignore[method-assign]


def _lifespan(state: ServerState) -> Any:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        del app
        state.started = engine = Engine(state.settings, state.metrics.count_event)
        beside = [asyncio.ensure_future(work(state)) for work in (_warm_up, _expire_stores)]
        try:
            yield
        finally:
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
        state.traces.expire()
        state.films.expire()


async def _warm_up(state: ServerState) -> None:
    """Translate a few words with every model into every language; then the server is ready."""
    for served in state.models:
        for target in served.targets:
            try:
                await _warm(state, served, target)
            except Exception as error:
                LOG.exception("the warm-up translation of %s into %s failed", served.name, target)
                state.readiness.fault = (
                    f"the warm-up translation of {served.name} into {target} failed "
                    f"({type(error).__name__}): the log says more"
                )
                return
    state.readiness.ready = True


async def _warm(state: ServerState, served: ServedModel, target: str) -> None:
    """Translate until it works: the first try may time out, or the queue may be full."""
    while True:
        try:
            request = TranslationRequest(target=target, alignment=True)
            await state.engine.translate(served, [WARM_UP_TEXT], request)
            return
        except (Full, TimedOut):
            await asyncio.sleep(_WARM_UP_PAUSE)


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
    app.add_middleware(KeyCheck, access=access)
    if access.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(access.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["Location", "Retry-After", "X-Request-Id", "X-Shape"],
        )
    app.add_middleware(DrainCheck, in_flight=state.in_flight)
    app.add_middleware(HostCheck, access=access)
    app.add_middleware(AccessLog, state=state)
    app.add_middleware(SecurityHeaders, shared=bool(access.origins))


def _add_gauges(state: ServerState) -> None:
    """Add gauges, whose values are read whenever the metrics are."""
    metrics, in_flight = state.metrics, state.in_flight
    for served in state.models:
        metrics.add_model(served.name, served.hash)
    metrics.add_gauge("ready", "1 when all models are warm", lambda: float(state.readiness.ready))
    metrics.add_gauge(
        "http_requests_in_flight", "HTTP requests under way", lambda: float(in_flight.count)
    )
    metrics.add_gauge(
        "waiting",
        "Sentences, streams and jobs that wait",
        lambda: float(state.started.waiting if state.started else 0),
    )
    metrics.add_gauge(
        "running",
        "Requests that the engine has accepted and not answered",
        lambda: float(state.started.running if state.started else 0),
    )
    metrics.add_gauge("traces", "Traces kept", lambda: float(len(state.traces)))
    metrics.add_gauge("trace_bytes", "Bytes of the traces kept", lambda: float(state.traces.bytes))
