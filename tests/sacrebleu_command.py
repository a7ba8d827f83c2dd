"""sacrebleu's own command line, run on files: the other route to our scores."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

METRICS = ("-m", "bleu", "chrf", "ter")


def write_lines(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def sacrebleu(*words: str | Path) -> str:
    """Run the command and return what it prints."""
    command = [sys.executable, "-m", "sacrebleu", *map(str, words)]
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    environment.pop("SACREBLEU_SEED", None)
    done = subprocess.run(
        command, capture_output=True, check=True, env=environment, encoding="utf-8"
    )
    return done.stdout


def scores(references: Sequence[Path], translations: Path, *more: str) -> list[dict[str, Any]]:
    """Return what sacrebleu says of one system, to eight places."""
    output = sacrebleu(
        *references, "-i", translations, *METRICS, "-w", "8", "-f", "json", "-q", *more
    )
    found = json.loads(output)
    return found if isinstance(found, list) else [found]


class Tested(NamedTuple):
    score: float
    mean: float | None
    margin: float | None
    p: float | None


_NUMBER = r"(-?\d+\.\d+)"
_CELL = re.compile(rf"{_NUMBER}(?: \({_NUMBER} ± {_NUMBER}\))?(?: \(p = {_NUMBER}\)\*?)?")


def paired(
    references: Sequence[Path], systems: Sequence[Path], *more: str
) -> tuple[list[list[Tested]], list[str]]:
    """Return the rows of a paired test (a cell for BLEU, chrF2 and TER) and the signatures."""
    output = sacrebleu(*references, "-i", *systems, *METRICS, "-w", "6", "-f", "latex", "-q", *more)
    body = output.partition("\\midrule")[2].partition("\\bottomrule")[0]
    rows = [
        [_tested(cell) for cell in line.split("&")[1:]] for line in body.splitlines() if "&" in line
    ]
    signatures = re.findall(r"^ - (?:BLEU|chrF2|TER) +(\S+)$", output, flags=re.MULTILINE)
    return rows, signatures


def _tested(cell: str) -> Tested:
    found = _CELL.search(cell)
    assert found is not None, cell
    return Tested(*(None if part is None else float(part) for part in found.groups()))  # type: ignore[arg-type]
