"""The command as a process of its own: how it ends when all goes wrong."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import translucid

# The command as it is, and one more that ends as it would if a library wrote where it must not.
CRASHING = """
import os, signal
from translucid.cli import main as command

@command.app.command("crash")
def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)

command.main()
"""


def test_a_crash_says_where_it_was(tmp_path: Path) -> None:
    script = tmp_path / "crashing.py"
    script.write_text(CRASHING, encoding="utf-8")
    done = subprocess.run([sys.executable, script, "crash"], capture_output=True, text=True)
    assert done.returncode == -signal.SIGSEGV
    assert "Segmentation fault" in done.stderr
    assert f'File "{script}", line 7 in crash' in done.stderr


def test_the_command_runs_where_nobody_listens_to_errors() -> None:
    command = 'exec "$0" -m translucid --version 2>&-'
    done = subprocess.run(["sh", "-c", command, sys.executable], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"translucid {translucid.__version__}\n")
