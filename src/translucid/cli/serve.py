"""``translucid serve``: the API and the explorer, on this machine unless told otherwise."""

from __future__ import annotations

import io
import logging
import os
import queue
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from translucid.cli import options
from translucid.errors import InputError, nearest
from translucid.serving import check_packages
from translucid.serving import serve as run_server
from translucid.serving.config import ServingConfig

# Limits that have an option; --set and --config set all of them.
_OPTIONS = (
    *("max_characters", "max_texts", "max_beam", "max_body_bytes"),
    *("queue_size", "batch_sentences", "request_seconds"),
)


@options.add_settings(ServingConfig, into="given", only=_OPTIONS)
def serve(
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="[NAME=]MODEL",
            help="Model directory, RUN of `translucid train`, or fr-en, the built-in model; "
            "repeatable: each is served.  [default: the models of --run, or fr-en]",
        ),
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--run", metavar="RUN", help="Show this training run on the page; repeatable."
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to listen on; 0.0.0.0: all addresses of this machine."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0: any free one.")
    ] = 8000,
    api_key_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Answer only requests with one of these keys, one per line. "
            "Also: TRANSLUCID_API_KEYS, with commas.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another host name of the server; repeatable."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="Let pages of this site call the server (CORS), such as https://example.org.",
        ),
    ] = None,
    log_text: Annotated[
        bool, typer.Option("--log-text", help="Write texts and translations to the log, too.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Do not log each request on stderr.")
    ] = False,
    engine: options.Engine = "auto",
    precision: options.EnginePrecision = None,
    threads: options.Threads = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", metavar="FILE", help="TOML file with limits and times."),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="One limit or time, such as max_texts=128; repeatable.",
        ),
    ] = None,
    given: options.Given = {},  # noqa: B006 - replaced by one option per setting
    limits: Annotated[
        bool,
        typer.Option("--limits", help="List all limits and times with their values, and exit."),
    ] = False,
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
    check_packages()
    settings = build_settings(config, assignments or [], given)
    if limits:
        list_limits(settings)
        return
    if threads is not None:
        from translucid.machine import set_thread_count

        set_thread_count(threads)
    with _log_requests(quiet) as write_line:
        server = run_server(
            *models or (),
            runs=runs or (),
            host=host,
            port=port,
            api_key_file=api_key_file,
            allow_hosts=allow_host or (),
            allow_origins=allow_origin or (),
            log_text=log_text,
            config=settings,
            engine=engine,
            precision=precision,
            on_message=write_line,
        )
    raise typer.Exit(server.exit_code)


@contextmanager
def _log_requests(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Log one line per request on stderr, or only warnings, while the server runs.

    Gives the function that writes a line.
    """
    with _write_in_background() as write_line:
        handler = _LineHandler(write_line)
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
        logging.getLogger("translucid.serving").setLevel(logging.WARNING if quiet else logging.INFO)
        logging.getLogger().addHandler(handler)
        try:
            yield write_line
        finally:
            logging.getLogger().removeHandler(handler)


class _LineHandler(logging.Handler):
    """A log whose lines are passed to a function."""

    def __init__(self, write_line: Callable[[str], None]) -> None:
        super().__init__()
        self._write_line = write_line

    def emit(self, record: logging.LogRecord) -> None:
        self._write_line(self.format(record))


_WAITING_LINES = 10_000  # of the log; more are dropped where nobody reads them
_LAST_SECONDS = 1.0  # for the lines that wait when the server has ended


@contextmanager
def _write_in_background() -> Iterator[Callable[[str], None]]:
    """Give a function that writes a line to stderr, in a thread of its own.

    Where nobody reads stderr, writing to it fails, or waits for ever once the pipe is full. Neither
    may keep the server from answering, or from ending when it is told to.
    """
    waiting: queue.Queue[str | None] = queue.Queue(_WAITING_LINES)

    def write_line(line: str) -> None:
        with suppress(queue.Full):
            waiting.put_nowait(line)

    def write_all() -> None:
        while (line := waiting.get()) is not None:
            with suppress(OSError):
                _write_to_stderr(f"{line}\n")

    thread = threading.Thread(target=write_all, name="log", daemon=True)
    thread.start()
    try:
        yield write_line
    finally:
        with suppress(queue.Full):
            waiting.put_nowait(None)
        thread.join(_LAST_SECONDS)


def _write_to_stderr(text: str) -> None:
    """Write past Python's buffers, which would try at the end what they could not write."""
    try:
        descriptor = sys.stderr.fileno()
    except (AttributeError, io.UnsupportedOperation):  # there is none, or a test's own
        typer.echo(text, err=True, nl=False)
        return
    data = text.encode(errors="backslashreplace")
    while data:
        data = data[os.write(descriptor, data) :]


def build_settings(
    file: Path | None, assignments: Sequence[str], given: Mapping[str, Any]
) -> ServingConfig:
    """Return limits and times: those of a file, then of --set, then of single options."""
    if file is not None and not file.is_file():
        raise InputError(f"--config {file}: there is no such file")
    below = ServingConfig() if file is None else ServingConfig.from_file(file)
    changes = dict(_parse_assignment(one, ServingConfig.model_fields) for one in assignments)
    changes |= given
    return below.replace(**changes) if changes else below


def _parse_assignment(assignment: str, known: Mapping[str, Any]) -> tuple[str, Any]:
    """Return name and value of KEY=VALUE; a value is written as in TOML."""
    name, equals, text = assignment.partition("=")
    name = name.strip()
    if not equals:
        raise InputError(f"--set {assignment}: give KEY=VALUE, such as max_texts=128")
    if name not in known:
        raise InputError(f"--set {assignment}: no limit is called {name!r}; {nearest(name, known)}")
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"--set {assignment}: {text.strip()!r} is not a number") from error
    whole = isinstance(value, int) and not isinstance(value, bool)
    return name, float(value) if whole and name.endswith("_seconds") else value


def list_limits(settings: ServingConfig) -> None:
    """Print all limits and times, as -c FILE takes them."""
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        line = f"# {name} =" if value is None else f"{name} = {value}"
        typer.echo(f"{line:<36}# {field.description}")
