"""Results as files: a folder that appears whole, and replaces nothing but earlier results.

::

    FOLDER/translations.txt     one line per source
           scores.json          every score, with its signature and interval
           settings.json        how it was made: model, search, data, versions, machine
           report.html          to look at
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import sacrebleu

from translucid import __version__
from translucid.built_in import built_in_name
from translucid.errors import InputError
from translucid.evaluation.reference_set import ReferenceSet, stem
from translucid.evaluation.system import System
from translucid.files import new_folder, synced
from translucid.machine import Machine, thread_count

SCORES, SETTINGS, REPORT = "scores.json", "settings.json", "report.html"
EVALUATIONS = "evaluations"  # folder of results, beside a model or a file of translations


def check_folder(folder: Path) -> None:
    """Refuse, before any work is done, a folder that cannot be written or holds other things.

    Earlier results may be replaced.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be created: {error}. Give another one (-o)") from error
    if not os.access(folder.parent, os.W_OK):
        raise InputError(f"{folder.parent} is not writable: give another folder (-o)")
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / SETTINGS).is_file() or not (folder / SCORES).is_file():
        raise InputError(
            f"{folder} exists but has no results of an evaluation: give another name (-o)"
        )


def write_results(folder: Path, files: Mapping[str, str]) -> None:
    """Write files of results by their names, replacing earlier results."""
    check_folder(folder)
    with new_folder(folder) as draft:
        for name, text in files.items():
            with synced(draft / name) as file:
                file.write(text.encode("utf-8"))


def join_lines(texts: Sequence[str]) -> str:
    """Return texts, one per line."""
    return "".join(f"{text}\n" for text in texts)


def dump_json(content: Any) -> str:
    """Return readable JSON."""
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def default_folder(system: System, test: ReferenceSet, target: str | None, search: str) -> Path:
    """Return the folder for the results of a system, beside its model or file.

    Its name has the model, the sentences, the language and the `search` in it.
    """
    if system.model is None:
        file = system.file or Path(system.name)
        return file.parent / EVALUATIONS / folder_name([stem(file), test.name])
    if not system.model.folders:
        raise InputError(f"{system.name} was not loaded from a folder: name one for the results")
    folders = [folder.resolve() for folder in system.model.folders]
    model = "+".join(folder.name for folder in folders)
    packaged = built_in_name(folders[0]) is not None  # nothing is written into the package
    parent = (Path() if packaged else folders[0].parent) / EVALUATIONS
    words = [model, test.name, *([target] if target else []), search]
    if system.rerank is not None:
        folders += [folder.resolve() for folder in system.rerank.model.folders]
        words.append(f"rerank{system.rerank.weight:g}")
    if len(folders) > 1:  # best+best may be of any two runs
        words.append(hashlib.sha256("\n".join(map(str, folders)).encode()).hexdigest()[:6])
    return parent / folder_name(words)


def folder_name(parts: Sequence[str]) -> str:
    """Join words to a name that every file system accepts.

    >>> folder_name(["run/best", "test set.fr", "beam4"])
    'run-best-test-set.fr-beam4'
    """
    return "-".join(re.sub(r"[^\w.+]+", "-", part).strip("-.") for part in parts)


# ---- how results were made ----------------------------------------------------------------------


def build_settings(
    systems: Sequence[Mapping[str, Any]],
    test: ReferenceSet,
    scoring: Mapping[str, Any],
    **more: Any,
) -> dict[str, Any]:
    """Return everything that is needed to compute the scores again."""
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "systems": list(systems),
        "data": dict(test.origin) or {"name": test.name, "sentences": len(test)},
        "scoring": dict(scoring),
        **more,
        "versions": {
            "translucid": __version__,
            "sacrebleu": sacrebleu.__version__,
            **_versions("torch", "ctranslate2"),
            "python": platform.python_version(),
        },
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "cores": Machine().cores(),
            "threads": thread_count(),
        },
    }


def _versions(*packages: str) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    found = {}
    for name in packages:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def describe_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return settings as lines to read, with several systems numbered."""
    lines: dict[str, str] = {}
    for name, value in settings.items():
        if name == "systems":
            for number, system in enumerate(value, start=1):
                prefix = "system" if len(value) == 1 else f"system {number}"
                lines |= {f"{prefix}: {key}": _line(inner) for key, inner in system.items()}
        elif name == "data":
            lines |= {f"data: {key}": _line(inner) for key, inner in value.items()}
        else:
            lines[name] = _line(value)
    return lines


def _line(value: Any) -> str:
    if isinstance(value, Mapping):
        known = [(name, inner) for name, inner in value.items() if inner is not None]
        return ", ".join(f"{name} {_line(inner)}" for name, inner in known)
    if isinstance(value, list):
        return "; ".join(map(_line, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value}"
