"""``translucid serve``: the API and the explorer, on this machine unless told otherwise."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from translucid.built_in import DEFAULT
from translucid.cli import serve_options as options
from translucid.errors import InputError

if TYPE_CHECKING:
    from translucid.serving.served_models import ServedModels


def serve(
    models: options.Models = None,
    runs: options.Runs = None,
    host: options.Host = "127.0.0.1",
    port: options.Port = 8000,
    api_key_file: options.KeyFile = None,
    allow_host: options.AllowHosts = None,
    allow_origin: options.AllowOrigins = None,
    log_text: options.LogText = False,
    quiet: options.Quiet = False,
    threads: options.Threads = None,
    config: options.ConfigFile = None,
    assignments: options.Assignments = None,
    max_characters: options.MaxCharacters = None,
    max_texts: options.MaxTexts = None,
    max_beam: options.MaxBeam = None,
    max_body_bytes: options.MaxBodyBytes = None,
    queue_size: options.QueueSize = None,
    batch_sentences: options.BatchSentences = None,
    request_seconds: options.RequestSeconds = None,
    limits: options.ListLimits = False,
) -> None:
    """Serve translations over HTTP, and the page that shows how they come about.

    The first line on stderr says where. /docs describes the API; clients made for LibreTranslate
    work too. Ctrl-C or SIGTERM: what was accepted is finished, then the exit code is 130 or 0; a
    second one stops at once.

    \b
    Examples:
      translucid serve
      translucid serve -m run --run run --port 8080
      translucid serve -m fr-en -m german=run --max-texts 128
      translucid serve -m model --host 0.0.0.0 --api-key-file keys.txt
      translucid serve --limits > limits.toml
      translucid serve -m model -c limits.toml --set request_seconds=10
    """
    from translucid.cli.serve_settings import check_packages, list_limits, settings_of

    check_packages()
    given = {
        "max_characters": max_characters,
        "max_texts": max_texts,
        "max_beam": max_beam,
        "max_body_bytes": max_body_bytes,
        "queue_size": queue_size,
        "batch_sentences": batch_sentences,
        "request_seconds": request_seconds,
    }
    settings = settings_of(config, assignments or [], given)
    if limits:
        list_limits(settings)
        return

    from translucid.cli.serve_runs import runs_of
    from translucid.serving.app import create_app
    from translucid.serving.auth import Access, allowed_hosts, read_keys
    from translucid.serving.server import bind_socket, run

    access = Access(
        read_keys(api_key_file),
        allowed_hosts(host, allow_host or []),
        checked_origins(allow_origin or []),
        log_text,
    )
    shown = runs_of(runs or [])
    with bind_socket(host, port) as bound:
        app = create_app(_loaded(models, runs, threads), settings, shown, access)
        with _log(quiet):
            code = run(app, bound, lambda line: typer.echo(line, err=True))
    raise typer.Exit(code)


def _loaded(
    models: Sequence[str] | None, runs: Sequence[Path] | None, threads: int | None
) -> ServedModels:
    """Return the models named with -m, or those of the runs, or the one of the package."""
    import torch

    from translucid.serving.served_models import ServedModels, parse_model_option

    places = models or [str(run) for run in runs or []] or [str(DEFAULT)]
    if threads is not None:
        torch.set_num_threads(threads)
    return ServedModels.load([parse_model_option(place) for place in places])


def checked_origins(origins: Sequence[str]) -> tuple[str, ...]:
    """Return origins as browsers send them: a scheme and a host, no path."""
    for origin in origins:
        scheme, _, rest = origin.partition("://")
        if origin != "*" and (scheme not in ("http", "https") or not rest or "/" in rest):
            raise InputError(
                f"--allow-origin {origin}: give a scheme and a host without a path, such as "
                "https://example.org, or * for every site"
            )
    return tuple(origins)


@contextmanager
def _log(quiet: bool) -> Iterator[None]:
    """Write one line a request to stderr, warnings in any case, while the server runs."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    logging.getLogger("translucid.serving").setLevel(logging.WARNING if quiet else logging.INFO)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
