"""Whether two run folders tell the same story: all but the clock, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CLOCK = {"seconds", "sha256"}  # a state's own digest covers its seconds


def without_clock(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_clock(v) for k, v in value.items() if k not in CLOCK}
    return [without_clock(v) for v in value] if isinstance(value, list) else value


def metrics(run: Path) -> list[Any]:
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [without_clock(json.loads(line)) for line in lines]


def story(run: Path) -> dict[str, Any]:
    """Everything in a run folder that must not depend on when it was written.

    Which earlier checkpoints are there depends on where the run was stopped.
    """
    found: dict[str, Any] = {"metrics": metrics(run)}
    *earlier, _ = sorted((run / "checkpoints").iterdir())
    for path in sorted(run.rglob("*")):
        if path.parent in earlier:
            continue
        name = str(path.relative_to(run))
        if path.suffix == ".safetensors":
            found[name] = path.read_bytes()
        elif path.name in {"state.json", "config.json", "generation_config.json"}:
            found[name] = without_clock(json.loads(path.read_text()))
    return found


def assert_same(run: Path, other: Path) -> None:
    one, two = story(run), story(other)
    assert one.keys() == two.keys()
    different = [name for name in one if one[name] != two[name]]
    assert not different
