"""From model directories to a translator."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from translucid.built_in import describe_model, find_model_directory
from translucid.checkpoint.model_directory import (
    CONFIG,
    GENERATION,
    TOKENIZER,
    WEIGHTS,
    is_shown,
    read_arrays,
    read_config,
    read_generation,
    read_weights,
)
from translucid.checksums import hash_listing, load_verified
from translucid.config import EngineName, GenerationConfig, ModelConfig, Precision
from translucid.engines import Engines
from translucid.engines.base import Array
from translucid.engines.conversion import find_obstacle
from translucid.engines.ctranslate2_directory import (
    MODEL,
    is_ctranslate2_directory,
    read_ctranslate2_directory,
)
from translucid.engines.heads import ALIGNMENT, AlignmentHeads, read_alignment_heads
from translucid.errors import DataError, InputError, nearest, optional
from translucid.machine import thread_count
from translucid.text.normalization import NormalizingTokenizer
from translucid.text.tokenizer import FIRST_PIECE, FIRST_TAG, Tokenizer, load_tokenizer
from translucid.translator.confidence import read_calibration
from translucid.translator.request import describe_directions
from translucid.translator.source_language import LANGUAGES, read_source_languages
from translucid.translator.translator import Translator

if TYPE_CHECKING:
    from torch import Tensor

    from translucid.engines.pytorch import PyTorchEngine


def load(
    path: str | PathLike[str],
    *others: str | PathLike[str],
    device: str = "cpu",
    engine: EngineName = "auto",
    precision: Precision | None = None,
) -> Translator:
    """Return the translator of a model directory, or of several together as an ensemble.

    A path is a model directory, the folder of a run, whose best model is taken, the name of a
    built-in model, such as fr-en, or a directory of CTranslate2. The models of an ensemble must
    have the same vocabulary; their probabilities are averaged.

    The `engine` computes: ctranslate2, the fast one; pytorch, which can do everything; or auto, the
    fast one for all that it can do. `precision`, int8 or float32, is that of the fast engine's
    weights; the model directory says which one it should have.
    """
    check_engine(engine, precision)
    folders = [find_model_directory(Path(given)) for given in (path, *others)]
    return load_verified(folders, lambda: _load(folders, device, engine, precision), skip=is_shown)


@dataclass(frozen=True)
class _Model:
    """A model of an ensemble, or the only one: its settings, and how to read its weights."""

    folder: Path
    config: ModelConfig
    generation: GenerationConfig
    tokenizer: Tokenizer
    heads: AlignmentHeads
    weights: _WeightsFile
    read_arrays: Callable[[], dict[str, Array]]
    read_tensors: Callable[[Path], dict[str, Tensor]]


def _read_model(folder: Path) -> _Model:
    """Read a model directory, or a directory of CTranslate2."""
    if is_ctranslate2_directory(folder):
        return _read_ctranslate2(folder)
    config = read_config(folder)
    return _Model(
        folder,
        config,
        read_generation(folder),
        load_tokenizer(folder / TOKENIZER),
        read_alignment_heads(folder, config),
        _WeightsFile(folder / WEIGHTS),
        lambda: read_arrays(folder),
        read_weights,
    )


def _read_ctranslate2(folder: Path) -> _Model:
    directory, file = read_ctranslate2_directory(folder), _WeightsFile(folder / MODEL)
    network = directory.read_network(file.find())

    def read_tensors(path: Path) -> dict[str, Tensor]:
        import torch

        weights = directory.read_network(path).weights
        return {name: torch.tensor(array) for name, array in weights.items()}

    return _Model(
        folder,
        network.config,
        directory.generation.replace(precision=network.precision),
        directory.tokenizer,
        network.heads,
        file,
        lambda: network.weights,
        read_tensors,
    )


def _load(
    folders: Sequence[Path], device: str, engine: EngineName, precision: Precision | None
) -> Translator:
    models = list(map(_read_model, folders))
    first = models[0]
    for model in models:
        _check_tags(model.folder, model.generation)
        _check_vocabulary(model, first)
        _check_size(model.folder, model.config, first.tokenizer)
    _check_target_vocabularies(models)
    tokenizer, generation = first.tokenizer, _merge_generation(models)
    sources = list(dict.fromkeys(source for source, _ in generation.directions))
    known = (read_source_languages(folder, sources, tokenizer.vocab_size) for folder in folders)
    return Translator(
        name=" + ".join(describe_model(folder) for folder in folders),
        tokenizer=_normalize_like_training(tokenizer, generation),
        engines=_load_engines(models, device, engine, precision or generation.precision),
        generation=generation,
        source_languages=next((languages for languages in known if languages), None),
        calibration=read_calibration(folders[0]) if len(folders) == 1 else None,
        folders=tuple(folders),
        directory_hash=hash_listing(folders[0]) if len(folders) == 1 else None,
    )


def check_engine(engine: str, precision: str | None) -> None:
    """Refuse engines and precisions that do not exist."""
    if engine not in get_args(EngineName):
        raise InputError(f"engine = {engine!r}; {nearest(engine, get_args(EngineName))}")
    if precision is not None and precision not in get_args(Precision):
        raise InputError(f"precision = {precision!r}; {nearest(precision, get_args(Precision))}")


def _load_engines(
    models: Sequence[_Model], device: str, engine: EngineName, precision: Precision
) -> Engines:
    """Return the engines of models; PyTorch loads them at once only if the fast one cannot."""
    first = models[0]
    configs, heads = [model.config for model in models], [model.heads for model in models]
    files = [(model.weights, model.read_tensors) for model in models]

    def load_pytorch() -> PyTorchEngine:
        from translucid.engines.pytorch import load_networks

        found = ((file.find(), read) for file, read in files)
        weights = ((path, read(path)) for path, read in found)
        return load_networks(configs, weights, heads, device)

    obstacle = _find_obstacle(configs, device, engine)
    if obstacle is None:
        from translucid.engines.ctranslate2 import CTranslate2Engine

        fast = CTranslate2Engine(
            first.config,
            first.read_arrays(),
            first.heads,
            precision=precision,
            threads=thread_count(),
            path=first.weights.path,
        )
        return Engines(configs, heads, load_pytorch, fast, only_fast=engine == "ctranslate2")
    if engine == "ctranslate2":
        raise InputError(
            f"engine = 'ctranslate2' cannot be used: {obstacle}. Choose engine = 'auto' or "
            "'pytorch'"
        )
    engines = Engines(configs, heads, load_pytorch)
    if engine == "auto":
        optional("torch", extra="train", job=f"Translating with {first.folder} ({obstacle})")
    engines.pytorch  # noqa: B018 - so that what is wrong with the weights is said now
    return engines


class _WeightsFile:
    """The weights of a model directory, the same ones whenever they are read.

    On Linux the file stays open, so that it can be read even where the directory was replaced or
    removed, as before a server takes the new model. Elsewhere, another file at its path is refused.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open: Path | None = None
        self._identity = _identify(path)
        if sys.platform == "linux" and self._identity is not None:
            descriptor = os.open(path, os.O_RDONLY)
            weakref.finalize(self, os.close, descriptor)
            self._open = Path(f"/proc/self/fd/{descriptor}")

    def find(self) -> Path:
        """Return a path to read them from; refuse to read others than those of the first time."""
        for path in (self.path, self._open):
            if path is not None and _identify(path) == self._identity:
                return path
        raise DataError(
            self.path.parent,
            "the model was replaced or removed since it was loaded, and PyTorch, which is needed "
            "now, would compute with another one",
            remedy="Load the model again; engine='pytorch' loads all of it at once.",
        )


