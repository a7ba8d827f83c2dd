"""The training loop: steps, validations and checkpoints, reported as events.

::

    next step of micro-batches ─▶ summed loss, summed gradients ─▶ one scaling, clipping ─▶ update
         ▲                                      │ not a number, or exploding: fail, save the lines
         │                                      ▼
         └── checkpoint, every so often ◀── validation, every so often ◀── a line of metrics

`Trainer.train_step` is one such step. It depends on the state, the tensors and the settings alone,
so a run that was stopped anywhere and resumed is bit for bit the uninterrupted one: on a CPU with
the same number of threads and processes, on a GPU as far as PyTorch's kernels are repeatable.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pydantic import TypeAdapter
from torch import Tensor

from translucid.checkpoint.run_directory import MetricsEvent, Parent, RunDirectory
from translucid.checkpoint.store import Checkpoint, write_file
from translucid.data.augmentation import Sampling
from translucid.data.batches import Batches, Examples, load_examples, longest_example
from translucid.data.loader import Batch, LoadedStep, Loader
from translucid.data.shards import PreparedData
from translucid.errors import DataError, InputError, TranslucidError
from translucid.events import (
    Cause,
    Notice,
    Resumed,
    Saved,
    Skipped,
    Stopped,
    TrainingEvent,
    Validated,
)
from translucid.files import locked
from translucid.model import Transformer
from translucid.text.tokenizer import load_tokenizer
from translucid.training.config import TrainingConfig
from translucid.training.distributed import Distribution
from translucid.training.learner import Learner
from translucid.training.model_card import ModelWriter, RunFacts
from translucid.training.parent import read_parent_weights
from translucid.training.recipe import Recipe
from translucid.training.schedule import learning_rate
from translucid.training.state import (
    BEGINNING,
    Scores,
    TrainingState,
    Window,
    describe_cause,
    find_cause,
    start_run,
    update_best,
)

Validate = Callable[[Transformer, int], Validated]
Events = Iterator[TrainingEvent]

_STEPS_AHEAD = 2
_VALIDATED: TypeAdapter[Validated] = TypeAdapter(Validated)


class StepTotals(NamedTuple):
    """The sums of a step over all processes."""

    smoothed: float
    plain: float
    tokens: int


@dataclasses.dataclass(eq=False)
class Trainer:
    """Trains a network on prepared data, in a run directory.

    ::

        trainer = Trainer(model, data, settings, RunDirectory(path), validate=validator, …)
        for event in trainer.events():
            print(event)

    The network should begin as ``initial_model(config, settings.seed)`` makes it; with `resume`
    and a checkpoint in the directory, its weights are replaced. `validate` is None without a
    dev set. `bf16` computes matrix products in bfloat16. `command` is what a person typed, for the
    model card. Once `stop` is set, training ends after the step under way, with everything saved.
    With a `parent`, a new run starts from its weights, whose scores are those of step 0. `plan` is
    what run.json is to say of how the settings came about.
    """

    model: Transformer
    data: PreparedData
    settings: TrainingConfig
    run: RunDirectory
    validate: Validate | None
    distribution: Distribution
    device: torch.device
    bf16: bool = False
    resume: bool = False
    command: str = ""
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)  # on this process
    parent: Parent | None = None
    plan: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        check_model_fits(self.model, self.data)
        config, settings = self.model.config, self.settings
        self.state = BEGINNING
        self._examples = load_examples(self.data, "train")
        self._batches = Batches(self._examples, settings.micro_batch_tokens, settings.seed)
        self._writer = ModelWriter(config, settings, self.data, self.run, self.parent)
        self._largest_loss = largest_loss(config.target_vocab_size, settings.explosion_factor)
        self._interrupted = False  # on any process, as all of them know
        self._validated: Validated | None = None
        self._saved_step: int | None = None

    def request_stop(self) -> None:
        """Request a stop after the current step, with everything saved; safe in a handler.

        Any of several processes may be asked; all of them end after the same step.
        """
        self.stop.set()

    def events(self) -> Events:
        """Train, and yield what happens; the run directory is locked until the iterator ends.

        Raises DivergedError where training fails, BusyError where another process writes to the
        directory, and InputError where it holds another run.
        """
        with contextlib.ExitStack() as stack:
            if self.distribution.is_main:
                self.run.path.mkdir(parents=True, exist_ok=True)
                stack.enter_context(locked(self.run.path))
                recipe = Recipe(self.model.config, self.settings)
                start_run(
                    self.run,
                    recipe,
                    self.data,
                    resume=self.resume,
                    parent=self.parent,
                    plan=self.plan,
                )
                self.run.recover()
            self._learner = Learner(
                self.model,
                self.settings,
                self.distribution,
                device=self.device,
                bf16=self.bf16,
            )
            is_new = not (yield from self._restore())
            self._clock = time.perf_counter() - self.state.seconds
            if is_new and self.parent is not None:
                yield from self._start_from(self.parent)
            cause = yield from self._train()
            yield from self._finish(cause)

    # The parts of a run, in their order.

    def _restore(self) -> Generator[TrainingEvent, None, bool]:
        """Load the newest sound checkpoint, and tell whether there is one."""
        checkpoint = None
        if self.distribution.is_main:
            checkpoint, refusals = self.run.checkpoints.newest()
            for refused, why in refusals:
                aside = self.run.checkpoints.set_aside(refused)
                yield Notice(f"{why}\n  It is now called {aside.name}; an earlier one is used.")
            self.run.metrics.cut(checkpoint.step if checkpoint else -1)
        found = self.distribution.broadcast(json.dumps(checkpoint.state if checkpoint else None))
        if found == "null":
            return False
        self.state = _parse_state(found, checkpoint)
        self._saved_step = self.state.step
        self._learner.restore(checkpoint)
        if self.distribution.is_main:
            validations = self.run.metrics.validations()
            self._validated = max(validations, key=lambda event: event.step, default=None)
        yield Resumed(self.state.step, self.state.seconds)
        return True

    def _start_from(self, parent: Parent) -> Events:
        """Load the weights of the parent, score them, and save all as the checkpoint of step 0."""
        is_main = self.distribution.is_main
        self._learner.load_weights(read_parent_weights(parent) if is_main else {}, parent.folder)
        yield from self._validate_model()
        yield from self._save_checkpoint()

    def _train(self) -> Generator[TrainingEvent, None, Cause]:
        """Train step by step until there is a cause to end."""
        # Processes beyond the number of micro-batches read the last one's and only take part.
        rank, per_step = self.distribution.rank, self.settings.micro_batches
        busy = min(self.distribution.world_size, per_step)
        steps = self._build_loader().steps(
            self.state.cursor, per_step=per_step, rank=min(rank, busy - 1), world_size=busy
        )
        with steps:
            while (cause := self._find_cause()) is None:
                yield from self.train_step(steps, has_work=rank < busy)
                step, is_early = self.state.step, self.state.step == self.settings.early_step
                if is_early or step % self.settings.validate_every == 0:
                    yield from self._validate_model()
                if is_early or step % self.settings.checkpoint_every == 0:
                    yield from self._save_checkpoint()
        return cause

    def _finish(self, cause: Cause) -> Events:
        """Leave a checkpoint to continue from and, unless training was interrupted, a model."""
        step, scores = self.state.step, self.state.scores
        if cause != "interrupted" and (scores is None or scores.step != step):
            yield from self._validate_model()
        if self._saved_step != step:
            yield from self._save_checkpoint()
        if cause != "interrupted":
            yield self._write_model(self.run.model)
        self.distribution.barrier()
        yield Stopped(step, describe_cause(cause, self.state, self.settings), cause)

    # One step.

    def train_step(self, steps: Iterator[LoadedStep], *, has_work: bool) -> Events:
        """Load, forward, backward, clip, update and log: one optimiser step over all processes.

        A process without work still takes part, so that the others do not wait forever.
        """
        began, before = time.perf_counter(), self.state
        step = before.step + 1
        loaded = next(steps)  # load
        batches = loaded.batches if has_work else ()
        losses = self._learner.forward_backward(loaded.batches, step, len(batches))
        totals = self._sum_over_processes(losses, batches)
        self._check_loss(step, batches, losses, totals)
        norm = self._learner.clip_gradients(totals.tokens)
        rate = learning_rate(step, self.settings, self.model.config.d_model)
        if is_usable := math.isfinite(norm):
            self._learner.update(step, rate)
        elif before.skipped:
            self._fail(step, batches, losses, "the gradient is not finite, twice in a row")
        self._learner.zero_gradients()
        self.state = dataclasses.replace(
            self.state,
            step=step,
            cursor=loaded.after,
            tokens=before.tokens + totals.tokens,
            skipped=0 if is_usable else before.skipped + 1,
        )
        if not is_usable:
            yield self._log(Skipped(step, f"the gradient is not finite (norm {norm})"))
            return
        window = before.window.plus(*totals, time.perf_counter() - began)
        is_reported = step % self.settings.report_every == 0 or step == self.settings.max_steps
        self.state = dataclasses.replace(self.state, window=Window() if is_reported else window)
        if is_reported:
            yield self._log(window.report(step, rate, norm, before.cursor.epoch))

    def _sum_over_processes(self, losses: Tensor, batches: Sequence[Batch]) -> StepTotals:
        """Add up losses and tokens over all processes; agree on the time and on stopping."""
        main = self.distribution.is_main
        elapsed = time.perf_counter() - self._clock if main else 0.0
        tokens = sum(batch.tokens for batch in batches)
        values = [*losses.sum(0).tolist(), tokens, elapsed, self.stop.is_set()]
        mine = torch.tensor(values, dtype=torch.float64)
        smoothed, plain, tokens, elapsed, stops = self.distribution.all_sum(mine).tolist()
        self._interrupted = stops > 0
        self.state = dataclasses.replace(self.state, seconds=elapsed)
        return StepTotals(smoothed, plain, round(tokens))

    def _log(self, event: MetricsEvent) -> MetricsEvent:
        if self.distribution.is_main:
            self.run.metrics.add(event)
        return event

    # Divergence.

    def _check_loss(
        self, step: int, batches: Sequence[Batch], losses: Tensor, totals: StepTotals
    ) -> None:
        loss, limit = totals.plain / totals.tokens, self._largest_loss
        if not loss <= limit:
            what = (
                f"the loss is {loss:.4g} per token; above {limit:.4g}, training counts as diverged"
            )
            self._fail(step, batches, losses, what)

    def _fail(self, step: int, batches: Sequence[Batch], losses: Tensor, what: str) -> None:
        """Save the sentences of the suspect micro-batches of all processes; raise DivergedError."""
        found = describe_batches(batches, losses[:, 1].tolist(), self._largest_loss, self._examples)
        path = self.run.bad_batch(step)
        texts = self.distribution.all_gather(json.dumps(found))
        if self.distribution.is_main:
            write_bad_batch(path, step, [line for text in texts for line in json.loads(text)])
        kept = (
            f"The last checkpoint, of step {self._saved_step:,}, is kept."
            if self._saved_step is not None
            else "There is no checkpoint yet."
        )
        raise DivergedError(
            f"{self.run.path}: step {step:,}: {what}.\n"
            f"  The sentences of this step are in {path.name}. {kept}\n"
            "  Look at the sentences; lower learning_rate or clip_norm, or raise warmup_steps."
        )

    # What is done every so often.

    def _validate_model(self) -> Events:
        """Validate the network, and keep it if it is the best so far."""
        if self.validate is None:
            return
        event, step = None, self.state.step
        with self._learner.best_weights() as model:
            if self.distribution.is_main:
                event = self.validate(model.eval(), step)
        text = json.dumps(None if event is None else dataclasses.asdict(event))
        event = _VALIDATED.validate_json(self.distribution.broadcast(text))
        scores = Scores(step, event.loss, event.bleu, event.chrf)
        best = update_best(self.state.best, scores, self.settings.metric)
        event = dataclasses.replace(event, best=best.step == step)
        self.state = dataclasses.replace(self.state, scores=scores, best=best)
        self._validated = event
        yield self._log(event)
        if event.best:
            yield self._write_model(self.run.best)

    def _save_checkpoint(self) -> Events:
        """Write a checkpoint, and remove the oldest beyond those to keep."""
        tensors, store = self._learner.tensors(), self.run.checkpoints
        if self.distribution.is_main:
            self.run.metrics.sync()  # a checkpoint must not be ahead of the metrics
            store.save(self.state.step, tensors, self.state.to_json())
            store.prune(self.settings.keep_checkpoints)
        self._saved_step = self.state.step
        yield Saved(self.state.step, str(store.path(self.state.step)))

    def _write_model(self, folder: Path) -> Saved:
        """Write a model directory of the network as it is."""
        weights = self._learner.weights_to_use()
        if self.distribution.is_main:
            facts = RunFacts.from_state(self.state, self._validated, self.command)
            self._writer.write(folder, weights, facts)
        return Saved(self.state.step, str(folder))

    # Small questions.

    def _find_cause(self) -> Cause | None:
        alone = self.distribution.world_size == 1  # several processes must agree first
        interrupted = self._interrupted or (alone and self.stop.is_set())
        return find_cause(self.state, self.settings, interrupted=interrupted)

    def _build_loader(self) -> Loader:
        settings, config = self.settings, self.model.config
        sampling = None
        noise = settings.source_noise, settings.casing_noise, settings.accent_noise
        if settings.casing_noise and self.data.manifest.lowercase:
            raise InputError(
                f"casing_noise = {settings.casing_noise}: the data was prepared with --lowercase, "
                "and capitals would teach the network to write them: set casing_noise = 0"
            )
        if settings.subword_sampling or any(noise):
            tokenizer = load_tokenizer(self.data.tokenizer_path)
            sampling = Sampling(
                tokenizer,
                tokenizer.within(self.data.manifest.tokenizer.sizes[1]),
                settings.subword_sampling,
                config.max_positions if config.positions == "learned" else self._batches.max_tokens,
                *noise,
                self.data.manifest.plain_typography,
            )
        return Loader(self._batches, sampling, ahead=_STEPS_AHEAD, pin=self.device.type == "cuda")


def _parse_state(text: str, checkpoint: Checkpoint | None) -> TrainingState:
    try:
        return TrainingState.from_json(json.loads(text))
    except ValueError as error:
        raise DataError(
            checkpoint.folder if checkpoint else "checkpoint",
            f"its state cannot be used: {error}",
            remedy="Resume with the translucid that wrote it, or begin a new run.",
        ) from error


class DivergedError(TranslucidError):
    """Training that has failed: loss or gradient is not a number, or grows without bound."""


def check_model_fits(model: Transformer, data: PreparedData) -> None:
    """Raise InputError for a network that cannot read the data."""
    config = model.config
    sizes = {"source": config.source_vocab_size, "target": config.target_vocab_size}
    for (side, size), needed in zip(sizes.items(), data.manifest.tokenizer.sizes, strict=True):
        if size < needed:
            raise InputError(
                f"the network's {side} vocabulary has {size:,} tokens, and {side} text of "
                f"{data.folder} has {needed:,}: give the network at least as many"
            )
    if config.positions == "learned":
        read = [name for name in ("train", "dev") if name in data.manifest.splits]
        most = max(longest_example(load_examples(data, name)) for name in read)
        if most > config.max_positions:
            raise InputError(
                f"the longest sentence of {data.folder} has {most:,} tokens, and the network "
                f"{config.max_positions:,} learned positions: raise max_positions to {most:,}, or "
                "prepare the data again with a lower limit of length"
            )


def largest_loss(vocab_size: int, factor: float) -> float:
    """Return the loss per token above which training counts as diverged.

    It is `factor` times that of guessing: with the same chance for each of V tokens, ln V.
    """
    return factor * math.log(vocab_size)


def describe_batches(
    batches: Sequence[Batch], losses: Sequence[float], limit: float, examples: Examples
) -> list[dict[str, Any]]:
    """Return the sentences of a step's micro-batches, and where they came from, as plain values.

    `suspect` are those with a loss per token that is not a number or above the limit. JSON has no
    NaN, so a loss is written as text.
    """
    return [
        {
            "suspect": not loss / batch.tokens <= limit,
            "loss": f"{loss / batch.tokens:.6g}",
            "pairs": _pairs(batch, examples),
        }
        for batch, loss in zip(batches, losses, strict=True)
    ]


def write_bad_batch(path: Path, step: int, batches: Sequence[dict[str, Any]]) -> None:
    """Save the micro-batches of a step that failed: the suspects or, without any, all of them."""
    suspects = [batch for batch in batches if batch["suspect"]]
    content = {"step": step, "micro_batches": suspects or batches}
    write_file(path, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode())


def _pairs(batch: Batch, examples: Examples) -> list[dict[str, Any]]:
    rows = []
    for pair, direction in zip(batch.examples.tolist(), batch.directions.tolist(), strict=True):
        source, target = examples.directions[direction]
        portion = examples.portion(direction)
        rows.append(
            {
                "place": portion.describe_origin(pair),
                "line": portion.split.origin(pair).line,
                "source": portion.split.text(source, pair),
                "target": portion.split.text(target, pair),
            }
        )
    return rows
