"""A file is of one language: the one that its beginning is in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from translucid.cli.line_files import Errors, lines_of_file

if TYPE_CHECKING:
    from translucid.translator import Translator

LINES_TO_KNOW = 1000


def target_of_file(translator: Translator, file: Path, errors: Errors, *, quiet: bool) -> str:
    """Return the language to translate a file into, and tell it where there is a choice."""
    first = lines_of_file(file, errors, skipped=0).take(LINES_TO_KNOW)
    if not first:  # nothing to translate, into whatever language
        return translator.directions[0][1]
    target = translator.target_language(None, [line.text for line in first])
    if not quiet and len({into for _, into in translator.directions}) > 1:
        typer.echo(f"{file}: into {target}; --to LANG chooses another language", err=True)
    return target
