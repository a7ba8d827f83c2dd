"""The model that a command works with: which one, and how to load it."""

from __future__ import annotations

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
