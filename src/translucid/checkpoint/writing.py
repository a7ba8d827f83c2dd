"""Files with their SHA-256, and tensors as safetensors.

Tensors are written one after another, without a second copy in memory, and the SHA-256 is taken in
passing::

    8 bytes        length of the header
    header         JSON: name → type, shape, place; filled up with spaces
    tensors        little-endian, in the order of the header
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from translucid.errors import InputError, TranslucidError
from translucid.files import synced

_TYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.int64: "I64",
}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # no space, no quota, or a limit of file size


class Written(NamedTuple):
    """A file on disk: its size in bytes, and its SHA-256 in hexadecimal."""

    bytes: int
    sha256: str


def write_file(path: Path, data: bytes) -> Written:
    """Write a new file and wait until it is on the disk."""
    return _write(path, [data])


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> Written:
    """Write named tensors as safetensors and wait until they are on the disk."""
    return _write(path, _safetensors(tensors))


def tensors_size(tensors: Mapping[str, Tensor]) -> int:
    """Return the number of bytes that a file of these tensors takes."""
    return len(_header(tensors)) + sum(tensor.nbytes for tensor in tensors.values())


def _write(path: Path, pieces: Iterable[bytes | memoryview]) -> Written:
    digest, size = hashlib.sha256(), 0
    with synced(path) as file:
        for piece in pieces:
            file.write(piece)
            digest.update(piece)
            size += len(piece)
    return Written(size, digest.hexdigest())


def _safetensors(tensors: Mapping[str, Tensor]) -> Iterator[bytes | memoryview]:
    yield _header(tensors)
    for name in sorted(tensors):
        flat = tensors[name].detach().cpu().contiguous().reshape(-1)
        yield flat.view(torch.uint8).numpy().data


def _header(tensors: Mapping[str, Tensor]) -> bytes:
    entries, place = {}, 0
    for name in sorted(tensors):
        tensor = tensors[name]
        if tensor.dtype not in _TYPES:
            known = ", ".join(map(str, _TYPES))
            raise InputError(f"{name} has the type {tensor.dtype}; only {known} can be saved")
        shape = list(tensor.shape)
        end = place + math.prod(shape) * tensor.element_size()
        entries[name] = {
            "dtype": _TYPES[tensor.dtype],
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