def _identify(path: Path) -> tuple[int, ...] | None:
    """Return what changes when a file is replaced or overwritten; None where there is none."""
    if not path.is_file():
        return None
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _find_obstacle(configs: Sequence[ModelConfig], device: str, engine: EngineName) -> str | None:
    """Return why the fast engine is not to be used; None if it is."""
    if engine == "pytorch":
        return "engine = 'pytorch'"
    if len(configs) > 1:
        return "it averages no ensembles"
    if device != "cpu":
        return f"device = {device!r}"
    if engine == "auto" and importlib.util.find_spec("ctranslate2") is None:
        return "the package ctranslate2 is not installed"
    return find_obstacle(configs[0])


def _normalize_like_training(tokenizer: Tokenizer, generation: GenerationConfig) -> Tokenizer:
    """Return a tokenizer that normalises texts like the training text."""
    if not (generation.lowercase or generation.plain_typography):
        return tokenizer
    return NormalizingTokenizer(
        tokenizer,
        lowercase=generation.lowercase,
        plain_typography=generation.plain_typography,
    )


def fingerprint(models: Sequence[Path]) -> str:
    """Return a hash of all files of models that influence their translations."""
    digest = hashlib.sha256()
    for model in models:
        folder = find_model_directory(model)
        extra = [LANGUAGES] if (folder / LANGUAGES).is_file() else []
        names = (CONFIG, GENERATION, WEIGHTS, TOKENIZER, ALIGNMENT, *extra)
        if is_ctranslate2_directory(folder):
            names = tuple(sorted(path.name for path in folder.iterdir()))
        for name in names:
            digest.update(f"{name}\n".encode())
            if (folder / name).is_file():
                with (folder / name).open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _check_tags(folder: Path, generation: GenerationConfig) -> None:
    """Refuse language tags that are not tag tokens, or not one per target language."""
    targets = {target for _, target in generation.directions}
    tags = generation.tags
    if tags and (
        targets - tags.keys() or not all(FIRST_TAG <= tag < FIRST_PIECE for tag in tags.values())
    ):
        raise DataError(
            folder / GENERATION,
            f"tags {tags}: each of the languages {', '.join(sorted(targets))} needs one, a number "
            f"from {FIRST_TAG} to {FIRST_PIECE - 1}",
            remedy="The model directory is damaged: copy or train it again.",
        )


