"""How to search: one settings object for every kind of search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from translucid.config import Config, Count, Rule

Method = Literal["greedy", "beam", "diverse", "sampling", "mbr"]
NonNegative = Annotated[float, Field(ge=0)]
Whole = Annotated[int, Field(ge=0)]


def _n_best_fault(values: Mapping[str, Any]) -> str | None:
    most = {
        "greedy": 1,
        "beam": values["beam"],
        "diverse": values["beam"],
        "sampling": values["samples"],
        "mbr": values["samples"],
    }[values["method"]]
    if values["n_best"] <= most:
        return None
    return (
        f"n_best = {values['n_best']}, but the method {values['method']!r} finds at most {most}: "
        "ask for fewer, or search wider (beam, samples)"
    )


def _groups_fault(values: Mapping[str, Any]) -> str | None:
    if values["method"] != "diverse" or values["beam"] % values["groups"] == 0:
        return None
    return f"groups = {values['groups']} must divide beam = {values['beam']}"


def _length_fault(values: Mapping[str, Any]) -> str | None:
    if values["max_length"] is None or values["min_length"] <= values["max_length"]:
        return None
    return f"min_length = {values['min_length']} is above max_length = {values['max_length']}"


class SearchConfig(Config):
    """How a translation is searched for (section 6.1 of the paper, and what has come since)."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("method", "n_best", "beam", "samples"), _n_best_fault),
        Rule(("method", "groups", "beam"), _groups_fault),
        Rule(("min_length", "max_length"), _length_fault),
    )

    method: Method = Field(default="beam", description="kind of search")
    beam: Count = Field(default=4, description="hypotheses followed side by side")
    n_best: Count = Field(default=1, description="translations returned for each source")
    length_penalty: Annotated[float, Field(ge=0, le=10)] = Field(
        default=0.6, description="α; 0: none"
    )
    length_form: Literal["paper", "plain"] = Field(
        default="paper", description="paper: ((5 + n) / 6)^α; plain: n^α; n counts the end symbol"
    )
    coverage_penalty: NonNegative = Field(
        default=0.0, description="β: price of source tokens that were hardly attended to"
    )
    min_length: Whole = Field(default=0, description="fewest tokens, the end symbol not counted")
    max_length: Count | None = Field(
        default=None, description="most tokens, the end symbol not counted; none: see extra_length"
    )
    extra_length: Whole = Field(default=50, description="most tokens beyond the source's length")
    temperature: NonNegative = Field(
        default=1.0, description="sampling: logits are divided by it; 0: greedy"
    )
    top_k: Whole = Field(default=0, description="sampling: only the k most probable; 0: all")
    top_p: Annotated[float, Field(gt=0, le=1)] = Field(
        default=1.0, description="sampling: only the most probable that together reach p"
    )
    min_p: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="sampling: only those of at least this share of the best's"
    )
    samples: Count = Field(default=1, description="sampling and mbr: samples for each source")
    seed: Whole = Field(default=0, description="sampling and mbr: seed of the random numbers")
    groups: Count = Field(default=1, description="diverse: groups that the beam is divided into")
    diversity: NonNegative = Field(
        default=0.5, description="diverse: price of a token another group has just taken"
    )
    no_repeat_ngram: Whole = Field(
        default=0, description="no n-gram of this length is written twice; 0: any may be"
    )
    loop_guard: bool = Field(default=True, description="end a translation that goes in circles")
