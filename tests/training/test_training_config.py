"""The settings of training: the paper's defaults, and faults that are told together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.errors import ConfigError
from translucid.training.config import CHANGEABLE, TrainingConfig


def test_the_defaults_are_the_papers() -> None:
    settings = TrainingConfig()
    assert (settings.optimizer, settings.beta1, settings.beta2) == ("adam", 0.9, 0.98)
    assert (settings.epsilon, settings.warmup_steps, settings.label_smoothing) == (1e-9, 4000, 0.1)
    assert (settings.schedule, settings.learning_rate) == ("paper", 1.0)
    assert (settings.batch_tokens, settings.max_steps) == (25_000, 100_000)
    assert (settings.weight_decay, settings.ema_decay, settings.subword_sampling) == (0, 0, 0)


def test_settings_that_depend_on_others_are_filled_in() -> None:
    settings = TrainingConfig(schedule="cosine", max_steps=7000, batch_tokens=1000)
    assert (settings.learning_rate, settings.total_steps) == (5e-4, 7000)
    assert settings.micro_batch_tokens == 1000
    shorter = settings.replace(max_steps=6000)
    assert (shorter.max_steps, shorter.total_steps) == (6000, 7000)
    assert TrainingConfig(**settings.model_dump()) == settings


@pytest.mark.parametrize(
    ("batch", "micro", "expected"), [(25_000, 4096, 6), (4096, 4096, 1), (8192, 4096, 2)]
)
def test_a_step_has_as_many_micro_batches_as_come_nearest(
    batch: int, micro: int, expected: int
) -> None:
    assert TrainingConfig(batch_tokens=batch, micro_batch_tokens=micro).micro_batches == expected


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        TrainingConfig(
            warmup=3,
            optimizer="adan",
            beta2=1.0,
            batch_tokens=100,
            micro_batch_tokens=200,
            schedule="linear",
            max_steps=50,
            warmup_steps=50,
        )
    message = str(caught.value)
    assert "unknown key 'warmup' (value 3); did you mean 'warmup_steps'?" in message
    assert "optimizer = 'adan': must be one of 'adam', 'adamw', 'muon' or 'sgd'" in message
    assert "beta2 = 1.0: should be less than 1" in message
    assert "micro_batch_tokens = 200 is more than batch_tokens = 100, which one" in message
    assert "warmup_steps = 50 leaves nothing of the 50 steps of the linear schedule" in message


def test_what_may_change_on_resume_are_settings() -> None:
    assert set(TrainingConfig.model_fields) > CHANGEABLE
    assert not CHANGEABLE & {"seed", "batch_tokens", "micro_batch_tokens", "learning_rate"}


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_steps_at_a_rate_of_zero_are_refused(schedule: str) -> None:
    settings = TrainingConfig(schedule=schedule, max_steps=7000)
    with pytest.raises(ConfigError, match="max_steps = 9000 is beyond total_steps = 7000"):
        settings.replace(max_steps=9000)
    endless = TrainingConfig(schedule="inverse-sqrt", max_steps=7000).replace(max_steps=9000)
    assert (endless.max_steps, endless.total_steps) == (9000, 7000)


@given(
    first=st.integers(1, 30), before=st.integers(0, 20), steps=st.integers(1, 20), on=st.booleans()
)
def test_passes_are_those_of_the_single_steps(
    first: int, before: int, steps: int, on: bool
) -> None:
    settings = TrainingConfig(rdrop_alpha=1.0 if on else 0.0, rdrop_start=first)
    each = [2 if on and step >= first else 1 for step in range(before + 1, before + steps + 1)]
    assert settings.passes(before, before + steps) == sum(each)
