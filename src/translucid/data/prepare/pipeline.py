"""Preparing a data folder: what is there already, the stages, and the move into place."""

from __future__ import annotations

import contextlib
import errno
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from translucid.data.cleaning import Cleaner
from translucid.data.config import PrepareConfig
from translucid.data.manifest import MANIFEST, Manifest
from translucid.data.prepare.build import Build
from translucid.data.prepare.config import (
    Files,
    Inputs,
    check_request,
    describe_job,
    describe_settings,
    find_differences,
    find_inputs,
    make_config,
    stamp_files,
)
from translucid.data.prepare.report import REPORT
from translucid.data.prepare.tokenization import (
    BaseTokenizer,
    assign_tag_slots,
    check_target_pieces,
    find_base,
    take_over_settings,
)
from translucid.data.prepare.workers import Workers
from translucid.data.prepare.workspace import UNFINISHED, Workspace, read_json
from translucid.data.shards import PreparedData, open_data, write_manifest
from translucid.errors import DataError, InputError, TranslucidError
from translucid.events import Emit, Notice, silent
from translucid.files import LOCK, locked, sync_folder

CHUNK_PAIRS = 20_000
_SPLITS = ("train", "dev", "test")
_DISK_IS_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True)
class Prepared(PreparedData):
    """A complete data folder, its report, and whether it was complete before the call."""

    report: dict[str, Any]
    was_complete: bool

    @classmethod
    def open(cls, folder: Path, *, was_complete: bool) -> Prepared:
        """Open a folder that was just prepared, or had been before."""
        manifest, report = open_data(folder).manifest, read_json(folder / REPORT)
        return cls(folder, manifest, report, was_complete)


def prepare(
    files: Files,
    *,
    source: str,
    target: str,
    output: Path | str,
    dev: Files = (),
    test: Files = (),
    split: tuple[int, int] | None = None,
    fields: tuple[str, str] | None = None,
    tokenizer_from: Path | str | None = None,
    force: bool = False,
    workers: int = 1,
    chunk_pairs: int | None = None,
    on_event: Emit = silent,
    **settings: Any,
) -> Prepared:
    """Clean, split, tokenize and store corpora in a folder that training can read.

    `files` are training corpora as on the command line: two line-aligned text files, ``.tsv``,
    ``.jsonl``, ``.tmx`` …, ``FILE@2`` to count twice, ``lesson``. `split` holds out that many pairs
    for dev and test. The lesson by itself comes with its own dev and test set. `tokenizer_from` is
    another data folder, a model (directory, run or ``fr-en``), a tokenizer or a SentencePiece
    ``.model`` file whose tokenizer to use, with its language tags and its normalisation.
    `settings` are those of `PrepareConfig` and of its `cleaning`, such as ``vocab_size=8000``.

    `workers` and `chunk_pairs` do not change the result. Workers are processes; with more than one,
    a script needs the usual ``if __name__ == "__main__":`` around its code.

    If the call is interrupted, even killed, repeating it continues where it stopped and gives the
    same bytes. A folder that has exactly this data already is left as it is; other data there is
    replaced only with `force`, and only when the new data is complete. Bad input leaves no trace.
    """
    if settings.get("tokenizer") is not None and tokenizer_from is not None:
        raise InputError(
            f"--tokenizer-from takes over a tokenizer as it is; --tokenizer "
            f"{settings['tokenizer']} asks for a new one. Leave one of the two out."
        )
    config = make_config(split=split, **settings)
    base = None if tokenizer_from is None else Path(tokenizer_from)
    inputs = find_inputs(
        files,
        dev=dev,
        test=test,
        languages=(source, target),
        fields=fields,
        tokenizer_from=base,
        config=config,
    )
    for name, number in (("--workers", workers), ("--chunk-pairs", chunk_pairs)):
        if number is not None and number < 1:
            raise InputError(f"{name} {number}: must be at least 1")
    return prepare_corpora(
        inputs,
        config,
        Path(output),
        workers=workers,
        chunk_pairs=chunk_pairs or CHUNK_PAIRS,
        force=force,
        emit=on_event,
    )


