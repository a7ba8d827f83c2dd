"""How to search: defaults are the paper's, and what does not fit together is refused."""

from __future__ import annotations

from typing import Any

import pytest

from translucid.decoding.config import SearchConfig
from translucid.errors import ConfigError


def test_the_defaults_are_the_papers() -> None:
    """Section 6.1: beam 4, α = 0.6, at most the source's length + 50."""
    settings = SearchConfig()
    assert (settings.method, settings.beam, settings.length_penalty) == ("beam", 4, 0.6)
    assert (settings.length_form, settings.extra_length, settings.max_length) == ("paper", 50, None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"beam": 4, "n_best": 5}, "n_best = 5, but the method 'beam' finds at most 4"),
        ({"method": "greedy", "n_best": 2}, "'greedy' finds at most 1"),
        ({"method": "sampling", "samples": 2, "n_best": 3}, "'sampling' finds at most 2"),
        ({"method": "mbr", "n_best": 2}, "'mbr' finds at most 1"),
        ({"method": "diverse", "groups": 3}, "groups = 3 must divide beam = 4"),
        ({"min_length": 9, "max_length": 5}, "min_length = 9 is above max_length = 5"),
        ({"method": "best"}, "method = 'best': must be one of"),
        ({"beam": 0}, "beam = 0"),
        ({"length_penalty": -0.1}, "length_penalty = -0.1"),
        ({"top_p": 0.0}, "top_p = 0.0"),
        ({"min_p": 1.5}, "min_p = 1.5"),
        ({"beem": 3}, "unknown key 'beem'.*did you mean 'beam'"),
    ],
)
def test_what_does_not_fit_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SearchConfig(**values)


@pytest.mark.parametrize(
    "values",
    [
        {"method": "diverse", "beam": 6, "groups": 3, "n_best": 6},
        {"method": "sampling", "samples": 5, "n_best": 5, "beam": 1},
        {"beam": 7, "groups": 3},  # groups count only where the beam is diverse
        {"min_length": 5, "max_length": 5},
    ],
)
def test_what_fits_is_taken(values: dict[str, Any]) -> None:
    settings = SearchConfig(**values)
    assert SearchConfig(**settings.model_dump()) == settings
