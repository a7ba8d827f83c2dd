"""The budget shapes the run: from minutes or steps to warm-up, batches and intervals, in steps.

::

    minutes ─▶ measure a step ─▶ batch_tokens, max_steps ─┐
    steps ───▶ measure a step ────────────────────────────┼─▶ schedule, intervals ─▶ run.json
    neither ─▶ max_steps from the size of the data ───────┘

What is chosen here lies above a preset and below everything that people set, who always win. It is
written to run.json in steps, so from then on the run does not depend on time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from translucid.config import ModelConfig
from translucid.data.batches import START, Batches, load_examples, longest_example
from translucid.data.loader import Loader
from translucid.data.shards import PreparedData
from translucid.training.config import TrainingConfig
from translucid.training.distributed import Distribution
from translucid.training.learner import Learner, initial_model
from translucid.training.recipe import Recipe, Settings, peak_for_width

MEASURED_SECONDS, MEASURED_STEPS = 4.0, 30  # whichever comes first
_MEASURED_TOKENS = 4096  # per side of a measured step; larger ones take longer in proportion
_UPDATES = 2000  # fewer, larger steps than these teach a network less
_SMALLEST_BATCH = 1024
_BATCH_UNIT = 256
_WARMUP_SHARE, _LEAST_WARMUP = 20, 10  # the warm-up is one in so many steps, but no fewer steps
_VALIDATION_SHARE = 0.1  # of the time
_FEWEST_VALIDATIONS, _MOST_VALIDATIONS = 3, 20
_SMALLEST_SAMPLE = 50
_FIRST_LOOK = 75.0  # seconds: with measuring and validating, all is seen within two minutes
_BETWEEN_CHECKPOINTS = 20.0, 600.0  # seconds, at least and at most
_LINES_OF_METRICS = 5000
_SPARE = 0.98  # of the minutes: the rest is for checkpoints
_EPOCHS, _LEAST_TOKENS, _MOST_TOKENS = 20, 2_000_000, 40_000_000  # without a budget
_ANY_LENGTH = 1_000_000_000  # steps, until the length is known
_FINE_EPOCHS, _FINE_STEPS = 10, (100, 1000)

Pace = Callable[[Recipe], float]  # seconds per step


class Budget(NamedTuple):
    """How long a run may take: minutes, steps or, if neither is given, what the data deserves."""

    minutes: float | None
    steps: int | None


def find_budget(
    recipe: Settings, typed: Sequence[Settings], *, is_preset_named: bool
) -> Budget | None:
    """Return the budget of a new run; None where it is to be trained as its recipe says.

    A recipe (a file) that says how long to train is taken as it is, as is a preset by itself. What
    people type beside it (options, assignments) is a budget; without any of these, the data
    decides.
    """
    options = {name: value for layer in typed for name, value in layer.training.items()}
    steps, minutes = options.get("max_steps"), options.get("max_minutes")
    if steps is not None:
        return Budget(None, steps) if isinstance(steps, int) and steps > 0 else None
    if recipe.training.keys() & {"max_steps", "max_minutes"}:
        return None
    if not minutes:
        return None if is_preset_named else Budget(None, None)
    is_sound = isinstance(minutes, int | float) and minutes > 0
    return Budget(float(minutes), None) if is_sound else None


@dataclass
class Choices:
    """Settings that were chosen, and a line for each with its reason; those in `given` stay."""

    given: frozenset[str]
    settings: dict[str, Any] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    def choose(self, reason: str, **settings: Any) -> None:
        """Choose settings, unless they were given."""
        free = {name: value for name, value in settings.items() if name not in self.given}
        if free:
            self.settings |= free
            each = ", ".join(f"{name} = {_show(value)}" for name, value in free.items())
            self.reasons.append(f"{each}: {reason}")


@dataclass(frozen=True)
class Plan:
    """A run of a certain length: its settings, why they are so, and the minutes that it fills.

    `minutes` is 0 where the budget was in steps.
    """

    recipe: Recipe
    minutes: float
    seconds: float
    reasons: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        """Return what run.json keeps of it."""
        return {
            "minutes": self.minutes,
            "expected_seconds": round(self.seconds),
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True)
class Planning:
    """What a plan is made of, but for the data and the pace of the machine.

    `complete` makes a recipe with some settings below those of people, which are called `given`.
    """

    budget: Budget
    complete: Callable[[Mapping[str, Any]], Recipe]
    given: frozenset[str]
    fine_tuning: bool


def plan_run(planning: Planning, data: PreparedData, pace: Pace) -> Plan:
    """Return the plan of a run that fits its budget: pure, apart from the `pace` it measures."""
    budget, complete = planning.budget, planning.complete
    choices = Choices(planning.given)
    base = complete({"max_steps": _ANY_LENGTH})
    tokens, batch, step_seconds = _choose_batch(choices, planning, data, pace)
    steps = budget.steps or max(1, tokens // batch)
    validation = estimate_validation(data, batch / step_seconds)
    seconds = 60 * budget.minutes if budget.minutes is not None else steps * step_seconds
    sample, count = _choose_validations(seconds, validation, base.training.validation_sample)
    if sample < base.training.validation_sample:
        choices.choose("a tenth of the time for validation", validation_sample=sample)
    pause = count * validation(sample)
    if budget.minutes is not None:
        steps = max(1, int(_SPARE * max(0.5 * seconds, seconds - pause) / step_seconds))
        choices.choose(
            f"{budget.minutes:g} minutes at {step_seconds:.2g} s per step, without {pause:.0f} s "
            "of validation",
            max_steps=steps,
        )
    elif budget.steps is None:
        choices.choose(
            f"{steps * batch / _tokens_per_epoch(data):.3g} epochs of this data; --max-minutes or "
            "--max-steps gives another length",
            max_steps=steps,
        )
    shape_schedule(choices, base, steps)
    _choose_intervals(choices, steps, step_seconds, count)
    recipe = complete({"max_steps": steps, **choices.settings})
    seconds = steps * step_seconds + pause
    return Plan(recipe, budget.minutes or 0.0, seconds, choices.reasons)


def _choose_batch(
    choices: Choices, planning: Planning, data: PreparedData, pace: Pace
) -> tuple[int, int, float]:
    """Return the tokens to train on, those of a step, and the seconds that a step takes."""

    def measure(batch: int) -> float:
        """Return the seconds per token, of steps of this size unless another one was given."""
        recipe = planning.complete({"batch_tokens": batch, "max_steps": _ANY_LENGTH})
        return pace(recipe) / recipe.training.batch_tokens

    base = planning.complete({"max_steps": _ANY_LENGTH}).training
    batch, is_given = base.batch_tokens, "batch_tokens" in planning.given
    micro_batch = base.micro_batch_tokens if "micro_batch_tokens" in planning.given else 0
    least = max(micro_batch, longest_example(load_examples(data, "train")))
    token_seconds = measure(min(batch, max(_MEASURED_TOKENS, least)))
    if planning.budget.steps is not None:
        return planning.budget.steps * batch, batch, batch * token_seconds
    tokens = _count_tokens(planning, data, batch, token_seconds)
    wanted = max(_SMALLEST_BATCH, least, tokens // _UPDATES // _BATCH_UNIT * _BATCH_UNIT)
    if wanted < batch and not is_given:
        batch = wanted
        choices.choose("a short run learns more by many small steps", batch_tokens=batch)
        if batch < _MEASURED_TOKENS:
            token_seconds = measure(batch)
    return tokens, batch, batch * token_seconds


def shape_schedule(choices: Choices, recipe: Recipe, steps: int) -> None:
    """Choose a short warm-up and a rate that falls to zero at the end, unless people chose."""
    training, given = recipe.training, choices.given
    is_factor = training.schedule == "paper" and "learning_rate" in given
    is_long = "warmup_steps" in given and training.warmup_steps >= steps
    if "schedule" in given or is_factor or is_long or "total_steps" in given:
        return
    choices.choose("the rate falls to zero at the end", schedule="linear")
    if training.schedule == "paper":
        rate = peak_for_width(recipe.model.d_model)
        choices.choose("for this width", learning_rate=rate)
    least = min(_LEAST_WARMUP, steps // 4)
    warmup = min(training.warmup_steps, max(least, steps // _WARMUP_SHARE))
    if warmup < training.warmup_steps:
        choices.choose(
            f"a {_WARMUP_SHARE}th of the steps, at least {_LEAST_WARMUP}", warmup_steps=warmup
        )


def _choose_intervals(choices: Choices, steps: int, step_seconds: float, validations: int) -> None:
    every = -(-steps // validations)
    choices.choose(f"{validations} validations", validate_every=every)
    least, most = (int(seconds / step_seconds) for seconds in _BETWEEN_CHECKPOINTS)
    save = max(1, min(max(steps // 10, least), most, steps))
    choices.choose("ten checkpoints, at most 10 minutes apart", checkpoint_every=save)
    if steps > _LINES_OF_METRICS:
        lines = -(-steps // _LINES_OF_METRICS)
        choices.choose(f"at most {_LINES_OF_METRICS:,} lines of metrics", report_every=lines)
    early = max(1, int(_FIRST_LOOK / step_seconds))
    if max(every, save) > early:
        choices.choose("translations and a checkpoint within two minutes", early_step=early)


def _choose_validations(
    seconds: float, validation: Callable[[int], float], sample: int
) -> tuple[int, int]:
    """Return how many sentences a validation translates, and the number of validations."""
    share = _VALIDATION_SHARE * seconds
    while sample > _SMALLEST_SAMPLE and validation(sample) * _FEWEST_VALIDATIONS > share:
        sample = max(_SMALLEST_SAMPLE, sample // 2)
    count = int(share / max(validation(sample), 1e-9))
    return sample, max(_FEWEST_VALIDATIONS, min(_MOST_VALIDATIONS, count))


def estimate_validation(data: PreparedData, tokens_per_second: float) -> Callable[[int], float]:
    """Return the seconds of a validation by the number of sentences that it translates.

    Without a backward pass a token takes a third of the time; a greedy search takes twice that of
    training, as the first networks write too much.
    """
    dev = data.manifest.splits.get("dev")
    if dev is None or not dev.pairs:
        return lambda _: 0.0
    directions = data.manifest.directions
    tokens = sum(dev.tokens[target] for _, target in directions)

    def seconds(sample: int) -> float:
        translated = tokens * min(1.0, sample / dev.pairs)
        return (tokens / 3 + 2 * translated) / tokens_per_second

    return seconds


def _count_tokens(planning: Planning, data: PreparedData, batch: int, token_seconds: float) -> int:
    """Return the tokens to train on: as many as there is time for, or as the data deserves."""
    if planning.budget.minutes is not None:
        return int(60 * planning.budget.minutes * (1 - _VALIDATION_SHARE) / token_seconds)
    epoch = _tokens_per_epoch(data)
    if planning.fine_tuning:
        least, most = (steps * batch for steps in _FINE_STEPS)
        return int(min(max(_FINE_EPOCHS * epoch, least), most))
    return int(min(max(_EPOCHS * epoch, _LEAST_TOKENS), _MOST_TOKENS))


def _tokens_per_epoch(data: PreparedData) -> float:
    """Return the tokens per side of an epoch, those of the longer side."""
    total = 0.0
    for part, weight in data.parts:
        train = part.manifest.splits["train"]
        longer = max(train.tokens.values()) + 2 * train.pairs
        total += weight * longer * len(part.manifest.directions)
    return total


def measure_pace(
    model: ModelConfig,
    training: TrainingConfig,
    data: PreparedData,
    *,
    device: torch.device,
    bf16: bool,
) -> float:
    """Return the seconds of an optimiser step: the first ones of this very run, which are dropped.

    The first of all is not counted, unless it took long enough by itself.
    """
    learner = Learner(
        initial_model(model, training.seed), training, Distribution(), device=device, bf16=bf16
    )
    batches = Batches(load_examples(data, "train"), training.micro_batch_tokens, training.seed)
    loader = Loader(batches, None, ahead=1, pin=device.type == "cuda")
    with loader.steps(START, per_step=training.micro_batches, rank=0, world_size=1) as steps:
        times = list(_time_steps(learner, (loaded.batches for loaded in steps)))
    counted = times[1:] or times
    return sum(counted) / len(counted)


def _time_steps(learner: Learner, steps: Iterator[Sequence[Any]]) -> Iterator[float]:
    began = time.perf_counter()
    for number, batches in enumerate(steps, start=1):
        before = time.perf_counter()
        learner.try_step(batches, number)
        now = time.perf_counter()
        yield now - before
        if now - began >= MEASURED_SECONDS or number >= MEASURED_STEPS:
            return


def _show(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)
