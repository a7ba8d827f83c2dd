"""Write sbom.cdx.json: the packages that the wheel and its extras need, as a CycloneDX document.

::

    python tools/sbom.py        in an environment installed with `-c constraints.txt`

Versions are those that the project is tested with. Everything comes from the metadata of the
installed packages, so that no other tool is needed; the order is fixed and there is no date, so
that the same environment gives the same bytes.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

EXTRAS = ("data", "parquet", "figures", "serve", "train")
FILE = Path(__file__).parents[1] / "sbom.cdx.json"


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def collect(name: str, extras: frozenset[str], found: dict[str, Distribution]) -> None:
    """Add a package and all that it needs here, with these extras."""
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return
    found[normalize(name)] = package
    for line in package.requires or ():
        needed = Requirement(line)
        environments = [{"extra": extra} for extra in ("", *extras)]
        if needed.marker is not None and not any(map(needed.marker.evaluate, environments)):
            continue
        if normalize(needed.name) not in found:
            collect(needed.name, frozenset(needed.extras), found)


def licence(package: Distribution) -> str:
    """Return the licence that a package declares: as an expression, a classifier, or a text."""
    data = package.metadata
    if expression := data.get("License-Expression"):
        return str(expression)
    names = [c.rsplit(" :: ", 1)[1] for c in data.get_all("Classifier", []) if "License ::" in c]
    if names:
        return " AND ".join(sorted(set(names)))
    return (data.get("License") or "not declared").strip().splitlines()[0][:80]


def component(name: str, package: Distribution) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{package.version}",
        "name": name,
        "version": package.version,
        "purl": f"pkg:pypi/{name}@{package.version}",
        "licenses": [{"license": {"name": licence(package)}}],
    }


def build() -> dict[str, Any]:
    """Return the document."""
    found: dict[str, Distribution] = {}
    collect("translucid", frozenset(EXTRAS), found)
    own = found.pop("translucid")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": "translucid",
                "name": "translucid",
                "version": own.version,
                "licenses": [{"license": {"name": licence(own)}}],
            }
        },
        "components": [component(name, found[name]) for name in sorted(found)],
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(build(), indent=1) + "\n", encoding="utf-8")
    print(f"{FILE.name}: {len(build()['components'])} packages")
