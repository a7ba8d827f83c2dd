"""The options that ``translucid evaluate`` and ``translucid compare`` share."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from translucid.cli.options import spell_option
from translucid.errors import InputError

if TYPE_CHECKING:
    from translucid.data.shards import PreparedData
    from translucid.decoding.settings import SearchConfig
    from translucid.translator import Reranker


# Test sets are translated by greedy, beam or minimum-risk search.
SEARCH_SETTINGS = (
    "method",
    "beam",
    "length_penalty",
    "length_form",
    "coverage_penalty",
    "max_length",
)
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


def refuse_search(given: Mapping[str, Any], reranker: Reranker | None) -> None:
    """Refuse options of the search where no model translates."""
    names = [*map(spell_option, given), *(["--rerank"] if reranker else [])]
    if names:
        raise InputError(f"{', '.join(names)}: the translations are there already; leave it out")


def name_search(search: SearchConfig, default: SearchConfig) -> str:
    """Return a name for a search that has everything in it that is not usual."""
    name = f"{search.method}{search.beam}" if search.method == "beam" else search.method
    beam = {"beam": search.beam} if search.method == "beam" else {}
    usual = default.override({"method": search.method, **beam})
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
