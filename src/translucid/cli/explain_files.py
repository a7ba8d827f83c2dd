"""What `translucid explain` writes: a page, a picture or the trace itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from translucid.errors import InputError

if TYPE_CHECKING:
    from translucid.interpret.figures.drawing import Drawing
    from translucid.interpret.figures.panels import Choice, Material
    from translucid.interpret.page import SavedRun


FORMS = (".html", ".svg", ".png", ".pdf", ".json", ".safetensors")
PICTURES = (".html", ".svg", ".png", ".pdf")
USUAL = "alignment"  # the panel of a picture where none is named
COMPARING = "patching"  # the same, where two sentences are compared


@dataclass(frozen=True)
class Form:
    """A file to write: its path, what its name ends in, and the panel it shows (None: all).

    Where nothing is to be written, its name ends in nothing.
    """

    path: Path
    suffix: str
    panel: str | None


def parse_form(output: Path | None, panel: str | None, *, compares: bool) -> Form:
    """Return what is to be written, or raise InputError that says what can be.

    Where two sentences are compared, nothing need be.
    """
    from translucid.interpret.figures.panels import check_drawn, find_panel

    if output is None and compares and panel is None:
        return Form(Path(), "", None)
    if output is None:
        raise InputError(f"no file to write: give one with -o FILE, ending in {' '.join(FORMS)}")
    suffix = output.suffix.lower()
    if suffix not in FORMS:
        raise InputError(f"-o {output}: the name must end in {', '.join(FORMS)}")
    if not output.resolve().parent.is_dir():
        raise InputError(f"-o {output}: there is no folder {output.parent}")
    if panel is not None:
        find_panel(panel)
        if suffix not in PICTURES:
            raise InputError(
                f"--panel {panel}: a {suffix} file holds the whole trace; leave --panel out, or "
                f"write {', '.join(PICTURES)}"
            )
        if suffix != ".html":
            check_drawn(panel)
    elif suffix in PICTURES and compares:
        panel = COMPARING
    elif suffix in PICTURES[1:]:
        panel = USUAL
    return Form(output, suffix, panel)


def parse_choice(
    form: Form,
    side: str | None,
    layer: int | None,
    head: int | None,
    step: int | None,
) -> Choice:
    """Return which part of the network is shown; for a file that shows none, nothing may be."""
    from translucid.interpret.figures.panels import Choice, check_choice
    from translucid.interpret.network import SIDES

    names = dict(zip(SIDES, SIDES, strict=True))
    if side is not None and side not in names:
        raise InputError(f"--side {side}: must be {', '.join(SIDES)}")
    choice = Choice(None if side is None else names[side], *map(_from_zero, (layer, head, step)))
    if not form.suffix and choice.given():
        raise InputError(
            f"--{choice.given()[0]} chooses what a picture shows: write one with -o FILE"
        )
    if form.suffix not in PICTURES and choice.given():
        raise InputError(
            f"--{choice.given()[0]} chooses what a picture shows, and a {form.suffix} file holds "
            "the whole trace: leave it out"
        )
    if form.panel is not None:
        check_choice(form.panel, choice)
    elif choice.side is not None:
        raise InputError("--side chooses one attention, and the page shows all three: add --panel")
    return choice


def _from_zero(number: int | None) -> int | None:
    """Return a number of the command line, counted from 1, as Python counts."""
    return None if number is None else number - 1


def list_panels() -> None:
    """Print every panel with what it shows and the options that it takes."""
    from translucid.interpret.figures.panels import PANELS

    width = max(map(len, PANELS))
    for name, panel in PANELS.items():
        takes = " ".join(f"--{option}" for option in panel.options)
        only = "" if panel.draw else "  [.html only]"
        typer.echo(f"{name:{width}}  {panel.about}{f'  ({takes})' if takes else ''}{only}")


@dataclass(frozen=True)
class Explained:
    """A trace with what its pictures need; `target` is its language, where that is known."""

    material: Material
    target: str
    run: SavedRun | None


def write(form: Form, explained: Explained, choice: Choice) -> None:
    """Write the file in its form."""
    from translucid.interpret.figures.panels import draw

    trace = explained.material.trace
    if form.suffix == ".safetensors":
        trace.save(form.path)
        report_file(form.path)
    elif form.suffix == ".json":
        content = json.dumps(trace.to_json(), ensure_ascii=False, indent=2)
        write_bytes(form.path, f"{content}\n".encode())
    elif form.suffix == ".html":
        write_page(form, explained, choice)
    else:
        assert form.panel is not None
        write_drawing(form, draw(form.panel, explained.material, choice))


def write_page(form: Form, explained: Explained, choice: Choice) -> None:
    """Write the explorer with the trace inside, open at a panel."""
    from translucid.interpret.figures.panels import page_address
    from translucid.interpret.page import saved_page

    trace = explained.material.trace
    page = saved_page(
        trace,
        translator=explained.material.translator,
        target=explained.target,
        run=explained.run,
        address=page_address(form.panel, trace, choice),
    )
    write_bytes(form.path, page.html.encode())
    if page.left_out:
        left_out = ", ".join(page.left_out)
        typer.echo(f"note: left out to keep the file small: {left_out}", err=True)


def write_drawing(form: Form, drawing: Drawing) -> None:
    """Write one picture as SVG, PNG, PDF, or alone in an HTML file."""
    from translucid.interpret.figures.drawing import html_file, pdf, png

    makers: dict[str, Callable[[Drawing], bytes]] = {
        ".html": html_file,
        ".svg": lambda drawing: drawing.svg.encode(),
        ".png": png,
        ".pdf": pdf,
    }
    write_bytes(form.path, makers[form.suffix](drawing))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, and print its name."""
    from translucid.files import new_file

    with new_file(path) as file:
        file.write(content)
    report_file(path)


def report_file(path: Path) -> None:
    """Tell which file was written."""
    typer.echo(f"{path}")
