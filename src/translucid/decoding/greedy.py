"""Greedy search: at every step the most probable token.

Shapes: R rows under way, V vocabulary.
"""

from __future__ import annotations

from torch import Tensor

from translucid.decoding.candidates import first_highest
from translucid.decoding.job import Job
from translucid.decoding.rows import Seen, follow, record
from translucid.decoding.settings import SearchConfig
from translucid.decoding.stepper import Hypothesis, Stepper
from translucid.decoding.tree import Recorder


def greedy(
    stepper: Stepper, job: Job, settings: SearchConfig, recorder: Recorder | None
) -> list[Hypothesis]:
    """Return the translation of every source, of which the stepper has one row each.

    Its score is that of a beam of one; a coverage penalty has no part in it, for nothing is ranked.
    """
    seen: Seen | None = None if recorder is None else {}
    found = follow(stepper, job, settings, copies=1, choose=most_probable, seen=seen)
    if recorder is not None and seen is not None:
        for source, node in enumerate(record(recorder, job, settings, found, seen)):
            recorder.stop(source, (node,), found[source].ending)
    return found


def most_probable(log_probs_RV: Tensor, numbers_R: Tensor, step: int) -> Tensor:
    """Choose the most probable token of every row; of equals, the lowest id."""
    del numbers_R, step
    return first_highest(log_probs_RV)
