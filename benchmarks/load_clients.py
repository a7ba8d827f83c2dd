"""Clients of a translation server for load tests: plain sockets, as little work as can be.

A client keeps its connection open and asks again as soon as it is answered.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

GONE = 0  # in place of a status: the connection ended before there was an answer


@dataclass(frozen=True)
class Target:
    """Where to ask, and what is sent along with every text."""

    host: str
    port: int
    search: dict[str, Any] | None

    def request(self, text: str) -> bytes:
        body: dict[str, Any] = {"texts": [text]}
        if self.search is not None:
            body["search"] = self.search
        content = json.dumps(body, ensure_ascii=False).encode()
        head = (
            f"POST /v1/translate HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content


@dataclass(frozen=True)
class Answer:
    """What became of one request."""

    text: str
    status: int
    translation: str
    ended: float
    seconds: float


@dataclass
class Tally:
    """The answers of many clients."""

    answers: list[Answer] = field(default_factory=list)

    def of(self, status: int) -> list[Answer]:
        return [answer for answer in self.answers if answer.status == status]


class Client:
    """One connection."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, text: str) -> Answer:
        """Ask for a translation; a connection that the server has closed is GONE."""
        began = time.monotonic()
        try:
            reader, writer = await self._open()
            writer.write(self._target.request(text))
            status, body = await _read(reader)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.close()
            status, body = GONE, b""
        translation = json.loads(body)["translations"][0]["text"] if status == 200 else ""
        ended = time.monotonic()
        return Answer(text, status, translation, ended, ended - began)

    async def ask_and_leave(self, text: str, seconds: float) -> None:
        """Ask, and go away without the answer."""
        _, writer = await self._open()
        writer.write(self._target.request(text))
        await writer.drain()
        await asyncio.sleep(seconds)
        self.close()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._target.host, self._target.port)
        return self._streams

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _read(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    return int(head[0].split(" ")[1]), await reader.readexactly(int(fields["content-length"]))


async def load(target: Target, texts: Sequence[str], clients: int, seconds: float) -> Tally:
    """Let clients ask for some seconds, one text after another, the next as soon as answered."""
    tally = Tally()
    every = itertools.cycle(texts)
    until = time.monotonic() + seconds

    async def one() -> None:
        client = Client(target)
        while time.monotonic() < until:
            tally.answers.append(await client.ask(next(every)))
        client.close()

    await asyncio.gather(*(one() for _ in range(clients)))
    return tally


async def ask_all(target: Target, texts: Iterator[str], clients: int, tally: Tally) -> None:
    """Let clients ask until there are no more texts, or the server is gone."""

    async def one() -> None:
        client = Client(target)
        for text in texts:
            answer = await client.ask(text)
            tally.answers.append(answer)
            if answer.status == GONE:
                break
        client.close()

    await asyncio.gather(*(one() for _ in range(clients)))
