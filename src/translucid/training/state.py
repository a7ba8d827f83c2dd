"""Where a run stands, when it ends, and whether it may be resumed.

The state is everything beside the tensors that the next step depends on. It is frozen: a step makes
a new one. A checkpoint holds it as JSON, so that people can read it; numbers come back exactly.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from translucid.checkpoint.run_directory import Parent, RunDirectory, RunRecord
from translucid.data.batches import START, Cursor
from translucid.data.mixture import Mixture, fingerprint_data
from translucid.data.shards import PreparedData
from translucid.errors import ConfigError, DataError, InputError
from translucid.events import Cause, Trained
from translucid.training.config import CHANGEABLE, REACHES_ZERO, Metric, TrainingConfig
from translucid.training.recipe import Recipe

_MOST_EXPONENT = 700.0  # beyond it a float overflows


@dataclass(frozen=True)
class Window:
    """Sums over the steps since the last line of metrics."""

    smoothed: float = 0.0
    plain: float = 0.0
    tokens: int = 0
    seconds: float = 0.0

    def plus(self, smoothed: float, plain: float, tokens: int, seconds: float) -> Window:
        """Return the window with one more step in it."""
        return Window(
            self.smoothed + smoothed,
            self.plain + plain,
            self.tokens + tokens,
            self.seconds + seconds,
        )

    def report(self, step: int, rate: float, norm: float, epoch: int) -> Trained:
        """Return what the steps of the window did, the last of them being `step`."""
        return Trained(
            step=step,
            loss=self.smoothed / self.tokens,
            perplexity=math.exp(min(self.plain / self.tokens, _MOST_EXPONENT)),
            tokens=self.tokens,
            seconds=self.seconds,
            learning_rate=rate,
            gradient_norm=norm,
            epoch=epoch,
        )


@dataclass(frozen=True)
class Scores:
    """The scores of the last validation, and the step after which it was made."""

    step: int
    loss: float
    bleu: float
    chrf: float


@dataclass(frozen=True)
class Best:
    """The best validation so far, and the number of validations since, none of them better."""

    step: int
    value: float
    since: int


@dataclass(frozen=True)
class TrainingState:
    """How far a run has come.

    `cursor` is the place of the next micro-batch. `tokens` counts target tokens. `seconds` is the
    time of all sessions. `skipped` counts the steps without an update just before this point.
    """

    step: int
    cursor: Cursor
    tokens: int
    seconds: float
    skipped: int
    window: Window
    scores: Scores | None
    best: Best | None

    def to_json(self) -> dict[str, Any]:
        """Return the state as plain values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: object) -> Self:
        """Return the state that `to_json` has written; ValueError says what is wrong with it."""
        try:
            state = _ADAPTER.validate_python(values)
        except ValidationError as error:
            details = error.errors(include_url=False)
            faults = [f"{'.'.join(map(str, d['loc']))}: {d['msg']}" for d in details]
            raise ValueError("; ".join(faults)) from error
        assert isinstance(state, cls)
        return state


_ADAPTER: TypeAdapter[TrainingState] = TypeAdapter(TrainingState)

BEGINNING = TrainingState(
    step=0,
    cursor=START,
    tokens=0,
    seconds=0.0,
    skipped=0,
    window=Window(),
    scores=None,
    best=None,
)


def update_best(best: Best | None, scores: Scores, metric: Metric) -> Best:
    """Return the best validation after one more; a tie is no new best."""
    value: float = getattr(scores, metric)
    sign = -1 if metric == "loss" else 1
    if best is None or math.isnan(best.value) or sign * value > sign * best.value:
        return Best(scores.step, value, since=0)
    return dataclasses.replace(best, since=best.since + 1)


def find_cause(
    state: TrainingState, settings: TrainingConfig, *, interrupted: bool
) -> Cause | None:
    """Return why training ends at this point, or None where it continues."""
    if state.step >= settings.max_steps:
        return "steps"
    if interrupted:
        return "interrupted"
    if settings.max_minutes and state.seconds >= 60 * settings.max_minutes:
        return "minutes"
    if settings.patience and state.best and state.best.since >= settings.patience:
        return "patience"
    return None


