"""A trace that would be too large: how a client is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from translucid.interpret.explain import TraceTooLargeError
from translucid.serving.problems import Problem


@contextmanager
def large_ones_told() -> Iterator[None]:
    """Turn the refusal of a trace into a problem that speaks of this server's limit."""
    try:
        yield
    except TraceTooLargeError as error:
        raise Problem("trace-too-large", _in_words(error)) from error


def _in_words(error: TraceTooLargeError) -> str:
    """Say how large a trace would be, what is allowed and what would do."""
    light = ""
    if error.level == "full" and error.light <= error.limit:
        light = f'take level "light" (about {_megabytes(error.light)}), or '
    limit = (
        f"the limit is {_megabytes(error.limit)} (max_trace_bytes)"
        if error.bytes > error.limit
        else "a full trace is made of shorter texts only"
    )
    return (
        f"a {error.level} trace of these {error.source_tokens} source tokens would take about "
        f"{_megabytes(error.bytes)}; {limit}: {light}send a shorter text"
    )


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else f"{count / 1e3:,.1f} kB"
