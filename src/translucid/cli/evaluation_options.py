"""The options that ``translucid evaluate`` and ``translucid compare`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    typer.Option("--src", metavar="FILE", help="Source sentences, a line each; plain, .gz or .xz."),
]
Reference = Annotated[
    list[Path] | None,
    typer.Option(
        "--ref", metavar="FILE", help="Their references, a line each; may be given several times."
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
