"""A real server for tests: uvicorn in a thread, on a free port of this machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from fastapi import FastAPI

from small_translators import write_random_model, write_taught_model
from translucid.serving.app import STATIC, create_app
from translucid.serving.auth import Access, allowed_hosts
from translucid.serving.config import ServingConfig
from translucid.serving.served_models import ServedModel, ServedModels
from translucid.serving.server import bind_socket, build_server
from translucid.serving.state import ServerState
from translucid.translator import Translator, load

LIMIT = 60.0  # seconds that anything may take on a busy machine before a test gives up


@cache
def taught() -> Translator:
    """Return the network that knows twelve words and says them in reverse, French to English."""
    with TemporaryDirectory() as folder:
        return load(write_taught_model(Path(folder) / "taught"), engine="pytorch")


@cache
def random_network() -> Translator:
    """Return a network that knows nothing, of several languages: nonsense, often endless."""
    generation = {
        "directions": [("en", "fr"), ("en", "de"), ("fr", "de")],
        "tags": {"fr": 5, "de": 6},
        "extra_length": 4,  # nonsense has no end of its own
    }
    with TemporaryDirectory() as folder:
        return load(
            write_random_model(Path(folder) / "random", generation=generation), engine="pytorch"
        )


def both_models() -> ServedModels:
    """Return the two models as they are served, the taught one first."""
    return ServedModels([ServedModel("taught", taught()), ServedModel("random", random_network())])


@dataclass(frozen=True)
class Running:
    """A server that runs: its address, its state, and a client of it."""

    url: str
    port: int
    app: FastAPI
    client: httpx.Client
    reload: Callable[[], None]  # as SIGHUP does

    @property
    def state(self) -> ServerState:
        state: ServerState = self.app.state.server
        return state

    def post(self, path: str, body: Any, **more: Any) -> httpx.Response:
        return self.client.post(path, json=body, **more)

    def problem(self, answer: httpx.Response, status: int, name: str) -> str:
        """Check that an answer is a problem of a kind, and return its detail."""
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        told = answer.json()
        assert told["type"] == f"/problems/{name}"
        assert told["status"] == status
        detail: str = told["detail"]
        return detail


@contextmanager
def serving(
    settings: Mapping[str, Any] | None = None,
    access: Access | None = None,
    page: Path = STATIC,
    models: ServedModels | None = None,
) -> Iterator[Running]:
    """Run a server while the block lasts."""
    app = create_app(
        models or both_models(),
        ServingConfig(workers=1, **(settings or {})),
        [],
        access or Access(hosts=allowed_hosts("127.0.0.1", [])),
        page,
    )
    started = threading.Event()
    server = build_server(app, lambda line: started.set() if line.startswith("Serving") else None)
    with bind_socket("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
        thread.start()
        assert started.wait(LIMIT)
        url = f"http://127.0.0.1:{port}"
        try:
            with httpx.Client(base_url=url, timeout=LIMIT, trust_env=False) as client:
                end = time.monotonic() + LIMIT
                while client.get("/health/ready").status_code == 503 and time.monotonic() < end:
                    pass
                yield Running(url, port, app, client, server.reload)
        finally:
            server.should_exit = True
            thread.join(LIMIT)
            assert not thread.is_alive()
