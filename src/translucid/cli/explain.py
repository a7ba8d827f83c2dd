"""``translucid explain``: look inside one translation; a page, a picture, or the trace itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from translucid.cli import explain_options as own
from translucid.cli import translation_options as options

if TYPE_CHECKING:
    from translucid.decoding.settings import SearchConfig
    from translucid.translator import Translator


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
    method: options.Method = None,
    beam: options.Beam = None,
    length_penalty: options.LengthPenalty = None,
    coverage_penalty: options.CoveragePenalty = None,
    max_length: options.MaxLength = None,
    sample: options.Sample = False,
    temperature: options.Temperature = None,
    top_k: options.TopK = None,
    top_p: options.TopP = None,
    seed: options.Seed = None,
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
    from translucid.cli.explain_sources import Wishes, material_of, only_the_curve
    from translucid.cli.model_choice import loaded
    from translucid.cli.search_options import search_of

    if panels:
        list_panels()
        return
    form = form_of(output, panel)
    choice = chosen(form, side, layer, head, step)
    search = {
        "method": method,
        "beam": beam,
        "length_penalty": length_penalty,
        "coverage_penalty": coverage_penalty,
        "max_length": max_length,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }
    asked = sample or any(value is not None for value in search.values())

    def network() -> Translator:
        return loaded(models or ([run] if run else None), threads)

    def how(translator: Translator) -> SearchConfig:
        return search_of(translator.default_search, search, sample=sample, terms=False)

    wishes = Wishes(text, given, level, force, target, trace_file, run, bool(models), asked)
    if panel == "curve" and (form.suffix != ".html" or text is None):
        only_the_curve(form, wishes)
        return
    write(form, material_of(wishes, form, network, how), choice)
