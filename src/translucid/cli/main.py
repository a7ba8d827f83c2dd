"""The ``translucid`` command: what it offers, and how an error leaves it.

Each command has its own file, whose module level imports nothing heavy, so that
``translucid --help`` and ``--version`` answer at once. Exit codes: 0 fine, 1 failed, 2 usage,
3 bad data, 130 interrupted.
"""

from __future__ import annotations

import _thread
import contextlib
import faulthandler
import signal
import sys
import threading
import warnings
from typing import Annotated, Any

import typer

from translucid import __version__
from translucid.cli import (
    average,
    compare,
    demo,
    evaluate,
    explain,
    export,
    fetch,
    heads,
    import_model,
    info,
    prepare,
    recipe,
    score,
    serve,
    study,
    train,
    translate,
)
from translucid.cli.options import Command
from translucid.errors import RenamedWarning, TranslucidError, needs_pytorch

_AGAIN = 0.01  # seconds until a Ctrl-C that was dropped comes again

app = typer.Typer(
    name="translucid",
    help="A Transformer you can train, trust and see through.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"translucid {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Translucid: a Transformer you can train, trust and see through."""


app.command("average", cls=Command)(average.average)
app.command("compare", cls=Command)(compare.compare)
app.command("demo", cls=Command)(demo.demo)
app.command("evaluate", cls=Command)(evaluate.evaluate)
app.command("explain", cls=Command)(explain.explain)
app.command("export", cls=Command)(export.export)
app.command("fetch", cls=Command)(fetch.fetch)
app.command("heads", cls=Command)(heads.heads)
app.command("import", cls=Command)(import_model.import_model)
app.command("info", cls=Command)(info.info)
app.command("prepare", cls=prepare.PrepareCommand)(prepare.prepare)
app.command("recipe", cls=Command)(recipe.recipe)
app.command("score", cls=Command)(score.score)
app.command("serve", cls=Command)(serve.serve)
app.command("study", cls=Command)(study.study)
app.command("train", cls=Command)(train.train)
app.command("translate", cls=Command)(translate.translate)


def _tell_where_it_crashed() -> None:
    """Have every thread's place in the program printed where a library brings the process down."""
    with contextlib.suppress(RuntimeError, ValueError):
        faulthandler.enable()  # refused where stderr is no open file: there is nowhere to print


def _hear_ctrl_c_everywhere() -> None:
    """Have Ctrl-C sent again where Python drops the exception that it raised.

    In a finalizer or the callback of a weak reference, which every import has, an exception cannot
    leave; Python prints it and continues, and the command would run on as if nothing had happened.
    """
    usual = sys.unraisablehook

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt) and not sys.is_finalizing():
            this = threading.get_ident()  # the main thread: no other is ever interrupted
            again = threading.Timer(_AGAIN, _interrupt, [this])  # when the callback is over
            again.daemon = True  # a command that has ended by then does not need it
            again.start()
        else:
            usual(dropped)

    sys.unraisablehook = hook


def _interrupt(thread: int) -> None:
    if hasattr(signal, "pthread_kill"):  # which also ends what the thread waits for
        signal.pthread_kill(thread, signal.SIGINT)
    else:
        _thread.interrupt_main()


def _show_renames_as_notes() -> None:
    """Print what was given under an old name as one line on stderr, once per name."""
    others = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, RenamedWarning):
            typer.echo(f"note: {message}; the old name will go with the next release", err=True)
        else:
            others(message, category, *where, **more)

    warnings.simplefilter("once", RenamedWarning)
    warnings.showwarning = show


def main() -> None:
    """Run the command line; a TranslucidError becomes its message on stderr and its exit code."""
    _tell_where_it_crashed()
    _hear_ctrl_c_everywhere()
    _show_renames_as_notes()
    try:
        with needs_pytorch("This command"):
            app()
    except TranslucidError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:  # of the machine, not of the command: a full disk, a forbidden folder
        where = f"{error.filename}: " if error.filename else ""
        typer.echo(f"error: {where}{error.strerror or error}", err=True)
        sys.exit(1)