def describe_cause(cause: Cause, state: TrainingState, settings: TrainingConfig) -> str:
    """Return why training ended, as a clause for people."""
    match cause:
        case "steps":
            return f"all {settings.max_steps:,} steps are done"
        case "minutes":
            return f"{settings.max_minutes:g} minutes are over"
        case "interrupted":
            return "it was asked to stop"
        case "patience":
            assert state.best is not None
            return (
                f"{state.best.since} validations in a row had no better {settings.metric} than "
                f"{state.best.value:.4f} after step {state.best.step:,}"
            )


def read_run_recipe(run: RunDirectory) -> Recipe:
    """Read the complete settings of a run, of the first version too."""
    return _recorded_recipe(run, run.read_record())


def start_run(
    run: RunDirectory,
    recipe: Recipe,
    data: PreparedData,
    *,
    resume: bool,
    parent: Parent | None = None,
    plan: Mapping[str, Any] | None = None,
) -> None:
    """Write run.json; refuse where the directory holds another run.

    With `resume`, an existing run continues if it differs only in settings that may change;
    where there is none, one begins.
    """
    record = RunRecord(
        model=recipe.model,
        training=recipe.training.model_dump(mode="json"),
        data=str(data.folder.resolve()),
        fingerprint=fingerprint_data(data),
        folders=tuple((str(part.folder.resolve()), weight) for part, weight in data.parts)
        if isinstance(data, Mixture)
        else (),
        parent=parent,
        plan=plan,
    )
    if run.exists() or run.checkpoints.steps():
        if not resume:
            raise InputError(
                f"{run.path} already holds a training run. Continue it (--resume), or choose "
                "another folder."
            )
        if run.exists():
            _refuse_differences(run, record, recipe)
            record = dataclasses.replace(record, plan=run.read_record().plan)
    run.write_record(record)


def _recorded_recipe(run: RunDirectory, record: RunRecord) -> Recipe:
    try:
        return Recipe(record.model, TrainingConfig(**TrainingConfig.upgrade(record.training)))
    except ConfigError as error:
        raise DataError(
            run.record_path,
            f"not the record of a run: {error}",
            remedy="Restore the file, or begin a new run in another folder.",
        ) from error


def _refuse_differences(run: RunDirectory, record: RunRecord, recipe: Recipe) -> None:
    """Raise InputError that lists all that would make the resumed run another one."""
    before = run.read_record()
    earlier = _recorded_recipe(run, before)
    changeable = _changeable(run, earlier.training, recipe.training)
    faults = []
    for area, old, new in zip(Recipe._fields, earlier, recipe, strict=True):
        was, now = old.model_dump(), new.model_dump()
        faults += [
            f"{area}.{name} was {was[name]!r} and is now {now[name]!r}"
            for name in now
            if was[name] != now[name] and name not in changeable
        ]
    parents = [one.parent for one in (before, record)]
    if len({parent and parent.sha256 for parent in parents}) > 1:
        first, other = (parent.name if parent else "random weights" for parent in parents)
        faults.append(f"it started from {first}, and is now to start from {other}")
    if before.fingerprint != record.fingerprint:
        faults.append(f"the data, {record.data}, is not what the run began with in {before.data}")
    if faults:
        raise InputError(
            f"{run.path} cannot be resumed with other settings than it began with:\n"
            + "\n".join(f"  - {fault}" for fault in faults)
            + "\n  Take them back, or begin a new run in another folder."
        )


def _changeable(run: RunDirectory, before: TrainingConfig, now: TrainingConfig) -> set[str]:
    """Return the settings that may differ without changing the steps taken so far."""
    names = set(CHANGEABLE)
    if now.schedule not in REACHES_ZERO:
        names.add("total_steps")  # other schedules do not look at it
    if now.schedule != "wsd":
        names.add("decay_steps")
    elif max(run.checkpoints.steps(), default=0) <= min(before.decay_start, now.decay_start):
        names |= {"total_steps", "decay_steps"}
    if now.metric != "loss":
        names.discard("validation_sample")  # scores of other sentences cannot be compared
    return names
