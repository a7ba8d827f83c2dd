"""Checksums of a folder's files, so that damage is told by name instead of acted upon.

::

    MODEL/checksums.json    {"version": 1, "files": {"config.json": {"bytes": …, "sha256": …}, …},
                             "sha256": that of all of this}

What writes a folder writes its checksums, and what loads it verifies them. Folders of earlier
versions have none and are read as they are. A file that is not listed is not verified. Somebody who
changes a file on purpose, or makes a folder by hand, lists all anew::

    python -c "from translucid.checksums import write_checksums; write_checksums('MODEL')"
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from translucid.errors import DataError
from translucid.files import new_file

CHECKSUMS = "checksums.json"
VERSION = 1
Loaded = TypeVar("Loaded")


class Checksum(NamedTuple):
    """A file's size in bytes, and its SHA-256 in hexadecimal."""

    bytes: int
    sha256: str


def compute_checksum(path: Path) -> Checksum:
    """Return the checksum of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Checksum(file.tell(), digest)


def check_file(path: Path, expected: Checksum, remedy: str) -> None:
    """Raise DataError unless a file has this checksum."""
    if not path.is_file():
        raise DataError(path, "the file is missing", remedy=remedy)
    if (size := path.stat().st_size) != expected.bytes:
        raise DataError(
            path, f"the file has {size:,} bytes instead of {expected.bytes:,}", remedy=remedy
        )
    if (actual := compute_checksum(path).sha256) != expected.sha256:
        problem = f"the content was changed: its SHA-256 is {actual}, not {expected.sha256}"
        raise DataError(path, problem, remedy=remedy)


def digest_json(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a content that is kept as JSON, so that a change by hand is seen."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def write_checksums(
    folder: Path | str,
    names: Iterable[str] | None = None,
    known: Mapping[str, Checksum] | None = None,
) -> None:
    """List the files of a folder: these names, or all but hidden ones.

    `known` has checksums that were computed on the way.
    """
    folder = Path(folder)
    if names is None:
        names = [path.name for path in folder.iterdir() if path.is_file()]
    known = known or {}
    listed = {name for name in names if name != CHECKSUMS and not name.startswith(".")}
    _write(folder, {n: known.get(n) or compute_checksum(folder / n) for n in sorted(listed)})


def _write(folder: Path, files: Mapping[str, Checksum]) -> None:
    content = _content(files)
    text = json.dumps({**content, "sha256": digest_json(content)}, indent=2) + "\n"
    with new_file(folder / CHECKSUMS) as file:
        file.write(text.encode())


def _content(files: Mapping[str, Checksum]) -> dict[str, Any]:
    return {"version": VERSION, "files": {name: one._asdict() for name, one in files.items()}}


def read_checksums(folder: Path) -> dict[str, Checksum] | None:
    """Return the checksums of a folder's files by name, or None if it has none."""
    path = folder / CHECKSUMS
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_bytes())
        version, stated = content["version"], content.pop("sha256")
        if stated != digest_json(content):
            raise ValueError("the content was changed after it was written")
        if version != VERSION:
            raise ValueError(f"it is of version {version!r}, and this Translucid reads {VERSION}")
        return {name: Checksum(**one) for name, one in content["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"these are no checksums: {error}"
        raise DataError(path, problem, remedy=_remedy(folder)) from error


def hash_listing(folder: Path) -> str | None:
    """Return the SHA-256 of a folder's checksums, which changes with any file; None without."""
    listed = read_checksums(folder)
    return None if listed is None else digest_json(_content(listed))


def verify(folder: Path, *, skip: Callable[[str], bool] = lambda _: False) -> None:
    """Raise DataError that names the first file which is not what it was, if there is one.

    `skip` tells by its name which file may be another one.
    """
    for name, expected in (read_checksums(folder) or {}).items():
        if not skip(name):
            check_file(folder / name, expected, _remedy(folder))


def _remedy(folder: Path) -> str:
    return (
        f"Copy or make {folder} again. If you have changed it on purpose: "
        'python -c "from translucid.checksums import write_checksums; '
        f"write_checksums('{folder}')\""
    )


_TRIES = 3  # of loading folders that are replaced meanwhile


def load_verified(
    folders: Sequence[Path],
    load: Callable[[], Loaded],
    *,
    skip: Callable[[str], bool] = lambda _: False,
) -> Loaded:
    """Return what `load` makes of folders that are verified in a thread meanwhile.

    Of a damaged file that keeps them from being loaded, its name and the remedy are told. Folders
    that were replaced on the way, as training does with its best model, are loaded again.
    """
    for _ in range(_TRIES):
        before = list(map(read_checksums, folders))
        try:
            loaded = _load_and_verify(folders, load, skip)
        except (DataError, OSError):
            if before == list(map(read_checksums, folders)):
                raise
            continue
        if before == list(map(read_checksums, folders)):
            return loaded
    return _load_and_verify(folders, load, skip)


def _load_and_verify(
    folders: Sequence[Path], load: Callable[[], Loaded], skip: Callable[[str], bool]
) -> Loaded:
    with ThreadPoolExecutor(1, "verify") as thread:
        verified = [thread.submit(verify, folder, skip=skip) for folder in folders]
        try:
            return load()
        finally:
            for one in verified:
                one.result()


@contextlib.contextmanager
def new_listed_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file like `new_file`, and list it if its folder has checksums.

    Killed on the way, the file is not listed, and so neither refused nor verified.
    """
    listed = read_checksums(path.parent)
    if listed is not None and path.name in listed:
        del listed[path.name]
        _write(path.parent, listed)
    with new_file(path) as file:
        yield file
    if listed is not None:
        _write(path.parent, listed | {path.name: compute_checksum(path)})
