"""The bill of materials is in step with what the project declares and is tested with."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import translucid

ROOT = Path(__file__).parents[2]


def test_the_bill_of_materials_has_all_dependencies_in_the_versions_that_are_tested() -> None:
    """`make sbom` writes it anew."""
    listed = {
        one["name"]: one["version"].partition("+")[0]
        for one in json.loads((ROOT / "sbom.cdx.json").read_bytes())["components"]
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {k: v for k, v in project["optional-dependencies"].items() if k != "dev"}
    del extras["tensorboard"]  # which the tests do not install
    declared = {
        re.split(r"[<>=\[;]", line)[0].replace("_", "-").lower()
        for line in [*project["dependencies"], *(line for each in extras.values() for line in each)]
    }
    assert declared - {"translucid"} <= listed.keys()
    pins = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text().split() if "==" in line
    )
    pins = {name.replace("_", "-").lower(): version for name, version in pins.items()}
    assert {n: listed[n] for n in pins.keys() & listed.keys()} == {
        n: pins[n] for n in pins.keys() & listed.keys()
    }


def test_the_version_is_the_same_everywhere() -> None:
    """In the package, in the bill of materials, and the newest one of the changelog."""
    own = json.loads((ROOT / "sbom.cdx.json").read_bytes())["metadata"]["component"]
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    newest = re.fullmatch(r"(\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d", headings[1])
    assert headings[0] == "Unreleased"
    assert newest
    assert newest[1] == own["version"] == translucid.__version__
