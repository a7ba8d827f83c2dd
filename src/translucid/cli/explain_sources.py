"""Where ``translucid explain`` gets its trace from: a model, a file, the checkpoints of a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from translucid.cli.explain_output import Form, write_drawing
from translucid.errors import InputError
from translucid.events import Progress

if TYPE_CHECKING:
    from translucid.decoding.settings import SearchConfig
    from translucid.interpret.figures.charts import Course
    from translucid.interpret.figures.panels import Material
    from translucid.interpret.film import Frame
    from translucid.interpret.page import SavedRun
    from translucid.interpret.trace import Trace
    from translucid.translator import Translator

MOST_EVENTS = 2000  # of a run's training steps that a page has
MOST_FRAMES = 24  # of a film strip; of more checkpoints, as many are taken evenly


@dataclass(frozen=True)
class Wishes:
    """What was asked for on the command line."""

    text: str | None
    given: str | None
    level: str | None
    force: bool
    target: str | None
    trace_file: Path | None
    run: Path | None
    model: bool
    search: bool


@dataclass(frozen=True)
class Explained:
    """A trace with what its pictures need; `target` is its language, where that is known."""

    material: Material
    target: str
    run: SavedRun | None


def material_of(
    wishes: Wishes,
    form: Form,
    network: Callable[[], Translator],
    how: Callable[[Translator], SearchConfig],
) -> Explained:
    """Return the trace, and with it what its pictures need."""
    from translucid.interpret.figures.panels import Material

    _check(wishes)
    if form.panel in ("film", "curve") and wishes.run is None:
        raise InputError(
            f"the panel {form.panel} needs the folder of a run: give it with --run RUN"
        )
    if wishes.trace_file is not None:
        translator = network() if wishes.model else None
        return Explained(Material(_read(wishes.trace_file, translator), translator), "", None)
    shows_run = form.suffix == ".html" and form.panel in (None, "film", "curve")
    if wishes.run is not None and wishes.model and not shows_run:
        raise InputError(
            f"--run {wishes.run} beside -m: of a run only a page, the panel film and the panel "
            "curve show anything; leave one of the two out"
        )
    translator = network()
    search = how(translator)
    trace = _recorded(wishes, translator, search)
    target = translator.target_language(wishes.target, [trace.source])
    if wishes.run is None or not shows_run:
        return Explained(Material(trace, translator), target, None)
    frames = _frames(wishes, wishes.run, translator, search)
    run = saved_run(wishes.run, frames, translator)
    return Explained(Material(trace, translator, course_of(wishes.run)), target, run)


def _check(wishes: Wishes) -> None:
    """Refuse what does not go together, all of it in one message."""
    if wishes.trace_file is None:
        if wishes.text is None:
            raise InputError("nothing to look at: give a TEXT, or a saved trace with --trace FILE")
        return
    already = {**_of_a_translation(wishes), "--run": wishes.run is not None}
    if wrong := [name for name, there in already.items() if there]:
        raise InputError(
            f"{', '.join(wrong)}: a saved trace (--trace) has all of this inside; leave it out"
        )


def _of_a_translation(wishes: Wishes) -> dict[str, bool]:
    """Return what only makes sense where a text is translated, and whether it was given."""
    return {
        "TEXT": wishes.text is not None,
        "--given": wishes.given is not None,
        "--level": wishes.level is not None,
        "--force": wishes.force,
        "--to": wishes.target is not None,
        "options of the search": wishes.search,
    }


def _read(path: Path, translator: Translator | None) -> Trace:
    from translucid.interpret.trace import Trace

    if not path.is_file():
        raise InputError(f"--trace {path}: there is no such file")
    return Trace.load(path, translator)


def _recorded(wishes: Wishes, translator: Translator, search: SearchConfig) -> Trace:
    from translucid.cli.search_options import one_of
    from translucid.interpret.explain import explain
    from translucid.interpret.tensor_shapes import Level

    assert wishes.text is not None
    level = "full" if wishes.level is None else wishes.level
    return explain(
        translator,
        wishes.text,
        target=wishes.target,
        search=search,
        level=one_of("--level", level, get_args(Level)),
        given=wishes.given,
        force=wishes.force,
    )


def _frames(
    wishes: Wishes, run: Path, translator: Translator, search: SearchConfig
) -> tuple[Frame, ...]:
    """Return a frame for each checkpoint of a run, of many an even choice."""
    from translucid.cli.progress import shown, stderr_console
    from translucid.interpret.film import frames_of

    assert wishes.text is not None
    steps = frame_steps(run)
    with shown(stderr_console()) as emit:
        # Newest first, and each is loaded when its turn comes: together they can be very large.
        loaded = ((step, checkpoint_of(run, step, translator)) for step in reversed(steps))
        found: list[Frame] = []
        for frame in frames_of(loaded, wishes.text, target=wishes.target, search=search):
            found.append(frame)
            emit(Progress("translate", len(found), len(steps), "checkpoints"))
    return tuple(reversed(found))


def frame_steps(run: Path) -> list[int]:
    """Return the steps of a run's checkpoints that a film strip shows, in their order."""
    from translucid.interpret.film import evenly_chosen
    from translucid.training.run_folder import RunFolder, read_record

    read_record(run)
    steps = evenly_chosen(RunFolder(run).checkpoints.steps(), MOST_FRAMES)
    if not steps:
        raise InputError(f"{run} has no checkpoints: training keeps training.keep_checkpoints")
    return steps


