"""``train``: from prepared data to model directories, with the whole set-up in one place.

::

    settings ─▶ device, precision, micro-batches ─▶ Trainer ─▶ best/ and model/ ─▶ finish_models
    (recipe)    (device, memory)                    (trainer)                      alignment heads,
                                                                                   calibration

Under torchrun every process runs this, and all do what the main one has decided.
"""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import torch
from sacrebleu.metrics.chrf import CHRF

from translucid.anatomy import anatomy
from translucid.checkpoint.model_directory import read_config, save_precision
from translucid.checkpoint.run_directory import Parent, RunDirectory
from translucid.config import ModelConfig, Precision
from translucid.data.batches import load_examples, longest_example
from translucid.data.mixture import DataFolder, open_mixture
from translucid.data.shards import PreparedData
from translucid.errors import InputError, optional
from translucid.events import Notice, Started, Stopped, Trained, TrainingEvent, Validated
from translucid.machine import Machine, keep_freed_memory
from translucid.training.budget import Planning, find_budget, measure_pace, plan_run
from translucid.training.config import TrainingConfig
from translucid.training.device import choose_bf16, choose_device, training_flops
from translucid.training.distributed import (
    DistributedContext,
    Distribution,
    choose_threads,
    join_processes,
)
from translucid.training.learner import can_run_in_parallel, count_threads, initial_model
from translucid.training.memory import largest_micro_batch, measure_memory, split_batch
from translucid.training.parent import check_data, open_parent, read_habits
from translucid.training.recipe import (
    Parentage,
    Recipe,
    Settings,
    read_settings,
    resolve_recipe,
    sort_settings,
)
from translucid.training.state import read_run_recipe
from translucid.training.trainer import Trainer
from translucid.training.validation import Validator
from translucid.translator import (
    SourceLanguages,
    calibrate,
    load,
    read_source_languages,
    save_alignment_heads,
    save_calibration,
    save_source_languages,
)
from translucid.translator.confidence import ACCEPTABLE, compute_features
from translucid.translator.head_selection import MOST_PAIRS, find_alignment_heads

AUTO = "auto"  # as batch_tokens: as many at once as fit into memory

OnEvent = Callable[[TrainingEvent], None]

INT8_MAY_LOSE = 0.2  # chrF, on dev pairs of all directions; seeds differ by more
_PAIRS_CALIBRATED = 1000  # of each direction
_PAIRS_COUNTED = 200_000  # enough of a large training set


@dataclass(frozen=True)
class TrainedRun:
    """A run that has ended: its directory, and why it ended. ``translucid.load`` takes it."""

    directory: RunDirectory
    stopped: Stopped

    @property
    def is_interrupted(self) -> bool:
        """Whether it was asked to stop before its end; train with ``resume=True`` to continue."""
        return self.stopped.cause == "interrupted"

    @property
    def model(self) -> Path:
        """The model directory to use: the best one or, without a dev set, the last."""
        return self.directory.models[0]

    def __fspath__(self) -> str:
        return str(self.directory.path)


