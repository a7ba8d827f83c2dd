"""``translucid export``: a model for another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from translucid.config import ExportTarget, Precision


def export(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            show_default=False,
            help="Model directory, folder of a run, or the name of a built-in model.",
        ),
    ],
    target: Annotated[
        ExportTarget,
        typer.Option(
            "--to",
            metavar="TOOL",
            help="ctranslate2; huggingface, for Transformers; or argos, for Argos Translate and "
            "LibreTranslate.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write.")],
    precision: Annotated[
        Precision, typer.Option(help="Weights of ctranslate2 and argos.")
    ] = "float32",
    sample: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Sentences to compare, one per line.  [default: the built-in lesson]",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier export in DIR.")
    ] = False,
) -> None:
    """Write a model for another tool, checked to translate alike.

    The other tool loads what was written, and must write the same tokens as the model, greedily and
    in float32, for up to 500 sentences; otherwise nothing is kept. With --precision int8, it is
    told how many of the translations differ.

    \b
    Examples:
      translucid export fr-en --to ctranslate2 -o ct2
      translucid export run --to argos --precision int8 -o packages
      translucid export run --to huggingface --sample sentences.de -o marian
    """
    from translucid.interop.export import export as export_model

    done = export_model(
        model, target, output=output, precision=precision, sample=sample, overwrite=overwrite
    )
    typer.echo(
        f"{done.sentences:,} sentences: {done.tool} writes the tokens of {done.reference}"
        + (f", but for {done.ties:,} with ties" if done.ties else ""),
        err=True,
    )
    if done.precision != "float32":
        typer.echo(
            f"in {done.precision}, {done.different:,} of their translations have other tokens",
            err=True,
        )
    typer.echo(output)
