"""Checkpoints: all that a training run needs to continue exactly where it was.

::

    checkpoints/step-001000/model.safetensors       the weights, by parameter name
                              optimizer.safetensors   what the optimiser remembers
                              average.safetensors     the moving average, where there is one
                              state.json              everything else, and the SHA-256 of each file
    checkpoints/step-002000/…

A checkpoint appears under its name when all of it is on the disk. One whose content is not what
its state.json says is refused by name, and the one before it is used. Tensors are written one after
another in the safetensors format, without a second copy in memory; their SHA-256 is computed on the
way.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from translucid.checksums import Checksum, check_file, digest_json
from translucid.errors import DataError, InputError, TranslucidError
from translucid.files import (
    LOCK_SUFFIX,
    OLD_SUFFIX,
    PARTIAL_SUFFIX,
    new_folder,
    recover_folder,
    synced,
)

if TYPE_CHECKING:
    from torch import Tensor

VERSION = 1
STATE = "state.json"

_NAME = re.compile(r"step-(\d{6,})")
_REMOVED = "translucid-removed"
_LEFT_BEHIND = re.compile(
    rf"step-\d{{6,}}\.({PARTIAL_SUFFIX}|{OLD_SUFFIX}|{LOCK_SUFFIX}|{_REMOVED})"
)
_STATE_SIZE = 16_384  # bytes, about: for the message of a full disk
_REMEDY = "It is damaged: delete the folder, and resume from an earlier checkpoint."


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint whose files are what they were when it was written."""

    folder: Path
    step: int
    state: dict[str, Any]
    files: dict[str, Checksum]

    def tensors(self, name: str) -> dict[str, Tensor]:
        """Return the tensors of ``name.safetensors``; the file must be one of `files`."""
        from safetensors.torch import load_file

        path = self.folder / f"{name}.safetensors"
        try:
            return load_file(path)
        except SafetensorError as error:
            raise DataError(path, f"not a safetensors file: {error}", remedy=_REMEDY) from error

    def weights(self) -> dict[str, Tensor]:
        """Return the weights that its run validates: the moving average, if there is one."""
        return self.tensors("average" if "average.safetensors" in self.files else "model")


@dataclass(frozen=True)
class CheckpointStore:
    """The checkpoints of one run."""

    folder: Path

    def path(self, step: int) -> Path:
        """Return the folder of a step's checkpoint."""
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
            check_file(folder / name, written, _REMEDY)
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

    def recover(self) -> None:
        """Remove what a killed process has left."""
        for path in sorted(self.folder.iterdir()) if self.folder.is_dir() else []:
            if not _LEFT_BEHIND.fullmatch(path.name) or not path.exists():
                continue
            if path.suffix == f".{_REMOVED}":
                shutil.rmtree(path)
            else:
                recover_folder(path.with_suffix(""))

    def _kept(self, step: int) -> str:
        earlier = [other for other in self.steps() if other != step]
        kept = f"The checkpoint of step {earlier[-1]:,} is kept" if earlier else "There is none yet"
        return f"{kept}. Free some space, or move the run to a larger disk, and resume it."


def _state_text(step: int, files: Mapping[str, Checksum], state: Mapping[str, Any]) -> str:
    content = {
        "version": VERSION,
        "step": step,
        "files": {name: written._asdict() for name, written in files.items()},
        "state": state,
    }
    return json.dumps({**content, "sha256": digest_json(content)}, indent=2) + "\n"


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
    if stated != digest_json(content):
        raise DataError(path, "the content was changed after it was written", remedy=_REMEDY)
    files = {name: Checksum(**written) for name, written in content["files"].items()}
    return Checkpoint(path.parent, content["step"], content["state"], files)


_TYPES = {
    "torch.float64": "F64",
    "torch.float32": "F32",
    "torch.bfloat16": "BF16",
    "torch.float16": "F16",
    "torch.int64": "I64",
}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # no space, no quota, or a limit of file size


def write_file(path: Path, data: bytes) -> Checksum:
    """Write a new file and wait until it is on the disk."""
    return _write(path, [data])


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> Checksum:
    """Write named tensors as safetensors and wait until they are on the disk."""
    return _write(path, _safetensors(tensors))


def tensors_size(tensors: Mapping[str, Tensor]) -> int:
    """Return the number of bytes that a file of these tensors takes."""
    return len(_header(tensors)) + sum(tensor.nbytes for tensor in tensors.values())


def _write(path: Path, pieces: Iterable[bytes | memoryview]) -> Checksum:
    digest, size = hashlib.sha256(), 0
    with synced(path) as file:
        for piece in pieces:
            file.write(piece)
            digest.update(piece)
            size += len(piece)
    return Checksum(size, digest.hexdigest())


def _safetensors(tensors: Mapping[str, Tensor]) -> Iterator[bytes | memoryview]:
    import torch

    yield _header(tensors)
    for name in sorted(tensors):
        flat = tensors[name].detach().cpu().contiguous().reshape(-1)
        yield flat.view(torch.uint8).numpy().data


def _header(tensors: Mapping[str, Tensor]) -> bytes:
    entries, place = {}, 0
    for name in sorted(tensors):
        tensor = tensors[name]
        if str(tensor.dtype) not in _TYPES:
            known = ", ".join(_TYPES)
            raise InputError(f"{name} has the type {tensor.dtype}; only {known} can be saved")
        shape = list(tensor.shape)
        end = place + math.prod(shape) * tensor.element_size()
        entries[name] = {
            "dtype": _TYPES[str(tensor.dtype)],
            "shape": shape,
            "data_offsets": [place, end],
        }
        place = end
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that numbers stand at multiples of their size
    return len(text).to_bytes(8, "little") + text


@contextlib.contextmanager
def explain_full_disk(folder: Path, what: str, *, needed: int, remedy: str) -> Iterator[None]:
    """Turn the error of a full disk into one that says what is needed and what is free."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        free = shutil.disk_usage(_nearest_existing(folder)).free
        raise TranslucidError(
            f"{folder}: {what} cannot be written ({error.strerror}): it needs {needed:,} bytes, "
            f"and {free:,} are free there.\n  {remedy}"
        ) from error


def _nearest_existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())
