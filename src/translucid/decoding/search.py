"""The entry point: search with the method that the settings name."""

from __future__ import annotations

from collections.abc import Callable

from translucid.decoding.beam import beam_search
from translucid.decoding.config import SearchConfig
from translucid.decoding.greedy import greedy_search
from translucid.decoding.hypothesis import Hypothesis
from translucid.decoding.mbr import mbr_search
from translucid.decoding.request import SearchRequest
from translucid.decoding.sampling import sampling_search
from translucid.decoding.stepper import Stepper
from translucid.decoding.terminology import terminology_search
from translucid.decoding.tree import Recorder


def search(
    start: Callable[[int], Stepper],
    request: SearchRequest,
    settings: SearchConfig,
    recorder: Recorder | None,
) -> list[list[Hypothesis]]:
    """Return the `n_best` hypotheses of every source, best first.

    `start(copies)` makes a stepper with this many rows per source, side by side. A recorder builds
    the search tree of each source. A source has at least one hypothesis; it has fewer than
    `n_best` if no more exist.
    """
    match settings.method:
        case "greedy":
            return [
                [hypothesis] for hypothesis in greedy_search(start(1), request, settings, recorder)
            ]
        case "beam" if any(request.terms):
            return terminology_search(start, request, settings, recorder)
        case "beam" | "diverse":
            return beam_search(start, request, settings, recorder)
        case "sampling":
            return sampling_search(start, request, settings, recorder)
        case "mbr":
            return mbr_search(start, request, settings, recorder)
