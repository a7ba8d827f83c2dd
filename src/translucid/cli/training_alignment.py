"""After training: the heads of each model that align words are found, and kept with it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from translucid.data.shards import PreparedData
from translucid.errors import InputError
from translucid.translator import find_alignment_heads, keep_alignment_heads, load
from translucid.translator.head_search import MOST_PAIRS


def keep_heads(models: Iterable[Path], data: PreparedData) -> None:
    """Find the heads of each model on the dev set, in the first direction, and write them down."""
    if "dev" not in data.manifest.splits:
        return
    split = data.split("dev")
    source, target = data.manifest.directions[0]
    pairs = [
        (split.text(source, pair), split.text(target, pair))
        for pair in range(min(len(split), MOST_PAIRS))
    ]
    try:
        for model in models:
            keep_alignment_heads(model, find_alignment_heads(load(model), pairs, target=target))
    except InputError as error:
        typer.echo(f"Which heads align words stays unknown: {error}", err=True)
