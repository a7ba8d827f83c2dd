"""``translucid import``: a model of another program as a model directory."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer


def import_model(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Directory of a Hugging Face Marian model (OPUS-MT)."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Model directory to write.")
    ],
    source: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="LANG", help="Source language, where DIR does not say it."),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--to", metavar="LANG", help="Target language; choose up to 16 of a multilingual model."
        ),
    ] = None,
) -> None:
    """Import a model of another program.

    DIR is a Marian model as Hugging Face has them, downloaded: config.json, model.safetensors,
    vocab.json, source.spm and target.spm. Pickled weights (pytorch_model.bin) are not read. The
    model computes what it computed before; it can be translated with, scored, evaluated, explained,
    served and fine-tuned.

    \b
    Examples:
      translucid import opus-mt-fr-en -o model
      translucid import opus-mt-en-ROMANCE -o model --to fr --to es
      translucid import opus-mt-mul-en -o model --from fr --from de
    """
    from translucid.config import read_generation_config
    from translucid.interop.importing import import_model
    from translucid.translator.request import describe_directions

    written = import_model(
        folder,
        output,
        source=source or (),
        target=target or (),
        command=shlex.join(["translucid", *sys.argv[1:]]),
    )
    ways = describe_directions(read_generation_config(written).directions)
    typer.echo(f"{folder}: {ways}", err=True)
    typer.echo(written)
