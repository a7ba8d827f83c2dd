"""The endpoint that tells what may come next after a forced beginning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from translucid.decoding.settings import SearchConfig
from translucid.interpret.explain import encode_prefix
from translucid.interpret.next_tokens import NextTokens, next_tokens
from translucid.serving.answers import json_answer
from translucid.serving.bodies import json_body, takes
from translucid.serving.problems import Fault, invalid
from translucid.serving.served_models import Served
from translucid.serving.state import ServerState
from translucid.serving.trace_schemas import NextAnswer, NextBody

Asked = Annotated[NextBody, Depends(json_body(NextBody))]


def router(state: ServerState) -> APIRouter:
    """Return the endpoint of the next token."""
    routes = APIRouter(tags=["trace"])

    @routes.post("/v1/next", response_model=NextAnswer, openapi_extra=takes(NextBody))
    async def read_next(asked: Asked) -> Response:
        """Read the distribution of the next token, with temperature and cuts as in sampling."""
        if asked.prefix is not None and asked.prefix_text is not None:
            problem = "give the beginning as token ids (prefix) or as text, not both"
            raise invalid([Fault("prefix_text", problem)])
        served = state.models.choose(asked.model, asked.source, asked.target)
        return json_answer(await state.engine.run(_next, served, asked))

    return routes


def _next(served: Served, asked: NextBody) -> NextTokens:
    translator = served.translator
    prefix: Sequence[int] = asked.prefix or ()
    if asked.prefix_text is not None:
        prefix = encode_prefix(translator, asked.prefix_text)
    return next_tokens(
        translator,
        asked.text,
        prefix=prefix,
        target=served.target(asked.source, asked.target, [asked.text]),
        sampling=SearchConfig(
            method="sampling",
            temperature=asked.temperature,
            top_k=asked.top_k,
            top_p=asked.top_p,
            min_p=asked.min_p,
        ),
        count=asked.count,
    )
