"""The models that come with the package, by name, and which model a path means.

::

    built_in/fr-en     French ↔ English, the model of every command that is given no other

Each is a model directory like any other; its card, README.md, says what it was trained on, under
which licences, and what it can do.
"""

from __future__ import annotations

from pathlib import Path

from translucid.errors import InputError

MODEL_FOLDERS = ("best", "model")  # the model directories of a run, the better one first
CONFIG = "config.json"  # every model directory has it
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
    return sorted(config.parent.name for config in DEFAULT.parent.glob(f"*/{CONFIG}"))


def find_model_directory(path: Path) -> Path:
    """Return the model directory that a path names: itself, the best of a run, a built-in one."""
    known = built_in(str(path))
    if not path.is_dir():
        if known is not None:
            return known
        what = "is a file" if path.exists() else "does not exist"
        raise InputError(
            f"{path} {what}: give a model directory, the folder of a training run, or a built-in "
            f"model ({', '.join(built_in_names())})"
        )
    for folder in (path, *(path / name for name in MODEL_FOLDERS)):
        if (folder / CONFIG).is_file():
            return folder
    raise InputError(
        f"{path} is neither a model directory (it has no {CONFIG}) nor the folder of a run that "
        f"has saved a model (it has no {' or '.join(f'{name}/' for name in MODEL_FOLDERS)})"
        + (f"; the built-in model of that name is {known}" if known else "")
    )


def describe_model(folder: Path) -> str:
    """Return the name of a model: its folder, with the run's for a model in a run."""
    folder = folder.resolve()
    if folder.name in MODEL_FOLDERS:
        return f"{folder.parent.name}/{folder.name}"
    return folder.name
