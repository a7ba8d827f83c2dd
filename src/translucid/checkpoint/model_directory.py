"""A model is a directory that explains itself: network, tokenizer, card and provenance.

::

    MODEL/config.json              the network's settings (ModelConfig)
          generation_config.json   languages, their tags, and how to search (GenerationConfig)
          model.safetensors        the weights by parameter name; tied ones once
          tokenizer.model
          README.md                the model card, and the pictures it shows
          provenance.json          where it came from: data, settings, scores, versions
          checksums.json           the SHA-256 of each file; the card may be edited all the same

It appears under its name when all of it is on the disk, and replaces an older one at once.

Reading all but the network needs no PyTorch, which is imported where a network is made or written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError

from translucid.checksums import new_listed_file, write_checksums
from translucid.config import KERNELS, GenerationConfig, ModelConfig, Precision, read_model_config
from translucid.errors import ConfigError, DataError, InputError
from translucid.files import new_folder
from translucid.registry import HOW_TO

if TYPE_CHECKING:
    from torch import Tensor

    from translucid.model import Transformer

CONFIG = "config.json"
GENERATION = "generation_config.json"
WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.model"
CARD = "README.md"
PROVENANCE = "provenance.json"

_REMEDY = "The model directory is damaged or was copied in part: copy or train it again."
_NAMED_IN_A_MESSAGE = 5
_SHOWN = (".md", ".svg")  # endings of the card and of what it shows


@dataclass(frozen=True)
class ModelFiles:
    """All of a model directory but the weights; `texts` are the card and files that it shows."""

    config: ModelConfig
    generation: GenerationConfig
    tokenizer: bytes
    provenance: Mapping[str, Any]
    texts: Mapping[str, str]


def is_shown(name: str) -> bool:
    """Tell whether a file is the card of a model or shown by it, which people may edit."""
    return name.endswith(_SHOWN)


def is_model_directory(folder: Path) -> bool:
    """Tell whether `write_model` made a folder: many others have a config.json too."""
    return all((folder / name).is_file() for name in (CONFIG, GENERATION, WEIGHTS, PROVENANCE))


def named_weights(model: Transformer) -> dict[str, Tensor]:
    """Return the weights of a network by parameter name; a shared one appears under its first."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def write_model(folder: Path, weights: Mapping[str, Tensor], files: ModelFiles) -> None:
    """Write a model directory, replacing an older one of that name at once."""
    from translucid.checkpoint.store import (
        explain_full_disk,
        tensors_size,
        write_file,
        write_tensors,
    )

    if CARD not in files.texts:
        raise InputError(f"{folder}: a model directory has a model card, {CARD}, in its texts")
    contents = {
        CONFIG: files.config.to_json().encode(),
        GENERATION: files.generation.to_json().encode(),
        TOKENIZER: files.tokenizer,
        PROVENANCE: (json.dumps(files.provenance, ensure_ascii=False, indent=2) + "\n").encode(),
        **{name: text.encode() for name, text in files.texts.items()},
    }
    needed = tensors_size(weights) + sum(map(len, contents.values()))
    remedy = "What was there before is kept. Free some space, and try again."
    with (
        explain_full_disk(folder, "the model", needed=needed, remedy=remedy),
        new_folder(folder) as draft,
    ):
        written = {WEIGHTS: write_tensors(draft / WEIGHTS, weights)}
        written |= {name: write_file(draft / name, each) for name, each in contents.items()}
        write_checksums(draft, known=written)


def read_model_files(folder: Path) -> ModelFiles:
    """Read all of a model directory but the weights."""
    config = read_config(folder)
    generation = read_generation(folder)
    provenance = read_provenance(folder)
    texts = {path.name: _text(path) for path in sorted(folder.iterdir()) if path.suffix in _SHOWN}
    tokenizer = _existing(folder, TOKENIZER).read_bytes()
    return ModelFiles(config, generation, tokenizer, provenance, texts)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(path, f"is not UTF-8 text: {error}", remedy=_REMEDY) from error


def read_config(folder: Path) -> ModelConfig:
    """Read the network's settings of a model directory, of the first version too."""
    try:
        return read_model_config(_existing(folder, CONFIG))
    except ConfigError as error:
        remedy = _REMEDY
        if any(HOW_TO in fault for fault in error.faults):
            remedy = "Then load the model again."
        elif any("unknown key 'model_type'" in fault for fault in error.faults):
            remedy = f"It is a Hugging Face directory: translucid import {folder} -o MODEL"
        elif any("unknown key 'add_source_bos'" in fault for fault in error.faults):
            remedy = (
                "It is a model of CTranslate2, which can translate, score, explain and be served; "
                "for all else, take the model that it was converted from."
            )
        raise DataError(folder / CONFIG, str(error), remedy=remedy) from error


