"""``translucid explain``: look inside one translation; a page, a picture, or the trace itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from translucid.cli import options
from translucid.decoding.config import SearchConfig

if TYPE_CHECKING:
    from translucid.translator import Translator

_SEARCH_SETTINGS = (
    *("method", "beam", "length_penalty", "coverage_penalty", "max_length"),
    *("temperature", "top_k", "top_p", "seed"),
)

# ---- the options, in the order in which --help shows them ---------------------------------------

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
GivenTranslation = Annotated[
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


@options.add_settings(SearchConfig, into="search", only=_SEARCH_SETTINGS)
def explain(
    text: Text = None,
    models: options.Models = None,
    output: Output = None,
    panel: PanelName = None,
    side: SideName = None,
    layer: Layer = None,
    head: Head = None,
    step: StepNumber = None,
    given: GivenTranslation = None,
    level: LevelName = None,
    force: Force = False,
    trace_file: TraceFile = None,
    run: Run = None,
    target: options.To = None,
    search: options.Given = {},  # noqa: B006 - replaced by one option per setting
    sample: options.Sample = False,
    threads: options.Threads = None,
    panels: Annotated[
        bool, typer.Option("--panels", help="List the panels and what they show.")
    ] = False,
) -> None:
    """Look inside one translation: every number that led to it, as a page, a picture or a file.

    FILE ends in .html (the explorer page with the trace inside: one file that opens without a
    server), .svg, .png or .pdf (a picture: --panel), .json (all but the tensors) or .safetensors
    (the whole trace, for --trace or Python). Layers, heads and steps are counted from 0.

    \b
    Examples:
      translucid explain "Le chat dort." -o inside.html
      translucid explain "Le chat dort." -o tree.svg --panel beam
      translucid explain "Le chat dort." -m model -o head.png --panel cross --layer 2 --head 1
      translucid explain "Le chat dort." -m model -o six.svg --panel attention-steps --step 1
      translucid explain "Le chat dort." -m model -o cat.safetensors
      translucid explain --trace cat.safetensors -o alignment.pdf
      translucid explain "Le chat dort." --run run -o film.html --panel film
    """
    from translucid.cli.explanation import (
        ExplainOptions,
        build_material,
        list_panels,
        parse_choice,
        parse_form,
        write,
        write_curve,
    )

    if panels:
        list_panels()
        return
    form = parse_form(output, panel)
    choice = parse_choice(form, side, layer, head, step)
    search = options.with_sample(search, sample=sample)

    def network() -> Translator:
        return options.load_models(models or ([run] if run else None), threads)

    def how(translator: Translator) -> SearchConfig:
        return translator.default_search.override(search)

    chosen_options = ExplainOptions(
        text, given, level, force, target, trace_file, run, bool(models), bool(search)
    )
    if panel == "curve" and (form.suffix != ".html" or text is None):
        write_curve(form, chosen_options)
        return
    write(form, build_material(chosen_options, form, network, how), choice)
