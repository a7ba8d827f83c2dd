"""Measure how much of the package one must read to follow what it does.

    python tools/journeys.py [ROOT …]        # source trees, such as worktrees; default: this one

For each of four journeys: the files of the package in which at least one function runs, and their
lines. What runs while a module is imported does not count. Then the size of the package, modules
that a single other module imports, in the same folder, and places where the setting
`length_penalty` is declared.

Journeys are driven through the command line and HTTP, so that the script fits any version of the
package. Of a training step and of a request only what is done once more for one more step or
request counts, not what starts a run or a server.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
SETTING = "length_penalty"
TEXT = "je suis étudiant"
SMALL = (
    *("model.encoder_layers=1", "model.decoder_layers=1", "model.d_model=16", "model.d_ff=16"),
    *("model.heads=2", "training.batch_tokens=256", "training.warmup_steps=2"),
    *("training.report_every=1000", "training.checkpoint_every=1000"),
)


class Profile:
    """Counts calls of functions by file of the package, without what runs during an import."""

    def __init__(self, package: Path) -> None:
        self.calls: Counter[str] = Counter()
        self._package = f"{package}{os.sep}"
        self._thread = threading.local()

    def start(self) -> None:
        """Count from now on, in this thread and in those that start later."""
        threading.setprofile(self._count)
        sys.setprofile(self._count)

    def _count(self, frame: FrameType, event: str, argument: object) -> None:
        del argument
        code = frame.f_code
        if not code.co_filename.startswith(self._package):
            return
        importing = getattr(self._thread, "importing", 0)
        if code.co_name == "<module>":
            self._thread.importing = importing + {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not importing:
            self.calls[code.co_filename.removeprefix(self._package)] += 1


def run_command(words: list[str]) -> None:
    """Run the command line in this process."""
    from translucid.cli.main import main

    sys.argv = ["translucid", *words]
    try:
        main()
    except SystemExit as end:
        if end.code not in (0, None):
            raise


def journey_translate(profile: Profile, folder: Path) -> Counter[str]:
    """One sentence on the command line."""
    del folder
    profile.start()
    run_command(["translate", TEXT])
    return profile.calls


def journey_prepare(profile: Profile, folder: Path) -> Counter[str]:
    """A file of pairs becomes shards."""
    profile.start()
    prepare(folder, "--split", "20,20")
    return profile.calls


def prepare(folder: Path, *options: str) -> None:
    """Prepare a few hundred pairs of made-up words."""
    words = ["chat", "chien", "noir", "blanc", "dort", "mange", "grand", "petit", "ici", "maison"]
    pairs = []
    for number in range(400):
        source = " ".join(words[(number // 10**place + place) % 10] for place in range(3))
        pairs.append(f"{source} {number}\t{source[::-1]} {number}")
    (folder / "pairs.tsv").write_text("\n".join(pairs) + "\n", encoding="utf-8")
    languages = ["--from", "fr", "--to", "en", "--vocab-size", "400"]
    where = [str(folder / "pairs.tsv"), "-o", str(folder / "data"), "--workers", "1"]
    run_command(["prepare", *where, *languages, *options])


def journey_step(profile: Profile, folder: Path) -> Counter[str]:
    """What runs more often in a longer training, without validations and reports."""
    prepare(folder)
    settings = [word for assignment in SMALL for word in ("--set", assignment)]
    profile.start()
    counted = []
    for steps in (4, 8):
        profile.calls.clear()
        more = ["--max-steps", str(steps), "-o", str(folder / f"run-{steps}")]
        run_command(["train", str(folder / "data"), *more, *settings])
        counted.append(profile.calls.copy())
    # What runs a few times more by chance (a line every ten seconds) is in no step.
    return Counter({file: n for file, n in (counted[1] - counted[0]).items() if n >= 4})


def journey_request(profile: Profile, folder: Path) -> Counter[str]:
    """What one more request makes a server do."""
    del folder
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    found: Counter[str] = Counter()

    def ask() -> None:
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: b"ready" in fetch(f"{url}/health/ready"))
        body = json.dumps({"texts": [TEXT]}).encode()
        fetch(f"{url}/v1/translate", body)
        time.sleep(1)
        before = profile.calls.copy()
        fetch(f"{url}/v1/translate", body)
        time.sleep(0.2)
        found.update(profile.calls - before)
        os.kill(os.getpid(), signal.SIGTERM)

    client = threading.Thread(target=ask)
    client.start()
    profile.start()
    run_command(["serve", "--port", str(port), "--quiet"])
    client.join()
    return found


def fetch(url: str, body: bytes | None = None) -> bytes:
    """Return the answer of a server."""
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        content: bytes = answer.read()
        return content


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something that fails with an OSError until it works."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            if holds():
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise TimeoutError


JOURNEYS = {
    'translucid translate "x"': journey_translate,
    "one training step": journey_step,
    "POST /v1/translate": journey_request,
    "translucid prepare": journey_prepare,
}


def measure_journey(root: Path, name: str) -> list[str]:
    """Return the files of a journey, measured in a process with the package of this tree."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--journey", name, folder]
        environment = {**os.environ, "PYTHONPATH": str(root / "src"), "OMP_NUM_THREADS": "1"}
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        files: list[str] = json.loads((Path(folder) / "files.json").read_text())
        return files