def read_provenance(folder: Path) -> Any:
    """Read where a model directory came from."""
    path = _existing(folder, PROVENANCE)
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise DataError(path, f"not valid JSON: {error}", remedy=_REMEDY) from error


def read_generation(folder: Path) -> GenerationConfig:
    """Read the languages and the search of a model directory."""
    try:
        return GenerationConfig.from_file(_existing(folder, GENERATION))
    except ConfigError as error:
        raise DataError(folder / GENERATION, str(error), remedy=_REMEDY) from error


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a safetensors file, or of a model directory's."""
    from safetensors.torch import load_file

    return _read_tensors(path, load_file)


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Read the weights of a model directory as arrays, and check that all are finite."""
    from safetensors.numpy import load_file

    weights = _read_tensors(path, load_file)
    if wrong := [name for name, array in weights.items() if not np.isfinite(array).all()]:
        path = path / WEIGHTS if path.is_dir() else path
        raise DataError(path, f"{wrong[0]} has values that are not finite", remedy=_REMEDY)
    return weights


def _read_tensors(path: Path, load_file: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    path = path / WEIGHTS if path.is_dir() else path
    if not path.is_file():
        raise DataError(path, "the file is missing", remedy=_REMEDY)
    try:
        return load_file(path)
    except SafetensorError as error:
        raise DataError(path, f"not a safetensors file: {error}", remedy=_REMEDY) from error


def load_model(folder: Path) -> Transformer:
    """Return the network of a model directory, on the CPU and in evaluation mode."""
    config = read_config(folder)
    return build_network(config, read_weights(folder), folder / WEIGHTS).eval()


def build_network(config: ModelConfig, weights: Mapping[str, Tensor], path: Path) -> Transformer:
    """Return a network on the CPU with weights that come from `path`; check that they fit."""
    import torch

    from translucid.model import Transformer

    with torch.random.fork_rng(devices=[]):  # the first weights are drawn and then replaced
        model = Transformer(config)
    check_weights(named_weights(model), weights, path)
    if wrong := [name for name, tensor in weights.items() if not tensor.isfinite().all()]:
        raise DataError(path, f"{wrong[0]} has values that are not finite", remedy=_REMEDY)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])
    return model


def save_precision(folder: Path, precision: Precision) -> None:
    """Write into a model directory which precision the fast engine is to have."""
    generation = read_generation(folder).replace(precision=precision)
    with new_listed_file(folder / GENERATION) as file:
        file.write(generation.to_json().encode())


def hash_network(config: ModelConfig, weights: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return the SHA-256 of the settings and weights of a network, in float32."""
    # What earlier versions did not name in their settings is left out: built-in kernels, which
    # compute the same, and that the output has no bias.
    unnamed = {"attention"} if config.attention in KERNELS.built_in else set()
    unnamed |= {"output_bias"} if not config.output_bias else set()
    settings = config.model_dump_json(indent=2, exclude=unnamed) + "\n"
    digest = hashlib.sha256(settings.encode())
    for name in sorted(weights):
        array = np.ascontiguousarray(weights[name], dtype=np.float32)
        digest.update(f"{name} torch.float32 {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()


def check_weights(expected: Mapping[str, Any], weights: Mapping[str, Any], path: Path) -> None:
    """Raise DataError where weights, which come from `path`, have other names or shapes.

    Both are tensors or arrays.
    """
    faults = [f"{name} is missing" for name in sorted(expected.keys() - weights.keys())]
    faults += [f"{name} is unknown" for name in sorted(weights.keys() - expected.keys())]
    faults += [
        f"{name} has the shape {list(weights[name].shape)} instead of {list(tensor.shape)}"
        for name, tensor in expected.items()
        if name in weights and weights[name].shape != tensor.shape
    ]
    if faults:
        more = len(faults) - _NAMED_IN_A_MESSAGE
        named = faults[:_NAMED_IN_A_MESSAGE] + ([f"and {more} more"] if more > 0 else [])
        raise DataError(
            path,
            f"these are not the weights of the network that {CONFIG} describes: "
            + "; ".join(named),
            remedy=_REMEDY,
        )


def _existing(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise DataError(path, "the file is missing", remedy=_REMEDY)
    return path
