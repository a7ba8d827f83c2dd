"""Run the steps of deploy/Containerfile as plain commands in an empty environment, and check them.

    python3.11 tools/container_steps.py

This is for where there is no container engine: it tells whether the steps work, not whether an
image does. RUN and COPY go to a temporary root, in which nothing may be written afterwards.
ENTRYPOINT gets the variables of ENV and no others and, if we are root, the user of USER without
privileges.
The server must become ready, translate, reload its model at SIGHUP and end at STOPSIGNAL with 0.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PORT = 18080
LIMIT = 300  # seconds that anything may take on a busy machine
INSIDE = ("/opt/translucid", "/source")  # folders of the image


def read_steps(path: Path) -> list[tuple[str, str]]:
    """Return the instructions of a Containerfile, comments left out."""
    text = re.sub(r"^#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines if line.strip()]


def place(words: str, root: Path) -> str:
    """Return words with the folders of the image in the temporary root."""
    for folder in INSIDE:
        words = re.sub(rf"(?<![\w/]){folder}\b", f"{root}{folder}", words)
    return words


def build(steps: list[tuple[str, str]], root: Path) -> None:
    """Run COPY and RUN; what is copied from an earlier stage is there already."""
    for step, words in steps:
        if step == "RUN":
            command = place(words, root).replace("python -m venv", f"{sys.executable} -m venv", 1)
            subprocess.run(
                ["/bin/sh", "-ec", command], check=True, env={"PATH": os.environ["PATH"]}
            )
        elif step == "COPY" and not words.startswith("--from"):
            *names, target = place(words, root).split()
            for name in names:
                source = ROOT / name
                if source.is_dir():
                    shutil.copytree(source, target, dirs_exist_ok=True)
                else:
                    Path(target).mkdir(parents=True, exist_ok=True)
                    shutil.copy(source, target)


def describe(root: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of every file."""
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def ask(path: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", data, headers)
    with urllib.request.urlopen(request, timeout=LIMIT) as answer:
        return json.load(answer)


def wait(what: str) -> Iterator[None]:
    """Yield again and again, until the caller breaks off."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        yield
        time.sleep(0.2)
    raise SystemExit(f"{what} did not come within {LIMIT} s")


def serve(steps: list[tuple[str, str]], root: Path) -> None:
    last = dict(steps)
    variables = dict(word.split("=", 1) for word in shlex.split(last["ENV"]))
    variables |= {"TRANSLUCID_PORT": str(PORT), "PATH": "/usr/bin:/bin"}
    user, group = last["USER"].split(":")
    command = [place(word, root) for word in json.loads(last["ENTRYPOINT"])]
    if os.geteuid() == 0:
        drop = ["--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
        command = ["setpriv", "--reuid", user, "--regid", group, *drop, *command]
    with subprocess.Popen(command, env=variables, cwd=last["WORKDIR"]) as server:
        try:
            for _ in wait("readiness"):
                try:
                    ask("/health/ready")
                    break
                except (urllib.error.URLError, ConnectionError):
                    if server.poll() is not None:
                        raise SystemExit(f"the server ended with {server.returncode}") from None
            body = {"texts": ["Le chat dort."], "target": "en"}
            print("translated:", ask("/v1/translate", body)["translations"][0]["text"])
            server.send_signal(signal.SIGHUP)
            for _ in wait("the reload"):
                told = ask("/v1/models")["models"][0]["reload"]
                if told is not None:
                    print("SIGHUP:", told["outcome"])
                    break
            server.send_signal(signal.Signals[last["STOPSIGNAL"]])
            print(f"{last['STOPSIGNAL']}: ended with {server.wait(LIMIT)}")
        finally:
            server.kill()
    if server.returncode:
        raise SystemExit(1)


def main() -> None:
    steps = read_steps(ROOT / "deploy" / "Containerfile")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        build(steps, Path(folder))
        installed = list(Path(folder).glob("opt/translucid/lib/*/site-packages/torch"))
        before = describe(Path(folder))
        serve(steps, Path(folder))
        written = describe(Path(folder)).items() ^ before.items()
    print(f"{len(before):,} files; PyTorch among them: {bool(installed)}; written: {len(written)}")
    if installed or written:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
