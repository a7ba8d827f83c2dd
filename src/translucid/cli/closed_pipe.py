"""What a program does when nobody reads any more what it writes, as in ``| head``: it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

CLOSED_PIPE = 141  # 128 + SIGPIPE: what a shell says of other programs that end so


@contextmanager
def ended_quietly() -> Iterator[None]:
    """End without a word, by the usual exit code, where the block writes to a closed pipe."""
    try:
        yield
    except BrokenPipeError:
        # What is still in a buffer must go somewhere when Python ends, or it would complain.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        raise typer.Exit(CLOSED_PIPE) from None
