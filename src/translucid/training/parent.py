"""Starting from a model: what a run takes over from its parent, and whether its data fits.

::

    MODEL ─┬─ weights, network        the first weights of the run
           ├─ languages, tags         those of the new model too, with new languages of the data
           ├─ tokenizer, normalised   must be those of the data: prepare --tokenizer-from MODEL
           └─ noise, label smoothing  settings to begin with (`training.recipe`)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from translucid.built_in import built_in_name, describe_model, find_model_directory
from translucid.checkpoint.model_directory import (
    PROVENANCE,
    TOKENIZER,
    WEIGHTS,
    read_config,
    read_generation,
    read_provenance,
    read_weights,
)
from translucid.checkpoint.run_directory import Parent
from translucid.checksums import compute_checksum
from translucid.config import GenerationConfig
from translucid.data.shards import PreparedData
from translucid.errors import DataError, InputError
from translucid.text.tokenizer import load_tokenizer, tag_id
from translucid.training.config import TrainingConfig

# Settings of training that a run takes over, because they decide what text the network can read.
_HABITS = ("label_smoothing", "subword_sampling", "source_noise", "casing_noise", "accent_noise")


def open_parent(model: str | Path) -> Parent:
    """Return the model that a path or a name means: a directory, a run, a built-in model."""
    folder = find_model_directory(Path(model)).resolve()
    return Parent(
        built_in_name(folder) or describe_model(folder),
        str(folder),
        _hash_weights(folder),
        read_generation(folder),
    )


def check_data(parent: Parent, data: PreparedData) -> None:
    """Refuse data that the parent cannot read or write: InputError says how they differ."""
    if faults := [fault for part, _ in data.parts for fault in _find_differences(parent, part)]:
        name = built_in_name(Path(parent.folder)) or parent.folder
        raise InputError(
            f"training cannot start from {parent.name}, because the data is not like its own:\n"
            + "\n".join(f"  - {fault}" for fault in dict.fromkeys(faults))
            + f"\n  Prepare the data for it, in another folder: translucid prepare … "
            f"--tokenizer-from {name}"
        )


def _find_differences(parent: Parent, data: PreparedData) -> Iterator[str]:
    """Yield why the data of a folder is not for the parent."""
    folder, generation, manifest = Path(parent.folder), parent.generation, data.manifest
    network, own = read_config(folder), load_tokenizer(folder / TOKENIZER)
    sizes = (network.source_vocab_size, network.target_vocab_size)
    found = manifest.tokenizer
    if found.fingerprint != own.fingerprint:
        yield (
            f"{data.folder} has another vocabulary: {found.kind} of {found.vocab_size:,} pieces, "
            f"fingerprint {found.fingerprint[:12]}, where the model has {own.kind} of "
            f"{own.vocab_size:,}, {own.fingerprint[:12]}"
        )
    elif found.sizes != sizes:
        yield (
            f"targets of {data.folder} have {found.sizes[1]:,} pieces, where the model writes "
            f"{sizes[1]:,} (--target-pieces-only)"
        )
    for name in ("lowercase", "plain_typography"):
        ours, theirs = getattr(manifest, name), getattr(generation, name)
        if ours != theirs:
            yield f"{data.folder}: {name} is {ours}, where the model has {theirs}"
    if manifest.tagged != bool(generation.tags):
        having, lacking = (
            ("the data", "the model") if manifest.tagged else ("the model", "the data")
        )
        yield f"{having} has language tags, and {lacking} has none (--both or --tags)"
        return
    if manifest.tagged:
        yield from _compare_tags(generation.tags, data)
        return
    writes = {target for _, target in generation.directions}
    if others := [target for _, target in manifest.directions if target not in writes]:
        yield (
            f"{data.folder} is to be translated into {others[0]!r}; the model writes "
            f"{', '.join(sorted(writes))}, and has no tag to ask for another language"
        )


def _compare_tags(tags: Mapping[str, int], data: PreparedData) -> Iterator[str]:
    names = {tag: language for language, tag in tags.items()}
    for language in dict.fromkeys(target for _, target in data.manifest.directions):
        tag = tag_id(data.manifest.languages[language])
        if tags.get(language, tag) != tag:
            yield (
                f"{language!r} has tag {tag} in {data.folder}, where the model has {tags[language]}"
            )
        elif names.get(tag, language) != language:
            yield f"tag {tag} means {language!r} in {data.folder}; in the model, {names[tag]!r}"


def inherit_generation(parent: GenerationConfig, own: GenerationConfig) -> GenerationConfig:
    """Return what a model says of its languages: those of its parent, and those of its data."""
    return parent.replace(
        directions=tuple(dict.fromkeys((*parent.directions, *own.directions))),
        tags={**parent.tags, **own.tags},
    )


def read_habits(parent: Parent) -> dict[str, Any]:
    """Return the settings with which the parent was trained and its children begin."""
    folder = Path(parent.folder)
    if not (folder / PROVENANCE).is_file():
        return {}
    provenance = read_provenance(folder)
    known = provenance.get("training") if isinstance(provenance, dict) else None
    if not isinstance(known, dict):
        return {}
    settings = TrainingConfig.upgrade(known)
    return {name: settings[name] for name in _HABITS if name in settings}


def read_parent_weights(parent: Parent) -> dict[str, Tensor]:
    """Return the weights of the parent in 32 bits, which hold those of 16 bits exactly."""
    folder = Path(parent.folder)
    if not folder.is_dir() or _hash_weights(folder) != parent.sha256:
        raise DataError(
            folder / WEIGHTS,
            f"these are not the weights of {parent.name} that the run is to start from (SHA-256 "
            f"{parent.sha256[:12]}…)",
            remedy="Put them back, or begin a new run in another folder.",
        )
    return {name: weight.float() for name, weight in read_weights(folder).items()}


def _hash_weights(folder: Path) -> str:
    path = folder / WEIGHTS
    if not path.is_file():
        raise DataError(
            path,
            "the file is missing",
            remedy="The model directory is damaged or was copied in part: copy or train it again.",
        )
    return compute_checksum(path).sha256
