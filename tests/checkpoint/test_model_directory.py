"""Model directories: what comes back is the same network, or it is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from networks import TYINGS, ragged, small_config, small_network
from translucid.checkpoint.model_directory import (
    ModelFiles,
    load_model,
    named_weights,
    read_model_files,
    read_weights,
    write_model,
)
from translucid.config import GenerationConfig
from translucid.errors import DataError, InputError
from translucid.model import Transformer


def files_of(model: Transformer, **changes: Any) -> ModelFiles:
    content: dict[str, Any] = {
        "config": model.config,
        "generation": GenerationConfig(directions=(("fr", "en"),), tags={}),
        "tokenizer": b"a stand-in",
        "provenance": {"step": 12, "note": "é"},
        "texts": {"README.md": "# Card\n", "curve.svg": "<svg/>"},
    }
    return ModelFiles(**{**content, **changes})


def written(folder: Path, **changes: Any) -> Transformer:
    model = small_network(**changes)
    write_model(folder, named_weights(model), files_of(model))
    return model


@pytest.mark.parametrize("tying", TYINGS)
def test_the_network_comes_back_exactly(tmp_path: Path, tying: str) -> None:
    model = written(tmp_path / "model", tying=tying)
    torch.manual_seed(3)
    expected = torch.randn(4)
    torch.manual_seed(3)
    again = load_model(tmp_path / "model")
    assert torch.equal(torch.randn(4), expected), "loading must not draw random numbers"
    source, target = ragged(3, 6, seed=1), ragged(3, 5, seed=2)
    assert not again.training
    assert torch.equal(again(source, target), model(source, target))
    assert sum(p.numel() for p in again.parameters()) == sum(p.numel() for p in model.parameters())


def test_tied_weights_are_stored_once_and_any_reader_of_safetensors_reads_them(
    tmp_path: Path,
) -> None:
    model = written(tmp_path / "model", tying="all")
    found = safetensors.torch.load_file(tmp_path / "model" / "model.safetensors")
    assert found.keys() == dict(model.named_parameters()).keys()
    assert "output_projection.weight" not in found
    safetensors.torch.save_file(found, tmp_path / "theirs.safetensors")
    ours = read_weights(tmp_path / "model")
    theirs = read_weights(tmp_path / "theirs.safetensors")
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_everything_else_comes_back(tmp_path: Path) -> None:
    model = written(tmp_path / "model")
    assert read_model_files(tmp_path / "model") == files_of(model)
    generation = read_model_files(tmp_path / "model").generation
    assert (generation.beam, generation.length_penalty, generation.extra_length) == (4, 0.6, 50)


def test_a_directory_replaces_an_older_one(tmp_path: Path) -> None:
    written(tmp_path / "model")
    (tmp_path / "model" / "remains").touch()
    written(tmp_path / "model", d_ff=40)
    assert read_model_files(tmp_path / "model").config.d_ff == 40
    assert not (tmp_path / "model" / "remains").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_failure_leaves_the_older_one(tmp_path: Path) -> None:
    model = written(tmp_path / "model")
    broken = {**named_weights(model), "x": torch.zeros(2, dtype=torch.bool)}
    with pytest.raises(InputError, match=r"x has the type torch\.bool; only torch\.float64"):
        write_model(tmp_path / "model", broken, files_of(model))
    assert load_model(tmp_path / "model").config == model.config
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_model_has_a_card(tmp_path: Path) -> None:
    model = small_network()
    with pytest.raises(InputError, match=r"has a model card, README\.md"):
        write_model(tmp_path / "model", named_weights(model), files_of(model, texts={}))


def test_a_truncated_file_is_refused_by_name(tmp_path: Path) -> None:
    written(tmp_path / "model")
    path = tmp_path / "model" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(DataError, match=r"model\.safetensors: not a safetensors file"):
        load_model(tmp_path / "model")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    written(tmp_path / "model")
    (tmp_path / "model" / name).unlink()
    with pytest.raises(DataError, match=f"{name}: the file is missing"):
        load_model(tmp_path / "model")


def test_weights_of_another_network_are_refused_with_what_differs(tmp_path: Path) -> None:
    written(tmp_path / "model")
    other = small_config(decoder_layers=1, positions="learned")
    (tmp_path / "model" / "config.json").write_text(other.to_json())
    with pytest.raises(DataError) as caught:
        load_model(tmp_path / "model")
    message = str(caught.value)
    assert "these are not the weights of the network that config.json describes" in message
    assert "decoder.positions.vectors.weight is missing" in message
    assert "decoder.layers.1.cross_attention.w_k.weight is unknown" in message
    assert "more" in message


def test_a_shape_that_differs_is_told(tmp_path: Path) -> None:
    written(tmp_path / "model")
    (tmp_path / "model" / "config.json").write_text(small_config(d_ff=40).to_json())
    with pytest.raises(DataError, match=r"w_1\.weight has the shape \[48, 32\] instead of \[40, 3"):
        load_model(tmp_path / "model")


@pytest.mark.parametrize("name", ["config.json", "generation_config.json", "provenance.json"])
def test_settings_that_cannot_be_read_are_refused(tmp_path: Path, name: str) -> None:
    written(tmp_path / "model")
    path = tmp_path / "model" / name
    path.write_text(path.read_text()[:-5])
    with pytest.raises(DataError, match="not valid JSON"):
        read_model_files(tmp_path / "model")


def test_an_unknown_setting_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "model")
    path = tmp_path / "model" / "generation_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "beams": 3}))
    with pytest.raises(DataError, match="unknown key 'beams'"):
        read_model_files(tmp_path / "model")
