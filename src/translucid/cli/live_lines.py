"""Lines of a pipe or a terminal, taken as they come: nobody waits for a batch to fill up."""

from __future__ import annotations

import io
import queue
import sys
import threading
import time
from pathlib import Path
from typing import Protocol

from translucid.cli.line_files import Errors, Line, LineSplitter, decoded
from translucid.errors import InputError

STANDARD_INPUT = Path("/dev/stdin")
PAUSE = 0.05  # seconds in which no new line came, after which those that are there are handed on
_CHUNK = 1 << 16
_CHUNKS_AHEAD = 16  # read while the network is busy, at most


class ByteStream(Protocol):
    """Something to read bytes from, which gives what is there rather than wait for all."""

    def read(self, size: int, /) -> bytes | None:
        """Return at most so many bytes, as soon as there are any; no bytes: the end.

        None: a stream that does not block has nothing yet.
        """


class LiveLines:
    """Lines of a stream that another process, or a person, is still writing.

    A thread reads ahead, so that whoever writes need not wait for the network, within bounds.
    """

    def __init__(self, stream: ByteStream, name: Path, errors: Errors) -> None:
        self._name = name
        self._errors = errors
        self._splitter = LineSplitter()
        self._ready: list[bytes] = []
        self._taken = 0
        self._ended = False
        self._chunks: queue.Queue[bytes | OSError] = queue.Queue(_CHUNKS_AHEAD)
        threading.Thread(target=_pump, args=(stream, self._chunks), daemon=True).start()

    def take(self, most: int) -> list[Line]:
        """Wait for a line, then return it with those that follow at once, at most so many."""
        while not self._ended and len(self._ready) < most:
            try:
                chunk = self._chunks.get(timeout=PAUSE if self._ready else None)
            except queue.Empty:
                break
            if isinstance(chunk, OSError):
                raise InputError(f"{self._name} cannot be read: {chunk.strerror or chunk}")
            self._ended = not chunk
            self._ready += self._splitter.feed(chunk) if chunk else self._splitter.finish()
        taken, self._ready = self._ready[:most], self._ready[most:]
        first = self._taken + 1
        self._taken += len(taken)
        return [
            decoded(raw, number, self._name, self._errors)
            for number, raw in enumerate(taken, start=first)
        ]


def _pump(stream: ByteStream, chunks: queue.Queue[bytes | OSError]) -> None:
    """Hand over what a stream gives, and at last nothing, or the error that ended it."""
    try:
        while (chunk := stream.read(_CHUNK)) != b"":
            if chunk is None:
                time.sleep(PAUSE)
            else:
                chunks.put(chunk)
    except OSError as error:
        chunks.put(error)
    else:
        chunks.put(b"")


def standard_input() -> ByteStream:
    """Return standard input as a stream of bytes without a buffer that would wait to be full."""
    if sys.stdin is None:
        raise InputError("standard input is closed; give TEXT, or a file with -i FILE")
    stream = sys.stdin.buffer
    return stream.raw if isinstance(stream, io.BufferedReader) else stream


def opened_pipe(path: Path) -> io.FileIO:
    """Open a named pipe or another thing that gives bytes as they come."""
    try:
        return path.open("rb", buffering=0)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
