"""What does not fit is refused by name, and nothing is written."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import MarianMTModel

import translucid
from marian_directories import write_marian
from small_translators import write_random_model
from translucid.errors import DataError, InputError, TranslucidError


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_marian(tmp_path_factory.mktemp("theirs") / "marian")


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "marian"))


def check_refused(folder: Path, kind: type[TranslucidError], match: str) -> None:
    output = folder.parent / "model"
    with pytest.raises(kind, match=match):
        translucid.import_model(folder, output)
    assert not [*folder.parent.glob("model"), *folder.parent.glob("model.translucid*")]


def change(folder: Path, name: str, **values: Any) -> None:
    path = folder / name
    content = {**json.loads(path.read_text(encoding="utf-8")), **values}
    path.write_text(json.dumps({k: v for k, v in content.items() if v is not None}))


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (
            {"model_type": "bart"},
            "which has a LayerNorm on the embeddings and a vocabulary of bytes",
        ),
        ({"model_type": "t5"}, "RMSNorm"),
        ({"model_type": None}, "config.json has no model_type: this is no Hugging Face directory"),
        ({"model_type": "mt5"}, "RMSNorm"),
        ({"model_type": "m2m_100"}, "sinusoids that begin at position 2"),
        (
            {
                "model_type": "gpt2",
                "architectures": ["GPT2LMHeadModel"],
                "is_encoder_decoder": None,
            },
            r"'gpt2' \(GPT2LMHeadModel\), which is no encoder-decoder",
        ),
        ({"architectures": ["MarianForCausalLM"], "is_encoder_decoder": False}, "has one stack"),
        ({"model_type": "speech_to_text"}, "only encoder-decoders of the kind 'marian'"),
        ({"architectures": ["MarianModel"]}, r"'marian' \(MarianModel\): only"),
        ({"normalize_before": True}, "normalize_before is true, and our blocks have false only"),
        ({"scale_embedding": False}, "scale_embedding is false"),
        ({"activation_function": "gelu_new"}, "'gelu_new', and ours are relu, swish, gelu, silu"),
        ({"decoder_ffn_dim": 99, "normalize_embedding": True}, r"(?s)2 are|embedding.*ffn_dim is"),
    ],
    ids=str,
)
def test_networks_that_do_not_fit(folder: Path, values: dict[str, Any], match: str) -> None:
    change(folder, "config.json", **values)
    check_refused(folder, InputError, match)


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"d_model": None}, "config.json: d_model is missing"),
        ({"d_model": 64}, r"q_proj.weight has the shape \[32, 32\] instead of \[64, 64\]"),
        ({"d_model": "32"}, "d_model = '32'"),
        ({"encoder_layers": 3}, r"model.encoder.layers.2.*is missing"),
        ({"decoder_layers": 2}, r"model.decoder.layers.2.*is unknown"),
        ({"vocab_size": 100}, "its ids are not 0 to 99, each once"),
        ({"dropout": [0.1]}, "must be a string or a real number, not 'list'"),
        ({"eos_token_id": [0]}, "pad_token_id, decoder_start_token_id and eos_token_id are"),
        ({"pad_token_id": [0]}, "pad_token_id, decoder_start_token_id and eos_token_id are"),
        ({"eos_token_id": 5}, "pad_token_id, decoder_start_token_id and eos_token_id are"),
    ],
    ids=str,
)
def test_settings_that_contradict_the_rest(
    folder: Path, values: dict[str, Any], match: str
) -> None:
    change(folder, "config.json", **values)
    check_refused(folder, DataError, match)


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, ...]]:
        return open, (self.place, "w")


def test_pickled_weights_are_never_opened(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    place = folder.parent / "exploded"
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(str(place))))
    check_refused(folder, DataError, r"(?s)pytorch_model.bin: pickled.*save_pretrained\('.*marian'")
    assert not place.exists()


@pytest.mark.parametrize("name", ["vocab.json", "source.spm", "target.spm", "model.safetensors"])
def test_a_directory_that_was_downloaded_in_part(folder: Path, name: str) -> None:
    (folder / name).rename(folder / f"{name}.incomplete")
    check_refused(folder, DataError, f"{name} is missing; there is .*{name}.incomplete")


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("config.json", "not valid JSON"),
        ("vocab.json", "not valid JSON"),
        ("tokenizer_config.json", "not valid JSON"),
        ("generation_config.json", "not valid JSON"),
        ("model.safetensors", "not a safetensors file"),
        ("source.spm", "this SentencePiece model cannot be used: it is cut off"),
        ("target.spm", "this SentencePiece model cannot be used"),
    ],
)
@pytest.mark.parametrize("keep", [0.0, 0.7])
def test_truncated_files(folder: Path, name: str, match: str, keep: float) -> None:
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: int(len(data) * keep)])
    match = match.replace("it is cut off", "") if keep == 0 else match
    check_refused(folder, DataError, rf"{name}: {match}(?s:.*)nothing was written")


@pytest.mark.parametrize("name", ["encoder", "decoder"])
def test_positions_are_sinusoids(folder: Path, name: str) -> None:
    weights = load_file(folder / "model.safetensors")
    table = MarianMTModel.from_pretrained(folder).get_parameter(
        f"model.{name}.embed_positions.weight"
    )
    weights[f"model.{name}.embed_positions.weight"] = table.half().float()  # as some files have it
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    translucid.import_model(folder, folder / "model")
    weights[f"model.{name}.embed_positions.weight"] += 0.1
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    check_refused(folder, InputError, f"model.{name}.embed_positions.weight are not Marian's sin")


def test_weights_that_are_not_finite(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["model.encoder.layers.0.fc1.bias"][3] = torch.nan
    save_file(weights, folder / "model.safetensors")
    check_refused(folder, DataError, "fc1.bias has values that are not finite")


def test_a_vocabulary_for_each_language(folder: Path) -> None:
    change(folder, "tokenizer_config.json", separate_vocabs=True)
    check_refused(folder, InputError, "a vocabulary for each language")


def test_weights_in_several_files(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    (folder / "model.safetensors.index.json").write_text("{}")
    check_refused(folder, DataError, "in several files")


def test_a_symbol_that_the_vocabulary_lacks(folder: Path) -> None:
    change(folder, "tokenizer_config.json", unk_token={"content": "<none>"})
    check_refused(folder, DataError, "'<none>' is missing")


def test_what_is_no_hugging_face_directory(folder: Path, tmp_path: Path) -> None:
    check_refused(tmp_path / "nowhere", InputError, "does not exist: give the directory of a Hugg")
    check_refused(folder / "config.json", InputError, "is a file")
    own = write_random_model(tmp_path / "own")
    check_refused(own, InputError, "is a model directory already: use it as it is")
    (folder / "config.json").unlink()
    check_refused(folder, InputError, "has no config.json: give the directory")
    (folder / "model.npz").touch()
    check_refused(folder, InputError, "weights of Marian itself")
    (folder / "model.bin").touch()
    (folder / "shared_vocabulary.json").touch()
    (folder / "model.safetensors").unlink()
    check_refused(folder, InputError, "is a model of CTranslate2: use it as it is")


def test_another_folder_is_not_overwritten(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    with pytest.raises(InputError, match="notes exists and is not a model directory"):
        translucid.import_model(whole, tmp_path / "notes")


def test_a_hugging_face_directory_is_recognized_where_a_model_is_expected(whole: Path) -> None:
    with pytest.raises(DataError, match=f"Hugging Face directory: translucid import {whole} -o"):
        translucid.load(whole)
