"""A lock between real processes, which ends with its owner."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from translucid.errors import BusyError
from translucid.files import LOCK, locked, new_folder, recover_folder

HOLD = """
import sys
from pathlib import Path
from translucid.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(folder: Path, script: str = HOLD) -> subprocess.Popen[str]:
    """Start a process that holds the lock until its input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.parametrize("killed", [True, False])
def test_the_folder_is_busy_as_long_as_its_owner_lives(tmp_path: Path, killed: bool) -> None:
    with hold(tmp_path) as owner:
        with pytest.raises(BusyError, match=f"{tmp_path.name} is being written by another process"):
            locked(tmp_path).__enter__()
        if killed:
            owner.send_signal(signal.SIGKILL)
        else:
            owner.stdin.close()
        owner.wait()
        assert (tmp_path / LOCK).exists() is killed
        with locked(tmp_path):
            pass


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    with locked(tmp_path):
        assert (tmp_path / LOCK).exists()
    assert not list(tmp_path.iterdir())


def test_a_file_that_its_owner_removed_in_between_is_not_taken_for_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening and locking, the owner before us may remove the file and a third come."""
    import translucid.files as module

    lock_for_real = module._try_lock
    calls = []

    def removed_just_before(descriptor: int) -> None:
        if not calls:
            (tmp_path / LOCK).unlink()
        calls.append(descriptor)
        lock_for_real(descriptor)

    monkeypatch.setattr(module, "_try_lock", removed_just_before)
    with locked(tmp_path), pytest.raises(BusyError):
        locked(tmp_path).__enter__()
    assert len(calls) == 3


WRITE = """
import sys
from pathlib import Path
from translucid.files import new_folder
with new_folder(Path(sys.argv[1])) as draft:
    (draft / "whole").write_text("by another process")
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("killed", [True, False])
def test_two_processes_do_not_write_the_same_folder(tmp_path: Path, killed: bool) -> None:
    folder = tmp_path / "model"
    with hold(folder, WRITE) as owner:
        with pytest.raises(BusyError, match="model is being written by another process"):
            new_folder(folder).__enter__()
        with pytest.raises(BusyError):
            recover_folder(folder)
        if killed:
            owner.send_signal(signal.SIGKILL)
        else:
            owner.stdin.close()
        owner.wait()
    assert folder.exists() is not killed
    if killed:
        recover_folder(folder)
        assert not list(tmp_path.iterdir())
    with new_folder(folder) as draft:
        (draft / "own").touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["model", "own"]