def train(
    data: DataFolder | Sequence[DataFolder],
    *,
    output: str | Path,
    from_model: str | Path | None = None,
    preset: str | None = None,
    config: str | Path | Sequence[Settings] | None = None,
    resume: bool = False,
    on_event: OnEvent | None = None,
    stop: threading.Event | None = None,
    tensorboard: bool = False,
    command: str = "",
    **settings: Any,
) -> TrainedRun:
    """Train a network on prepared data; leave models, checkpoints and metrics in `output`.

    ::

        run = train("data", output="run", preset="tiny", max_steps=2000, on_event=print)
        translator = translucid.load(run)

    `data` may be several folders, each with a weight: ``["own", "general@0.2"]`` shows a pair of
    the second once in five epochs; the dev set is that of the first. `from_model` is a model to
    start from: a model directory, a run or a built-in one such as ``"fr-en"``.

    Settings are those of ModelConfig and TrainingConfig. They begin as in the `preset` (tiny) or,
    with `from_model`, as suits fine-tuning; `config`, a TOML file with tables [model] and
    [training], comes on top, and keyword arguments on top of that. ``batch_tokens="auto"`` computes
    the recipe's step in as few parts as fit into memory. With `resume`, a run in `output`
    continues, bit for bit as if it had never stopped.

    Under torchrun every process calls `on_event`. Once `stop` is set, training ends after the step
    under way, with everything saved. At the end, the heads that align words, and when a translation
    can be trusted, are found on the dev set and saved with the models. `command` is what a person
    typed, for the model card.
    """
    prepared = open_mixture(data)
    fit_memory = settings.get("batch_tokens") == AUTO
    if fit_memory:
        settings.pop("batch_tokens")
    layers = [*_read_layers(config), sort_settings(settings)]
    given = frozenset(name for layer in layers for name in TrainingConfig.upgrade(layer.training))
    context = DistributedContext.from_environment(os.environ)
    if context.is_main:
        prepared.verify()
    resume = resume or context.restarted  # torchrun has started the same command again
    run = RunDirectory(Path(output))
    earlier = read_run_recipe(run) if resume and run.exists() else None
    parent = None if from_model is None else open_parent(from_model)
    parentage = None
    if earlier is not None and parent is None:
        parent = run.read_record().parent
    elif parent is not None:
        check_data(parent, prepared)
        network = read_config(Path(parent.folder))
        parentage = Parentage(parent.name, network, read_habits(parent))
    recipe, *typed = layers if config is not None else (Settings(), *layers)
    budget = None
    if earlier is None:
        is_named = preset is not None or any(layer.preset for layer in layers)
        budget = find_budget(recipe, typed, is_preset_named=is_named)
    is_timed = budget is not None and budget.minutes is not None
    begun: Mapping[str, Any] = {}
    if earlier is not None and run.read_record().plan is not None:
        begun = earlier.training.model_dump()  # where the plan has changed a preset, it still does
    if is_timed or (earlier is not None and _is_planned(run, typed)):
        typed = [_without_minutes(layer) for layer in typed]  # the plan has them, as steps

    def complete(planned: Mapping[str, Any]) -> Recipe:
        return resolve_recipe(
            [recipe, *typed],
            prepared.manifest.tokenizer.sizes,
            preset=preset,
            earlier=earlier,
            fit_memory=fit_memory,
            parent=parentage,
            planned=planned,
        )

    planning = None
    if budget is not None:
        given |= {"batch_tokens"} if fit_memory else set()
        planning = Planning(budget, complete, given, fine_tuning=parent is not None)
    job = TrainingJob(
        complete(begun),
        prepared,
        run,
        resume,
        split=earlier is None,
        fit_memory=fit_memory,
        command=command,
        parent=parent,
        planning=planning,
    )
    consumers = [] if on_event is None else [on_event]

    def emit(event: TrainingEvent) -> None:
        for consumer in consumers:
            consumer(event)

    with ExitStack() as stack:
        if tensorboard and context.is_main:
            consumers.append(stack.enter_context(write_tensorboard(run.tensorboard)))
        stopped = job.run_to_end(emit, stop)
    if context.is_main and stopped.cause != "interrupted":
        finish_models(run.models, prepared, emit, parent)
    return TrainedRun(run, stopped)


def _is_planned(run: RunDirectory, typed: Sequence[Settings]) -> bool:
    """Tell whether a run to resume was planned for the minutes given; refuse any others."""
    plan = run.read_record().plan or {}
    wanted = [layer.training["max_minutes"] for layer in typed if "max_minutes" in layer.training]
    if not plan.get("minutes") or not wanted:
        return False
    if wanted[-1] != plan["minutes"]:
        raise InputError(
            f"{run.path} was planned for {plan['minutes']:g} minutes, in steps, and cannot get "
            f"{wanted[-1]:g}: leave --max-minutes out, end it sooner with --max-steps, or start a "
            "new run from this one (--from)"
        )
    return True


def _without_minutes(layer: Settings) -> Settings:
    kept = {name: value for name, value in layer.training.items() if name != "max_minutes"}
    return replace(layer, training=kept)


def _read_layers(config: str | Path | Sequence[Settings] | None) -> Sequence[Settings]:
    if config is None:
        return []
    return [read_settings(Path(config))] if isinstance(config, str | Path) else config