def checkpoint_of(run: Path, step: int, like: Translator) -> Translator:
    """Return the network of a run after a step, with the tokenizer and heads of its model."""
    from translucid.checkpoint.average import weights_kept
    from translucid.checkpoint.format import network_with
    from translucid.interpret.network import with_network
    from translucid.training.run_folder import RunFolder, read_record

    config = read_record(run).model
    if config != like.members[0].model.config:
        raise InputError(f"the model is not of the run {run}: they have different settings")
    checkpoint = RunFolder(run).checkpoints.open(step)
    model = network_with(config, weights_kept(checkpoint), checkpoint.folder).eval()
    return with_network(like, model, f"{like.name} after step {step}")


def saved_run(run: Path, frames: tuple[Frame, ...], translator: Translator) -> SavedRun:
    """Return a run as the page shows it; of very many steps, an even choice."""
    from translucid.interpret.film import evenly_chosen
    from translucid.interpret.page import SavedRun
    from translucid.training.run_folder import RunFolder, read_record

    record = read_record(run)
    lines = RunFolder(run).metrics.path.read_text(encoding="utf-8").splitlines()
    events = [json.loads(line, parse_constant=lambda _: None) for line in lines]
    steps = [at for at, event in enumerate(events) if event.get("event") == "trained"]
    kept = set(evenly_chosen(steps, MOST_EVENTS))
    shown = [event for at, event in enumerate(events) if at in kept or at not in steps]
    description = {
        "name": run.resolve().name,
        "state": "finished",
        "step": max((event.get("step", 0) for event in events), default=0),
        "max_steps": record.training.max_steps,
        "directions": [list(pair) for pair in translator.directions],
        "started": None,
        "settings": {
            "model": record.model.model_dump(),
            "training": record.training.model_dump(mode="json"),
        },
    }
    return SavedRun(description, shown, frames)


def course_of(run: Path) -> Course:
    """Return the losses and the learning rate of a run."""
    from translucid.events import Trained, Validated
    from translucid.interpret.figures.charts import Course
    from translucid.training.metrics import read_metrics
    from translucid.training.report import curves_of
    from translucid.training.run_folder import RunFolder, read_record

    read_record(run)
    curves = curves_of(
        event
        for event in read_metrics(RunFolder(run).metrics.path)
        if isinstance(event, Trained | Validated)
    )
    return Course(run.resolve().name, curves.training, curves.dev, curves.learning_rate)


def only_the_curve(form: Form, wishes: Wishes) -> None:
    """Write the course of a run, for which nothing else is needed."""
    from translucid.interpret.figures.charts import run_curve

    if wishes.run is None:
        raise InputError("the panel curve needs the folder of a run: give it with --run RUN")
    more = {**_of_a_translation(wishes), "--trace": wishes.trace_file, "-m": wishes.model}
    if wrong := [name for name, there in more.items() if there]:
        raise InputError(
            f"{', '.join(wrong)}: the panel curve shows a run, not a translation; leave it out"
        )
    write_drawing(form, run_curve(course_of(wishes.run)))
