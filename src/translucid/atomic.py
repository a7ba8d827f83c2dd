"""Files and folders that appear whole or not at all, whenever the process is killed.

Content is written under a temporary name beside the final one, synced to the disk, and renamed. The
temporary names are such that no person gives them: what has one may be deleted.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

DRAFT, FORMER = "translucid-partial", "translucid-old"  # endings of temporary names


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name, replacing an older one, when all is on disk."""
    draft = _beside(path, DRAFT)
    try:
        with synced(draft) as file:
            yield file
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder to fill; it takes its name, replacing an older one, when all is on disk.

    Files in it are to be written through `synced`. Whenever the process is killed, `settle` finds
    either the old folder or the new one.
    """
    settle(folder)
    draft = _beside(folder, DRAFT)
    draft.mkdir(parents=True)
    try:
        yield draft
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    sync_folder(draft)
    if folder.exists():
        folder.rename(_beside(folder, FORMER))
    draft.rename(folder)
    sync_folder(folder.parent)
    shutil.rmtree(_beside(folder, FORMER), ignore_errors=True)


def settle(folder: Path) -> None:
    """Clear away what a killed process left of replacing a folder; the folder itself is whole."""
    old, draft = _beside(folder, FORMER), _beside(folder, DRAFT)
    if old.exists() and not folder.exists():
        old.rename(folder)
    for remains in (old, draft):
        if remains.exists():
            shutil.rmtree(remains)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(f"{path.name}.{ending}")


@contextlib.contextmanager
def synced(path: Path) -> Iterator[BinaryIO]:
    """Open a new file for writing; closing it waits until its bytes are on the disk."""
    with path.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can do that."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