def _check_vocabulary(model: _Model, first: _Model) -> None:
    """Refuse a model whose vocabulary differs from that of the first."""
    found, tokenizer = model.tokenizer, first.tokenizer
    if found.fingerprint != tokenizer.fingerprint:
        raise InputError(
            f"{model.folder} has another vocabulary than {first.folder} ({found.kind} of "
            f"{found.vocab_size} pieces, fingerprint {found.fingerprint[:12]}; {tokenizer.kind} of "
            f"{tokenizer.vocab_size}, {tokenizer.fingerprint[:12]}): models translate together "
            "only if they were trained on the same prepared data or with the same tokenizer"
        )


def _check_size(folder: Path, config: ModelConfig, tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer that does not fit the vocabulary sizes of the network."""
    sizes = (config.source_vocab_size, config.target_vocab_size)
    try:
        fits = sizes[0] == tokenizer.vocab_size and tokenizer.within(sizes[1])
    except InputError:
        fits = False
    if not fits:
        raise DataError(
            folder,
            f"the network has {sizes[0]} source and {sizes[1]} target tokens, its tokenizer "
            f"{tokenizer.vocab_size}",
            remedy=f"{TOKENIZER} belongs to another model: copy the directory again.",
        )


def _check_target_vocabularies(models: Sequence[_Model]) -> None:
    """Refuse networks with different target vocabularies: their probabilities have no mean."""
    if len({model.config.target_vocab_size for model in models}) > 1:
        each = ", ".join(f"{model.folder}: {model.config.target_vocab_size}" for model in models)
        raise InputError(
            "these models cannot translate together, because they write different numbers of "
            f"pieces ({each}): prepare the data of all with --target-pieces-only, or of none"
        )


def _merge_generation(models: Sequence[_Model]) -> GenerationConfig:
    """Return the settings of the first model, with the directions that all models share."""
    generations = [model.generation for model in models]
    shared = [
        direction
        for direction in generations[0].directions
        if all(direction in generation.directions for generation in generations)
    ]
    tags = [{target: g.tags.get(target) for _, target in shared} for g in generations]
    cases = {(generation.lowercase, generation.plain_typography) for generation in generations}
    if not shared or any(other != tags[0] for other in tags) or len(cases) > 1:
        each = "\n".join(
            f"  {model.folder}: {describe_directions(one.directions)}, tags {one.tags}, "
            f"{'lower case only' if one.lowercase else 'both cases'}, "
            f"{'plain' if one.plain_typography else 'any'} typography"
            for model, one in zip(models, generations, strict=True)
        )
        raise InputError(
            "these models cannot translate together: they need a direction in common, the same "
            f"tags of languages, and text normalised alike\n{each}"
        )
    return generations[0].replace(directions=shared)
