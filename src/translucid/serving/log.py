"""The log: lines for people, or JSON objects for programs; never a text of a user, unless allowed.

::

    2026-11-16 03:18:56 POST /v1/translate 200 1092.7 ms, 39 bytes in, 963 bytes out, e2fe1f6819e7
    {"time":"2026-11-16T03:18:56.123+00:00","level":"info","event":"request","method":"POST", …}

A record says the same in both: its message in the first, its `facts` in the second. What is learned
of a request while it is answered, its model and its tokens, is noted for its line.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Literal

LogFormat = Literal["text", "json"]
_request: ContextVar[dict[str, Any] | None] = ContextVar("request", default=None)


@contextmanager
def noting() -> Iterator[dict[str, Any]]:
    """Collect what is noted of a request within the block, in its tasks too."""
    notes: dict[str, Any] = {}
    token = _request.set(notes)
    try:
        yield notes
    finally:
        _request.reset(token)


def note_model(name: str) -> None:
    """Note the model that answers the request under way."""
    if (notes := _request.get()) is not None:
        notes["model"] = name


def note_tokens(*, source: int, target: int) -> None:
    """Add to the tokens that were read and written for the request under way."""
    if (notes := _request.get()) is not None:
        notes["source_tokens"] = notes.get("source_tokens", 0) + source
        notes["target_tokens"] = notes.get("target_tokens", 0) + target


def facts(event: str, **others: Any) -> dict[str, Mapping[str, Any]]:
    """Return what a call of a logger takes as `extra`: the event and what belongs to it."""
    return {"facts": {"event": event, **others}}


class JsonFormatter(logging.Formatter):
    """One JSON object per record, in one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as JSON: time, level, and its facts, or its message."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            **getattr(record, "facts", {"event": "message"}),
        }
        if line["event"] != "request":  # whose message says nothing more
            line["message"] = record.getMessage()
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def build_formatter(log_format: LogFormat) -> logging.Formatter:
    """Return what writes records in a format."""
    if log_format == "json":
        return JsonFormatter()
    return logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S")
