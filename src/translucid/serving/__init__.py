"""The server: translations and a look inside them over HTTP, and the page that shows both.

::

    server            the process: socket, signals, limits on every connection
    app, state        the application with the files of the page (static/); what its routes share,
                      measurements for Prometheus
    config            every limit and timeout
    middleware, auth  what every request passes: log, metrics, host names, API keys, its body
    request_bodies    strict parsing of bodies
    schemas           fields of bodies and answers (traces: trace_schemas)
    problems          errors as problem+json
    routes/           /v1/translate, /v1/trace, /v1/models, /v1/runs, /health, /metrics
    libretranslate    LibreTranslate's endpoints
    reference         the OpenAPI document, and the page at /docs that is made of it
    served_models     the models, and which one a request means
    reload            the warm-up; models that replace others while the server runs
    log               lines for people, or JSON objects
    traces, runs      stored traces; training runs and the films of their checkpoints
    engine/           micro-batches, streams and jobs, for many clients at once
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from translucid.errors import optional

if TYPE_CHECKING:
    from translucid.config import EngineName, Precision
    from translucid.serving.config import ServingConfig
    from translucid.serving.server import Server
    from translucid.translator import Translator

PACKAGES = ("fastapi", "uvicorn", "prometheus_client", "py3langid")


def serve(
    *models: str | Path | Translator,
    runs: Sequence[str | Path] = (),
    host: str = "127.0.0.1",
    port: int = 8000,
    api_key_file: str | Path | None = None,
    allow_hosts: Sequence[str] = (),
    allow_origins: Sequence[str] = (),
    log_text: bool = False,
    config: ServingConfig | None = None,
    on_message: Callable[[str], None] | None = None,
    background: bool = False,
    engine: EngineName = "auto",
    precision: Precision | None = None,
    **settings: Any,
) -> Server:
    """Serve translations over HTTP, and the page that shows how they come about.

    ::

        serve("run", port=8080)                                   # until Ctrl-C or SIGTERM
        with serve(translator, port=0, background=True) as server:
            requests.post(f"{server.url}/v1/translate", json={"texts": ["Le chat dort."]})

    `models` are model directories, runs, ``fr-en``, ``NAME=`` before any of these, or translators.
    Without any, the models of `runs`, which the page shows, are served, or ``fr-en``. Port 0 is any
    free one. Limits and times are those of ServingConfig: `config`, or single `settings` by name.
    `on_message` receives the address, and a message when the server shuts down; without it, the log
    does. `engine` and `precision` are those of :func:`translucid.load`.
    """
    check_packages()
    from translucid.built_in import DEFAULT
    from translucid.serving.app import create_app
    from translucid.serving.auth import Access, allowed_hosts, check_origins, read_keys
    from translucid.serving.config import ServingConfig
    from translucid.serving.served_models import ServedModels
    from translucid.serving.server import LOG, Server, bind_socket

    limits = config or ServingConfig()
    if settings:
        limits = limits.replace(**settings)
    access = Access(
        read_keys(None if api_key_file is None else Path(api_key_file)),
        allowed_hosts(host, allow_hosts),
        check_origins(allow_origins),
        log_text,
    )
    shown = [Path(run) for run in runs]
    bound = bind_socket(host, port)
    try:
        # No name for the models here: one that is replaced is freed when nobody holds it.
        app = create_app(
            ServedModels.load(models or runs or [DEFAULT], engine, precision), limits, shown, access
        )
    except BaseException:
        bound.close()
        raise
    server = Server(app, bound, on_message or LOG.info)
    server.start() if background else server.run()
    return server


def check_packages() -> None:
    """Say which extra installs what serving needs, if something is missing."""
    for package in PACKAGES:
        optional(package, extra="serve", job="Serving")
