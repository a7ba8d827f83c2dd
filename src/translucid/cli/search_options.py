"""From the options of the command line to one search, with no option ignored in silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from translucid.errors import ConfigError, InputError, nearest

if TYPE_CHECKING:
    from translucid.decoding.settings import SearchConfig

Choice = TypeVar("Choice", bound=str)

METHODS = ("beam", "greedy", "sampling", "diverse", "mbr")
_BEAMS = ("beam", "diverse")
_SAMPLERS = ("sampling", "mbr")
_RANKED = (*_BEAMS, "sampling")  # whose results are put in order by log P over the length penalty

# Options that mean something to some methods only.
MEANT_FOR: Mapping[str, tuple[str, ...]] = {
    "beam": _BEAMS,
    "length_penalty": _RANKED,
    "length_form": _RANKED,
    "coverage_penalty": _BEAMS,
    "groups": ("diverse",),
    "diversity": ("diverse",),
    "samples": _SAMPLERS,
    "temperature": _SAMPLERS,
    "top_k": _SAMPLERS,
    "top_p": _SAMPLERS,
    "min_p": _SAMPLERS,
    "seed": _SAMPLERS,
    "terms": ("beam",),
}
# What a method needs to be what its name says, where the settings' own default would not do.
MBR_SAMPLES = 32


def one_of(name: str, value: str, allowed: Sequence[Choice]) -> Choice:
    """Return the value of an option that takes one of a few words."""
    for choice in allowed:
        if choice == value:
            return choice
    raise InputError(f"{name} {value}: must be {' or '.join(allowed)}")


def chosen_method(default: str, method: str | None, *, sample: bool) -> str:
    """Return the method of search: the one asked for, --sample being short for sampling."""
    if method is not None and method not in METHODS:
        raise InputError(f"--method {method}: {nearest(method, METHODS)}")
    if sample and method not in (None, "sampling"):
        raise InputError(
            f"--sample asks for the method sampling, --method {method} for another: leave one out"
        )
    return "sampling" if sample else method or default


def search_of(
    default: SearchConfig, given: Mapping[str, Any], *, sample: bool, terms: bool
) -> SearchConfig:
    """Return the model's own search with what was given put in its place; None: not given."""
    changes = {name: value for name, value in given.items() if value is not None}
    method = chosen_method(default.method, changes.pop("method", None), sample=sample)
    asked = {**changes, **({"terms": True} if terms else {})}
    faults = [
        f"{option(name)} means nothing to the method {method}: leave it out, or choose "
        + " or ".join(f"--method {other}" for other in MEANT_FOR[name])
        for name in asked
        if method not in MEANT_FOR.get(name, METHODS)
    ]
    if changes.keys() >= {"max_length", "extra_length"}:
        faults.append("--max-length and --extra-length are two ways to set one limit: give one")
    if faults:
        raise ConfigError("the search asked for", faults)
    completed = {**_needed_by(method, {**default.model_dump(), **changes}, changes), **changes}
    try:
        return default.replace(method=method, **completed)
    except ConfigError as error:
        raise ConfigError("the search asked for", error.faults) from error


def option(name: str) -> str:
    """Return how the command line spells a setting."""
    return f"--{name.replace('_', '-')}"


def _needed_by(
    method: str, settings: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what follows from the method where nothing was said of it."""
    if method == "sampling":
        return {"samples": max(1, given.get("n_best", 1))}
    if method == "mbr":
        return {"samples": max(MBR_SAMPLES, given.get("n_best", 1))}
    if method == "diverse":
        return {"groups": settings["beam"]}
    return {}
