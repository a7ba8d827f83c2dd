"""``translucid explain``: look inside one translation; a page, a picture, or the trace itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from translucid.cli import options
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.events import Progress

if TYPE_CHECKING:
    from translucid.checkpoint.run_directory import RunDirectory
    from translucid.decoding.config import SearchConfig
    from translucid.interpret.figures.charts import LearningCurves
    from translucid.interpret.figures.drawing import Drawing
    from translucid.interpret.figures.panels import Choice, Material
    from translucid.interpret.film import Frame
    from translucid.interpret.page import SavedRun
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
    comparison = Comparison(against, against_model, between, control, patch or [], repeat)
    form = parse_form(output, panel, comparison)
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
    if comparison.given():
        compare(explained, comparison, threads)
    if form.suffix:
        write(form, explained, choice)


MAX_FRAMES = 24  # of a film strip; more checkpoints are sampled evenly


@dataclass(frozen=True)
class Comparison:
    """The options that compare two sentences, or two models."""

    against: str | None
    model: Path | None
    between: str | None
    control: str | None
    patch: Sequence[str]
    repeat: int | None

    def given(self) -> list[str]:
        """Return the options that were given."""
        named = {
            "--against": self.against is not None,
            "--against-model": self.model is not None,
            "--between": self.between is not None,
            "--control": self.control is not None,
            "--patch": bool(self.patch),
            "--repeat": self.repeat is not None,
        }
        return [name for name, there in named.items() if there]

    @property
    def words(self) -> tuple[str, str] | None:
        """The two words that compete, if they were given."""
        if self.between is None:
            return None
        one, slash, other = self.between.partition("/")
        if not (slash and one.strip() and other.strip()):
            raise InputError(f"--between {self.between}: give two words, such as il/elle")
        return one.strip(), other.strip()

    def check(self) -> None:
        """Refuse options that compare where nothing is to be compared."""
        _ = self.words
        given = self.given()
        if given and self.against is None and self.model is None:
            raise InputError(
                f"{', '.join(given)}: what is compared is missing: give another sentence with "
                "--against TEXT, or another model with --against-model MODEL"
            )
        if self.repeat is not None and (self.against is None or self.model is not None):
            raise InputError(
                "--repeat exchanges the words in which two sentences differ, under one model: give "
                "--against TEXT without --against-model"
            )


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


@dataclass(frozen=True)
class Explained:
    """A trace with what its pictures need; `target` is its language, where that is known."""

    material: Material
    target: str
    run: SavedRun | None


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
        trace = _measure(options, translator, trace)
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


def _measure(options: ExplainOptions, translator: Translator, trace: Trace) -> Trace:
    """Return the trace with what patching against the other sentence or model shows."""
    from translucid.cli.display import show_progress, stderr_console
    from translucid.cli.options import load_models
    from translucid.interpret.minimal_pairs import measure_against

    comparison = options.comparison
    other = None if comparison.model is None else load_models([comparison.model], None)
    with show_progress(stderr_console()) as emit:
        patching = measure_against(
            translator,
            trace,
            comparison.against,
            target=options.target,
            other=other,
            contrast=comparison.words,
            control=comparison.control,
            on_event=emit,
        )
    return replace(trace, patching=patching)


def compare(explained: Explained, comparison: Comparison, threads: int | None) -> None:
    """Print who decides; patch some cells together, and repeat it in other sentences."""
    from translucid.cli.display import show_progress, stderr_console
    from translucid.cli.options import load_models
    from translucid.cli.patching_display import show_patched, show_patching, show_repetition
    from translucid.interpret.attribution import Contrast
    from translucid.interpret.minimal_pairs import explain_against, repeat_patching
    from translucid.interpret.patched_runs import Cell
    from translucid.interpret.patching import PatchablePair, apply_patch

    trace, translator = explained.material.trace, explained.material.translator
    assert translator is not None
    assert trace.patching is not None
    cells = [Cell.parse(name) for name in comparison.patch]
    show_patching(trace.patching)
    if cells:
        other = None if comparison.model is None else load_models([comparison.model], threads)
        second = explain_against(
            translator, trace, comparison.against, target=explained.target, other=other
        )
        decision = trace.patching.decision
        contrast = Contrast(decision.step, decision.first, decision.second)
        pair = PatchablePair.of(translator, trace, second, other=other, contrast=contrast)
        show_patched(cells, apply_patch(pair, cells))
    if comparison.repeat is not None:
        with show_progress(stderr_console()) as emit:
            found = repeat_patching(
                translator,
                trace.source,
                trace.patching.second,
                trace.patching.decision,
                target=explained.target,
                count=comparison.repeat,
                on_event=emit,
            )
        show_repetition(found, comparison.repeat)


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


def parse_form(output: Path | None, panel: str | None, comparison: Comparison) -> Form:
    """Return what is to be written, or raise InputError that says what can be."""
    from translucid.interpret.figures.panels import check_drawn, find_panel

    comparison.check()
    compares = bool(comparison.given())
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
