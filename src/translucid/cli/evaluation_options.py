"""The options that ``translucid evaluate`` and ``translucid compare`` share."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from translucid.cli.reader_choice import Reader
from translucid.cli.search_options import option, search_of
from translucid.errors import InputError

if TYPE_CHECKING:
    from translucid.data.shards import PreparedData
    from translucid.decoding.settings import SearchConfig
    from translucid.translator import Translator

Source = Annotated[
    Path | None,
    typer.Option(
        "--src", metavar="FILE", help="Source sentences, one per line; plain, .gz or .xz."
    ),
]
Reference = Annotated[
    list[Path] | None,
    typer.Option(
        "--ref", metavar="FILE", help="Their references, one per line; may be given several times."
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DATA",
        help="Folder of `translucid prepare`: its test set, if --src is not given, and (evaluate) "
        "how often its training text has each word.",
    ),
]
Split = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Which split of --data: test or dev.  [default: test]"),
]
TrainText = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Target side of the training text, to tell rare words."),
]
From = Annotated[
    str | None, typer.Option("--from", metavar="LANG", help="Source language, if not the model's.")
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="LANG", help="Target language, where it is not clear."),
]
BleuTokenizer = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="BLEU's words: 13a, intl, zh, char, none, ja-mecab or ko-mecab.  "
        "[default: 13a; zh and char for scripts without spaces]",
    ),
]
Resamples = Annotated[
    int,
    typer.Option(metavar="N", min=0, help="Bootstrap resamples of intervals and tests; 0: none."),
]
Sentences = Annotated[
    int,
    typer.Option(metavar="N", min=0, help="Sentences of each kind in the report and in --json."),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON to stdout instead of tables.")]


def open_folder(data: Path | None) -> PreparedData | None:
    """Open prepared data, if any was named."""
    from translucid.data.shards import open_data

    return None if data is None else open_data(data)


def choose_search(translator: Translator, given: Mapping[str, Any]) -> SearchConfig:
    """Return the model's own search, changed by the options given."""
    return search_of(translator.default_search, given, sample=False, terms=False)


def refuse_search(given: Mapping[str, Any], reader: Reader) -> None:
    """Refuse options of the search where no model translates."""
    names = [option(name) for name, value in given.items() if value is not None]
    if names := [*names, *(["--read-back"] if reader.models else [])]:
        raise InputError(f"{', '.join(names)}: the translations are there already; leave it out")


def name_search(search: SearchConfig, default: SearchConfig) -> str:
    """Return a name for a search that has everything in it that is not usual."""
    name = f"{search.method}{search.beam}" if search.method == "beam" else search.method
    chosen = {"method": search.method, "beam": search.beam if search.method == "beam" else None}
    usual = search_of(default, chosen, sample=False, terms=False)
    changed = [
        f"{key.replace('_', '-')}{value}"
        for key, value in search.model_dump().items()
        if value != getattr(usual, key)
    ]
    return "-".join([name, *changed])


def add_command(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of results with the command that made them."""
    command = shlex.join(["translucid", *sys.argv[1:]])
    return {"made": settings["made"], "command": command, **settings}
