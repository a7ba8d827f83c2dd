"""Errors of requests as RFC 9457 problems (`application/problem+json`), and JSON answers.

::

    {"type": "/problems/queue-full", "title": "The server is busy", "status": 429, "detail": "…"}

`type` is a path of this server that explains the problem; `detail` says what was received, what is
allowed and what to do. A route raises :class:`Problem`, or lets an `InputError` or a `ConfigError`
of the library pass: both become 422.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fastapi import Response
from pydantic_core import to_json
from starlette.types import Scope

from translucid.errors import ConfigError, InputError, MissingPackageError
from translucid.serving.engine.tasks import Draining, Full, Refused, TimedOut, TooLong


@dataclass(frozen=True)
class ProblemType:
    """One kind of problem: what `type` ends in, the status, a title and what a client can do."""

    name: str
    status: int
    title: str
    meaning: str


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a request: where (a dotted path of fields), and what."""

    where: str
    problem: str


_PROBLEM_TYPES = (
    ProblemType("bad-request", 400, "The request is not valid HTTP",
        "The request's line, headers or framing cannot be understood. Check the client."),
    ProblemType("bad-json", 400, "The body is not valid JSON",
        "The body must be JSON (RFC 8259) in UTF-8: numbers are finite, strings are whole "
        "characters, a key stands once in an object, and nothing is nested deeper than the limit "
        "max_json_depth."),
    ProblemType("bad-encoding", 400, "The body is not valid UTF-8",
        "Text must be sent in UTF-8. The detail names the first byte that is not."),
    ProblemType("wrong-key", 401, "An API key is needed",
        "This server answers only those who send one of its keys: the header "
        "`Authorization: Bearer KEY`, or the field `api_key` of the LibreTranslate endpoints. "
        "Health checks and the page itself need none."),
    ProblemType("wrong-origin", 403, "Pages of other sites may not call this server",
        "A page of another site sent this request from somebody's browser. Start the server with "
        "--allow-origin ORIGIN to let pages of one site do so."),
    ProblemType("wrong-host", 421, "This server does not have that name",
        "The Host header has a name that is not one of this server's. This protects a server on "
        "your own machine from pages of other sites. Start it with --allow-host NAME to add one."),
    ProblemType("not-found", 404, "There is nothing here",
        "No endpoint has this path. /docs lists all of them."),
    ProblemType("unknown-model", 404, "No model has this name",
        "GET /v1/models lists the models that are served."),
    ProblemType("unknown-trace", 404, "No trace has this id",
        "Traces are kept in memory for a while, and the least used ones give way to new ones. Ask "
        "for the trace again with POST /v1/trace."),
    ProblemType("unknown-tensor", 404, "The trace has no such tensor",
        "The field `tensors` of a trace lists their names and shapes."),
    ProblemType("unknown-run", 404, "No training run has this name",
        "GET /v1/runs lists the runs that are shown. Start the server with --run RUN to show one."),
    ProblemType("method-not-allowed", 405, "This path does not take that method",
        "The header Allow lists the methods that the path takes."),
    ProblemType("slow-body", 408, "The body came too slowly",
        "The whole body must arrive within the limit body_seconds."),
    ProblemType("model-replaced", 410, "The model that made this was replaced",
        "A trace keeps its numbers when the server takes another model in the place of the one "
        "that made it, but what needs the model itself is gone. Make the trace again."),
    ProblemType("body-too-large", 413, "The body is too large",
        "The body has more bytes than the limit max_body_bytes. Send several smaller requests."),
    ProblemType("too-many-tokens", 413, "The texts have too many tokens",
        "The texts have more tokens than the limits max_tokens and max_total_tokens allow. Send "
        "less at a time."),
    ProblemType("trace-too-large", 413, "The trace would be too large",
        "A trace of this text has more bytes than the limit max_trace_bytes. Take a shorter text, "
        "or level \"light\"."),
    ProblemType("unsupported-media-type", 415, "The body has a type that is not read here",
        "Send `Content-Type: application/json`. The LibreTranslate endpoints read forms too."),
    ProblemType("not-installed", 501, "This server lacks a package",
        "Traces, runs and some kinds of search need PyTorch, which is not installed on this "
        "server. Greedy and beam search and scoring work without it."),
    ProblemType("invalid-fields", 422, "Some fields cannot be used",
        "`faults` lists everything that is wrong: where, and what is allowed. The limits of this "
        "server are in GET /v1/models."),
    ProblemType("unusable-input", 422, "This cannot be done",
        "Every field is sound by itself, but the model cannot do what they ask for together. The "
        "detail says why."),
    ProblemType("headers-too-large", 431, "The headers are too large",
        "The request's line and headers have more bytes than the limit max_header_bytes."),
    ProblemType("queue-full", 429, "The server is busy",
        "As many sentences are waiting as the limit queue_size allows. Try again after the seconds "
        "that the header Retry-After names."),
    ProblemType("internal", 500, "Something went wrong in the server",
        "This is a fault of the server, not of the request. Its log has the details, under the "
        "request's id."),
    ProblemType("not-ready", 503, "The server is not ready",
        "The models are still being warmed up. GET /health/ready answers 200 when they are."),
    ProblemType("too-many-connections", 503, "The server has too many connections",
        "As many requests are being answered as the limit max_connections allows connections, or "
        "as many of one address as max_connections_per_address. Try again in a moment."),
    ProblemType("sending-full", 503, "The server has too much to send",
        "The answers that are being sent have as many bytes as the limit max_sending_bytes allows. "
        "Try again in a moment."),
    ProblemType("draining", 503, "The server is shutting down",
        "It finishes what it has accepted and takes nothing new."),
    ProblemType("timed-out", 504, "The answer took too long",
        "It was not ready within the limit request_seconds, waiting in the queue included, and was "
        "given up. Send fewer or shorter texts, or try again later."),
)  # fmt: skip
PROBLEM_TYPES: Mapping[str, ProblemType] = {kind.name: kind for kind in _PROBLEM_TYPES}


