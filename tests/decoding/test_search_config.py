"""The settings of a search: the paper's defaults, and rules between settings; none is ignored."""

from __future__ import annotations

from typing import Any

import pytest

from translucid.decoding.config import MBR_SAMPLES, METHODS, USED_BY, SearchConfig
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


DEFAULT = SearchConfig(beam=4, length_penalty=0.7)
VALUES: dict[str, Any] = {
    "beam": 6,
    "length_penalty": 0.5,
    "length_form": "plain",
    "coverage_penalty": 0.2,
    "groups": 2,
    "diversity": 0.3,
    "samples": 8,
    "temperature": 0.8,
    "top_k": 5,
    "top_p": 0.9,
    "min_p": 0.1,
    "seed": 3,
}


def test_nothing_given_is_the_models_own_search() -> None:
    assert DEFAULT.override({}) == DEFAULT


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", VALUES)
def test_a_setting_is_used_or_refused(method: str, name: str) -> None:
    given = {"method": method, name: VALUES[name]}
    if method in USED_BY[name]:
        assert getattr(DEFAULT.override(given), name) == VALUES[name]
        return
    with pytest.raises(ConfigError) as caught:
        DEFAULT.override(given)
    assert f"{name} is not used by the method '{method}'" in str(caught.value)
    assert f"choose the method '{USED_BY[name][0]}'" in str(caught.value)


def test_every_setting_that_only_some_methods_use_is_tried_above() -> None:
    assert set(VALUES) == set(USED_BY)
    general = {"method", "n_best", "min_length", "max_length", "extra_length"}
    general |= {"no_repeat_ngram", "loop_guard"}
    assert set(SearchConfig.model_fields) == general | set(VALUES)


def test_several_contradictions_are_reported_together() -> None:
    with pytest.raises(ConfigError) as caught:
        DEFAULT.override({"top_k": 5, "seed": 1, "max_length": 9, "extra_length": 9})
    assert "has 3 faults" in str(caught.value)
    for fault in ("top_k is not used", "seed is not used", "both set the same limit"):
        assert fault in str(caught.value)


def test_a_method_is_complete_without_more_settings() -> None:
    assert DEFAULT.override({"method": "sampling", "n_best": 5}).samples == 5
    assert DEFAULT.override({"method": "mbr"}).samples == MBR_SAMPLES
    assert DEFAULT.override({"method": "diverse", "beam": 6}).groups == 6
    assert DEFAULT.override({"method": "diverse", "beam": 6, "groups": 3}).groups == 3


def test_wrong_values_are_refused_with_what_is_allowed() -> None:
    with pytest.raises(ConfigError, match=r"the search has 1 fault.*\n.*n_best = 9"):
        DEFAULT.override({"n_best": 9})
    with pytest.raises(ConfigError, match=r"method = 'beem': did you mean 'beam'\?"):
        DEFAULT.override({"method": "beem"})
