"""The ``translucid`` command: what it offers, and how an error leaves it.

Each command lives in a file of its own, whose module level imports nothing heavy, so that
``translucid --help`` and ``--version`` answer at once. Exit codes: 0 fine, 1 failed, 2 usage,
3 bad data, 130 interrupted.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from translucid import __version__
from translucid.cli import (
    average,
    compare,
    demo,
    evaluate,
    fetch,
    info,
    prepare,
    score,
    train,
    translate,
)
from translucid.errors import TranslucidError

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


app.command("average")(average.average)
app.command("compare")(compare.compare)
app.command("demo")(demo.demo)
app.command("evaluate")(evaluate.evaluate)
app.command("fetch")(fetch.fetch)
app.command("info")(info.info)
app.command("prepare", cls=prepare.PrepareCommand)(prepare.prepare)
app.command("score")(score.score)
app.command("train")(train.train)
app.command("translate")(translate.translate)


def main() -> None:
    """Run the command line; a TranslucidError becomes its message on stderr and its exit code."""
    try:
        app()
    except TranslucidError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        sys.exit(130)