@dataclass(frozen=True)
class TrainingJob:
    """Complete settings, the data and where to train.

    Where `split` is on, a step is split into micro-batches that give every process and thread work
    and, with `fit_memory`, that are as large as memory allows. A resumed run keeps those it has.
    """

    recipe: Recipe
    data: PreparedData
    run: RunDirectory
    resume: bool
    split: bool = False
    fit_memory: bool = False
    command: str = ""
    parent: Parent | None = None
    planning: Planning | None = None

    def run_to_end(self, on_event: OnEvent, stop: threading.Event | None) -> Stopped:
        """Train until the end, or until `stop` is set; return the last event."""
        context = DistributedContext.from_environment(os.environ)
        if threads := choose_threads(context, os.environ, Machine().cores()):
            torch.set_num_threads(threads)
        settings = self.recipe.training
        device = choose_device(settings.device, context.local_rank)
        if device.type == "cpu":
            keep_freed_memory()
        with join_processes(context, device, settings.sharding) as distribution:
            plan = self._plan(context, device, distribution)
            trainer = plan.build_trainer(self, stop)
            on_event(plan.describe_start(self.data, self.parent))
            event: TrainingEvent | None = None
            for event in trainer.events():
                on_event(event)
        assert isinstance(event, Stopped)
        return event

    def _plan(
        self, context: DistributedContext, device: torch.device, distribution: Distribution
    ) -> _Plan:
        """Let the main process decide on settings and precision, for all processes."""
        text = ""
        if distribution.is_main:
            d_model = self.recipe.model.d_model
            bf16 = choose_bf16(self.recipe.training.precision, device, d_model)

            def split(recipe: Recipe) -> TrainingConfig:
                if not self.split:
                    return recipe.training
                return self._split_step(recipe.training, context, device, bf16)

            def pace(recipe: Recipe) -> float:
                training, data = split(recipe), self.data
                seconds = measure_pace(recipe.model, training, data, device=device, bf16=bf16)
                return seconds / context.world_size

            recipe, plan = self.recipe, None
            if self.planning is not None:
                planned = plan_run(self.planning, self.data, pace)
                recipe, plan = planned.recipe, planned.to_json()
            training = split(recipe).model_dump(mode="json")
            text = json.dumps({"training": training, "bf16": bf16, "plan": plan})
        values = json.loads(distribution.broadcast(text))
        return _Plan(
            self.recipe.model,
            TrainingConfig(**values["training"]),
            values["bf16"],
            device,
            distribution,
            values["plan"],
        )

    def _split_step(
        self,
        training: TrainingConfig,
        context: DistributedContext,
        device: torch.device,
        bf16: bool,
    ) -> TrainingConfig:
        """Split a step into micro-batches that fit into memory and give every worker work.

        If their size is not given, they are divided among the threads of a single
        process too.
        """
        can = can_run_in_parallel(training, device=device, world_size=context.world_size)
        allowed = torch.get_num_threads() if can else 1
        is_given = "micro_batch_tokens" in training.model_fields_set
        if not self.fit_memory and context.world_size == 1 and (allowed == 1 or is_given):
            return training
        needed = longest_example(load_examples(self.data, "train"))
        tokens = training.micro_batch_tokens
        if self.fit_memory:
            threads = count_threads(training.batch_tokens, allowed)
            part = math.ceil(training.batch_tokens / threads)
            fit = measure_memory(
                self.recipe.model,
                training.replace(micro_batch_tokens=part, parallel_micro_batches=threads),
                device=device,
                bf16=bf16,
                longest=needed,
                processes=context.local_world_size,
            )
            tokens = largest_micro_batch(fit, cap=training.batch_tokens, longest=needed)
        threads = min(count_threads(tokens, allowed), max(1, tokens // needed))
        workers = context.world_size * threads
        split = split_batch(training, workers=workers, at_most=tokens // threads, longest=needed)
        return split.replace(parallel_micro_batches=threads) if self.fit_memory else split


@dataclass(frozen=True)
class _Plan:
    """What all processes of a run have in common."""

    model: ModelConfig
    training: TrainingConfig
    bf16: bool
    device: torch.device
    distribution: Distribution
    plan: Mapping[str, Any] | None

    def build_trainer(self, job: TrainingJob, stop: threading.Event | None) -> Trainer:
        """Return the trainer of this process."""
        settings, data = self.training, job.data
        has_dev = "dev" in data.manifest.splits
        return Trainer(
            initial_model(self.model, settings.seed),
            data,
            settings,
            job.run,
            validate=Validator.for_settings(data, settings) if has_dev else None,
            distribution=self.distribution,
            device=self.device,
            bf16=self.bf16,
            resume=job.resume,
            command=job.command,
            stop=stop or threading.Event(),
            parent=job.parent,
            plan=self.plan,
        )

    def describe_start(self, data: PreparedData, parent: Parent | None) -> Started:
        """Return what is about to be trained on what, where and how far."""
        model, settings = self.model, self.training
        parameters = sum(block.parameters for block in anatomy(model, 1))
        dev = data.manifest.splits.get("dev")
        parts, world_size = settings.micro_batches, self.distribution.world_size
        each = [(part.manifest.splits["train"].pairs, weight) for part, weight in data.parts]
        pairs = " + ".join(
            f"{count:,} pairs{f' × {weight:g}' if weight != 1 else ''}" for count, weight in each
        )
        return Started(
            description=f"{f'from {parent.name}: ' if parent else ''}"
            f"{parameters:,} parameters, {model.encoder_layers}+"
            f"{model.decoder_layers} layers, d_model {model.d_model}; {pairs}, "
            f"{f'{dev.pairs:,} dev pairs' if dev else 'no dev set, so nothing is validated'}; "
            f"{settings.batch_tokens:,} tokens per step in {parts} part{'s' if parts > 1 else ''}; "
            f"{self.device.type}, {'bf16' if self.bf16 else 'fp32'}"
            f"{f', {world_size} processes' if world_size > 1 else ''}{self._describe_plan()}"
            f"{describe_ending(settings)}",
            max_steps=settings.max_steps,
            max_minutes=settings.max_minutes,
            flops=flops_per_token(model, data),
            device=str(self.device),
            processes=world_size,
            passes=settings.passes,
        )

    def _describe_plan(self) -> str:
        """Return how long the run will take and why its settings are so, one line each."""
        if self.plan is None:
            return ""
        took = _describe_duration(self.plan["expected_seconds"])
        lines = [f"about {took} for {self.training.max_steps:,} steps", *self.plan["reasons"]]
        return "".join(f"\n  {line}" for line in lines)


def describe_ending(settings: TrainingConfig) -> str:
    """Return a warning if a run of the wsd schedule ends before its decay begins.

    One that is resumed keeps its total_steps when only max_steps is lowered.
    """
    if settings.schedule != "wsd" or not 0 < settings.max_steps <= settings.decay_start:
        return ""
    return (
        f"\n  the run ends at max_steps = {settings.max_steps:,}, before its decay, from step "
        f"{settings.decay_start:,} to total_steps = {settings.total_steps:,}: to end with a decay, "
        "set total_steps and decay_steps too"
    )


def _describe_duration(seconds: int) -> str:
    """Return a duration for people.

    >>> [_describe_duration(seconds) for seconds in (80, 700, 10_000)]
    ['80 seconds', '12 minutes', '2.8 hours']
    """
    if seconds < 120:
        return f"{seconds} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.1f} hours"


def flops_per_token(config: ModelConfig, data: PreparedData) -> float:
    """Return the FLOPs of a target token of the training set, as the mean over the directions."""
    added = 2 if data.manifest.tagged else 1
    flops = weights = 0.0
    for part, weight in data.parts:
        train = part.manifest.splits["train"]
        for source, target in part.manifest.directions:
            flops += weight * training_flops(
                config,
                train.tokens[source] / train.pairs + added,
                train.tokens[target] / train.pairs + 1,
            )
            weights += weight
    return flops / weights


@contextmanager
def write_tensorboard(folder: Path) -> Iterator[OnEvent]:
    """Give a consumer of events that writes figures for TensorBoard."""
    optional("tensorboard", extra="tensorboard", job="--tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder)) as writer:

        def write(event: TrainingEvent) -> None:
            for name, value in list_scalars(event).items():
                writer.add_scalar(name, value, event.step)  # type: ignore[union-attr]

        yield write


def list_scalars(event: TrainingEvent) -> dict[str, float]:
    """Return the figures of an event that TensorBoard draws, by name."""
    match event:
        case Trained():
            return {
                "train/loss": event.loss,
                "train/perplexity": event.perplexity,
                "train/learning_rate": event.learning_rate,
                "train/gradient_norm": event.gradient_norm,
                "train/tokens_per_second": event.tokens / max(event.seconds, 1e-9),
            }
        case Validated():
            names = ("loss", "perplexity", "bleu", "chrf")
            return {f"dev/{name}": float(getattr(event, name)) for name in names}
        case _:
            return {}


def finish_models(
    models: Sequence[Path], data: PreparedData, on_event: OnEvent, parent: Parent | None = None
) -> None:
    """Save with each model what its users will want to know.

    That is how frequent each token is in each of its source languages, which heads align words, how
    precise the fast engine must be, and how to tell acceptable translations from others. A Notice
    says what could not be found.
    """
    _save_languages(models, data, parent)
    if "dev" not in data.manifest.splits:
        return
    try:
        _save_alignment_heads(models, data)
    except InputError as error:
        on_event(Notice(f"Which heads align words stays unknown: {error}"))
    try:
        _save_precision(models, data)
        _save_calibration(models, data)
    except InputError as error:
        on_event(Notice(f"How far translations can be trusted stays unknown: {error}"))


def _save_languages(models: Sequence[Path], data: PreparedData, parent: Parent | None) -> None:
    """Count the tokens of each source language, where there are several; the parent has its own."""
    size = data.manifest.tokenizer.vocab_size
    counts: dict[str, npt.NDArray[np.int64]] = {}
    for part, _ in data.parts:
        split = part.split("train")
        pairs = np.arange(0, len(split), max(1, len(split) // _PAIRS_COUNTED))
        for language in dict.fromkeys(source for source, _ in part.manifest.directions):
            found = np.bincount(split.rows(language, pairs)[0], minlength=size)
            counts[language] = found + counts.get(language, 0)
    log_probs = SourceLanguages.from_counts(counts).log_probs
    sources = dict.fromkeys(counts)
    if parent is not None:
        sources |= dict.fromkeys(source for source, _ in parent.generation.directions)
        known = read_source_languages(Path(parent.folder), (), size)
        log_probs = {**log_probs, **(known.log_probs if known else {})}
    if len(sources) == 1 or not log_probs.keys() >= sources.keys():
        return
    for model in models:
        save_source_languages(model, SourceLanguages(log_probs))


def _save_alignment_heads(models: Sequence[Path], data: PreparedData) -> None:
    """Find the heads of each model on the dev set, in the first direction."""
    split = data.split("dev")
    source, target = data.manifest.directions[0]
    pairs = [
        (split.text(source, pair), split.text(target, pair))
        for pair in range(min(len(split), MOST_PAIRS))
    ]
    for model in models:
        translator = load(model, engine="pytorch")
        save_alignment_heads(model, find_alignment_heads(translator, pairs, target=target))


def _sample_dev(data: PreparedData) -> list[tuple[str, list[str], list[str]]]:
    """Return some dev pairs of each direction: target language, sources and references."""
    split = data.split("dev")
    numbers = range(0, len(split), -(-len(split) // _PAIRS_CALIBRATED))

    def texts(language: str) -> list[str]:
        return [split.text(language, number) for number in numbers]

    return [(target, texts(source), texts(target)) for source, target in data.manifest.directions]


def _save_calibration(models: Sequence[Path], data: PreparedData) -> None:
    """Translate dev pairs of all directions, and learn when translations are acceptable."""
    directions, chrf = _sample_dev(data), CHRF()
    for model in models:
        translator = load(model)
        rows: list[tuple[float, ...]] = []
        acceptable: list[bool] = []
        for target, sources, references in directions:
            found = translator.translate(sources, target=target)
            for reference, translation in zip(references, found, strict=True):
                if translation.tokens:
                    score = float(chrf.sentence_score(translation.text, [reference]).score)
                    rows.append(compute_features(translation.n_best[0], translation.source_tokens))
                    acceptable.append(score >= ACCEPTABLE)
        save_calibration(model, calibrate(rows, acceptable))


def _save_precision(models: Sequence[Path], data: PreparedData) -> None:
    """Let the fast engine round weights to int8 where that costs next to nothing on the dev set."""
    directions, chrf = _sample_dev(data), CHRF()
    for model in models:
        if load(model).engines.fast is None:
            continue
        scores = dict.fromkeys(get_args(Precision), 0.0)
        for precision in scores:
            translator = load(model, precision=precision)
            for target, sources, references in directions:
                texts = [one.text for one in translator.translate(sources, target=target)]
                scores[precision] += float(chrf.corpus_score(texts, [references]).score)
        lost = (scores["float32"] - scores["int8"]) / len(directions)
        save_precision(model, "int8" if lost <= INT8_MAY_LOSE else "float32")
