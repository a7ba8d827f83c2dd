"""The learning rate as a pure function of the step, the first step being 1 (section 5.3).

::

    paper, inverse-sqrt    cosine            linear           wsd                constant
        /\\                    /‾\\               /\\               /‾‾‾‾‾\\           /‾‾‾‾‾‾‾
       /  `-._               /   \\             /  \\             /       \\         /
      /       `--..         /     `.          /    \\           /         \\       /
     0  warmup             0      total      0    total       0        total    0

All of them grow linearly during warm-up. `inverse_sqrt` is the paper's curve with its highest point
given instead of derived from d_model. With `wsd` (warm-up, stable, decay), the run's length is
fixed only when the decay begins: until then, a resumed run may be given more or fewer steps.
"""

from __future__ import annotations

import math

from translucid.training.config import TrainingConfig


def paper(step: int, d_model: int, warmup: int) -> float:
    """Return d_model^-0.5 · min(step^-0.5, step · warmup^-1.5): equation 3."""
    growing = step * math.pow(warmup, -1.5) if warmup else math.inf
    return math.pow(d_model, -0.5) * min(math.pow(step, -0.5), growing)


def inverse_sqrt(step: int, peak: float, warmup: int) -> float:
    """Grow to `peak`, then fall with the inverse square root of the step."""
    return peak * min(_warmup_factor(step, warmup), math.sqrt(max(1, warmup) / step))


def cosine(step: int, peak: float, warmup: int, total: int) -> float:
    """Grow to `peak`, then fall to zero at `total` along half a cosine."""
    if step < warmup:
        return peak * _warmup_factor(step, warmup)
    return peak * (1 + math.cos(math.pi * _share_of_descent(step, warmup, total))) / 2


def linear(step: int, peak: float, warmup: int, total: int) -> float:
    """Grow to `peak`, then fall to zero at `total` along a straight line."""
    return peak * min(_warmup_factor(step, warmup), 1 - _share_of_descent(step, warmup, total))


def wsd(step: int, peak: float, warmup: int, decay: int, total: int) -> float:
    """Grow to `peak`, stay there, then fall to zero at `total` along a straight line."""
    return peak * min(_warmup_factor(step, warmup), max(0.0, (total - step) / decay), 1.0)


def constant(step: int, peak: float, warmup: int) -> float:
    """Grow to `peak`, then stay there."""
    return peak * _warmup_factor(step, warmup)


def learning_rate(step: int, settings: TrainingConfig, d_model: int) -> float:
    """Return the learning rate of a step, counted from 1."""
    peak, warmup, total = settings.learning_rate, settings.warmup_steps, settings.total_steps
    match settings.schedule:
        case "paper":
            return peak * paper(step, d_model, warmup)
        case "inverse-sqrt":
            return inverse_sqrt(step, peak, warmup)
        case "cosine":
            return cosine(step, peak, warmup, total)
        case "linear":
            return linear(step, peak, warmup, total)
        case "wsd":
            return wsd(step, peak, warmup, settings.decay_steps, total)
        case "constant":
            return constant(step, peak, warmup)


def _warmup_factor(step: int, warmup: int) -> float:
    return min(1.0, step / warmup) if warmup else 1.0


def _share_of_descent(step: int, warmup: int, total: int) -> float:
    return min(1.0, max(0.0, (step - warmup) / (total - warmup)))
