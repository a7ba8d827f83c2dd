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

# And one that is interrupted where Python drops every exception: while an object is taken down.
# The pipe is never written to, so only Ctrl-C ends the wait.
INTERRUPTED_IN_A_FINALIZER = """
import os, signal
from translucid.cli import main as command

class Fleeting:
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)

@command.app.command("wait")
def wait() -> None:
    Fleeting()
    print("waiting", flush=True)
    os.read(os.pipe()[0], 1)

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


def test_ctrl_c_is_heard_where_python_drops_exceptions(tmp_path: Path) -> None:
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED_IN_A_FINALIZER, encoding="utf-8")
    command = [sys.executable, script, "wait"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 130
    assert done.stdout == "waiting\n"
    assert "Exception ignored" not in done.stderr
