"""``translucid explain``: look inside one translation; a page, a picture, or the trace itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from translucid.cli import explain_options as own
from translucid.cli import options
from translucid.decoding.settings import SearchConfig

if TYPE_CHECKING:
    from translucid.translator import Translator


_SEARCH_SETTINGS = (
    *("method", "beam", "length_penalty", "coverage_penalty", "max_length"),
    *("temperature", "top_k", "top_p", "seed"),
)


@options.add_settings(SearchConfig, into="search", only=_SEARCH_SETTINGS)
def explain(
    text: own.Text = None,
    models: options.Models = None,
    output: own.Output = None,
    panel: own.PanelName = None,
    side: own.SideName = None,
    layer: own.Layer = None,
    head: own.Head = None,
    step: own.StepNumber = None,
    given: own.Given = None,
    level: own.LevelName = None,
    force: own.Force = False,
    trace_file: own.TraceFile = None,
    run: own.Run = None,
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
    from translucid.cli.explain_output import chosen, form_of, list_panels, write
    from translucid.cli.explain_sources import ExplainOptions, build_material, write_curve
    from translucid.cli.model_choice import loaded

    if panels:
        list_panels()
        return
    form = form_of(output, panel)
    choice = chosen(form, side, layer, head, step)
    search = options.with_sample(search, sample=sample)

    def network() -> Translator:
        return loaded(models or ([run] if run else None), threads)

    def how(translator: Translator) -> SearchConfig:
        return translator.default_search.override(search)

    chosen_options = ExplainOptions(
        text, given, level, force, target, trace_file, run, bool(models), bool(search)
    )
    if panel == "curve" and (form.suffix != ".html" or text is None):
        write_curve(form, chosen_options)
        return
    write(form, build_material(chosen_options, form, network, how), choice)
