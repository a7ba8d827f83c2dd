"""The options of ``translucid explain``, in the order in which --help shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Text = Annotated[
    str | None,
    typer.Argument(metavar="TEXT", show_default=False, help="The sentence to translate."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="File to write: .html .svg .png .pdf .json .safetensors",
    ),
]
PanelName = Annotated[
    str | None,
    typer.Option(
        "--panel",
        metavar="NAME",
        help="Which picture, or where the page opens (see --panels).  [default: alignment]",
    ),
]
SideName = Annotated[
    str | None,
    typer.Option(
        "--side", metavar="encoder|decoder|cross", help="Which attention, where a panel has three."
    ),
]
Layer = Annotated[int | None, typer.Option(metavar="L", help="Layer, from 0.")]
Head = Annotated[int | None, typer.Option(metavar="H", help="Head, from 0.")]
StepNumber = Annotated[
    int | None,
    typer.Option("--step", metavar="T", help="Step of the translation, or token that looks."),
]
Given = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Look at this translation instead of searching for one."),
]
LevelName = Annotated[
    str | None,
    typer.Option(
        "--level", metavar="light|full", help="Attention only, or every number.  [default: full]"
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Record a trace however large it is.")]
TraceFile = Annotated[
    Path | None,
    typer.Option("--trace", metavar="FILE", help="Read a trace that was saved as .safetensors."),
]
Run = Annotated[
    Path | None,
    typer.Option(metavar="RUN", help="Run of `translucid train`: for the panels film and curve."),
]
