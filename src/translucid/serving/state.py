"""State shared by the routes of a server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from translucid.serving.auth import Access
from translucid.serving.config import ServingConfig
from translucid.serving.engine.admission import Draining
from translucid.serving.engine.engine import Engine
from translucid.serving.metrics import Metrics
from translucid.serving.runs import Films, Runs
from translucid.serving.served_models import ServedModels
from translucid.serving.traces import TraceStore

LOG = logging.getLogger("translucid.serving")


@dataclass
class Readiness:
    """Whether the warm-up translation of every model has passed; the error of one that failed."""

    ready: bool = False
    fault: str | None = None


class InFlight:
    """Counts the requests in progress; after `drain`, new ones are refused."""

    def __init__(self) -> None:
        self.count = 0
        self.draining = False
        self._idle = asyncio.Event()

    def enter(self) -> None:
        """Count an arriving request."""
        self.count += 1

    def leave(self) -> None:
        """Count a request as answered."""
        self.count -= 1
        self._notify()

    def drain(self) -> None:
        """Refuse new requests from now on."""
        self.draining = True
        self._notify()

    async def finished(self) -> None:
        """Wait until the server drains and every request has been answered."""
        await self._idle.wait()

    def _notify(self) -> None:
        if self.draining and not self.count:
            self._idle.set()


@dataclass
class ServerState:
    """Models, limits and stores of one server. The engine lives as long as the event loop does."""

    models: ServedModels
    settings: ServingConfig
    access: Access
    runs: Runs
    traces: TraceStore
    films: Films
    metrics: Metrics
    readiness: Readiness = field(default_factory=Readiness)
    in_flight: InFlight = field(default_factory=InFlight)
    started: Engine | None = None

    @property
    def engine(self) -> Engine:
        """The engine; raises Draining before the start and after the end."""
        if self.started is None:
            raise Draining
        return self.started

    def log_texts(self, texts: Sequence[str], translations: Sequence[str]) -> None:
        """Write texts and their translations to the log, if it may hold any (`--log-text`)."""
        if self.access.log_text:
            for text, translation in zip(texts, translations, strict=True):
                LOG.info("text %r became %r", text, translation)
