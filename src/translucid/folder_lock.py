"""A lock on a folder that dies with its owner, however the owner dies.

The operating system holds the lock, on a file ``.lock`` in the folder; a killed process leaves at
most the file behind, which means nothing without the lock.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from translucid.errors import BusyError

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
    path = folder / LOCK
    descriptor = _acquire(path)
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


def _acquire(path: Path) -> int:
    """Lock the file that has this name now: an owner that ends removes it under its own lock."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _try_lock(descriptor)
        except OSError as error:
            os.close(descriptor)
            raise BusyError(
                f"{path.parent} is being written by another process. Wait for it to end, or "
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
