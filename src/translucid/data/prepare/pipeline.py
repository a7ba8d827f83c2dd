"""Preparing a data folder: what is there already, the stages, and the move into place."""

from __future__ import annotations

import contextlib
import errno
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from translucid.atomic import sync_folder
from translucid.data.cleaning import Cleaner
from translucid.data.manifest import MANIFEST, Manifest
from translucid.data.prepare.build import Build
from translucid.data.prepare.config import (
    Inputs,
    PrepareConfig,
    check,
    describe,
    differences,
    job_of,
    stamps_of,
)
from translucid.data.prepare.report import REPORT
from translucid.data.prepare.tokenization import assign_slots, check_target_pieces, find_base
from translucid.data.prepare.workers import Workers
from translucid.data.prepare.workspace import UNFINISHED, Workspace, read_json
from translucid.data.shards import open_data, write_manifest
from translucid.errors import DataError, InputError, TranslucidError
from translucid.events import Emit, Notice
from translucid.folder_lock import LOCK, locked

_SPLITS = ("train", "dev", "test")
_DISK_IS_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True)
class Effort:
    """How the work is done, which changes nothing about its result.

    With one worker all happens in the calling process; with more, a script that calls this needs
    the usual ``if __name__ == "__main__":`` around its own work.
    """

    workers: int
    chunk_pairs: int


@dataclass(frozen=True)
class Prepared:
    """A complete data folder; `already` says that it was so before."""

    folder: Path
    report: dict[str, Any]
    already: bool


def prepare(
    inputs: Inputs,
    config: PrepareConfig,
    output: Path,
    *,
    effort: Effort,
    force: bool,
    emit: Emit,
) -> Prepared:
    """Clean, split, tokenize and store corpora in a folder that training can read.

    Killed at any moment, the same call goes on where it was stopped, with the same result to the
    byte. A folder that holds this very data already is left as it is; other data there is replaced
    only with `force`, and only once the new data is complete. Bad input leaves no trace.
    """
    check(inputs, config)
    created = _make_folder(output)
    try:
        with locked(output), _disk_errors_explained(output):
            return _prepare(inputs, config, output, effort=effort, force=force, emit=emit)
    finally:
        if created:
            with contextlib.suppress(OSError):
                output.rmdir()  # fails, as it should, when there is anything in it


def _make_folder(output: Path) -> bool:
    """Create the output folder; refuse one that holds something else."""
    if output.exists() and not output.is_dir():
        raise InputError(f"-o {output} is a file; give a folder, new or prepared earlier")
    if output.is_dir():
        ours = {MANIFEST, UNFINISHED, LOCK}
        names = {path.name for path in output.iterdir()}
        if names and not names & ours:
            raise InputError(
                f"-o {output} holds other files ({', '.join(sorted(names)[:3])}…) and no prepared "
                "data; give a new or empty folder"
            )
        return False
    output.mkdir(parents=True)
    return True


@contextlib.contextmanager
def _disk_errors_explained(output: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK_IS_FULL:
            raise
        raise TranslucidError(
            f"{output}: nothing more can be written there ({error.strerror}). The data is not "
            "complete.\n"
            f"  Make room and run the same command again, which goes on where it was stopped; or "
            f"delete {output / UNFINISHED}."
        ) from error


def _prepare(
    inputs: Inputs,
    config: PrepareConfig,
    output: Path,
    *,
    effort: Effort,
    force: bool,
    emit: Emit,
) -> Prepared:
    base = None if inputs.tokenizer_from is None else find_base(inputs.tokenizer_from)
    if base is not None and base.lowercase and not config.cleaning.lowercase:
        raise InputError(
            f"the tokenizer of {inputs.tokenizer_from} knows no capitals, for it was learned from "
            "text in lower case: give --lowercase too, or leave --tokenizer-from out"
        )
    if base is not None and config.target_pieces_only:
        check_target_pieces(base, inputs.languages[1])
    assign_slots({} if base is None else base.languages, inputs.languages)
    Cleaner(config.cleaning, *inputs.languages)  # a package that is missing is missed now
    stamps = stamps_of(inputs.corpora)
    settings = describe(inputs, config, None if base is None else base.tokenizer)
    work = Workspace(output)
    if _is_prepared(output, settings, force, emit):
        work.remove()
        return Prepared(output, read_json(output / REPORT), already=True)
    if work.open(job_of(settings, effort.chunk_pairs)):
        emit(Notice("Going on where an earlier run was stopped."))
    if not work.finished.is_file():
        with _work_kept_or_removed(work, emit), Workers(effort.workers) as workers:
            Build(
                inputs=inputs,
                config=config,
                base=base,
                settings=settings,
                stamps=stamps,
                work=work,
                workers=workers,
                chunk_pairs=effort.chunk_pairs,
                emit=emit,
            ).run()
    _publish(work, output)
    return Prepared(output, read_json(output / REPORT), already=False)


@contextlib.contextmanager
def _work_kept_or_removed(work: Workspace, emit: Emit) -> Iterator[None]:
    """Keep the work for another run, unless the input is such that no run could finish it."""
    try:
        yield
    except (DataError, InputError):
        work.remove()
        raise
    except KeyboardInterrupt:
        emit(Notice(f"Stopped. Run the same command again to go on; {work.root} holds the work."))
        raise


def _is_prepared(output: Path, settings: dict[str, Any], force: bool, emit: Emit) -> bool:
    """Whether the folder holds the data asked for; InputError if it holds other data."""
    path = output / MANIFEST
    if force or not path.is_file():
        return False
    how = "Give another folder with -o, or --force to replace it."
    try:
        there = Manifest.from_json(path.read_text(encoding="utf-8"), path).settings
    except (DataError, UnicodeDecodeError) as error:
        raise InputError(f"{output} holds data that cannot be read. {how}\n  {error}") from error
    if found := differences(there, settings):
        raise InputError(
            f"{output} holds data that was prepared otherwise: {', '.join(found)}. {how}"
        )
    try:
        open_data(output)
    except DataError as error:
        emit(Notice(f"note: {output} is damaged and will be prepared again.\n  {error}"))
        return False
    return True


def _publish(work: Workspace, output: Path) -> None:
    """Move the finished output into the folder; killed in between, the next run moves the rest.

    The manifest says that the folder is complete: an old one goes first, the new one comes last.
    """
    manifest = Manifest.from_json(read_json(work.finished)["manifest"], work.finished)
    (output / MANIFEST).unlink(missing_ok=True)
    sync_folder(output)
    for name in set(_SPLITS) - set(manifest.splits):
        shutil.rmtree(output / name, ignore_errors=True)
    for item in sorted(work.output.iterdir()):
        place = output / item.name
        if place.is_dir():
            shutil.rmtree(place)
        item.replace(place)
    sync_folder(output)
    write_manifest(output, manifest)
    work.remove()
