"""Learning rates against their closed forms."""

from __future__ import annotations

import math
from typing import Any

import pytest

from translucid.errors import ConfigError
from translucid.training.config import TrainingConfig
from translucid.training.schedule import learning_rate

PEAK, WARMUP, TOTAL = 0.003, 100, 1100


def rate(step: int, schedule: str, **changes: Any) -> float:
    options: dict[str, Any] = {
        "schedule": schedule,
        "learning_rate": PEAK,
        "warmup_steps": WARMUP,
        "max_steps": TOTAL,
        "total_steps": TOTAL,
    }
    return learning_rate(step, TrainingConfig(**{**options, **changes}), d_model=512)


def test_the_papers_schedule_has_the_figures_of_the_paper() -> None:
    """Base model: the highest rate is (512 · 4000)^-0.5 = 6.99e-4, at step 4000."""
    settings = TrainingConfig()
    rates = {step: learning_rate(step, settings, 512) for step in (1, 2000, 4000, 16_000, 100_000)}
    assert rates[4000] == pytest.approx((512 * 4000) ** -0.5, rel=1e-12)
    assert rates[1] == pytest.approx(rates[4000] / 4000, rel=1e-12)
    assert rates[2000] == pytest.approx(rates[4000] / 2, rel=1e-12)
    assert rates[16_000] == pytest.approx(rates[4000] / 2, rel=1e-12)
    assert rates[100_000] == pytest.approx(1 / math.sqrt(512 * 100_000), rel=1e-12)
    doubled = learning_rate(4000, settings.replace(learning_rate=2.0), 512)
    assert doubled == pytest.approx(2 * rates[4000], rel=1e-12)


@pytest.mark.parametrize("step", [1, 37, 100, 101, 600, 1099, 1100, 5000])
def test_every_schedule_has_its_closed_form(step: int) -> None:
    warm = min(1.0, step / WARMUP)
    share = min(1.0, max(0.0, (step - WARMUP) / (TOTAL - WARMUP)))
    expected = {
        "inverse-sqrt": PEAK * (warm if step < WARMUP else (WARMUP / step) ** 0.5),
        "cosine": PEAK * warm * math.cos(math.pi * share / 2) ** 2,  # (1 + cos 2x) / 2 = cos² x
        "linear": PEAK * warm * (1 - share),
        "constant": PEAK * warm,
    }
    found = {name: rate(step, name) for name in expected}
    assert found == {name: pytest.approx(value, abs=1e-15) for name, value in expected.items()}


def test_the_inverse_square_root_is_the_papers_curve_with_its_peak_given() -> None:
    for step in (1, 99, 100, 101, 4000):
        peak = (512 * WARMUP) ** -0.5
        paper = rate(step, "paper", learning_rate=1.0)
        assert rate(step, "inverse-sqrt", learning_rate=peak) == pytest.approx(paper, rel=1e-12)


@pytest.mark.parametrize("schedule", ["paper", "inverse-sqrt", "cosine", "linear", "constant"])
def test_without_warmup_the_first_rate_is_the_highest(schedule: str) -> None:
    first, *others = (rate(step, schedule, warmup_steps=0) for step in (1, 2, 10, 500))
    assert first >= max(others) > 0
    assert first == pytest.approx(512**-0.5 * PEAK if schedule == "paper" else PEAK, rel=2e-3)


@pytest.mark.parametrize("step", [1, 37, 100, 101, 600, 900, 901, 1000, 1099, 1100, 5000])
def test_wsd_grows_stays_and_falls_to_zero(step: int) -> None:
    if step <= WARMUP:
        expected = PEAK * step / WARMUP
    else:
        expected = PEAK if step <= 900 else PEAK * max(0, TOTAL - step) / 200
    assert rate(step, "wsd", decay_steps=200) == pytest.approx(expected, rel=1e-12)
    assert rate(step, "wsd") == rate(step, "wsd", decay_steps=TOTAL // 5)


def test_wsd_needs_room_for_warm_up_and_decay() -> None:
    with pytest.raises(ConfigError, match="with decay_steps = 1001 leaves nothing of the 1100"):
        rate(1, "wsd", decay_steps=1001)
