"""Folders that are replaced at once, whenever the process is killed; tensors as safetensors."""

from __future__ import annotations

import errno
import hashlib
import multiprocessing
import os
import resource
import signal
from pathlib import Path

import pytest
import safetensors.torch
import torch

from translucid.checkpoint.store import explain_full_disk, tensors_size, write_file, write_tensors
from translucid.errors import TranslucidError
from translucid.files import new_folder, recover_folder


def replace_and_die(folder: Path, renames: int) -> None:
    """Replace a folder, and die by SIGKILL just before one of its renames."""
    rename, done = Path.rename, []

    def last_words(path: Path, target: Path) -> Path:
        if len(done) == renames:
            os.kill(os.getpid(), signal.SIGKILL)
        done.append(target)
        return rename(path, target)

    Path.rename = last_words  # type: ignore[method-assign,assignment]
    with new_folder(folder) as draft:
        write_file(draft / "content", b"new")
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(("renames", "expected"), [(0, b"old"), (1, b"old"), (9, b"new")])
def test_killed_at_any_rename_a_folder_is_the_old_or_the_new_one(
    tmp_path: Path, renames: int, expected: bytes
) -> None:
    folder = tmp_path / "best"
    with new_folder(folder) as draft:
        write_file(draft / "content", b"old")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "translucid.checkpoint.store"])
    process = context.Process(target=replace_and_die, args=(folder, renames))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    recover_folder(folder)
    assert (folder / "content").read_bytes() == expected
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    folder = tmp_path / "best"
    with new_folder(folder) as draft:
        write_file(draft / "content", b"old")

    def interrupted() -> None:
        with new_folder(folder) as draft:
            write_file(draft / "content", b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (folder / "content").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_tensors_of_every_kind_are_what_the_library_reads(tmp_path: Path) -> None:
    tensors = {
        "number": torch.tensor(7.0),
        "turned": torch.arange(15.0).reshape(3, 5).t(),
        "part": torch.arange(40.0).double()[3:9:2],
        "half": torch.randn(3, 3).bfloat16(),
        "count": torch.arange(5),
        "é.x": torch.randn(1, 2, 3),
    }
    path = tmp_path / "x.safetensors"
    written = write_tensors(path, tensors)
    assert written.bytes == path.stat().st_size == tensors_size(tensors)
    assert written.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    found = safetensors.torch.load_file(path)
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)


def test_a_full_disk_is_told_with_what_is_needed_and_what_is_free(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with (
            pytest.raises(TranslucidError) as caught,
            explain_full_disk(tmp_path / "no" / "x", "it", needed=1200, remedy="Do so."),
        ):
            write_file(tmp_path / "x", b"." * 1200)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(caught.value).startswith(
        f"{tmp_path / 'no' / 'x'}: it cannot be written (File too large): it needs 1,200 bytes, and"
    )
    assert str(caught.value).endswith("are free there.\n  Do so.")


def test_other_faults_of_the_system_are_not_taken_for_a_full_disk(tmp_path: Path) -> None:
    with (
        pytest.raises(PermissionError),
        explain_full_disk(tmp_path, "it", needed=1, remedy="Do so."),
    ):
        raise PermissionError(errno.EACCES, "Permission denied")
