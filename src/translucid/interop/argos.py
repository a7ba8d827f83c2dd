"""A model as packages of Argos Translate and LibreTranslate, one per direction.

::

    translate-fr_en.argosmodel          a zip archive of the folder translate-fr_en:
        metadata.json                   the languages
        model/                          the network, as CTranslate2 reads it
        sentencepiece.model             the tokenizer, which normalises too
        README.md                       the card of the model

Argos gives the network the pieces of a sentence and nothing else: its packages know a prefix of the
target, but none of the source, where a model of several languages has its tag. So the settings of
the network name the tag as the symbol that begins a source, and CTranslate2 puts it there.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

from translucid import __version__
from translucid.checkpoint.model_directory import read_generation
from translucid.checkpoint.store import write_file
from translucid.config import Precision
from translucid.engines.ctranslate2_directory import SENTENCEPIECE
from translucid.interop.ctranslate2 import (
    MODEL_CARD,
    build_card,
    build_network,
    build_tokenizer,
    translate_greedily,
)
from translucid.text.languages import language_name

METADATA = "metadata.json"
_ARGOS_VERSION = "1.11.0"  # the one that packages were tried with
_OLDEST = (1980, 1, 1, 0, 0, 0)  # a date, so that the same model gives the same archive


def package_path(folder: Path, direction: tuple[str, str]) -> Path:
    """Return where the package of a direction is in an exported folder."""
    return folder / f"{_name(direction)}.argosmodel"


def _name(direction: tuple[str, str]) -> str:
    return "translate-{}_{}".format(*direction)


def write_argos(model: Path, folder: Path, precision: Precision) -> None:
    """Write the packages of a model directory into a folder."""
    generation, card = read_generation(model), build_card(model)
    shared = {
        SENTENCEPIECE: build_tokenizer(model),
        "README.md": card.pop(MODEL_CARD),
        **card,
    }
    for direction in generation.directions:
        network = build_network(model, precision, generation.tags.get(direction[1]))
        files = {
            METADATA: json.dumps(_describe(*direction), ensure_ascii=False, indent=2).encode(),
            **{f"model/{name}": content for name, content in network.items()},
            **shared,
        }
        write_file(package_path(folder, direction), _pack(_name(direction), files))


def _describe(source: str, target: str) -> dict[str, object]:
    return {
        "package_version": "1.0",
        "argos_version": _ARGOS_VERSION,
        "from_code": source,
        "from_name": language_name(source),
        "to_code": target,
        "to_name": language_name(target),
        "written_by": f"Translucid {__version__}",
    }


def _pack(name: str, files: dict[str, bytes]) -> bytes:
    """Return an archive with one folder, which is what Argos unpacks among its packages."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(f"{name}/{path}", _OLDEST)
            # More compression takes ten times as long, and a twentieth off the size.
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, compresslevel=1)
    return file.getvalue()


def translate_with_argos(
    package: Path, texts: Sequence[str], longest: int
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the pieces of texts and of their greedy translations, as Argos makes them.

    It reads a sentence by SentencePiece, and gives the pieces to CTranslate2 as they are.
    """
    with zipfile.ZipFile(package) as archive:
        files = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    network = {
        name.removeprefix("model/"): content
        for name, content in files.items()
        if name.startswith("model/")
    }
    return translate_greedily(files[SENTENCEPIECE], network, texts, (), longest)