# Errors about the request, whose messages are sent to the client.
REQUEST_ERRORS = (InputError, ConfigError, MissingPackageError, Refused)
RequestError: TypeAlias = InputError | ConfigError | MissingPackageError | Refused


class Problem(Exception):  # noqa: N818 - the word of RFC 9457
    """Ends a request with a problem: its kind by name, and what a client should know."""

    def __init__(
        self,
        name: str,
        detail: str,
        *,
        faults: Sequence[Fault] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{name}: {detail}")
        self.kind = PROBLEM_TYPES[name]
        self.detail = detail
        self.faults = tuple(faults)
        self.headers = dict(headers or {})

    def to_json(self) -> dict[str, Any]:
        """Return what a client receives."""
        told: dict[str, Any] = {
            "type": f"/problems/{self.kind.name}",
            "title": self.kind.title,
            "status": self.kind.status,
            "detail": self.detail,
        }
        if self.faults:
            told["faults"] = [{"where": f.where, "problem": f.problem} for f in self.faults]
        return told


def invalid_fields(faults: Sequence[Fault], *, left_out: int = 0) -> Problem:
    """Return the problem of a request with these faults, and this many more that are not listed."""
    total = len(faults) + left_out
    count = "1 field" if total == 1 else f"{total:,} fields"
    each = "; ".join(f"{fault.where}: {fault.problem}" for fault in faults)
    more = f"; and {left_out:,} more" if left_out else ""
    return Problem("invalid-fields", f"{count} cannot be used. {each}{more}", faults=faults)


def problem_from_error(error: RequestError) -> Problem:
    """Return the problem of an error that the engine or the library raised about a request."""
    if isinstance(error, Full):
        return Problem("queue-full", str(error), headers={"Retry-After": str(error.retry_after)})
    if isinstance(error, MissingPackageError):
        return Problem("not-installed", str(error))
    if isinstance(error, TooLong):
        return Problem("too-many-tokens", str(error))
    if isinstance(error, TimedOut):
        return Problem("timed-out", str(error))
    if isinstance(error, Draining):
        return Problem("draining", str(error), headers={"Retry-After": "5"})
    if isinstance(error, ConfigError):
        return Problem(
            "invalid-fields", str(error), faults=[Fault(error.subject, f) for f in error.faults]
        )
    return Problem("unusable-input", str(error))


def internal_problem(request_id: str) -> Problem:
    """Return the problem of a request that failed unexpectedly: it has only the id."""
    return Problem(
        "internal", f"the server failed to answer; its log has the reason under {request_id}"
    )


JSON = "application/json"
PROBLEM = "application/problem+json"

# Endpoints that behave as LibreTranslate's do, and the statuses that it has for our problems.
LIBRETRANSLATE = frozenset({"/translate", "/languages", "/detect", "/health", "/frontend/settings"})
_LIBRETRANSLATE_STATUS = {401: 403, 415: 400, 422: 400}


def json_response(
    value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a value (dictionaries, dataclasses, tuples, numbers, strings) as a JSON answer."""
    return Response(to_json(value), status, headers, JSON)


def problem_response(scope: Scope, problem: Problem) -> Response:
    """Return a problem as the answer to a request."""
    status = problem.kind.status
    if scope["path"] in LIBRETRANSLATE:
        status = _LIBRETRANSLATE_STATUS.get(status, status)
        return Response(to_json({"error": problem.detail}), status, problem.headers, JSON)
    return Response(to_json(problem.to_json()), status, problem.headers, PROBLEM)
