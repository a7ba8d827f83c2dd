"""``translucid fetch``: a known public corpus, checked against its checksums.

Standard output holds the folder and nothing else, for ``DATA=$(translucid fetch NAME)``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from translucid.errors import InputError

if TYPE_CHECKING:
    from translucid.data.known_corpora import KnownCorpus


def fetch(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A known corpus; --list shows them.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Put the files into DIR/NAME. Without it: $XDG_CACHE_HOME/translucid/NAME, or "
            "~/.cache/translucid/NAME.",
        ),
    ] = None,
    mirror: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Take the files from this folder (a path or file://), not from the network.",
        ),
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="Show the known corpora and stop.")
    ] = False,
) -> None:
    """Get a known public corpus: checksummed, resumable, its licence shown first.

    Prints the folder. A run that was cut off continues where it stopped; existing files are
    checked and not fetched again.
    """
    from translucid.cli.display import show_progress, stderr_console
    from translucid.data.download import RetryPolicy
    from translucid.data.fetch import cache_folder, find_known_corpus, find_mirror, prepare_command
    from translucid.data.fetch import fetch as fetch_corpus
    from translucid.data.known_corpora import KNOWN

    if show_list:
        typer.echo(corpus_table(KNOWN.values()))
        return
    if name is None:
        raise InputError(f"which corpus? Known: {', '.join(KNOWN)}. --list says more about them.")
    corpus = find_known_corpus(name)
    with show_progress(stderr_console()) as emit:
        folder = fetch_corpus(
            corpus,
            into=cache_folder() if output is None else output,
            mirror=None if mirror is None else find_mirror(mirror),
            retries=RetryPolicy(timeout=30.0, attempts=5, pause=1.0),
            emit=emit,
        )
    typer.echo(f"next:  {prepare_command(corpus, folder)}", err=True)
    typer.echo(folder)


def corpus_table(corpora: Iterable[KnownCorpus]) -> str:
    """Return the known corpora as lines with aligned columns."""
    rows = [("NAME", "LANGUAGES", "PAIRS", "DOWNLOAD", "LICENCE", "HOW")]
    rows += [
        (
            corpus.name,
            "-".join(corpus.languages),
            f"{corpus.pairs:,}",
            f"{corpus.download_size / 1e6:.1f} MB",
            corpus.licence,
            corpus.transport,
        )
        for corpus in corpora
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join(lines)