def run_journey(name: str, folder: Path) -> None:
    """Run a journey in this process, and write the names of its files."""
    import translucid

    assert translucid.__file__ is not None
    profile = Profile(Path(translucid.__file__).parent)
    calls = JOURNEYS[name](profile, folder)
    sys.setprofile(None)
    (folder / "files.json").write_text(json.dumps(sorted(calls)))


# ---- the package at rest ------------------------------------------------------------------------


def imported_modules(path: Path, modules: set[str]) -> set[str]:
    """Return the modules of the package that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in modules else node.module for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & modules


def single_importers(source: Path) -> list[str]:
    """Return the modules that only one other module imports, one in the same folder."""
    files = {
        ".".join(path.relative_to(source).with_suffix("").parts): path
        for path in (source / "translucid").rglob("*.py")
        if path.stem not in ("__init__", "__main__")
    }
    importers: dict[str, list[Path]] = {name: [] for name in files}
    for path in (source / "translucid").rglob("*.py"):
        for name in imported_modules(path, set(files)):
            if path != files[name]:
                importers[name].append(path)
    return [
        name
        for name, found in importers.items()
        if len(found) == 1 and found[0].parent == files[name].parent and found[0].stem != "__init__"
    ]


def declarations(root: Path) -> Iterator[str]:
    """Yield the places that declare the setting: fields, command-line options, TypeScript types."""
    option = f"--{SETTING.replace('_', '-')}"
    for path in sorted((root / "src" / "translucid").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            target: Any = node.target if isinstance(node, ast.AnnAssign) else None
            is_field = isinstance(target, ast.Name) and target.id == SETTING
            is_parameter = isinstance(node, ast.arg) and node.arg == SETTING and "cli" in path.parts
            is_option = isinstance(node, ast.Constant) and node.value == option
            if is_field or is_parameter or is_option:
                yield f"{path.relative_to(root)}:{node.lineno}"  # type: ignore[attr-defined]
    for path in sorted((root / "web" / "src").rglob("*.ts*")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if path.name != "schema.ts" and re.search(rf"\b{SETTING}\??: \w+( \| \w+)*;", line):
                yield f"{path.relative_to(root)}:{number}"


def report(root: Path) -> None:
    """Print all measurements of a source tree."""
    package = root / "src" / "translucid"
    lines = {
        str(path.relative_to(package)): len(path.read_text(encoding="utf-8").splitlines())
        for path in package.rglob("*.py")
    }
    print(f"{root}\n")
    print("| | files | lines in them |\n|---|--:|--:|")
    details = []
    for name in JOURNEYS:
        files = measure_journey(root, name)
        print(f"| {name} | {len(files)} | {sum(lines[file] for file in files):,} |", flush=True)
        details.append(f"{name}: {' '.join(files)}")
    print(f"| the package | {len(lines)} | {sum(lines.values()):,} |")
    single, declared = single_importers(root / "src"), list(declarations(root))
    print(f"\nmodules with a single importer in their own folder: {len(single)}")
    print(f"places where {SETTING} is declared: {len(declared)}\n")
    print("\n".join([*details, f"single importer: {' '.join(single)}", *declared]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--journey"]:
        run_journey(sys.argv[2], Path(sys.argv[3]))
    else:
        parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        parser.add_argument("roots", nargs="*", type=Path, default=[ROOT], help="source trees")
        for root in parser.parse_args().roots:
            report(root.resolve())
