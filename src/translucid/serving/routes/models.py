"""Endpoints about the server itself: its models, its health, its measurements, its problems."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response

from translucid import __version__
from translucid.serving.config import LIMITS
from translucid.serving.problems import PROBLEM_TYPES, Problem, json_response
from translucid.serving.schemas import (
    LiveAnswer,
    ModelsAnswer,
    ReadyAnswer,
    VocabularyAnswer,
    problem_responses,
)
from translucid.serving.served_models import UnknownModelError
from translucid.serving.state import ServerState


def router(state: ServerState) -> APIRouter:
    """Return the endpoints about the server itself."""
    routes = APIRouter()
    _add_models(routes, state)
    _add_health(routes, state)

    @routes.get(
        "/metrics",
        tags=["server"],
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}, "description": "Prometheus's text format"}},
    )
    async def metrics() -> Response:
        """Measurements for Prometheus: times, batches, the queue."""
        return Response(state.metrics.text(), media_type=state.metrics.content_type)

    return routes


def _add_models(routes: APIRouter, state: ServerState) -> None:
    @routes.get("/v1/models", response_model=ModelsAnswer, tags=["models"])
    async def models() -> Response:
        """List the models that are served, and the limits of this server."""
        return json_response(
            {
                "version": __version__,
                "models": state.models.describe(state.reloads),
                "limits": {name: getattr(state.settings, name) for name in LIMITS},
                "runs": state.inside is not None and bool(state.runs),
            }
        )

    @routes.get(
        "/v1/models/{name:path}/vocabulary",
        response_model=VocabularyAnswer,
        responses={
            304: {"description": "what the client has is the newest"},
            **problem_responses(404),
        },
        tags=["models"],
    )
    async def vocabulary(
        name: str, if_none_match: Annotated[str | None, Header(max_length=1000)] = None
    ) -> Response:
        """List all pieces of a model's vocabulary."""
        try:
            served = state.models.named(name)
        except UnknownModelError as error:
            raise Problem("unknown-model", str(error)) from error
        tag = f'"{served.hash}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if if_none_match is not None and tag in if_none_match:
            return Response(status_code=304, headers=headers)
        return json_response({"pieces": served.pieces}, headers=headers)


def _add_health(routes: APIRouter, state: ServerState) -> None:
    async def live() -> Response:
        """Tell that the server runs."""
        return json_response({"status": "alive"})

    async def ready() -> Response:
        """Tell whether a translation with every model has passed, and the server takes requests."""
        if state.readiness.fault is not None:
            raise Problem("not-ready", state.readiness.fault)
        if not state.readiness.ready:
            raise Problem("not-ready", "the models are being warmed up", headers=_SOON)
        return json_response({"status": "ready", "models": [one.name for one in state.models]})

    for path, endpoint, model, more in (
        ("/health/live", live, LiveAnswer, {}),
        ("/health/ready", ready, ReadyAnswer, problem_responses(503)),
    ):
        routes.get(path, response_model=model, responses=more, tags=["server"])(endpoint)
        routes.head(path, include_in_schema=False)(endpoint)


_SOON = {"Retry-After": "1"}


def describe_problem(name: str) -> dict[str, object]:
    """Return the meaning of a type of problem; raise a Problem if there is none of that name."""
    kind = PROBLEM_TYPES.get(name)
    if kind is None:
        raise Problem("not-found", f"no problem is called {name[:60]!r}; /docs lists all of them")
    return {
        "type": f"/problems/{kind.name}",
        "title": kind.title,
        "status": kind.status,
        "meaning": kind.meaning,
    }
