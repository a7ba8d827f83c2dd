"""A file of results that can be continued after a kill at any moment.

::

    OUT                              results, as many as there are
    OUT.unfinished/progress.json     what is being done, how many lines of it are done, and how many
                                     bytes of OUT, with their SHA-256, these lines are

Results are written and synced before the record says so. Going on, OUT is cut to the bytes of the
record: what a killed process had written beyond them, half a line perhaps, is done again. When all
is done the folder is removed; without it, OUT is complete.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Protocol

from translucid.errors import DataError, InputError, TranslucidError
from translucid.files import locked, new_file

_CHUNK = 1 << 20
_VERSION = 1

Work = Mapping[str, str]  # what is being done: by name, all that the results depend on


class Output(Protocol):
    """Where results go."""

    def write(self, results: bytes, lines: int) -> None:
        """Write the results of `lines` more lines of input, at once."""


def unfinished_folder(path: Path) -> Path:
    """Return where the progress of a file of results is recorded until it is complete."""
    return path.with_name(f"{path.name}.unfinished")


def is_unfinished(path: Path) -> bool:
    """Return whether there is unfinished work to continue."""
    return _record_path(path).exists()


def _record_path(path: Path) -> Path:
    return unfinished_folder(path) / "progress.json"


class ResumableOutput:
    """A file of results and the record of how far it has come; `lines` of input are done."""

    def __init__(self, path: Path, work: Work) -> None:
        self._path = path
        self._record = _record_path(path)
        self._work = dict(work)
        self._digest = hashlib.sha256()
        self._bytes = 0
        self._file: FileIO | None = None
        self.lines = 0

    def resume(self) -> None:
        """Take up what an earlier process has recorded, if it was the same work."""
        lines, size, sha256 = self._read_record()
        if self._path.exists():
            with self._path.open("rb") as file:
                while self._bytes < size and (chunk := file.read(min(_CHUNK, size - self._bytes))):
                    self._digest.update(chunk)
                    self._bytes += len(chunk)
        if self._bytes < size or self._digest.hexdigest() != sha256:
            raise DataError(
                self._path,
                f"is not what was written for the first {lines:,} lines: it was changed since",
                remedy=f"To start over, remove {self._record.parent}.",
            )
        self.lines = lines

    def write(self, results: bytes, lines: int) -> None:
        """Add the results of `lines` more lines of input; when this returns, they are kept."""
        with _explain_errors(self._path):
            file = self._open()
            written = 0
            while written < len(results):  # on a disk that is nearly full, part of it is written
                written += file.write(results[written:])
            os.fsync(file.fileno())
            self._digest.update(results)
            self._bytes += len(results)
            self.lines += lines
            self._write_record()

    def finish(self) -> None:
        """Declare that the results are complete."""
        with _explain_errors(self._path):
            self._open()
            self._record.unlink()

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    def _open(self) -> FileIO:
        """Return the file, open where results continue; an older one is not replaced before."""
        if self._file is None:
            self._write_record()
            # Without a buffer, which closing would try to write after it could not be written.
            self._file = self._path.open("r+b" if self._bytes else "wb", buffering=0)
            self._file.truncate(self._bytes)
            self._file.seek(self._bytes)
        return self._file

    def _write_record(self) -> None:
        record = {
            "version": _VERSION,
            "work": self._work,
            "lines": self.lines,
            "bytes": self._bytes,
            "sha256": self._digest.hexdigest(),
        }
        with new_file(self._record) as file:
            file.write((json.dumps(record, indent=2) + "\n").encode())

    def _read_record(self) -> tuple[int, int, str]:
        """Return lines, bytes and SHA-256 of the record, if it is one of this work."""
        start_over = f"To start over, remove {self._record.parent}."
        try:
            record = json.loads(self._record.read_bytes())
            version, work = record["version"], dict(record["work"])
            found = int(record["lines"]), int(record["bytes"]), str(record["sha256"])
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(self._record, f"is damaged: {error}", remedy=start_over) from error
        if version != _VERSION:
            problem = f"is of version {version!r}, not {_VERSION}"
            raise DataError(self._record, problem, remedy=start_over)
        if differences := _differences(work, self._work):
            raise InputError(
                f"--resume: {self._path} was begun differently: {'; '.join(differences)}.\n"
                f"  Continue with what it was begun with. {start_over}"
            )
        return found


def _differences(before: Work, now: Work) -> list[str]:
    names = [*before, *(name for name in now if name not in before)]
    return [
        f"{name} was {before.get(name, 'not known')} and is now {now.get(name, 'not known')}"
        for name in names
        if before.get(name) != now.get(name)
    ]


@contextlib.contextmanager
def resumable_output(path: Path, work: Work, *, resume: bool) -> Iterator[ResumableOutput]:
    """Give the file of results, for this process alone; leaving without an error completes it.

    With `resume` it continues where an earlier process was stopped, or begins if there is nothing;
    without it, unfinished results are never silently thrown away.
    """
    folder = unfinished_folder(path)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(
            f"-o {path} cannot be written: {error.strerror or error}; give a name in an existing "
            "folder to which you may write"
        ) from error
    try:
        with locked(folder):
            output = ResumableOutput(path, work)
            _check(path, folder, resume=resume)
            if is_unfinished(path):
                output.resume()
            try:
                yield output
                output.finish()
            finally:
                output.close()
    finally:
        with contextlib.suppress(OSError):
            folder.rmdir()  # it is empty unless there is something to continue


def _check(path: Path, folder: Path, *, resume: bool) -> None:
    """Refuse to discard unfinished or finished results by mistake."""
    begun = is_unfinished(path)
    if begun and not resume:
        raise InputError(
            f"-o {path} is unfinished: continue with the same command and --resume, or, to start "
            f"over, remove {folder}"
        )
    if resume and not begun and path.exists() and path.stat().st_size:
        raise InputError(
            f"--resume: {path} exists and is not marked as unfinished, but is no complete "
            "translation of this input either. To replace it, leave --resume out; otherwise give "
            "another name"
        )


@contextlib.contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    """Say what cannot be written, and that nothing is lost."""
    try:
        yield
    except OSError as error:
        raise TranslucidError(
            f"{path} cannot be written: {error.strerror or error}.\n"
            "  What was written so far is kept. Fix this, then run the same command with --resume."
        ) from error
