"""What docs/how-to-deploy.md, the unit and the Containerfile say is what the program has."""

from __future__ import annotations

import configparser
import re
import shutil
import signal
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from doc_pages import DOCS, ROOT, code_blocks
from translucid.cli.main import app
from translucid.cli.serve import build_settings, known_variables
from translucid.serving.config import ServingConfig

UNIT = ROOT / "deploy" / "translucid.service"
RECIPE = ROOT / "deploy" / "Containerfile"
PAGE = DOCS / "how-to-deploy.md"


@pytest.fixture(scope="module")
def service() -> dict[str, str]:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(UNIT, encoding="utf-8")
    return dict(parser["Service"])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_unit_passes_systemds_own_check(tmp_path: Path) -> None:
    """With a program in the place of ours, which is not installed where the unit says."""
    text = UNIT.read_text(encoding="utf-8").replace("/opt/translucid/bin/translucid", "/bin/true")
    copy = tmp_path / UNIT.name
    copy.write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_reloads_and_leaves_time_to_drain(service: dict[str, str]) -> None:
    assert service["ExecReload"].split() == [
        "/bin/kill",
        f"-{signal.Signals(1).name[3:]}",
        "$MAINPID",
    ]
    assert int(service["TimeoutStopSec"]) > ServingConfig().drain_seconds
    assert service["Type"] == "notify"
    for name in ("DynamicUser", "NoNewPrivileges", "PrivateTmp"):
        assert service[name] == "yes"


def test_the_recipe_is_without_pytorch_and_root() -> None:
    text = RECIPE.read_text(encoding="utf-8")
    extras = re.findall(r"/source\[([\w,]+)\]", text)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert extras == ["serve"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["serve"]]
    assert not [one for one in needed if one.startswith("torch")]
    (user,) = re.findall(r"^USER (\d+):", text, re.MULTILINE)
    assert int(user) > 0
    for names in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        for name in names.split():
            assert (ROOT / name).exists(), name
    (stop,) = re.findall(r"^STOPSIGNAL (\w+)$", text, re.MULTILINE)
    assert stop == "SIGTERM"


@pytest.mark.parametrize("path", [UNIT, RECIPE, PAGE], ids=lambda path: path.name)
def test_every_variable_and_option_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert set(re.findall(r"TRANSLUCID_[A-Z_]*[A-Z]", text)) <= set(known_variables())
    command: Any = typer.main.get_command(app)
    known = {one for option in command.commands["serve"].params for one in option.opts}
    for line in re.findall(r"translucid serve (.*)", text):
        assert set(re.findall(r"(?<!\S)--[a-z-]+", line)) <= known | {"--help"}


def test_the_settings_of_the_page_are_taken() -> None:
    (example,) = code_blocks(PAGE.read_text(encoding="utf-8"), "ini")
    lines = [line for line in example.splitlines() if line and not line.startswith("#")]
    given = dict(line.split("=", 1) for line in lines)
    assert build_settings(None, [], {}, given).max_characters == 2000


def test_the_page_names_the_fields_of_the_log_and_the_metrics() -> None:
    page = PAGE.read_text(encoding="utf-8")
    source = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "src/translucid/serving").glob("*.py")
    )
    for metric in set(re.findall(r"`translucid_(\w+)", page)):
        assert metric.removesuffix("_total") in source, metric
    (line,) = code_blocks(page, "json")
    for field in re.findall(r'"(\w+)":', line):
        assert field in source, field
