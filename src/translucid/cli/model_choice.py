"""The model that a command works with: which one, how to load it, how to know it again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from translucid.built_in import DEFAULT

if TYPE_CHECKING:
    from translucid.translator import Translator


def chosen(models: Sequence[Path] | None) -> tuple[Path, ...]:
    """Return the models named with -m, or the one that comes with the package."""
    return tuple(models or (DEFAULT,))


def loaded(models: Sequence[Path] | None, threads: int | None) -> Translator:
    """Return the translator of the chosen models; several are an ensemble."""
    import torch

    from translucid.translator import load

    if threads is not None:
        torch.set_num_threads(threads)
    return load(*chosen(models))


def fingerprint(models: Sequence[Path]) -> str:
    """Return a name for the exact content of models: a hash of all that decides what they write."""
    from translucid.checkpoint.model_directory import CONFIG, GENERATION, TOKENIZER, WEIGHTS
    from translucid.translator.alignment_heads import ALIGNMENT
    from translucid.translator.loading import model_directory
    from translucid.translator.source_language import LANGUAGES

    digest = hashlib.sha256()
    for model in models:
        folder = model_directory(model)
        extra = [LANGUAGES] if (folder / LANGUAGES).is_file() else []
        for name in (CONFIG, GENERATION, WEIGHTS, TOKENIZER, ALIGNMENT, *extra):
            digest.update(f"{name}\n".encode())
            if (folder / name).is_file():
                with (folder / name).open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
