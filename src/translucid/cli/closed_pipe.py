"""What a program does when nobody reads any more what it writes, as in ``| head``: it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import typer

CLOSED_PIPE = 141  # 128 + SIGPIPE: what a shell says of other programs that end so


@contextmanager
def ended_quietly() -> Iterator[None]:
    """End without a word, by the usual exit code, where the block writes to a closed pipe."""
    try:
        yield
    except BrokenPipeError:
        for stream in (sys.stdout, sys.stderr):
            into_nowhere(stream)
        raise typer.Exit(CLOSED_PIPE) from None


def into_nowhere(stream: IO[Any]) -> None:
    """Let what is still in a buffer go nowhere, or closing it would fail once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
