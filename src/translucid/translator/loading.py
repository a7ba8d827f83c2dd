"""From model directories to a translator."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import torch

from translucid.built_in import describe_model, find_model_directory
from translucid.checkpoint.model_directory import (
    CONFIG,
    GENERATION,
    TOKENIZER,
    WEIGHTS,
    load_model,
    read_generation,
)
from translucid.config import GenerationConfig, ModelConfig
from translucid.errors import DataError, InputError
from translucid.text.normalization import NormalizingTokenizer
from translucid.text.tokenizer import FIRST_PIECE, FIRST_TAG, Tokenizer, load_tokenizer
from translucid.translator.alignment import ALIGNMENT, read_alignment_heads
from translucid.translator.confidence import read_calibration
from translucid.translator.member import Member
from translucid.translator.request import describe_directions
from translucid.translator.source_language import LANGUAGES, read_source_languages
from translucid.translator.translator import Translator


def load(
    path: str | PathLike[str], *others: str | PathLike[str], device: str = "cpu"
) -> Translator:
    """Return the translator of a model directory, or of several together as an ensemble.

    A path is a model directory, the folder of a run, whose best model is taken, or the name of a
    built-in model, such as fr-en. The models of an ensemble must have the same vocabulary; their
    probabilities are averaged.
    """
    torch_device = _find_device(device)
    folders = [find_model_directory(Path(given)) for given in (path, *others)]
    tokenizer = load_tokenizer(folders[0] / TOKENIZER)
    members: list[Member] = []
    generations: list[GenerationConfig] = []
    for folder in folders:
        generation = read_generation(folder)
        _check_tags(folder, generation)
        generations.append(generation)
        model = load_model(folder).to(torch_device)
        _check_vocabulary(folder, folders[0], tokenizer)
        _check_size(folder, model.config, tokenizer)
        heads = read_alignment_heads(folder, model.config)
        members.append(Member(model, heads))
    _check_target_vocabularies(members, folders)
    generation = _merge_generation(generations, folders)
    sources = list(dict.fromkeys(source for source, _ in generation.directions))
    known = (read_source_languages(folder, sources, tokenizer.vocab_size) for folder in folders)
    return Translator(
        name=" + ".join(describe_model(folder) for folder in folders),
        tokenizer=_normalize_like_training(tokenizer, generation),
        members=tuple(members),
        generation=generation,
        source_languages=next((languages for languages in known if languages), None),
        calibration=read_calibration(folders[0]) if len(folders) == 1 else None,
        folders=tuple(folders),
    )


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
        for name in (CONFIG, GENERATION, WEIGHTS, TOKENIZER, ALIGNMENT, *extra):
            digest.update(f"{name}\n".encode())
            if (folder / name).is_file():
                with (folder / name).open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _find_device(name: str) -> torch.device:
    """Return a device of PyTorch; refuse one that it does not know or find here."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"device = {name!r} cannot be used: {str(error).splitlines()[0]}. Give 'cpu', or "
            "'cuda' or 'mps' where PyTorch finds one"
        ) from error
    return device


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


def _check_vocabulary(folder: Path, first: Path, tokenizer: Tokenizer) -> None:
    """Refuse a model whose vocabulary differs from that of the first."""
    found = load_tokenizer(folder / TOKENIZER) if folder != first else tokenizer
    if found.fingerprint != tokenizer.fingerprint:
        raise InputError(
            f"{folder} has another vocabulary than {first} ({found.kind} of {found.vocab_size} "
            f"pieces, fingerprint {found.fingerprint[:12]}; {tokenizer.kind} of "
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


def _check_target_vocabularies(members: Sequence[Member], folders: Sequence[Path]) -> None:
    """Refuse networks with different target vocabularies: their probabilities have no mean."""
    written = [member.model.config.target_vocab_size for member in members]
    if len(set(written)) > 1:
        each = ", ".join(f"{folder}: {n}" for folder, n in zip(folders, written, strict=True))
        raise InputError(
            "these models cannot translate together, because they write different numbers of "
            f"pieces ({each}): prepare the data of all with --target-pieces-only, or of none"
        )


def _merge_generation(
    generations: Sequence[GenerationConfig], folders: Sequence[Path]
) -> GenerationConfig:
    """Return the settings of the first model, with the directions that all models share."""
    shared = [
        direction
        for direction in generations[0].directions
        if all(direction in generation.directions for generation in generations)
    ]
    tags = [{target: g.tags.get(target) for _, target in shared} for g in generations]
    cases = {(generation.lowercase, generation.plain_typography) for generation in generations}
    if not shared or any(other != tags[0] for other in tags) or len(cases) > 1:
        each = "\n".join(
            f"  {folder}: {describe_directions(generation.directions)}, tags {generation.tags}, "
            f"{'lower case only' if generation.lowercase else 'both cases'}, "
            f"{'plain' if generation.plain_typography else 'any'} typography"
            for folder, generation in zip(folders, generations, strict=True)
        )
        raise InputError(
            "these models cannot translate together: they need a direction in common, the same "
            f"tags of languages, and text normalised alike\n{each}"
        )
    return generations[0].replace(directions=shared)
