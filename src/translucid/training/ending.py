"""When a run ends, and what it says then."""

from __future__ import annotations

from translucid.events import Cause
from translucid.training.settings import TrainingConfig
from translucid.training.state import TrainingState


def cause_to_end(
    state: TrainingState, settings: TrainingConfig, *, interrupted: bool
) -> Cause | None:
    """Return why training ends at this point, or None where it goes on."""
    if state.step >= settings.max_steps:
        return "steps"
    if interrupted:
        return "interrupted"
    if settings.max_minutes and state.seconds >= 60 * settings.max_minutes:
        return "minutes"
    if settings.patience and state.best and state.best.since >= settings.patience:
        return "patience"
    return None


def in_words(cause: Cause, state: TrainingState, settings: TrainingConfig) -> str:
    """Return the cause as a clause for people."""
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
