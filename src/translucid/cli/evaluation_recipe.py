"""How results were made: the recipe that every published number needs."""

from __future__ import annotations

import hashlib
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from translucid.built_in import built_in_name

if TYPE_CHECKING:
    from translucid.decoding.settings import SearchConfig
    from translucid.evaluation.evaluate import Scoring


def recipe(
    systems: Sequence[Mapping[str, Any]],
    data: Mapping[str, Any],
    scoring: Scoring,
    **more: Any,
) -> dict[str, Any]:
    """Return all that is needed to compute the scores again."""
    import sacrebleu
    import torch

    from translucid import __version__
    from translucid.machine import Machine

    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["translucid", *sys.argv[1:]]),
        "systems": list(systems),
        "data": dict(data),
        "scoring": vars(scoring),
        **more,
        "versions": {
            "translucid": __version__,
            "sacrebleu": sacrebleu.__version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "cores": Machine().cores(),
            "threads": torch.get_num_threads(),
        },
    }


def model_facts(
    models: Sequence[Path], direction: tuple[str | None, str], search: SearchConfig
) -> dict[str, Any]:
    """Return which model translated, and how it searched."""
    from translucid.cli.model_choice import fingerprint

    return {
        "models": [built_in_name(model) or str(model) for model in models],
        "fingerprint": fingerprint(models),
        "direction": "→".join(filter(None, direction)),
        "search": search.model_dump(mode="json"),
    }


def file_facts(path: Path) -> dict[str, Any]:
    """Return a file by its name and the hash of its bytes."""
    with path.open("rb") as file:
        return {"path": str(path), "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return a recipe as lines to read: settings on one line, several systems numbered."""
    lines: dict[str, str] = {}
    for name, value in facts.items():
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
