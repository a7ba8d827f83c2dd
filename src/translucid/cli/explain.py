"""``translucid explain``: look inside one translation; a page, a picture, or the trace itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from translucid.cli import options
from translucid.cli.explain_files import (
    Explained,
    Form,
    list_panels,
    parse_choice,
    parse_form,
    write,
    write_drawing,
)
from translucid.cli.patching_display import Comparison, compare
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.events import Progress

if TYPE_CHECKING:
    from translucid.checkpoint.run_directory import RunDirectory
    from translucid.decoding.config import SearchConfig
    from translucid.interpret.figures.charts import LearningCurves
    from translucid.interpret.film import Frame
    from translucid.interpret.trace import Trace
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
Layer = Annotated[int | None, typer.Option(min=1, metavar="L", help="Layer, from 1.")]
Head = Annotated[int | None, typer.Option(min=1, metavar="H", help="Head, from 1.")]
StepNumber = Annotated[
    int | None,
    typer.Option(
        "--step", min=1, metavar="T", help="Step of the translation, or token that looks, from 1."
    ),
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


Against = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT", help="Compare with this sentence: where is the difference decided?"
    ),
]
AgainstModel = Annotated[
    Path | None,
    typer.Option(metavar="MODEL", help="Compare with this model of the same shape and vocabulary."),
]
Control = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT", help="Unrelated sentence to patch from.  [default: one of the lesson]"
    ),
]
Between = Annotated[
    str | None,
    typer.Option(
        metavar="A/B",
        help="Words that compete, such as il/elle.  [default: where the translations part]",
    ),
]
PatchedCells = Annotated[
    list[str] | None,
    typer.Option("--patch", metavar="CELL", help="Patch this cell, such as 'cross 4.2'; repeat."),
]
RepeatCount = Annotated[
    int | None,
    typer.Option("--repeat", metavar="N", help="Does it hold? Measure N other pairs."),
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
    against: Against = None,
    against_model: AgainstModel = None,
    between: Between = None,
    control: Control = None,
    patch: PatchedCells = None,
    repeat: RepeatCount = None,
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
    (the whole trace, for --trace or Python). Layers, heads and steps are counted from 1.

    With --against, a second sentence, it prints which states and heads decide where the two
    translations part: each is patched from one run into the other. FILE is then optional, and a
    picture or a page shows them all.

    \b
    Examples:
      translucid explain "Le chat dort." -o inside.html
      translucid explain "Le chat dort." -o tree.svg --panel beam
      translucid explain "Le chat dort." -m model -o head.png --panel cross --layer 2 --head 1
      translucid explain "Le chat dort." -m model -o six.svg --panel attention-steps --step 2
      translucid explain "Le chat dort." -m model -o cat.safetensors
      translucid explain --trace cat.safetensors -o alignment.pdf
      translucid explain "Le chat dort." --run run -o film.html --panel film
      translucid explain "It was too tired." --against "It was too wide." -m model -o who.html
    """
    if panels:
        list_panels()
        return
    comparison = Comparison(against, against_model, between, control, patch or [], repeat, threads)
    comparison.check()
    form = parse_form(output, panel, compares=bool(comparison.given()))
    choice = parse_choice(form, side, layer, head, step)
    search = options.with_sample(search, sample=sample)

    def network() -> Translator:
        return options.load_models(models or ([run] if run else None), threads, "pytorch")

    def how(translator: Translator) -> SearchConfig:
        return translator.default_search.override(search)

    chosen_options = ExplainOptions(
        text,
        given,
        level,
        force,
        target,
        trace_file,
        run,
        bool(models),
        bool(search),
        comparison,
    )
    if panel == "curve" and (form.suffix != ".html" or text is None):
        write_curve(form, chosen_options)
        return
    explained = build_material(chosen_options, form, network, how)
    if form.suffix:
        write(form, explained, choice)


MAX_FRAMES = 24  # of a film strip; more checkpoints are sampled evenly


@dataclass(frozen=True)
class ExplainOptions:
    """The options of the command that choose the trace."""

    text: str | None
    given: str | None
    level: str | None
    force: bool
    target: str | None
    trace_file: Path | None
    run: Path | None
    model: bool
    search: bool
    comparison: Comparison


