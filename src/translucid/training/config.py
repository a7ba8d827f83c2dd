"""The settings of training; the defaults are the paper's (section 5) where it gives any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from translucid.config import Config, Count, Rule, Share
from translucid.registry import Registry

OptimizerKind = Literal["adam", "adamw", "muon", "sgd"]
ScheduleKind = Literal["paper", "inverse-sqrt", "cosine", "linear", "wsd", "constant"]
Metric = Literal["loss", "bleu", "chrf"]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]

LOSSES: Registry[Callable[..., Any]] = Registry(
    "loss", "translucid.training.register_loss", ["cross-entropy"]
)
REACHES_ZERO: tuple[ScheduleKind, ...] = ("cosine", "linear", "wsd")  # at total_steps


def _check_micro_batch(values: Mapping[str, Any]) -> str | None:
    micro, batch = values["micro_batch_tokens"], values["batch_tokens"]
    if micro > batch:
        return (
            f"micro_batch_tokens = {micro} is more than batch_tokens = {batch}, which one "
            "optimiser step takes: it must be at most that"
        )
    return None


def _check_warmup(values: Mapping[str, Any]) -> str | None:
    warmup, total = values["warmup_steps"], values.get("total_steps") or values["max_steps"]
    decay = (values.get("decay_steps") or 1) if values["schedule"] == "wsd" else 1
    reaches_zero = values["max_steps"] > 0 and values["schedule"] in REACHES_ZERO
    if reaches_zero and warmup + decay > total:
        taken = f"warmup_steps = {warmup}" + (f" with decay_steps = {decay}" if decay > 1 else "")
        return (
            f"{taken} leaves nothing of the {total} steps of the {values['schedule']} schedule: "
            "choose fewer, or raise total_steps"
        )
    return None


def _check_schedule_length(values: Mapping[str, Any]) -> str | None:
    steps, total = values["max_steps"], values.get("total_steps") or values["max_steps"]
    if values["schedule"] in REACHES_ZERO and steps > total:
        longer = "raise total_steps too" if values["schedule"] == "wsd" else "begin a new run"
        return (
            f"max_steps = {steps} is beyond total_steps = {total}, where the {values['schedule']} "
            "schedule reaches zero: steps after that would change nothing. Lower max_steps, "
            f"{longer}, or begin a run that starts from this one (--from)"
        )
    return None


def _check_muon_sharding(values: Mapping[str, Any]) -> str | None:
    if values["optimizer"] == "muon" and values["sharding"] == "full":
        return (
            "optimizer = 'muon' needs whole matrices, of which sharding = 'full' gives every "
            "process a part: choose sharding = 'none', or optimizer = 'adamw'"
        )
    return None


class TrainingConfig(Config):
    """How a network is trained; the defaults are the paper's section 5 where it gives any."""

    max_steps: int = Field(
        default=100_000,
        ge=0,
        description="number of optimiser steps; 0: the first weights are saved as they are",
    )
    max_minutes: NotNegative = Field(
        default=0.0, description="minutes of training, earlier sessions included; 0: no limit"
    )
    seed: int = Field(
        default=1,
        ge=0,
        lt=1 << 63,
        description="seed of the first weights, the order of the data, dropout and sampling",
    )

    optimizer: OptimizerKind = Field(
        default="adam",
        description="the optimiser (section 5.3); muon uses AdamW for all but the layers' matrices",
    )
    beta1: Share = Field(
        default=0.9, description="Adam: decay of the mean of gradients (section 5.3)"
    )
    beta2: Share = Field(
        default=0.98, description="Adam: decay of the mean of squares (section 5.3)"
    )
    epsilon: Positive = Field(default=1e-9, description="Adam: added to the root (section 5.3)")
    momentum: Share = Field(
        default_factory=lambda data: 0.95 if data["optimizer"] == "muon" else 0.9,
        description="SGD and Muon: decay of the sum of gradients; for Muon 0.95 unless given",
    )
    weight_decay: NotNegative = Field(
        default=0.0,
        description="weight decay of matrices, not of biases and gains; the paper has none",
    )
    clip_norm: NotNegative = Field(
        default=1.0,
        description="largest norm of the gradient; 0: no clipping; the paper does not say",
    )
    schedule: ScheduleKind = Field(
        default="paper", description="learning-rate schedule (section 5.3)"
    )
    learning_rate: Positive = Field(
        default_factory=lambda data: 1.0 if data["schedule"] == "paper" else 5e-4,
        description="peak learning rate; with the paper's schedule, a factor on its formula",
    )
    warmup_steps: int = Field(
        default=4000, ge=0, description="steps of linear warm-up (section 5.3)"
    )
    total_steps: Count = Field(
        default_factory=lambda data: max(1, data["max_steps"]),
        description="where the cosine, linear and wsd schedules reach zero; max_steps unless given",
    )
    decay_steps: Count = Field(
        default_factory=lambda data: max(1, data.get("total_steps", 1) // 5),
        description="wsd: steps of the decay at the end; a fifth of total_steps unless given",
    )
    label_smoothing: Share = Field(default=0.1, description="ε of label smoothing (section 5.4)")
    loss: str = Field(
        default="cross-entropy",
        description="the loss by name: cross-entropy, or one given to translucid.training."
        "register_loss",
    )
    rdrop_alpha: NotNegative = Field(
        default=0.0,
        description="R-Drop: weight of the divergence between two passes with different dropout "
        "(5 is usual), at twice the work; 0: one pass, as in the paper",
    )
    rdrop_start: Count = Field(
        default=1,
        description="R-Drop: the first step with two passes; earlier steps take half the time",
    )
    ema_decay: Share = Field(
        default=0.0,
        description="decay of the moving average of weights, which is validated and saved; 0: none",
    )

    batch_tokens: Count = Field(
        default=25_000,
        description="tokens per side, padding included, of one optimiser step (section 5.1)",
    )
    micro_batch_tokens: Count = Field(
        default_factory=lambda data: min(data["batch_tokens"], 4096),
        description="tokens per side, padding included, that a GPU, or a thread of a CPU, computes "
        "at once; twice as many with R-Drop",
    )
    parallel_micro_batches: int = Field(
        default=0,
        ge=0,
        description="on a CPU: micro-batches computed in parallel, one per thread; 0: as many as "
        "have 4,096 tokens together",
    )
    subword_sampling: NotNegative = Field(
        default=0.0,
        description="strength of subword sampling (0.1 is usual); 0: none, as in the paper",
    )
    source_noise: Share = Field(
        default=0.0,
        description="share of source sentences with the noise of everyday typing; 0: none",
    )
    casing_noise: Share = Field(
        default=0.0,
        description="share of pairs in capitals, or with every word capitalised; 0: none",
    )
    accent_noise: Share = Field(
        default=0.0, description="share of source sentences without accents; 0: none"
    )

    report_every: Count = Field(default=1, description="steps between two lines of metrics")
    validate_every: Count = Field(default=1000, description="steps between two validations")
    validation_sample: Count = Field(
        default=500, description="dev sentences translated at a validation"
    )
    metric: Metric = Field(
        default="loss", description="the dev score by which the best network is chosen"
    )
    patience: int = Field(
        default=0, ge=0, description="validations without a new best before training ends; 0: never"
    )
    early_step: int = Field(
        default=0,
        ge=0,
        description="a step with a validation and a checkpoint, before the regular ones; 0: none",
    )
    checkpoint_every: Count = Field(default=1000, description="steps between two checkpoints")
    keep_checkpoints: Count = Field(default=5, description="newest checkpoints that are kept")
    explosion_factor: Positive = Field(
        default=3.0,
        description="training fails at a loss of this many times that of guessing, ln(vocabulary)",
    )

    device: Literal["auto", "cpu", "cuda", "mps"] = Field(
        default="auto", description="where to compute"
    )
    precision: Literal["auto", "fp32", "bf16"] = Field(
        default="auto", description="precision of the matrix products; weights are always fp32"
    )
    compile: bool = Field(default=False, description="compile the network with torch.compile")
    sharding: Literal["none", "full"] = Field(
        default="none",
        description="whether processes shard weights and optimiser (FSDP) or replicate them (DDP)",
    )

    renamed: ClassVar[Mapping[str, str]] = {
        "agreement": "rdrop_alpha",
        "agreement_from": "rdrop_start",
        "side_by_side": "parallel_micro_batches",
        "typed_source": "source_noise",
    }
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("loss",), lambda values: LOSSES.find_fault(values["loss"])),
        Rule(("micro_batch_tokens", "batch_tokens"), _check_micro_batch),
        Rule(("warmup_steps", "schedule", "max_steps"), _check_warmup),
        Rule(("max_steps", "schedule"), _check_schedule_length),
        Rule(("optimizer", "sharding"), _check_muon_sharding),
    )

    @property
    def micro_batches(self) -> int:
        """The number of micro-batches of an optimiser step, over all processes."""
        return max(1, round(self.batch_tokens / self.micro_batch_tokens))

    @property
    def decay_start(self) -> int:
        """The last step of the wsd schedule at its highest rate."""
        return self.total_steps - self.decay_steps

    def passes(self, before: int, last: int) -> int:
        """Return the number of forward passes per sentence in steps `before` + 1 to `last`."""
        twice = max(0, last - max(before, self.rdrop_start - 1)) if self.rdrop_alpha else 0
        return last - before + twice


# What may change when a run is resumed: its length, what is reported and kept, and the machine.
# Everything else decides the weights, the order of the data or which network is the best.
CHANGEABLE = frozenset(
    {
        *("max_steps", "max_minutes", "report_every", "validate_every", "validation_sample"),
        *("patience", "checkpoint_every", "early_step", "keep_checkpoints", "explosion_factor"),
        *("device", "precision", "compile", "sharding", "parallel_micro_batches"),
    }
)
