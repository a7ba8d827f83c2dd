"""The loop: steps, validations and checkpoints, told as events.

::

    next step of micro-batches ─▶ summed loss, summed gradients ─▶ one scaling, clipping ─▶ update
         ▲                                      │ no number, or exploding: stop, save the lines
         │                                      ▼
         └── checkpoint, every so often ◀── validation, every so often ◀── a line of metrics

What a step does depends on the state, the tensors and the settings alone, so a run that was stopped
anywhere and resumed is bit for bit the uninterrupted one: on a CPU with the same number of threads
and processes, on a GPU as far as PyTorch's kernels are themselves repeatable.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from pydantic import TypeAdapter
from torch import Tensor

from translucid.checkpoint.store import Checkpoint
from translucid.data.augmentation import Sampling
from translucid.data.batches import Batches, load_examples
from translucid.data.collate import Batch
from translucid.data.loader import LoadedStep, Loader
from translucid.data.shards import PreparedData
from translucid.errors import DataError, InputError
from translucid.events import (
    Cause,
    Notice,
    Saved,
    Skipped,
    Stopped,
    TrainingEvent,
    Validated,
)
from translucid.folder_lock import locked
from translucid.model import Transformer
from translucid.text.tokenizer import load_tokenizer
from translucid.training.distributed import Distribution
from translucid.training.ending import cause_to_end, in_words
from translucid.training.guard import (
    DivergedError,
    largest_loss,
    lines_of,
    refuse_unfit,
    write_lines,
)
from translucid.training.learner import Learner
from translucid.training.metrics import Recorded, read_metrics
from translucid.training.model_output import ModelOutput
from translucid.training.report import Facts
from translucid.training.run_folder import RunFolder, RunRecord, begin, fingerprint_of
from translucid.training.schedule import learning_rate
from translucid.training.settings import TrainingConfig
from translucid.training.state import BEGINNING, Scores, TrainingState, Window, judged
from translucid.training.validation import Validation

Validate = Callable[[Transformer, int], Validation]
Events = Iterator[TrainingEvent]

_STEPS_AHEAD = 2
_VALIDATED: TypeAdapter[Validated] = TypeAdapter(Validated)


class _Totals(NamedTuple):
    """The sums of a step over all processes."""

    smoothed: float
    plain: float
    tokens: int


class Trainer:
    """Trains a network on prepared data, in a folder of its own.

    ::

        trainer = Trainer(model, data, settings, Path("RUN"), validate=validator, …)
        for event in trainer.events():
            print(event)

    The network should begin as ``initial_model(config, settings.seed)`` makes it; with `resume`
    and a checkpoint in the folder, its weights are replaced. `validate` is None where there is no
    dev set. `bf16` computes matrix products in bfloat16. `command` is what a person typed, for the
    model card.
    """

    def __init__(
        self,
        model: Transformer,
        data: PreparedData,
        settings: TrainingConfig,
        run: Path,
        *,
        validate: Validate | None,
        distribution: Distribution,
        device: torch.device,
        bf16: bool = False,
        resume: bool = False,
        command: str = "",
    ) -> None:
        refuse_unfit(model, data)
        self.settings = settings
        self.run = RunFolder(run)
        self.state = BEGINNING
        self._model = model
        self._data = data
        self._validate = validate
        self._distribution = distribution
        self._device = device
        self._bf16 = bf16
        self._resume = resume
        self._command = command
        self._examples = load_examples(data, "train")
        self._batches = Batches(self._examples, settings.micro_batch_tokens, settings.seed)
        self._output = ModelOutput(model.config, settings, data, self.run)
        self._stop_requested = False  # on this process
        self._interrupted = False  # on any process, as all of them know
        self._validated: Validated | None = None
        self._saved_step = 0

    def request_stop(self) -> None:
        """Ask for an end after the step under way, with everything saved; safe in a handler.

        Of several processes, any may be asked; all of them end after the same step.
        """
        self._stop_requested = True

    def events(self) -> Events:
        """Train, and yield what happens; the run folder is locked until the iterator ends.

        Raises DivergedError where training cannot go on, BusyError where another process writes to
        the folder, and InputError where the folder holds another run.
        """
        with contextlib.ExitStack() as stack:
            if self._distribution.is_main:
                self.run.path.mkdir(parents=True, exist_ok=True)
                stack.enter_context(locked(self.run.path))
                begin(self.run, self._record(), resume=self._resume)
                self.run.settle()
            self._learner = Learner(
                self._model,
                self.settings,
                self._distribution,
                device=self._device,
                bf16=self._bf16,
            )
            yield from self._restored()
            self._clock = time.perf_counter() - self.state.seconds
            cause = yield from self._trained()
            yield from self._finished(cause)

    # The parts of a run, in their order.

    def _restored(self) -> Events:
        """Take over the newest sound checkpoint, if there is one."""
        checkpoint = None
        if self._distribution.is_main:
            checkpoint, refusals = self.run.checkpoints.newest()
            for refused, why in refusals:
                aside = self.run.checkpoints.set_aside(refused)
                yield Notice(f"{why}\n  It is now called {aside.name}; an earlier one is used.")
            self.run.metrics.cut(checkpoint.step if checkpoint else 0)
        found = self._distribution.share(json.dumps(checkpoint.state if checkpoint else None))
        if found == "null":
            return
        self.state = _state_from(found, checkpoint)
        self._saved_step = self.state.step
        self._learner.restore(checkpoint)
        if self._distribution.is_main:
            validations = (e for e in self._metrics() if isinstance(e, Validated))
            self._validated = max(validations, key=lambda event: event.step, default=None)
        yield Notice(f"Resumed after step {self.state.step:,}.")

    def _trained(self) -> Generator[TrainingEvent, None, Cause]:
        """Step by step until there is a cause to end."""
        # Processes beyond the number of micro-batches read the last one's and keep it company.
        rank, per_step = self._distribution.rank, self.settings.micro_batches
        busy = min(self._distribution.world, per_step)
        steps = self._loader().steps(
            self.state.cursor, per_step=per_step, rank=min(rank, busy - 1), world=busy
        )
        with steps:
            while (cause := self._cause()) is None:
                began = time.perf_counter()
                loaded = next(steps)
                yield from self._stepped(loaded, len(loaded.batches) if rank < busy else 0, began)
                if self.state.step % self.settings.validate_every == 0:
                    yield from self._scored()
                if self.state.step % self.settings.checkpoint_every == 0:
                    yield from self._saved()
        return cause

    def _finished(self, cause: Cause) -> Events:
        """Leave the run so that it can go on and, unless it was interrupted, a model."""
        step, scores = self.state.step, self.state.scores
        if cause != "interrupted" and (scores is None or scores.step != step):
            yield from self._scored()
        if self._saved_step != step:
            yield from self._saved()
        if cause != "interrupted":
            yield self._model_written(self.run.model)
        self._distribution.barrier()
        yield Stopped(step, in_words(cause, self.state, self.settings), cause)

    # One step.

    def _stepped(self, loaded: LoadedStep, real: int, began: float) -> Events:
        """Compute the gradient of one step over all processes, and change the weights.

        The first `real` of the batches are this process's part; the others are for company.
        """
        before, mine = self.state, loaded.batches[:real]
        step = before.step + 1
        sums = self._learner.accumulate(loaded.batches, step, real)
        totals = self._totals(sums, mine)
        self._refuse_explosion(step, mine, sums, totals)
        norm = self._learner.clip(totals.tokens)
        rate = learning_rate(step, self.settings, self._model.config.d_model)
        if usable := math.isfinite(norm):
            self._learner.update(step, rate)
        elif before.skipped:
            self._stop(step, mine, sums, "the gradient is not finite, twice in a row")
        self._learner.forget_gradients()
        self.state = dataclasses.replace(
            self.state,
            step=step,
            cursor=loaded.after,
            tokens=before.tokens + totals.tokens,
            skipped=0 if usable else before.skipped + 1,
        )
        if not usable:
            yield self._recorded(Skipped(step, f"the gradient is not finite (norm {norm})"))
            return
        seconds = time.perf_counter() - began
        window = before.window.plus(*totals, seconds)
        report = step % self.settings.report_every == 0 or step == self.settings.max_steps
        self.state = dataclasses.replace(self.state, window=Window() if report else window)
        if report:
            yield self._recorded(window.report(step, rate, norm, before.cursor.epoch))

    def _totals(self, sums: Tensor, batches: Sequence[Batch]) -> _Totals:
        """Add up losses and tokens over all processes; agree on the time and on stopping."""
        main = self._distribution.is_main
        elapsed = time.perf_counter() - self._clock if main else 0.0
        tokens = sum(batch.tokens for batch in batches)
        values = [*sums.sum(0).tolist(), tokens, elapsed, self._stop_requested]
        mine = torch.tensor(values, dtype=torch.float64)
        smoothed, plain, tokens, elapsed, stops = self._distribution.sum(mine).tolist()
        self._interrupted = stops > 0
        self.state = dataclasses.replace(self.state, seconds=elapsed)
        return _Totals(smoothed, plain, round(tokens))

    # Guard rails.

    def _refuse_explosion(
        self, step: int, batches: Sequence[Batch], sums: Tensor, totals: _Totals
    ) -> None:
        limit = largest_loss(self._model.config.target_vocab_size, self.settings.explosion_factor)
        loss = totals.plain / totals.tokens
        if not loss <= limit:
            what = f"the loss is {loss:.4g} a token; from {limit:.4g} on training has failed"
            self._stop(step, batches, sums, what)

    def _stop(self, step: int, batches: Sequence[Batch], sums: Tensor, what: str) -> None:
        """Save the lines of the micro-batches to blame, of all processes; raise DivergedError."""
        limit = largest_loss(self._model.config.target_vocab_size, self.settings.explosion_factor)
        found = lines_of(batches, sums[:, 1].tolist(), limit, self._examples)
        path = self.run.bad_batch(step)
        texts = self._distribution.gather(json.dumps(found))
        if self._distribution.is_main:
            write_lines(path, step, [line for text in texts for line in json.loads(text)])
        kept = f"that of step {self._saved_step:,} is kept" if self._saved_step else "there is none"
        raise DivergedError(
            f"{self.run.path}: step {step:,}: {what}.\n"
            f"  The sentences of this step are in {path.name}. No checkpoint was written since; "
            f"{kept}.\n"
            "  Look at the sentences; lower learning_rate or clip_norm, or raise warmup_steps."
        )

    # What is done every so often.

    def _scored(self) -> Events:
        """Validate the network, and keep it if it is the best so far."""
        if self._validate is None:
            return
        event, step = None, self.state.step
        with self._learner.best_weights() as model:
            if self._distribution.is_main:
                event = self._validation_event(self._validate(model.eval(), step))
        text = json.dumps(None if event is None else dataclasses.asdict(event))
        event = _VALIDATED.validate_json(self._distribution.share(text))
        scores = _scores_of(event)
        best = judged(self.state.best, scores, self.settings.metric)
        self.state = dataclasses.replace(self.state, scores=scores, best=best)
        self._validated = event
        yield self._recorded(event)
        if event.best:
            yield self._model_written(self.run.best)

    def _validation_event(self, found: Validation) -> Validated:
        event = Validated(
            step=self.state.step,
            loss=found.loss,
            perplexity=found.perplexity,
            bleu=found.bleu,
            chrf=found.chrf,
            signatures=found.signatures,
            samples=found.samples,
            best=False,
        )
        best = judged(self.state.best, _scores_of(event), self.settings.metric)
        return dataclasses.replace(event, best=best.step == event.step)

    def _saved(self) -> Events:
        """Write a checkpoint, and remove the oldest beyond those to keep."""
        tensors, store = self._learner.tensors(), self.run.checkpoints
        if self._distribution.is_main:
            self.run.metrics.sync()  # a checkpoint must not be ahead of the metrics
            store.save(self.state.step, tensors, self.state.to_json())
            store.prune(self.settings.keep_checkpoints)
        self._saved_step = self.state.step
        yield Saved(self.state.step, str(store.path(self.state.step)))

    def _model_written(self, folder: Path) -> Saved:
        """Write a model directory of the network as it is."""
        weights = self._learner.weights_to_use()
        if self._distribution.is_main:
            facts = Facts(
                step=self.state.step,
                epoch=self.state.cursor.epoch,
                tokens=self.state.tokens,
                seconds=self.state.seconds,
                validation=self._validated,
                command=self._command,
            )
            self._output.write(folder, weights, facts)
        return Saved(self.state.step, str(folder))

    def _recorded(self, event: Recorded) -> Recorded:
        if self._distribution.is_main:
            self.run.metrics.add(event)
        return event

    # Small questions.

    def _cause(self) -> Cause | None:
        alone = self._distribution.world == 1  # with others, they must agree first
        interrupted = self._interrupted or (alone and self._stop_requested)
        return cause_to_end(self.state, self.settings, interrupted=interrupted)

    def _record(self) -> RunRecord:
        return RunRecord(
            model=self._model.config,
            training=self.settings,
            data=str(self._data.folder.resolve()),
            fingerprint=fingerprint_of(self._data),
        )

    def _loader(self) -> Loader:
        settings, config = self.settings, self._model.config
        sampling = None
        noise = settings.typed_source, settings.casing_noise, settings.accent_noise
        if settings.casing_noise and self._data.manifest.lowercase:
            raise InputError(
                f"casing_noise = {settings.casing_noise}: the data was prepared with --lowercase, "
                "and capitals would teach the network to write them: set casing_noise = 0"
            )
        if settings.subword_sampling or any(noise):
            tokenizer = load_tokenizer(self._data.tokenizer_path)
            sampling = Sampling(
                tokenizer,
                tokenizer.within(self._data.manifest.tokenizer.sizes[1]),
                settings.subword_sampling,
                config.max_positions if config.positions == "learned" else self._batches.max_tokens,
                *noise,
                self._data.manifest.plain_typography,
            )
        return Loader(self._batches, sampling, ahead=_STEPS_AHEAD, pin=self._device.type == "cuda")

    def _metrics(self) -> Iterator[Recorded]:
        return read_metrics(self.run.metrics.path)


def _scores_of(event: Validated) -> Scores:
    return Scores(event.step, event.loss, event.bleu, event.chrf)


def _state_from(text: str, checkpoint: Checkpoint | None) -> TrainingState:
    try:
        return TrainingState.from_json(json.loads(text))
    except ValueError as error:
        raise DataError(
            checkpoint.folder if checkpoint else "checkpoint",
            f"its state cannot be used: {error}",
            remedy="Resume with the translucid that wrote it, or begin a new run.",
        ) from error
