"""A wrong configuration gives one error that lists all faults and the nearest known key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.config import Config, ModelConfig, read_model_config
from translucid.errors import ConfigError, InputError, RenamedWarning

VOCAB = {"source_vocab_size": 100, "target_vocab_size": 100}


def faults(**settings: Any) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        ModelConfig(**{**VOCAB, **settings})
    return caught.value.faults


def test_the_default_is_the_papers_base_model() -> None:
    config = ModelConfig(**VOCAB)
    assert (config.encoder_layers, config.d_model, config.d_ff, config.heads) == (6, 512, 2048, 8)
    assert (config.d_k, config.d_v, config.dropout) == (64, 64, 0.1)
    assert (config.norm, config.positions, config.tying) == ("post", "sinusoidal", "all")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"heads": 7}, "d_model = 512 cannot be divided by heads = 7.*or give d_k and d_v"),
        ({"heads": 7, "d_k": 64}, "or give d_v"),
        ({"dropout": -0.1}, "dropout = -0.1: should be greater than or equal to 0"),
        ({"dropout": 1.0}, "dropout = 1.0: should be less than 1"),
        ({"dropout": float("nan")}, "dropout = nan: should be a finite number"),
        ({"d_model": 511, "heads": 1}, "d_model = 511 is odd: sinusoidal positions need pairs"),
        ({"d_model": 2, "heads": 1, "positions": "sinusoidal-timescales"}, "need at least 4"),
        ({"d_k": 3, "positions": "rotary"}, "d_k = 3 is odd: rotary"),
        (
            {"positions": "sinusoid"},
            "positions = 'sinusoid' is unknown; available: sinusoidal, ",
        ),
        ({"norm": "Pre"}, "norm = 'Pre': must be one of 'post' or 'pre'"),
        ({"target_vocab_size": 101}, "tying = 'all' shares one matrix.*100.*101.*make them equal"),
        ({"padding_id": 100}, "padding_id = 100 is outside the vocabulary of 100 tokens: 0 to 99"),
        ({"heads": "8"}, "heads = '8': should be a valid integer"),
        ({"encoder_layers": 0}, "encoder_layers = 0: should be greater than or equal to 1"),
        ({"d_modle": 512}, r"unknown key 'd_modle' \(value 512\); did you mean 'd_model'\?"),
        ({"zzzz": 1}, "unknown key 'zzzz'.*known: source_vocab_size, "),
        ({"relative_buckets": 6}, "relative_buckets = 6: must be a multiple of 4"),
        ({"relative_distance": 16}, "relative_distance = 16: must be more than 16"),
    ],
)
def test_each_fault_is_explained(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ModelConfig(**{**VOCAB, **settings})


def test_all_faults_of_one_input_come_together() -> None:
    listed = faults(heads=7, dropout=-1.0, d_modl=3, norm="prae", padding_id=200, d_ff=True)
    assert len(listed) == 6
    text = "\n".join(listed)
    for part in ("heads = 7", "dropout = -1.0", "'d_model'", "norm = 'prae'", "padding_id", "d_ff"):
        assert part in text


def test_a_missing_key_says_what_it_is() -> None:
    with pytest.raises(ConfigError, match="target_vocab_size is missing: target vocabulary size;"):
        ModelConfig(source_vocab_size=5)


def test_a_rule_is_not_judged_on_a_value_that_is_itself_wrong() -> None:
    assert len(faults(heads=0)) == 1


def test_it_is_frozen_and_replace_validates_anew() -> None:
    config = ModelConfig(**VOCAB)
    with pytest.raises(ValueError, match="frozen"):
        config.heads = 4  # type: ignore[misc]
    assert config.replace(dropout=0.2).dropout == 0.2
    with pytest.raises(ConfigError, match="dropout = 2"):
        config.replace(dropout=2)


@given(
    heads=st.integers(1, 16),
    d_k=st.integers(1, 32).map(lambda half: 2 * half),
    norm=st.sampled_from(["pre", "post"]),
    dropout=st.floats(0, 0.99),
    positions=st.sampled_from(["sinusoidal", "rotary", "relative", "learned", "none"]),
)
def test_json_round_trip(**settings: Any) -> None:
    config = ModelConfig(**VOCAB, d_v=8, **settings)
    import json

    assert ModelConfig(**json.loads(config.to_json())) == config


def test_toml_and_json_files(tmp_path: Path) -> None:
    toml = tmp_path / "model.toml"
    toml.write_text("source_vocab_size = 8\ntarget_vocab_size = 8\nheads = 4\n")
    config = ModelConfig.from_file(toml)
    assert config.heads == 4
    (tmp_path / "config.json").write_text(config.to_json())
    assert read_model_config(tmp_path) == config
    assert read_model_config(tmp_path / "config.json") == config


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.toml", "heads = ", "a.toml has 1 fault:\n  - not valid TOML"),
        ("a.json", "{", "a.json has 1 fault:\n  - not valid JSON"),
        ("a.json", "[1]", "must hold a table of settings"),
    ],
)
def test_broken_files_say_where(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ConfigError, match=message):
        read_model_config(tmp_path / name)


def test_a_folder_without_a_model_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no config\.json there"):
        read_model_config(tmp_path)


class Renamed(Config):
    """Settings one of which had another name once."""

    renamed: ClassVar[Mapping[str, str]] = {"width": "d_model"}
    d_model: int


def test_a_key_of_an_earlier_version_is_understood_with_a_notice() -> None:
    with pytest.warns(RenamedWarning, match="width is now called d_model"):
        assert Renamed(width=3) == Renamed(d_model=3)
    assert Renamed(**Renamed.upgrade({"width": 4})).d_model == 4  # what was stored gets none


def test_a_setting_is_not_given_under_both_names() -> None:
    with pytest.raises(ConfigError, match="unknown key 'width'"), pytest.warns(RenamedWarning):
        Renamed(width=3, d_model=4)
