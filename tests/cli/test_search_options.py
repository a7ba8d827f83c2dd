"""Options become one search, and none is ignored in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from translucid.cli.search_options import MBR_SAMPLES, MEANT_FOR, METHODS, one_of, option, search_of
from translucid.cli.terms_file import read_terms
from translucid.decoding.settings import SearchConfig
from translucid.errors import ConfigError, DataError, InputError

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


def search(sample: bool = False, terms: bool = False, **given: Any) -> SearchConfig:
    return search_of(DEFAULT, given, sample=sample, terms=terms)


def test_nothing_given_is_the_models_own_search() -> None:
    assert search(beam=None, method=None) == DEFAULT


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", VALUES)
def test_an_option_counts_or_is_refused(method: str, name: str) -> None:
    if method in MEANT_FOR[name]:
        assert getattr(search(method=method, **{name: VALUES[name]}), name) == VALUES[name]
        return
    with pytest.raises(ConfigError) as caught:
        search(method=method, **{name: VALUES[name]})
    assert f"{option(name)} means nothing to the method {method}" in str(caught.value)
    assert f"--method {MEANT_FOR[name][0]}" in str(caught.value)


def test_every_setting_of_some_methods_only_is_tried_above() -> None:
    assert set(VALUES) | {"terms"} == set(MEANT_FOR)
    general = {"method", "n_best", "min_length", "max_length", "extra_length"}
    general |= {"no_repeat_ngram", "loop_guard"}
    assert set(SearchConfig.model_fields) == general | set(VALUES)


def test_several_contradictions_are_told_together() -> None:
    with pytest.raises(ConfigError) as caught:
        search(top_k=5, seed=1, max_length=9, extra_length=9)
    assert "has 3 faults" in str(caught.value)
    for part in ("--top-k means nothing", "--seed means nothing", "two ways to set one limit"):
        assert part in str(caught.value)


def test_sample_is_short_for_sampling() -> None:
    assert search(sample=True, temperature=0.5).method == "sampling"
    assert search(sample=True, method="sampling").method == "sampling"
    with pytest.raises(InputError, match="leave one out"):
        search(sample=True, method="beam")


def test_a_method_is_what_its_name_says_without_more_options() -> None:
    assert search(sample=True, n_best=5).samples == 5
    assert search(method="mbr").samples == MBR_SAMPLES
    assert search(method="diverse", beam=6).groups == 6
    assert search(method="diverse", beam=6, groups=3).groups == 3


def test_terms_need_a_beam() -> None:
    assert search(terms=True) == DEFAULT
    with pytest.raises(ConfigError, match="--terms means nothing to the method greedy"):
        search(method="greedy", terms=True)


def test_wrong_values_are_refused_with_what_is_allowed() -> None:
    with pytest.raises(ConfigError, match=r"the search asked for has 1 fault.*\n.*n_best = 9"):
        search(n_best=9)
    with pytest.raises(InputError, match=r"--method beem: did you mean 'beam'\?"):
        search(method="beem")
    with pytest.raises(InputError, match="--format xml: must be text or jsonl"):
        one_of("--format", "xml", ("text", "jsonl"))


# Terminology.


def test_terms_are_read(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("chat\tcat\r\n\n chat noir \t black cat\nchat\tcat\n", encoding="utf-8")
    assert read_terms(path) == {"chat": "cat", "chat noir": "black cat"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("chat\tcat\nchien\n", "line 2: 'chien' is not two columns"),
        ("chat\t \n", "line 1: 'chat\\t ' is not two columns"),
        ("a\tb\tc\n", "line 1: 'a\\tb\\tc' is not two columns"),
        ("chat\tcat\nchat\ttomcat\n", "line 2: 'chat' is to become 'tomcat' here and 'cat' before"),
        ("\n\n", "holds no terms"),
    ],
)
def test_terms_that_cannot_be_used(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        read_terms(path)
    assert message in str(caught.value)


def test_a_file_of_terms_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--terms .*: there is no such file"):
        read_terms(tmp_path / "none")
