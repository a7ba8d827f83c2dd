"""``translucid info`` and the command line's own manners, run as a user runs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from networks import small_config
from translucid import __version__


def translucid(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "translucid", *arguments], capture_output=True, text=True
    )


def test_version_and_help() -> None:
    assert translucid("--version").stdout == f"translucid {__version__}\n"
    shown = translucid("--help")
    assert shown.returncode == 0
    assert "info" in shown.stdout
    assert "translucid info base --vocab-size 41100" in translucid("info", "--help").stdout


def test_a_preset_block_by_block() -> None:
    done = translucid("info", "base", "--vocab-size", "41100")
    assert done.returncode == 0
    assert "65,144,832" in done.stdout
    assert "decoder: cross-attention ×6  512 → 8×64 → 512" in done.stdout
    assert "32 source and 32 target tokens" in done.stdout


def test_all_presets() -> None:
    lines = translucid("info").stdout.splitlines()
    row = next(line for line in lines if line.startswith("B-dk16"))
    assert row.split()[-6:] == ["56.0", "M", "58", "M", "5.16", "25.1"]


def test_a_model_directory(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(small_config().to_json())
    done = translucid("info", str(tmp_path))
    assert done.returncode == 0
    assert "32 → 4×(6,10) → 32" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bse"], "error: no preset is called 'bse'; did you mean 'base'?"),
        (["runs/none"], "error: runs/none: no such model directory"),
        (
            [".", "--vocab-size", "9"],
            "error: . has its own vocabulary: --vocab-size is for presets",
        ),
        (["base", "--length", "0"], "--length"),
        (["--length", "9"], "error: --length is for the blocks of one network"),
        (["tiny", "--settings", "--vocab-size", "9"], "error: --vocab-size is for the blocks"),
        (["base", "--nonsense"], "--nonsense"),
    ],
)
def test_mistakes_exit_with_2_and_say_why(arguments: list[str], message: str) -> None:
    done = translucid("info", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
