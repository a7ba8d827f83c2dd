"""How to search: one configuration for every method, and the rules between its settings.

Python, the command line and HTTP all change a search through :meth:`SearchConfig.override`, so a
setting that the method does not use is refused in the same way everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from translucid.config import Config, Count, Rule
from translucid.errors import ConfigError, nearest

Method = Literal["greedy", "beam", "diverse", "sampling", "mbr"]
NonNegative = Annotated[int, Field(ge=0)]

METHODS: tuple[Method, ...] = get_args(Method)
MBR_SAMPLES = 32  # unless given: with fewer, choosing among samples means little
_BEAMS = ("beam", "diverse")
_SAMPLERS = ("sampling", "mbr")
_PENALIZED = (*_BEAMS, "greedy", "sampling")  # whose score is log P over the length penalty

# Settings that only some methods use.
USED_BY: Mapping[str, tuple[str, ...]] = {
    "beam": _BEAMS,
    "length_penalty": _PENALIZED,
    "length_form": _PENALIZED,
    "coverage_penalty": _BEAMS,
    "groups": ("diverse",),
    "diversity": ("diverse",),
    "samples": _SAMPLERS,
    "temperature": _SAMPLERS,
    "top_k": _SAMPLERS,
    "top_p": _SAMPLERS,
    "min_p": _SAMPLERS,
    "seed": _SAMPLERS,
}


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
    """Settings of a search (section 6.1 of the paper, and later methods)."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("method", "n_best", "beam", "samples"), _n_best_fault),
        Rule(("method", "groups", "beam"), _groups_fault),
        Rule(("min_length", "max_length"), _length_fault),
    )

    method: Method = Field(default="beam", description="kind of search")
    beam: Count = Field(default=4, description="number of hypotheses followed in parallel")
    n_best: Count = Field(default=1, description="number of translations returned per source")
    length_penalty: Annotated[float, Field(ge=0, le=10)] = Field(
        default=0.6, description="exponent α of the length; above 0 favours longer translations"
    )
    length_form: Literal["paper", "plain"] = Field(
        default="paper", description="what is raised to α: ((5 + n) / 6), or plainly n tokens"
    )
    coverage_penalty: Annotated[float, Field(ge=0, le=10)] = Field(
        default=0.0, description="weight β of the penalty for source tokens hardly attended to"
    )
    min_length: NonNegative = Field(
        default=0, description="fewest tokens, the end symbol not counted"
    )
    max_length: Count | None = Field(
        default=None, description="most tokens, the end symbol not counted; else extra_length"
    )
    extra_length: NonNegative = Field(
        default=50, description="most tokens beyond the source's length"
    )
    temperature: Annotated[float, Field(ge=0, le=100)] = Field(
        default=1.0, description="sampling: divides the logits; below 1 is safer, 0 is greedy"
    )
    top_k: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        default=0, description="sampling: only the k most probable tokens; 0: all"
    )
    top_p: Annotated[float, Field(gt=0, le=1)] = Field(
        default=1.0, description="sampling: only the most probable tokens that together reach p"
    )
    min_p: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="sampling: only tokens with this share of the best's probability"
    )
    samples: Count = Field(default=1, description="sampling and mbr: samples per source")
    seed: NonNegative = Field(default=0, description="sampling and mbr: seed of the random numbers")
    groups: Count = Field(default=1, description="diverse: number of groups of the beam")
    diversity: Annotated[float, Field(ge=0, le=1_000)] = Field(
        default=0.5, description="diverse: penalty for a token that another group has just taken"
    )
    no_repeat_ngram: NonNegative = Field(
        default=0, description="write no n-gram of this length twice; 0: no limit"
    )
    loop_guard: bool = Field(default=True, description="end a translation that repeats itself")

    def override(self, given: Mapping[str, Any]) -> SearchConfig:
        """Return a copy with the settings that a user gave.

        Settings that the method does not use are refused. Settings that follow from the method are
        filled in unless given: as many samples as `n_best` (at least 32 with ``mbr``), one group
        per hypothesis of a diverse beam.
        """
        method = given.get("method", self.method)
        if method not in METHODS:
            raise ConfigError("the search", [f"method = {method!r}: {nearest(method, METHODS)}"])
        faults = [
            f"{name} is not used by the method {method!r}: leave it out, or choose the method "
            + " or ".join(map(repr, USED_BY[name]))
            for name in given
            if method not in USED_BY.get(name, METHODS)
        ]
        if given.keys() >= {"max_length", "extra_length"}:
            faults.append("max_length and extra_length both set the same limit: give one of them")
        if faults:
            raise ConfigError("the search", faults)
        n_best = given.get("n_best", self.n_best)
        completed: dict[str, Any] = {}
        if method in _SAMPLERS and isinstance(n_best, int):
            completed["samples"] = max(MBR_SAMPLES if method == "mbr" else 1, n_best)
        elif method == "diverse":
            completed["groups"] = given.get("beam", self.beam)
        try:
            return self.replace(**{**completed, **given})
        except ConfigError as error:
            raise ConfigError("the search", error.faults) from error