def build_material(
    options: ExplainOptions,
    form: Form,
    network: Callable[[], Translator],
    how: Callable[[Translator], SearchConfig],
) -> Explained:
    """Return the trace, and with it what its pictures need."""
    from translucid.checkpoint.run_directory import RunDirectory
    from translucid.interpret.figures.panels import Material
    from translucid.interpret.page import SavedRun

    _check(options)
    if form.panel in ("film", "curve") and options.run is None:
        raise InputError(
            f"the panel {form.panel} needs the folder of a run: give it with --run RUN"
        )
    if options.trace_file is not None:
        translator = network() if options.model else None
        return Explained(Material(_read(options.trace_file, translator), translator), "", None)
    shows_run = form.suffix == ".html" and form.panel in (None, "film", "curve")
    if options.run is not None and options.model and not shows_run:
        raise InputError(
            f"--run {options.run} together with -m: only a page, the panel film and the panel "
            "curve show a run; leave one of the two out"
        )
    translator = network()
    search = how(translator)
    trace = _explain(options, translator, search)
    target = translator.target_language(options.target, [trace.source])
    if options.comparison.given():
        trace = replace(trace, patching=compare(options.comparison, translator, trace, target))
    if options.run is None or not shows_run:
        return Explained(Material(trace, translator), target, None)
    frames = _build_frames(options, options.run, translator, search)
    run = SavedRun.read(RunDirectory(options.run), frames, translator.directions)
    return Explained(Material(trace, translator), target, run)


def _check(options: ExplainOptions) -> None:
    """Refuse options that exclude each other, all in one message."""
    if options.trace_file is None:
        if options.text is None:
            raise InputError("nothing to look at: give a TEXT, or a saved trace with --trace FILE")
        return
    already = {
        **_translation_options(options),
        "--run": options.run is not None,
        **dict.fromkeys(options.comparison.given(), True),
    }
    if wrong := [name for name, there in already.items() if there]:
        raise InputError(
            f"{', '.join(wrong)}: a saved trace (--trace) already contains this; leave it out"
        )


def _translation_options(options: ExplainOptions) -> dict[str, bool]:
    """Return the options that need a text to translate, and whether each was given."""
    return {
        "TEXT": options.text is not None,
        "--given": options.given is not None,
        "--level": options.level is not None,
        "--force": options.force,
        "--to": options.target is not None,
        "options of the search": options.search,
    }


def _read(path: Path, translator: Translator | None) -> Trace:
    from translucid.interpret.trace import Trace

    if not path.is_file():
        raise InputError(f"--trace {path}: there is no such file")
    return Trace.load(path, translator)


def _explain(options: ExplainOptions, translator: Translator, search: SearchConfig) -> Trace:
    from translucid.cli.options import choose
    from translucid.interpret.explain import explain
    from translucid.interpret.trace import Level

    assert options.text is not None
    level = "full" if options.level is None else options.level
    return explain(
        translator,
        options.text,
        target=options.target,
        search=search,
        level=choose("--level", level, get_args(Level)),
        given=options.given,
        force=options.force,
    )


def _build_frames(
    options: ExplainOptions, run: Path, translator: Translator, search: SearchConfig
) -> tuple[Frame, ...]:
    """Return one frame per checkpoint of a run, evenly chosen if there are many."""
    from translucid.checkpoint.run_directory import RunDirectory
    from translucid.cli.display import show_progress, stderr_console
    from translucid.interpret.film import load_checkpoint, record_frames

    assert options.text is not None
    directory = RunDirectory(run)
    steps = choose_steps(directory)
    with show_progress(stderr_console()) as emit:
        # Newest first, and each loaded only when needed: together they can be very large.
        loaded = ((step, load_checkpoint(directory, step, translator)) for step in reversed(steps))
        found: list[Frame] = []
        for frame in record_frames(loaded, options.text, target=options.target, search=search):
            found.append(frame)
            emit(Progress("translate", len(found), len(steps), "checkpoints"))
    return tuple(reversed(found))


def choose_steps(run: RunDirectory) -> list[int]:
    """Return the steps of the checkpoints that a film strip shows, in order."""
    from translucid.interpret.film import choose_evenly

    run.read_record()
    steps = choose_evenly(run.checkpoints.steps(), MAX_FRAMES)
    if not steps:
        raise InputError(f"{run.path} has no checkpoints: training keeps training.keep_checkpoints")
    return steps


def read_curves(run: Path) -> LearningCurves:
    """Return the losses and the learning rate of a run."""
    from translucid.checkpoint.run_directory import RunDirectory
    from translucid.interpret.figures.charts import LearningCurves

    directory = RunDirectory(run)
    directory.read_record()
    events = list(directory.metrics.read())
    if not events:
        raise InputError(f"{run} has no metrics yet: nothing was trained")
    return LearningCurves.from_events(directory.name, events)


def write_curve(form: Form, options: ExplainOptions) -> None:
    """Write the learning curve of a run, which needs no translation."""
    from translucid.interpret.figures.charts import draw_learning_curves

    if options.run is None:
        raise InputError("the panel curve needs the folder of a run: give it with --run RUN")
    more = {**_translation_options(options), "--trace": options.trace_file, "-m": options.model}
    if wrong := [name for name, there in more.items() if there]:
        raise InputError(
            f"{', '.join(wrong)}: the panel curve shows a run, not a translation; leave it out"
        )
    write_drawing(form, draw_learning_curves(read_curves(options.run)))
