"""Where ``translucid explain`` gets its trace from: a model, a file, the checkpoints of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from translucid.cli.explain_output import Form, write_drawing
from translucid.errors import InputError
from translucid.events import Progress

if TYPE_CHECKING:
    from translucid.decoding.settings import SearchConfig
    from translucid.interpret.figures.film_strip import Frame
    from translucid.interpret.figures.panels import Material
    from translucid.interpret.figures.run_curve import Course
    from translucid.interpret.trace import Trace
    from translucid.translator import Translator

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


def material_of(
    wishes: Wishes,
    form: Form,
    network: Callable[[], Translator],
    how: Callable[[Translator], SearchConfig],
) -> Material:
    """Return the trace, and with it what its pictures need."""
    from translucid.interpret.figures.panels import Material

    _check(wishes)
    if wishes.trace_file is not None:
        translator = network() if wishes.model else None
        return Material(_read(wishes.trace_file, translator), translator)
    shows_run = form.panel in (None, "film") and form.suffix not in (".json", ".safetensors")
    if wishes.run is not None and wishes.model and not shows_run:
        raise InputError(
            f"--run {wishes.run} beside -m: of a run only a page, the panel film and the panel "
            "curve show anything; leave one of the two out"
        )
    translator = network()
    search = how(translator)
    trace = _recorded(wishes, translator, search)
    if wishes.run is None or not shows_run:
        return Material(trace, translator)
    frames = _frames(wishes, wishes.run, translator, search)
    return Material(trace, translator, frames, course_of(wishes.run))


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
    from translucid.interpret.figures.film_strip import frames_of

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
    from translucid.checkpoint.run_directory import RunDirectory
    from translucid.interpret.figures.film_strip import evenly_chosen

    directory = RunDirectory(run)
    directory.read_record()
    steps = evenly_chosen(directory.checkpoints.steps(), MOST_FRAMES)
    if not steps:
        raise InputError(f"{run} has no checkpoints: training keeps training.keep_checkpoints")
    return steps


def checkpoint_of(run: Path, step: int, like: Translator) -> Translator:
    """Return the network of a run after a step, with the tokenizer and heads of its model."""
    from translucid.checkpoint.run_directory import RunDirectory
    from translucid.interpret.network import with_network

    model = RunDirectory(run).load_network(step)
    if model.config != like.members[0].model.config:
        raise InputError(f"the model is not of the run {run}: they have different settings")
    return with_network(like, model, f"{like.name} after step {step}")


def course_of(run: Path) -> Course:
    """Return the losses and the learning rate of a run."""
    from translucid.checkpoint.run_directory import RunDirectory
    from translucid.interpret.figures.run_curve import Course
    from translucid.training.model_card import build_curves

    directory = RunDirectory(run)
    directory.read_record()
    curves = build_curves(directory.metrics.read())
    return Course(directory.name, curves.training, curves.dev, curves.learning_rate)


def only_the_curve(form: Form, wishes: Wishes) -> None:
    """Write the course of a run, for which nothing else is needed."""
    from translucid.interpret.figures.run_curve import run_curve

    if wishes.run is None:
        raise InputError("the panel curve needs the folder of a run: give it with --run RUN")
    more = {**_of_a_translation(wishes), "--trace": wishes.trace_file, "-m": wishes.model}
    if wrong := [name for name, there in more.items() if there]:
        raise InputError(
            f"{', '.join(wrong)}: the panel curve shows a run, not a translation; leave it out"
        )
    write_drawing(form, run_curve(course_of(wishes.run)))
