"""Endpoints that show training runs: which there are, their course, films of their checkpoints."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from pydantic import Field

from translucid.config import Count, ModelConfig
from translucid.interpret.network import AttentionHead, check_heads
from translucid.interpret.trace import Side
from translucid.serving.problems import json_response
from translucid.serving.request_bodies import json_body, post
from translucid.serving.runs import FilmRequest, State, film_json, read_events
from translucid.serving.schemas import (
    Answer,
    AtMost,
    Body,
    Language,
    Text,
    described,
    problem_responses,
)
from translucid.serving.state import ServerState
from translucid.serving.trace_schemas import Index
from translucid.serving.traces import report_too_large
from translucid.translator import TranslationRequest

FRAMES = 12  # checkpoints of a film that says nothing of their number


class RunFields(Answer):
    """A training run."""

    name: str
    state: State = Field(description="training now, come to its end, or standing still before it")
    step: int = Field(description="the newest step that it has reported")
    max_steps: int
    directions: list[tuple[str, str]] = Field(
        description="source and target languages of its models; empty before there is one"
    )
    started: str = Field(description="when it began or last went on, ISO 8601")
    settings: dict[str, Any] = Field(description="model and training, as given")


class RunsAnswer(Answer):
    """All runs that the server shows."""

    runs: list[RunFields]


class EventsAnswer(Answer):
    """What a run has reported after a place in its course."""

    events: list[dict[str, Any]] = Field(description="lines of metrics.jsonl, as they are")
    next: int = Field(description="ask with this as `after` for what comes next")
    state: State
    more: bool = Field(description="there are more events already")
    restarted: bool = Field(
        description="the place is gone, because a resumed run dropped what came after its "
        "checkpoint: these events are from the beginning"
    )
    unreadable: int = Field(description="lines that were no JSON objects, and are left out")


class FilmBody(Body):
    """A text, and the head whose attention is followed over the checkpoints of a run."""

    text: Text = Field(description="one sentence, without line breaks", examples=["Le chat dort."])
    target: Language | None = described(TranslationRequest, "target", None)
    side: Side = Field(description="encoder, decoder (masked) or cross", examples=["cross"])
    layer: Index = Field(description="from 0", examples=[0])
    head: Index = Field(description="from 0", examples=[0])
    frames: Annotated[Count, AtMost("max_film_frames")] | None = Field(
        None, description=f"checkpoints, evenly chosen; left out: {FRAMES} or the limit"
    )


class FrameFields(Answer):
    """A checkpoint: what it wrote by itself, and its head reading the newest translation."""

    step: int
    translation: str
    log_prob: float = Field(description="of its own translation")
    weights: list[list[float]] = Field(description="[query][key]")


class FilmAnswer(Answer):
    """Frames of the checkpoints, oldest first; all read the same tokens."""

    source_tokens: list[str]
    target_tokens: list[str]
    frames: list[FrameFields]


FilmInput = Annotated[FilmBody, Depends(json_body(FilmBody))]
After = Annotated[
    int, Query(ge=0, le=2**53, description="`next` of the answer before; 0: from the beginning")
]


def router(state: ServerState) -> APIRouter:
    """Return the endpoints of training runs."""
    routes = APIRouter(tags=["runs"])

    @routes.get("/v1/runs", response_model=RunsAnswer)
    def list_runs() -> Response:
        """List the training runs that this server shows."""
        runs = [run.describe() for run in state.runs if run.directory.exists()]
        return json_response({"runs": runs}, headers=_NEWEST)

    @routes.get(
        "/v1/runs/{name}/events", response_model=EventsAnswer, responses=problem_responses(404)
    )
    def read_course(name: str, after: After = 0) -> Response:
        """Read what a run has reported since the last time."""
        run = state.runs.find(name)
        now = run.state()  # before the events: when it has finished, none can be missing
        chunk = read_events(run.directory.metrics.path, after)
        return json_response(
            {
                "events": chunk.events,
                "next": chunk.next,
                "state": now,
                "more": chunk.more,
                "restarted": chunk.restarted,
                "unreadable": chunk.unreadable,
            },
            headers=_NEWEST,
        )

    @post(routes, "/v1/runs/{name}/film", FilmBody, FilmAnswer, responses=problem_responses(404))
    async def make_film(name: str, body: FilmInput) -> Response:
        """Follow one head and one translation over the checkpoints of a run."""
        run = state.runs.find(name)
        config = ModelConfig(**run.record()["model"])
        (head,) = check_heads([AttentionHead(body.side, body.layer, body.head)], config)
        count = body.frames or min(FRAMES, state.settings.max_film_frames)
        request = FilmRequest(body.text, body.target, count)
        with report_too_large():
            frames = await state.engine.run(state.films.frames, run, request)
        state.log_texts([body.text], [frames[-1].trace.translation])
        return json_response(film_json(frames, head))

    return routes


_NEWEST = {"Cache-Control": "no-store"}
