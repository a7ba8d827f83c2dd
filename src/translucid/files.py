"""Files and folders: written whole or not at all, and locked by one process.

Content is written under a temporary name beside the final one, synced to the disk, and renamed.
Nobody would choose such a temporary name, so anything that has one may be deleted.

The operating system holds a lock, on a file ``.lock`` in the folder. A killed process leaves at
most the file behind, which means nothing without the lock.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from translucid.errors import BusyError

PARTIAL_SUFFIX, OLD_SUFFIX = "translucid-partial", "translucid-old"
LOCK_SUFFIX = "translucid-lock"


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name, replacing an older one, when all is on disk."""
    draft = _temporary_path(path, PARTIAL_SUFFIX)
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

    Files in it are to be written through `synced`. Whenever the process is killed,
    `recover_folder` finds either the old folder or the new one. If another process is writing the
    same folder, it is a BusyError.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _hold(_temporary_path(folder, LOCK_SUFFIX), folder):
        _recover(folder)
        draft = _temporary_path(folder, PARTIAL_SUFFIX)
        draft.mkdir()
        try:
            yield draft
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        sync_folder(draft)
        if folder.exists():
            folder.rename(_temporary_path(folder, OLD_SUFFIX))
        draft.rename(folder)
        sync_folder(folder.parent)
        shutil.rmtree(_temporary_path(folder, OLD_SUFFIX), ignore_errors=True)


def recover_folder(folder: Path) -> None:
    """Remove what a killed process left when replacing a folder; the folder is complete then."""
    suffixes = (OLD_SUFFIX, PARTIAL_SUFFIX, LOCK_SUFFIX)
    if any(_temporary_path(folder, suffix).exists() for suffix in suffixes):
        with _hold(_temporary_path(folder, LOCK_SUFFIX), folder):
            _recover(folder)


def _recover(folder: Path) -> None:
    old, draft = _temporary_path(folder, OLD_SUFFIX), _temporary_path(folder, PARTIAL_SUFFIX)
    if old.exists() and not folder.exists():
        old.rename(folder)
    for remains in (old, draft):
        if remains.exists():
            shutil.rmtree(remains)


def _temporary_path(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name}.{suffix}")


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


LOCK = ".lock"

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    _try_share = _try_lock
else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _try_share(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder for this process alone, or raise BusyError if another one has it."""
    with _hold(folder / LOCK, folder):
        yield


@contextlib.contextmanager
def _hold(path: Path, folder: Path) -> Iterator[None]:
    """Hold the lock on a folder that is the file at this path."""
    descriptor = _acquire(path, folder)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError, PermissionError):
            path.unlink()  # Windows refuses while the file is open; an empty file stays then
        os.close(descriptor)


def is_locked(folder: Path) -> bool:
    """Tell whether a process holds the folder now; nothing in it is changed.

    Where a killed process has left the file of its lock, that file is held while this looks, for
    some microseconds.
    """
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY)
    except OSError:
        return False  # no file, no lock; one that may not be read belongs to others
    try:
        _try_share(descriptor)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _acquire(path: Path, folder: Path) -> int:
    """Lock the file that has this name now: an owner that ends removes it under its own lock."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _try_lock(descriptor)
        except OSError as error:
            os.close(descriptor)
            raise BusyError(
                f"{folder} is being written by another process. Wait for it to end, or "
                "choose another output folder."
            ) from error
        if _is_same_file(descriptor, path):
            return descriptor
        os.close(descriptor)


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
