"""The errors that Translucid raises on purpose, and the exit code the command line gives them.

::

    TranslucidError                  1  failed
    ├── ConfigError   (ValueError)   2  a configuration with one or more faults, all listed
    ├── InputError    (ValueError)   2  an argument or tensor that cannot be used
    ├── DataError     (ValueError)   3  a file whose content is bad: where, and what to do
    ├── BusyError                    1  a folder that another process is writing to
    └── MissingPackageError          1  an optional package that this job needs
        (ImportError)

A few parts define a subclass of these beside the code that raises it, such as `DivergedError` in
training. A message says what is wrong, the value received, what is allowed and what to do next.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import ClassVar


class RenamedWarning(FutureWarning):
    """An option or a setting was given by its name in an earlier version."""


class TranslucidError(Exception):
    """Base of every error that Translucid raises on purpose."""

    exit_code: ClassVar[int] = 1


class ConfigError(TranslucidError, ValueError):
    """A configuration with one or more faults; the message lists all of them."""

    exit_code = 2

    def __init__(self, subject: str, faults: Sequence[str]) -> None:
        self.subject = subject
        self.faults = tuple(faults)
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        super().__init__("\n".join([f"{subject} has {count}:", *(f"  - {f}" for f in faults)]))


class InputError(TranslucidError, ValueError):
    """An argument that cannot be used: what it is, the value received, what is allowed."""

    exit_code = 2


class DataError(TranslucidError, ValueError):
    """A file whose content cannot be used, with the place where reading stopped and a remedy."""

    exit_code = 3

    def __init__(
        self, path: Path | str, problem: str, *, remedy: str, line: int | None = None
    ) -> None:
        self.path = Path(path)
        self.line = line
        self.problem = problem
        self.remedy = remedy
        place = f"{path}" if line is None else f"{path}, line {line}"
        super().__init__(f"{place}: {problem}\n  {remedy}")

    def __reduce__(self) -> tuple[object, ...]:
        return _data_error, (self.path, self.problem, self.remedy, self.line)


def _data_error(path: Path, problem: str, remedy: str, line: int | None) -> DataError:
    """Rebuild a DataError in another process (pickle passes no keyword arguments)."""
    return DataError(path, problem, remedy=remedy, line=line)


class BusyError(TranslucidError):
    """A folder that another process is writing to."""


class MissingPackageError(TranslucidError, ImportError):
    """An optional package that this job needs, with the command that installs it."""

    def __init__(self, package: str, *, extra: str, job: str) -> None:
        super().__init__(
            f"{job} needs the package {package!r}, which is not installed.\n"
            f"  Install it with:  pip install 'translucid[{extra}]'"
        )


def optional(package: str, *, extra: str, job: str) -> ModuleType:
    """Import an optional package, or say which extra installs it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0]:
            raise
        raise MissingPackageError(package.partition(".")[0], extra=extra, job=job) from error


@contextlib.contextmanager
def needs_pytorch(job: str) -> Iterator[None]:
    """Say which extra installs PyTorch, where it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingPackageError("torch", extra="train", job=job) from error


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint such as ``did you mean 'dropout'?`` or, with nothing near, the known names."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return "known: " + ", ".join(known)
