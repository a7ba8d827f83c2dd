"""``translucid serve``: the API and the explorer, on this machine unless told otherwise."""

from __future__ import annotations

import io
import logging
import os
import queue
import re
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from translucid.cli import options
from translucid.errors import ConfigError, InputError, TranslucidError, nearest
from translucid.serving import check_packages
from translucid.serving import serve as run_server
from translucid.serving.config import KEYS_VARIABLE, ServingConfig
from translucid.serving.log import LogFormat, build_formatter, facts

LOG = logging.getLogger("translucid.serving")

# Limits that have an option; --set and --config set all of them.
_OPTIONS = (
    *("max_characters", "max_texts", "max_beam", "max_body_bytes"),
    *("queue_size", "batch_sentences", "request_seconds"),
)


@options.add_settings(
    ServingConfig, into="given", only=_OPTIONS, without_variable=("assignments", "limits")
)
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
            help="Answer only requests with one of these keys, one per line; those of "
            "TRANSLUCID_API_KEYS, with commas, too.",
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
    log_format: Annotated[
        LogFormat,
        typer.Option(
            "--log-format", help="text, for people; json: one object per line, for programs."
        ),
    ] = "text",
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
    second one stops at once. SIGHUP: each model is replaced by what its directory has now, once
    that is loaded and warm.

    Every option and every limit may also be set by a variable of the environment; the command line
    comes before it, a file (-c) after it.

    \b
    Examples:
      translucid serve
      translucid serve -m run --run run --port 8080
      translucid serve -m fr-en -m german=run --max-texts 128
      translucid serve -m model --host 0.0.0.0 --api-key-file keys.txt
      translucid serve --limits > limits.toml
      translucid serve -m model -c limits.toml --set request_seconds=10
      TRANSLUCID_MODEL='fr-en german=run' TRANSLUCID_MAX_TOKENS=500 translucid serve
    """
    check_packages()
    with options.naming_variables(os.environ, known_variables()):
        settings = build_settings(config, assignments or [], given, os.environ)
    if limits:
        list_limits(settings)
        return
    if threads is not None:
        from translucid.machine import set_thread_count

        set_thread_count(threads)
    with _log_requests(quiet, log_format) as tell:
        for misspelt in options.find_misspelt_variables(os.environ, known_variables()):
            LOG.warning(misspelt)
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
            on_message=tell,
        )
    raise typer.Exit(server.exit_code)


@contextmanager
def _log_requests(quiet: bool, log_format: LogFormat) -> Iterator[Callable[[str], None]]:
    """Log one line per request on stderr, or only warnings, while the server runs.

    Gives the function that tells what is not logged: in text, that is the bare line. In JSON, the
    error that ends the server is an object like all else.
    """
    with _write_in_background() as write_line:
        handler = _LineHandler(write_line)
        handler.setFormatter(build_formatter(log_format))

        def tell(message: str, level: int = logging.INFO) -> None:
            if log_format == "text":
                write_line(message)
            else:
                told = {"msg": message, "levelno": level, "levelname": logging.getLevelName(level)}
                handler.emit(logging.makeLogRecord({**told, **facts("server")}))

        LOG.setLevel(logging.WARNING if quiet else logging.INFO)
        logging.getLogger().addHandler(handler)
        try:
            with options.naming_variables(os.environ, known_variables()):
                yield tell
        except TranslucidError as error:
            if log_format == "text":
                raise
            tell(str(error), logging.ERROR)
            raise typer.Exit(error.exit_code) from error
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
    file: Path | None,
    assignments: Sequence[str],
    given: Mapping[str, Any],
    environment: Mapping[str, str],
) -> ServingConfig:
    """Return limits and times: of a file, above them the environment, --set, single options."""
    if file is not None and not file.is_file():
        raise InputError(f"--config {file}: there is no such file")
    below = ServingConfig() if file is None else ServingConfig.from_file(file)
    known = ServingConfig.model_fields
    above = {**dict(_parse_assignment(one, known) for one in assignments), **given}
    variables = {
        name: (options.variable(name), text)
        for name in known
        if name not in above and (text := environment.get(options.variable(name)))
    }
    values = {n: _parse_value(n, text, f"{v}={text}") for n, (v, text) in variables.items()}
    try:
        return below.replace(**values, **above) if values or above else below
    except ConfigError as error:
        faults = [_name_variables(fault, variables) for fault in error.faults]
        raise ConfigError(error.subject, faults) from error


def _name_variables(fault: str, variables: Mapping[str, tuple[str, str]]) -> str:
    """Return a fault with the variables that it comes from."""
    told = [one for name, (one, _) in variables.items() if re.search(rf"\b{name}\b", fault)]
    return f"{fault} (set by {' and '.join(told)})" if told else fault


def known_variables() -> Iterator[str]:
    """Yield the variables of the environment that the command reads."""
    yield KEYS_VARIABLE
    yield from map(options.variable, ServingConfig.model_fields)
    for annotation in serve.__annotations__.values():
        for option in getattr(annotation, "__metadata__", ()):
            if option.envvar is not None:
                yield option.envvar


def _parse_assignment(assignment: str, known: Mapping[str, Any]) -> tuple[str, Any]:
    """Return name and value of KEY=VALUE; a value is written as in TOML."""
    name, equals, text = assignment.partition("=")
    name = name.strip()
    if not equals:
        raise InputError(f"--set {assignment}: give KEY=VALUE, such as max_texts=128")
    if name not in known:
        raise InputError(f"--set {assignment}: no limit is called {name!r}; {nearest(name, known)}")
    return name, _parse_value(name, text, f"--set {assignment}")


def _parse_value(name: str, text: str, where: str) -> Any:
    """Return the value of a setting, written as in TOML; `where` it stands is told if it is bad."""
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: {text.strip()!r} is not a number") from error
    whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if whole and name.endswith("_seconds") else value


def list_limits(settings: ServingConfig) -> None:
    """Print all limits and times, as -c FILE takes them."""
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        line = f"# {name} =" if value is None else f"{name} = {value}"
        typer.echo(f"{line:<36}# {field.description}")
