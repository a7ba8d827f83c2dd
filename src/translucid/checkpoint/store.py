"""Checkpoints: all that a training run needs to continue exactly where it was.

::

    checkpoints/step-001000/model.safetensors       the weights, by parameter name
                              optimizer.safetensors   what the optimiser remembers
                              average.safetensors     the moving average, where there is one
                              state.json              everything else, and the SHA-256 of each file
    checkpoints/step-002000/…

A checkpoint appears under its name when all of it is on the disk. One whose content is not what
its state.json says is refused by name, and the one before it is used.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from translucid.checkpoint.writing import (
    Written,
    explain_full_disk,
    tensors_size,
    write_file,
    write_tensors,
)
from translucid.errors import DataError
from translucid.files import DRAFT, FORMER, new_folder, settle

VERSION = 1
STATE = "state.json"

_NAME = re.compile(r"step-(\d{6,})")
_REMOVED = "translucid-removed"
_LEFT_BEHIND = re.compile(rf"step-\d{{6,}}\.({DRAFT}|{FORMER}|{_REMOVED})")
_STATE_SIZE = 16_384  # bytes, about: for the message of a full disk
_REMEDY = "It is damaged: delete the folder, and resume from an earlier checkpoint."


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint whose files are what they were when it was written."""

    folder: Path
    step: int
    state: dict[str, Any]
    files: dict[str, Written]

    def tensors(self, name: str) -> dict[str, Tensor]:
        """Return the tensors of ``name.safetensors``; the file must be one of `files`."""
        path = self.folder / f"{name}.safetensors"
        try:
            return load_file(path)
        except SafetensorError as error:
            raise DataError(path, f"not a safetensors file: {error}", remedy=_REMEDY) from error


@dataclass(frozen=True)
class CheckpointStore:
    """The checkpoints of one run."""

    folder: Path

    def path(self, step: int) -> Path:
        """Return where the checkpoint of a step stands."""
        return self.folder / f"step-{step:06d}"

    def steps(self) -> list[int]:
        """Return the steps of which there is a checkpoint, oldest first."""
        if not self.folder.is_dir():
            return []
        matches = (_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted(int(match[1]) for match in matches if match)

    def save(
        self, step: int, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]
    ) -> Path:
        """Write the checkpoint of a step; `tensors` by file name, without ``.safetensors``.

        On a full disk, those there are kept, and the error says how many bytes are needed.
        """
        needed = _STATE_SIZE + sum(tensors_size(named) for named in tensors.values())
        folder = self.path(step)
        what, remedy = f"the checkpoint of step {step:,}", self._kept(step)
        with (
            explain_full_disk(folder, what, needed=needed, remedy=remedy),
            new_folder(folder) as draft,
        ):
            files = {
                f"{name}.safetensors": write_tensors(draft / f"{name}.safetensors", named)
                for name, named in tensors.items()
            }
            write_file(draft / STATE, _state_text(step, files, state).encode())
        return folder

    def open(self, step: int) -> Checkpoint:
        """Read a checkpoint after checking every byte; refuse it by a DataError that names it."""
        folder = self.path(step)
        content = _read_state(folder / STATE)
        for name, written in content.files.items():
            _check_file(folder / name, written)
        if content.step != step:
            raise DataError(folder, f"it is the checkpoint of step {content.step}", remedy=_REMEDY)
        return content

    def newest(self) -> tuple[Checkpoint | None, list[tuple[int, DataError]]]:
        """Return the newest sound checkpoint, if there is any, and why newer ones were refused.

        Where there are checkpoints but no sound one, the refusal of the newest is raised.
        """
        refusals: list[tuple[int, DataError]] = []
        for step in reversed(self.steps()):
            try:
                return self.open(step), refusals
            except DataError as error:
                refusals.append((step, error))
        if refusals:
            raise refusals[0][1]
        return None, []

    def set_aside(self, step: int) -> Path:
        """Rename a refused checkpoint so that it does not count any more, and return its path."""
        aside = self.folder / f"{self.path(step).name}.refused"
        if aside.exists():
            shutil.rmtree(aside)
        return self.path(step).rename(aside)

    def prune(self, keep: int) -> None:
        """Remove all but the newest `keep` checkpoints."""
        for step in self.steps()[:-keep]:
            # Renamed first: a process killed while deleting leaves nothing that looks whole.
            removed = self.folder / f"{self.path(step).name}.{_REMOVED}"
            shutil.rmtree(self.path(step).rename(removed))

    def settle(self) -> None:
        """Clear away what a killed process has left."""
        for path in sorted(self.folder.iterdir()) if self.folder.is_dir() else []:
            if not _LEFT_BEHIND.fullmatch(path.name) or not path.exists():
                continue
            if path.suffix == f".{_REMOVED}":
                shutil.rmtree(path)
            else:
                settle(path.with_suffix(""))

    def _kept(self, step: int) -> str:
        earlier = [other for other in self.steps() if other != step]
        kept = f"The checkpoint of step {earlier[-1]:,} is kept" if earlier else "None was there"
        return f"{kept}. Free some space, or move the run to a larger disk, and resume it."


def _state_text(step: int, files: Mapping[str, Written], state: Mapping[str, Any]) -> str:
    content = {
        "version": VERSION,
        "step": step,
        "files": {name: written._asdict() for name, written in files.items()},
        "state": state,
    }
    return json.dumps({**content, "sha256": _digest(content)}, indent=2) + "\n"


def _digest(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a content, so that a change by hand is seen."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _read_state(path: Path) -> Checkpoint:
    if not path.is_file():
        raise DataError(path, "the file is missing", remedy=_REMEDY)
    try:
        content = json.loads(path.read_bytes())
        version, stated = content["version"], content.pop("sha256")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            path, f"not the state of a checkpoint: {error!r}", remedy=_REMEDY
        ) from error
    if isinstance(version, int) and version > VERSION:
        raise DataError(
            path,
            f"the checkpoint has version {version}; this translucid reads up to {VERSION}",
            remedy="Update translucid, or resume with the one that wrote it.",
        )
    if stated != _digest(content):
        raise DataError(path, "the content was changed after it was written", remedy=_REMEDY)
    files = {name: Written(**written) for name, written in content["files"].items()}
    return Checkpoint(path.parent, content["step"], content["state"], files)


def _check_file(path: Path, written: Written) -> None:
    if not path.is_file():
        raise DataError(path, "the file is missing", remedy=_REMEDY)
    if (size := path.stat().st_size) != written.bytes:
        raise DataError(
            path, f"the file has {size:,} bytes instead of {written.bytes:,}", remedy=_REMEDY
        )
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != written.sha256:
        raise DataError(
            path,
            f"the content was changed: its SHA-256 is {actual}, not {written.sha256}",
            remedy=_REMEDY,
        )