def prepare_corpora(
    inputs: Inputs,
    config: PrepareConfig,
    output: Path,
    *,
    workers: int,
    chunk_pairs: int,
    force: bool,
    emit: Emit,
) -> Prepared:
    """Do what `prepare` does, for corpora and a config that are made already."""
    check_request(inputs, config)
    is_new = _make_folder(output)
    try:
        with locked(output), _explain_full_disk(output):
            base = _find_base(inputs, config)
            if base is not None:
                config = take_over_settings(config, base, inputs.languages, emit)
            Cleaner(config.cleaning, *inputs.languages)  # reports a missing package now
            stamps = stamp_files(inputs.corpora)
            settings = describe_settings(inputs, config, base)
            work = Workspace(output)
            if _is_complete(output, settings, force, emit):
                work.remove()
                return Prepared.open(output, was_complete=True)
            if work.open(describe_job(settings, chunk_pairs)):
                emit(Notice("Continuing where an earlier run was stopped."))
            if not work.finished.is_file():
                with _keep_unless_hopeless(work, emit), Workers(workers) as pool:
                    Build(
                        inputs=inputs,
                        config=config,
                        base=base,
                        settings=settings,
                        stamps=stamps,
                        work=work,
                        workers=pool,
                        chunk_pairs=chunk_pairs,
                        emit=emit,
                    ).run()
            _publish(work, output)
            return Prepared.open(output, was_complete=False)
    finally:
        if is_new:
            with contextlib.suppress(OSError):
                output.rmdir()  # fails, as it should, if there is anything in it


def _find_base(inputs: Inputs, config: PrepareConfig) -> BaseTokenizer | None:
    """Find the tokenizer to take over, if any, and check that it fits."""
    base = None
    if inputs.tokenizer_from is not None:
        base = find_base(inputs.tokenizer_from)
        if config.target_pieces_only:
            check_target_pieces(base, inputs.languages[1])
    assign_tag_slots({} if base is None else base.languages, inputs.languages)
    return base


def _make_folder(output: Path) -> bool:
    """Create the output folder if it is new; refuse one that has other files."""
    if output.exists() and not output.is_dir():
        raise InputError(f"-o {output} is a file; give a folder, new or prepared earlier")
    if output.is_dir():
        ours = {MANIFEST, UNFINISHED, LOCK}
        names = {path.name for path in output.iterdir()}
        if names and not names & ours:
            raise InputError(
                f"-o {output} has other files ({', '.join(sorted(names)[:3])}…) and no prepared "
                "data; give a new or empty folder"
            )
        return False
    output.mkdir(parents=True)
    return True


@contextlib.contextmanager
def _explain_full_disk(output: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK_IS_FULL:
            raise
        raise TranslucidError(
            f"{output}: cannot write any more ({error.strerror}). The data is not "
            "complete.\n"
            f"  Free some space and run the same command again, which continues where it stopped; "
            f"or delete {output / UNFINISHED}."
        ) from error


@contextlib.contextmanager
def _keep_unless_hopeless(work: Workspace, emit: Emit) -> Iterator[None]:
    """Keep the work for another run, unless no run could finish with this input."""
    try:
        yield
    except (DataError, InputError):
        work.remove()
        raise
    except KeyboardInterrupt:
        emit(
            Notice(f"Stopped. Run the same command again to continue; {work.root} keeps the work.")
        )
        raise


def _is_complete(output: Path, settings: dict[str, Any], force: bool, emit: Emit) -> bool:
    """Return whether the folder has exactly this data; InputError if it has other data."""
    path = output / MANIFEST
    if force or not path.is_file():
        return False
    how = "Give another folder with -o, or --force to replace it."
    try:
        there = Manifest.from_json(path.read_text(encoding="utf-8"), path).settings
    except (DataError, UnicodeDecodeError) as error:
        raise InputError(f"{output} has data that cannot be read. {how}\n  {error}") from error
    if found := find_differences(there, settings):
        raise InputError(
            f"{output} has data that was prepared differently: {', '.join(found)}. {how}"
        )
    try:
        open_data(output)
    except DataError as error:
        emit(Notice(f"note: {output} is damaged and will be prepared again.\n  {error}"))
        return False
    return True


def _publish(work: Workspace, output: Path) -> None:
    """Move the finished output into the folder; if killed, the next run moves the rest.

    The manifest says that the folder is complete: the old one is removed first, the new one is
    written last.
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
