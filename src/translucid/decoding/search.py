"""One door to every kind of search."""

from __future__ import annotations

from collections.abc import Callable

from translucid.decoding.beam import beam_search
from translucid.decoding.greedy import greedy
from translucid.decoding.job import Job
from translucid.decoding.mbr import minimum_bayes_risk
from translucid.decoding.sampling import sampling
from translucid.decoding.settings import SearchConfig
from translucid.decoding.stepper import Hypothesis, Stepper
from translucid.decoding.terminology import terminology_search
from translucid.decoding.tree import Recorder


def search(
    start: Callable[[int], Stepper], job: Job, settings: SearchConfig, recorder: Recorder | None
) -> list[list[Hypothesis]]:
    """Return the `n_best` hypotheses of every source, best first.

    `start(copies)` makes a stepper with that many rows a source, side by side. A recorder takes
    down the tree of each source. Where a source has fewer translations than asked for, it gets
    those there are, and always one.
    """
    match settings.method:
        case "greedy":
            return [[hypothesis] for hypothesis in greedy(start(1), job, settings, recorder)]
        case "beam" if any(job.terms):
            return terminology_search(start, job, settings, recorder)
        case "beam" | "diverse":
            return beam_search(start, job, settings, recorder)
        case "sampling":
            return sampling(start, job, settings, recorder)
        case "mbr":
            return minimum_bayes_risk(start, job, settings, recorder)
