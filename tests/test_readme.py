"""What the README shows is what a user gets."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    return [content for found, content in fences if found == language]


def test_the_python_example_runs_and_its_comments_are_true() -> None:
    (example,) = blocks("python")
    names: dict[str, Any] = {}
    exec(compile(example, "README.md", "exec"), names)
    claims = re.findall(r"^(\w+) = .*?# .*?(\(\d[\d, ]*\))", example, flags=re.MULTILINE)
    assert len(claims) == 3
    for name, shape in claims:
        assert str(tuple(names[name].shape)) == shape
    assert names["logits"].equal(names["model"](names["source"], names["target"]))


def test_commands_print_what_is_shown() -> None:
    shown = [block for block in blocks("") if block.startswith("$ translucid ")]
    assert shown
    for block in shown:
        command, _, output = block.partition("\n")
        arguments = shlex.split(command.removeprefix("$ translucid "))
        done = subprocess.run(
            [sys.executable, "-m", "translucid", *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
        assert [line.rstrip() for line in done.stdout.splitlines()] == output.splitlines()
