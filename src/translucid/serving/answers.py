"""Answers: JSON without a detour, and problems, in the shape that the client of a path expects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Response
from pydantic_core import to_json
from starlette.types import Scope

from translucid.serving.problems import Problem

JSON = "application/json"
PROBLEM = "application/problem+json"

# Endpoints that behave as LibreTranslate's do, and the statuses that it has for our problems.
LIBRETRANSLATE = frozenset({"/translate", "/languages", "/detect", "/health", "/frontend/settings"})
_LIBRETRANSLATE_STATUS = {401: 403, 415: 400, 422: 400}


def json_answer(
    value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a value (dictionaries, dataclasses, tuples, numbers, strings) as a JSON answer."""
    return Response(to_json(value), status, headers, JSON)


def refusal(scope: Scope, problem: Problem) -> Response:
    """Return a problem as the answer to a request."""
    status = problem.kind.status
    if scope["path"] in LIBRETRANSLATE:
        status = _LIBRETRANSLATE_STATUS.get(status, status)
        return Response(to_json({"error": problem.detail}), status, problem.headers, JSON)
    return Response(to_json(problem.to_json()), status, problem.headers, PROBLEM)
