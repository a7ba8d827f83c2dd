"""Speed of two versions of translucid, interleaved: one training run and one translation each.

    git worktree add /tmp/before COMMIT
    .venv/bin/python benchmarks/two_versions.py --before /tmp/before --data FOLDER --source FILE

FOLDER is prepared data, FILE holds sentences for the built-in model of the later version, which
translates both times. Every measurement is a process of its own; the two versions alternate for
five rounds, and the median counts, with the lowest and the highest beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WARM_UP = 10  # steps that are not counted
STEPS = 60
TRANSLATE = """
import sys, time, translucid
model = translucid.load(sys.argv[1])
sentences = open(sys.argv[2], encoding="utf-8").read().splitlines()
model.translate(sentences[:16])
began = time.perf_counter()
model.translate(sentences)
print(len(sentences) / (time.perf_counter() - began))
"""


def run(version: Path, *arguments: str | Path) -> str:
    """Run Python with the package of a version; return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(version / "src")}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ).stdout.decode()


def measure_training(version: Path, data: Path, optimizer: str) -> float:
    """Return target tokens per second of the preset tiny, the median of its steps."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run"
        settings = {"max_steps": STEPS, "validate_every": STEPS, "validation_sample": 4}
        options = [
            text
            for name, value in (*settings.items(), ("optimizer", optimizer))
            for text in ("--set", f"training.{name}={value}")
        ]
        run(version, "-m", "translucid", "train", data, "-o", output, "--preset", "tiny", *options)
        lines = (output / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    steps = [event for event in map(json.loads, lines) if event["event"] == "trained"]
    return statistics.median(step["tokens"] / step["seconds"] for step in steps[WARM_UP:])


def measure_translation(version: Path, model: Path, source: Path) -> float:
    """Return sentences per second, with the search that the model directory asks for."""
    return float(run(version, "-c", TRANSLATE, model, source))


def main() -> None:
    """Measure in turns and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, required=True, help="a checkout of the version")
    parser.add_argument("--after", type=Path, default=ROOT, help="default: this one")
    parser.add_argument("--data", type=Path, required=True, help="prepared data")
    parser.add_argument("--source", type=Path, required=True, help="sentences to translate")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    model = given.after / "src/translucid/built_in/fr-en"
    measurements: dict[str, Callable[[Path], float]] = {
        "training, Adam, tokens/s": lambda version: measure_training(version, given.data, "adam"),
        "training, Muon, tokens/s": lambda version: measure_training(version, given.data, "muon"),
        "translation, sentences/s": lambda version: measure_translation(
            version, model, given.source
        ),
    }
    found: dict[tuple[str, str], list[float]] = {}
    for _ in range(given.rounds):
        for what, measure in measurements.items():
            for name, version in (("before", given.before), ("after", given.after)):
                found.setdefault((what, name), []).append(measure(version))
    print("| | before | after | after / before |\n|---|--:|--:|--:|")
    for what in measurements:
        before, after = (found[what, name] for name in ("before", "after"))
        ratio = statistics.median(after) / statistics.median(before)
        cells = [
            f"{statistics.median(values):,.0f} ({min(values):,.0f}–{max(values):,.0f})"
            for values in (before, after)
        ]
        print(f"| {what} | {cells[0]} | {cells[1]} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
