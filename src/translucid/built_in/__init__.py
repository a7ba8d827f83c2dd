"""The models that come with the package, by name.

::

    built_in/fr-en     French ↔ English, the model of every command that is given no other

Each is a model directory like any other; its card, README.md, says what it was trained on, under
which licences, and what it can do.
"""

from __future__ import annotations

from pathlib import Path

DEFAULT = Path(__file__).parent / "fr-en"


def built_in(name: str) -> Path | None:
    """Return the directory of a built-in model, or None where no model has that name."""
    return DEFAULT.parent / name if name in built_in_names() else None


def built_in_name(folder: Path) -> str | None:
    """Return the name of the built-in model that a directory is, or None where it is none."""
    packaged = folder.resolve().parent == DEFAULT.parent.resolve()
    return folder.name if packaged and folder.name in built_in_names() else None


def built_in_names() -> list[str]:
    """Return the names of all built-in models."""
    return sorted(config.parent.name for config in DEFAULT.parent.glob("*/config.json"))
