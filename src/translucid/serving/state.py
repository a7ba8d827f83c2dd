"""State shared by the routes of a server, and its measurements for Prometheus."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from translucid.serving.auth import Access
from translucid.serving.config import ServingConfig
from translucid.serving.engine.engine import Engine
from translucid.serving.engine.tasks import BatchDone, Draining, EngineEvent
from translucid.serving.log import facts
from translucid.serving.reload import Reloader
from translucid.serving.served_models import Reload, ServedModel, ServedModels

if TYPE_CHECKING:
    from translucid.serving.runs import Films, Runs
    from translucid.serving.traces import TraceStore
    from translucid.translator import Translator

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


@dataclass(frozen=True)
class Inside:
    """What a server needs to show the inside of its models, for which PyTorch is needed."""

    runs: Runs
    traces: TraceStore
    films: Films


@dataclass
class ServerState:
    """Models, limits and stores of one server. The engine lives as long as the event loop does."""

    models: ServedModels
    settings: ServingConfig
    access: Access
    metrics: Metrics
    inside: Inside | None
    readiness: Readiness = field(default_factory=Readiness)
    in_flight: InFlight = field(default_factory=InFlight)
    started: Engine | None = None
    reloads: dict[str, Reload] = field(default_factory=dict)  # the last one of each model

    def __post_init__(self) -> None:
        self.reloader = Reloader(self)
        self._in_memory: weakref.WeakSet[Translator] = weakref.WeakSet()
        for served in self.models:
            self._add(served)

    def exchange(self, old: ServedModel, new: ServedModel) -> None:
        """Put a model in the place of an old one, which ends with its last request."""
        self.models = self.models.exchange(new)
        self.metrics.remove_model(old)
        self._add(new)

    def _add(self, served: ServedModel) -> None:
        self.metrics.add_model(served)
        self._in_memory.add(served.translator)

    @property
    def models_in_memory(self) -> int:
        """Number of models in memory, those counted that were replaced and still have requests."""
        return len(self._in_memory)

    def note_reload(self, name: str, reload: Reload) -> None:
        """Note what became of reloading a model."""
        self.reloads[name] = reload
        self.metrics.count_reload(name, reload.outcome)

    @property
    def runs(self) -> Runs:
        """The training runs that are shown."""
        return self._looking_inside.runs

    @property
    def traces(self) -> TraceStore:
        """The traces that are kept."""
        return self._looking_inside.traces

    @property
    def films(self) -> Films:
        """The films that are kept."""
        return self._looking_inside.films

    @property
    def _looking_inside(self) -> Inside:
        assert self.inside is not None, "its routes are not there without PyTorch"
        return self.inside

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
                extra = facts("text", text=text, translation=translation)
                LOG.info("text %r became %r", text, translation, extra=extra)


_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
_TOKENS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
_BYTES = (256, 1024, 4096, 16384, 65536, 262144, 1048576, 16777216)


class Metrics:
    """Counters and histograms of one server, in their own registry."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self._requests = self._counter(
            "http_requests", "HTTP requests answered", "method", "path", "status"
        )
        whole = "From the headers of an HTTP request to the last byte of its answer"
        self._request_seconds = self._histogram("http_request_seconds", whole, _SECONDS, "path")
        self._request_bytes = self._histogram("http_request_bytes", "Bytes of bodies", _BYTES)
        self._response_bytes = self._histogram("http_response_bytes", "Bytes of answers", _BYTES)
        asked = "Time from the acceptance of a request to its end, waiting included"
        self._jobs = self._histogram("job_seconds", asked, _SECONDS, "request", "outcome")
        self._batch_rows = self._histogram(
            "batch_sentences", "Sentences computed together", _ROWS, "kind"
        )
        self._batch_tokens = self._histogram(
            "batch_source_tokens", "Source tokens computed together", _TOKENS, "kind"
        )
        self._batch_padding = self._histogram(
            "batch_padding_ratio", "Share of a batch that is padding", _SHARES, "kind"
        )
        self._batch_seconds = self._histogram(
            "batch_seconds", "Computing time of a batch", _SECONDS, "kind"
        )
        self._written = self._counter("written_tokens", "Target tokens written", "kind")
        self._models = Gauge(
            "translucid_model_info", "Models served", ("model", "hash"), registry=self.registry
        )
        self._since = Gauge(
            "translucid_model_served_since_seconds",
            "When a model began to be served, in seconds since 1970",
            ("model",),
            registry=self.registry,
        )
        self._reloads = self._counter(
            "model_reloads", "Models loaded again, by what became of it", "model", "outcome"
        )

    def _counter(self, name: str, description: str, *labels: str) -> Counter:
        return Counter(f"translucid_{name}", description, labels, registry=self.registry)

    def _histogram(
        self, name: str, description: str, buckets: Sequence[float], *labels: str
    ) -> Histogram:
        return Histogram(
            f"translucid_{name}", description, labels, buckets=buckets, registry=self.registry
        )

    def add_gauge(self, name: str, description: str, read: Callable[[], float]) -> None:
        """Add a number that is read whenever the metrics are."""
        Gauge(f"translucid_{name}", description, registry=self.registry).set_function(read)

    def add_model(self, served: ServedModel) -> None:
        """Add a served model."""
        self._models.labels(served.name, served.hash).set(1)
        self._since.labels(served.name).set(served.since.timestamp())

    def remove_model(self, served: ServedModel) -> None:
        """Remove a model that is served no more."""
        self._models.remove(served.name, served.hash)

    def count_reload(self, name: str, outcome: str) -> None:
        """Count an attempt to load a model again."""
        self._reloads.labels(name, outcome).inc()

    def count_request(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count an HTTP request; `path` is the template of its route."""
        self._requests.labels(method, path, str(status)).inc()
        self._request_seconds.labels(path).observe(seconds)

    def count_bytes(self, received: int, sent: int) -> None:
        """Count the bytes of a request and of its answer."""
        self._request_bytes.observe(received)
        self._response_bytes.observe(sent)

    def count_event(self, event: EngineEvent) -> None:
        """Count an event of the engine."""
        if isinstance(event, BatchDone):
            self._batch_rows.labels(event.kind).observe(event.rows)
            self._batch_tokens.labels(event.kind).observe(event.tokens)
            self._batch_padding.labels(event.kind).observe(event.padding)
            self._batch_seconds.labels(event.kind).observe(event.seconds)
            self._written.labels(event.kind).inc(event.written)
        else:
            self._jobs.labels(event.request, event.outcome).observe(event.seconds)

    def text(self) -> bytes:
        """Return all measurements in Prometheus's text format."""
        return generate_latest(self.registry)
