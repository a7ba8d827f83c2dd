"""A training run as the command line sees it: built, shown, and stopped by signals.

Under torchrun every process runs this, and all do what the main one has found out.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import torch

from translucid.anatomy import anatomy
from translucid.cli.interruption import stopped_by_signals
from translucid.cli.progress import stderr_console
from translucid.cli.training_board import board
from translucid.cli.training_display import AT_ONCE, STOPPING, Course, Plan, shown
from translucid.config import ModelConfig
from translucid.data.batches import load_examples, longest_example
from translucid.data.shards import PreparedData
from translucid.events import Notice, Stopped, TrainingEvent
from translucid.machine import Machine, keep_freed_memory
from translucid.text.tokenizer import load_tokenizer
from translucid.training.batch_fit import largest_micro_batch, measure, share_out
from translucid.training.device import choose_bf16, choose_device
from translucid.training.distributed import Distribution, joined
from translucid.training.peak import matrix_product_peak, training_flops
from translucid.training.place import Place, threads_of
from translucid.training.randomness import initial_model
from translucid.training.recipe import Recipe
from translucid.training.run_folder import RunFolder
from translucid.training.settings import TrainingConfig
from translucid.training.side_by_side import may_be_apart, threads_for
from translucid.training.trainer import Trainer
from translucid.training.validation import Validator

Consume = Callable[[TrainingEvent], None]


@dataclass(frozen=True)
class Session:
    """All that a training run on the command line depends on.

    `resume` goes on with a run that is there. `going_on` says that there is one: its micro-batches
    stay as they are. Otherwise `fit_memory` has as much computed at a time as memory allows.
    `watch` takes the events in place of the display on stderr.
    """

    recipe: Recipe
    data: PreparedData
    run: Path
    resume: bool
    going_on: bool
    fit_memory: bool
    tensorboard: bool
    watch: Consume | None = None

    @property
    def result(self) -> Path:
        """The model directory that the run has left: the best one or, without dev set, the last."""
        return self.models[0]

    @property
    def models(self) -> list[Path]:
        """The model directories that the run has left: the best one, if there is one, and last."""
        folder = RunFolder(self.run)
        return [model for model in (folder.best, folder.model) if model.is_dir()]

    def train(self) -> Stopped:
        """Train until the end, or until a signal asks for it; show what happens on stderr."""
        place = Place.of_environment(os.environ)
        if threads := threads_of(place, os.environ, Machine().cores()):
            torch.set_num_threads(threads)
        settings = self.recipe.training
        device = choose_device(settings.device, place.local_rank)
        if device.type == "cpu":
            keep_freed_memory()
        with joined(place, device, settings.sharding) as distribution:
            agreed = self._agreed(place, device, distribution)
            trainer = agreed.trainer(self, device, distribution)
            course = Course(agreed.plan(self.data, device, distribution), time.monotonic)

            def stop() -> None:
                trainer.request_stop()
                course.stopping = STOPPING if place.world > 1 else STOPPING + AT_ONCE

            with ExitStack() as stack:
                consumers = self._consumers(stack, course) if distribution.is_main else []
                stack.enter_context(stopped_by_signals(stop, once=place.world > 1))
                for consume in consumers:
                    consume(Notice(agreed.in_words(self.data, device, distribution)))
                return follow(trainer, course, consumers)

    def _agreed(self, place: Place, device: torch.device, distribution: Distribution) -> Agreed:
        """Return what the main process decides for all: settings and precision."""
        text = ""
        if distribution.is_main:
            bf16 = choose_bf16(self.recipe.training.precision, device)
            training = self.recipe.training
            if not self.going_on:
                training = self._cut(training, place, device, bf16)
            text = Agreed(self.recipe.model, training, bf16).to_json()
        return Agreed.from_json(distribution.share(text))

    def _cut(
        self, training: TrainingConfig, place: Place, device: torch.device, bf16: bool
    ) -> TrainingConfig:
        """Cut a step into micro-batches that fit into memory and give all of us work.

        Where nobody has said how large they are, what is computed at a time is shared out among the
        threads of the one process too.
        """
        apart = may_be_apart(training, device=device, bf16=bf16, world=place.world)
        allowed = torch.get_num_threads() if apart else 1
        said = "micro_batch_tokens" in training.model_fields_set
        if not self.fit_memory and place.world == 1 and (allowed == 1 or said):
            return training
        needed = longest_example(load_examples(self.data, "train"))
        at_a_time = training.micro_batch_tokens
        if self.fit_memory:
            threads = threads_for(training.batch_tokens, allowed)
            part = math.ceil(training.batch_tokens / threads)
            fit = measure(
                self.recipe.model,
                training.replace(micro_batch_tokens=part, side_by_side=threads),
                device=device,
                bf16=bf16,
                longest=needed,
                processes=place.local_world,
            )
            at_a_time = largest_micro_batch(fit, cap=training.batch_tokens, longest=needed)
        threads = min(threads_for(at_a_time, allowed), max(1, at_a_time // needed))
        at_most = at_a_time // threads
        cut = share_out(training, workers=place.world * threads, at_most=at_most, longest=needed)
        return cut.replace(side_by_side=threads) if self.fit_memory else cut

    def _consumers(self, stack: ExitStack, course: Course) -> list[Consume]:
        display = self.watch or stack.enter_context(shown(stderr_console(), course))
        consumers = [display]
        if self.tensorboard:
            consumers.append(stack.enter_context(board(self.run / "tensorboard")))
        return consumers


@dataclass(frozen=True)
class Agreed:
    """What all processes of a run do alike."""

    model: ModelConfig
    training: TrainingConfig
    bf16: bool

    def to_json(self) -> str:
        """Return this as text, for the other processes."""
        return json.dumps(
            {
                "model": self.model.model_dump(mode="json"),
                "training": self.training.model_dump(mode="json"),
                "bf16": self.bf16,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Agreed:
        """Return what `to_json` has written."""
        values = json.loads(text)
        model, training = ModelConfig(**values["model"]), TrainingConfig(**values["training"])
        return cls(model, training, values["bf16"])

    def trainer(
        self, session: Session, device: torch.device, distribution: Distribution
    ) -> Trainer:
        """Build the trainer of this process."""
        settings, data = self.training, session.data
        validator = Validator(
            data,
            load_tokenizer(data.tokenizer_path),
            settings.validation_sample,
            settings.micro_batch_tokens,
        )
        return Trainer(
            initial_model(self.model, settings.seed),
            data,
            settings,
            session.run,
            validate=validator if "dev" in data.manifest.splits else None,
            distribution=distribution,
            device=device,
            bf16=self.bf16,
            resume=session.resume,
            command=shlex.join(["translucid", *sys.argv[1:]]),
        )

    def plan(self, data: PreparedData, device: torch.device, distribution: Distribution) -> Plan:
        """Return how far the run goes, and the speed that its own is measured against."""
        main = distribution.is_main  # the others neither measure, which would disturb, nor show
        return Plan(
            max_steps=self.training.max_steps,
            max_minutes=self.training.max_minutes,
            passes=self.training.passes,
            flops=flops_a_token(self.model, data),
            peak=distribution.world * matrix_product_peak(device) if main else 1.0,
        )

    def in_words(self, data: PreparedData, device: torch.device, distribution: Distribution) -> str:
        """Say in a line what is trained on what, where and how."""
        model, settings = self.model, self.training
        parameters = sum(block.parameters for block in anatomy(model, 1))
        dev = data.manifest.splits.get("dev")
        parts, world = settings.micro_batches, distribution.world
        return (
            f"{parameters:,} parameters, {model.encoder_layers}+"
            f"{model.decoder_layers} layers, d_model {model.d_model}; "
            f"{data.manifest.splits['train'].pairs:,} pairs, "
            f"{f'{dev.pairs:,} dev pairs' if dev else 'no dev set, so nothing is validated'}; "
            f"{settings.batch_tokens:,} tokens a step in {parts} part{'s' if parts > 1 else ''}; "
            f"{device.type}, {'bf16' if self.bf16 else 'fp32'}"
            f"{f', {world} processes' if world > 1 else ''}"
        )


def follow(trainer: Trainer, course: Course, consumers: list[Consume]) -> Stopped:
    """Train, give every event to every consumer, and return the last one."""
    event: TrainingEvent | None = None
    for event in trainer.events():
        if isinstance(event, Notice) and course.latest is None:  # it goes on with an earlier run
            course.go_on(trainer.state.step, trainer.state.seconds)
        for consume in consumers:
            consume(event)
    assert isinstance(event, Stopped)
    return event


def flops_a_token(config: ModelConfig, data: PreparedData) -> float:
    """Return FLOPs a target token on the training set, as the mean over the directions."""
    train = data.manifest.splits["train"]
    added = 2 if data.manifest.tagged else 1
    each = [
        training_flops(
            config,
            train.tokens[source] / train.pairs + added,
            train.tokens[target] / train.pairs + 1,
        )
        for source, target in data.manifest.directions
    ]
    return sum(each) / len(each)
