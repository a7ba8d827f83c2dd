"""Whether a file is the one that is meant: its size and its sha256."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Protocol

from translucid.errors import DataError


class Known(Protocol):
    """Anything whose content is known beforehand."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def size(self) -> int:
        """How many bytes it has."""

    @property
    def sha256(self) -> str:
        """The checksum of its content in hexadecimal."""


def sha256_of(path: Path) -> str:
    """Return the checksum of a file's content in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_known(path: Path, known: Known) -> bool:
    """Whether the path holds a file with just the known content."""
    return path.is_file() and path.stat().st_size == known.size and sha256_of(path) == known.sha256


def wrong_content(path: Path, known: Known, *, origin: str, remedy: str) -> DataError:
    """Return the error for a file at the path that is not the known one; ``origin`` is its source.

    The file is read for the message, so this comes before deleting it.
    """
    return DataError(
        origin,
        f"this is not the known {known.name}:\n"
        f"  expected sha256 {known.sha256} ({known.size:,} bytes)\n"
        f"  actual   sha256 {sha256_of(path)} ({path.stat().st_size:,} bytes)",
        remedy=remedy,
    )
