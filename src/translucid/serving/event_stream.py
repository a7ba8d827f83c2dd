"""Server-sent events: what is told, one event after another, with signs of life in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Any

from fastapi.responses import StreamingResponse
from pydantic_core import to_json

MEDIA_TYPE = "text/event-stream"
_SIGN_OF_LIFE = b": still at work\n\n"
# A proxy that collects an answer before it passes it on would make a stream of no use.
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@dataclass(frozen=True)
class ServerEvent:
    """One event: its name, and what it tells as JSON, which has no line ends."""

    name: str
    data: Any

    def encoded(self) -> bytes:
        """Return the event as it is sent."""
        return b"event: %s\ndata: %s\n\n" % (self.name.encode(), to_json(self.data))


def event_stream(events: AsyncGenerator[ServerEvent, None], heartbeat: float) -> StreamingResponse:
    """Return an answer that sends events as they come, and a comment where none comes for long.

    When the client goes away, the generator of the events is closed.
    """
    return StreamingResponse(_encoded(events, heartbeat), 200, _HEADERS, MEDIA_TYPE)


async def _encoded(
    events: AsyncGenerator[ServerEvent, None], heartbeat: float
) -> AsyncIterator[bytes]:
    coming: asyncio.Future[ServerEvent] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait((coming,), timeout=heartbeat)
            if not done:
                yield _SIGN_OF_LIFE
                continue
            event, coming = await _taken(coming), None
            if event is None:
                return
            yield event.encoded()
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.wait((coming,))
        await events.aclose()


async def _taken(coming: asyncio.Future[ServerEvent]) -> ServerEvent | None:
    """Return an event that has come, or None at the end of all."""
    try:
        return await coming
    except StopAsyncIteration:
        return None
